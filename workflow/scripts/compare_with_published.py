"""Our figures beside the published ones."""

from pathlib import Path

from labelquality.frames import read_csv
from labelquality.logs import job_log
from labelquality.report.published import comparison, published_values
from labelquality.report.tables import write_leaf

with job_log(snakemake.log[0]):
    names = ("average_precision", "calibration_error", "soft_evaluation")
    leaves = {name: read_csv(snakemake.input[name]) for name in names}
    folder = Path(snakemake.input.published[0]).parent
    write_leaf(
        snakemake.params.name,
        comparison(leaves, published_values(folder)),
        Path(snakemake.output.csv).with_suffix(""),
        title=snakemake.params.title,
    )

"""Correlations of what hard and soft evaluation measure, beside the published ones."""

from pathlib import Path

from labelquality.frames import read_csv
from labelquality.logs import job_log
from labelquality.report.points import own_points, published_points
from labelquality.report.tables import write_leaf

with job_log(snakemake.log[0]):
    files = {Path(path).stem: read_csv(path) for path in snakemake.input.published}
    stated = files.pop("correlations")
    write_leaf(
        snakemake.params.name,
        own_points(
            read_csv(snakemake.input.average_precision), read_csv(snakemake.input.soft_evaluation)
        ),
        Path(snakemake.output.csv).with_suffix(""),
        title=snakemake.params.title,
        published=published_points(**files),
        stated=stated,
        **snakemake.params.options,
    )

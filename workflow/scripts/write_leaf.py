"""Write one table of the report from the rows of its stage."""

from pathlib import Path

from labelquality.frames import read_all
from labelquality.logs import job_log
from labelquality.report.tables import write_leaf

with job_log(snakemake.log[0]):
    write_leaf(
        snakemake.params.name,
        read_all(snakemake.input),
        Path(snakemake.output.csv).with_suffix(""),
        title=snakemake.params.title,
        **snakemake.params.options,
    )

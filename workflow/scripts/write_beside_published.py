"""Write one table of the report, with what was published beside our values."""

from pathlib import Path

from labelquality.frames import read_all, read_csv
from labelquality.logs import job_log
from labelquality.report.tables import write_leaf

with job_log(snakemake.log[0]):
    write_leaf(
        snakemake.params.name,
        read_all(snakemake.input.rows),
        Path(snakemake.output.csv).with_suffix(""),
        title=snakemake.params.title,
        published=read_csv(snakemake.input.published),
        **snakemake.params.options,
    )

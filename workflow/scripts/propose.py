"""Propose label errors by one method."""

from labelquality.error_detection import METHODS
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    proposals = METHODS[snakemake.wildcards.method](
        read_table(snakemake.input.detections, "detections"),
        read_table(snakemake.input.annotations, "annotations"),
    )
    print(f"{len(proposals)} proposals")
    write_table(proposals, snakemake.output[0])

"""Propose label errors by every method."""

from labelquality.error_detection import METHODS
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    detections = read_table(snakemake.input.detections, "detections")
    annotations = read_table(snakemake.input.annotations, "annotations")
    for method, path in zip(snakemake.params.methods, snakemake.output, strict=True):
        proposals = METHODS[method](detections, annotations)
        print(f"{method}: {len(proposals)} proposals")
        write_table(proposals, path)

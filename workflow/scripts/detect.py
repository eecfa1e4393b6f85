"""Run a detector on images."""

from labelquality.detectors import detect
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    detections = detect(
        snakemake.params.detector,
        read_table(snakemake.input.images, "images"),
        snakemake.params.folder,
        snakemake.params.dataset["classes"],
        device=snakemake.params.device,
        threads=snakemake.threads,
    )
    write_table(detections, snakemake.output[0])

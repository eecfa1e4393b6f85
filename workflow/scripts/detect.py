"""Run a detector on images."""

from labelquality.detectors import load_detector
from labelquality.detectors.base import run
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    spec, classes = snakemake.params.detector, snakemake.params.classes
    found = run(
        load_detector(spec, classes, threads=snakemake.threads, device=snakemake.params.device),
        read_table(snakemake.input.images, "images"),
        snakemake.params.folder,
        classes,
        spec["batch_size"],
    )
    print(f"{len(found.detections)} detections in {len(found.detections.image_ids)} images")
    for name, path in snakemake.output.items():
        write_table(getattr(found, name), path)

"""Read detections that someone else made."""

from labelquality.detectors.imported import read_detections
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    detections = read_detections(
        snakemake.params.detector,
        read_table(snakemake.input.images, "images"),
        snakemake.params.classes,
    )
    print(f"{len(detections)} detections in {len(detections.image_ids)} images")
    write_table(detections, snakemake.output[0])

"""Put the shards of a detector together."""

from labelquality.detectors.base import gather
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    detections = gather([read_table(path, "detections") for path in snakemake.input])
    print(f"{len(detections)} detections in {len(detections.image_ids)} images")
    write_table(detections, snakemake.output[0])

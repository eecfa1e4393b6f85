"""Put the shards of a detector together."""

from labelquality.logs import job_log
from labelquality.tables import concatenate, read_table, write_table

with job_log(snakemake.log[0]):
    detections = concatenate([read_table(path, "detections") for path in snakemake.input])
    print(f"{len(detections)} detections in {len(detections.image_ids)} images")
    write_table(detections, snakemake.output[0])

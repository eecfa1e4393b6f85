"""Put the shards of a detector together."""

from labelquality.detectors.base import gather
from labelquality.logs import job_log
from labelquality.tables import concatenate, read_table, write_table

with job_log(snakemake.log[0]):
    for kind, path in snakemake.output.items():
        shards = [read_table(shard, kind) for shard in snakemake.input[kind]]
        table = gather(shards) if kind == "detections" else concatenate(shards)
        print(f"{len(table)} {kind} in {len(table.image_ids)} images")
        write_table(table, path)

"""Take one shard of a data set's images."""

from labelquality.images import in_shard
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    images = read_table(snakemake.input[0], "images")
    shard = in_shard(
        images.frame["image_id"], int(snakemake.wildcards.shard), snakemake.params.shards
    )
    write_table(images.take(shard), snakemake.output[0])

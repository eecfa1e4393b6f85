"""Generate the data set of scenes."""

from pathlib import Path

from labelquality.logs import job_log
from labelquality.scenes import write_scenes

with job_log(snakemake.log[0]):
    generate = snakemake.params.generate
    write_scenes(
        Path(snakemake.output.annotations).parent,
        split=generate["split"],
        n_images=generate["images"],
        seed=generate["seed"],
    )

"""Generate the scenes that the tiny detectors are trained on."""

from pathlib import Path

from labelquality.logs import job_log
from labelquality.scenes import write_scenes

with job_log(snakemake.log[0]):
    for split, n_images in snakemake.params.splits.items():
        write_scenes(
            Path(snakemake.output[0]), split=split, n_images=n_images, seed=snakemake.params.seed
        )

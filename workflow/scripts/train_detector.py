"""Train a tiny detector of one family on scenes."""

from importlib import import_module
from pathlib import Path

from labelquality.detectors.base import limit_side_effects
from labelquality.logs import job_log

with job_log(snakemake.log[0]):
    limit_side_effects()
    family = import_module(f"labelquality.detectors.training.{snakemake.wildcards.family}")
    family.train(
        Path(snakemake.input.scenes), Path(snakemake.output[0]), seed=snakemake.params.seed
    )

"""Read the truth behind a generated data set."""

from pathlib import Path

from labelquality.datasets import read_truth
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    truth = read_truth(
        snakemake.params.dataset,
        Path(snakemake.params.root),
        read_table(snakemake.input.images, "images"),
    )
    write_table(truth.objects, snakemake.output.truth)
    write_table(truth.injected, snakemake.output.injected)

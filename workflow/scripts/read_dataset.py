"""Read images and original annotations of a data set."""

from pathlib import Path

from labelquality.datasets import read_dataset
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import write_table

with job_log(snakemake.log[0]):
    dataset = read_dataset(snakemake.params.dataset, Path(snakemake.params.root))
    print(dataset.intake.to_string())
    write_table(dataset.images, snakemake.output.images)
    write_table(dataset.annotations, snakemake.output.annotations)
    intake = dataset.intake.assign(dataset=snakemake.wildcards.dataset)
    write_csv(intake, snakemake.output.intake)

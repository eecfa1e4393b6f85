"""Read the votes of a re-annotation."""

from pathlib import Path

from labelquality.datasets import read_reannotation
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    reannotation = read_reannotation(
        snakemake.params.dataset,
        Path(snakemake.params.root),
        read_table(snakemake.input.images, "images"),
        which=snakemake.params.which,
    )
    print(reannotation.intake.to_string())
    write_table(reannotation.votes, snakemake.output.votes)
    write_table(reannotation.released, snakemake.output.released)
    intake = reannotation.intake.assign(dataset=snakemake.wildcards.dataset)
    write_csv(intake, snakemake.output.intake)

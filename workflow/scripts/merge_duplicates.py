"""Merge the duplicates of a re-annotation."""

from pathlib import Path

from labelquality.frames import write_csv
from labelquality.human_review import duplicates
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    path = Path(snakemake.params.decisions)
    objects = read_table(snakemake.input.released, "soft_labels")
    decided = duplicates.decide(duplicates.candidate_pairs(objects), path)
    votes, merged = duplicates.merge(read_table(snakemake.input.votes, "votes"), objects, decided)
    write_table(votes, snakemake.output.votes)
    write_table(merged, snakemake.output.released)
    intake = duplicates.intake(decided, path.name).assign(dataset=snakemake.wildcards.dataset)
    print(intake.to_string())
    write_csv(intake, snakemake.output.intake)

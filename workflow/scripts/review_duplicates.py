"""List pairs of overlapping boxes and count the duplicates among the reviewed ones."""

from pathlib import Path

from labelquality.frames import write_csv
from labelquality.human_review import duplicates
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    pairs = duplicates.candidate_pairs(read_table(snakemake.input.soft_labels, "soft_labels"))
    decided = duplicates.decide(pairs, Path(params.decisions) if params.decisions else None)
    named = {"dataset": snakemake.wildcards.dataset}
    write_csv(duplicates.review_list(decided, params.min_iou), output.to_review)
    write_csv(duplicates.rates(decided, params.bins).assign(**named), output.rates)
    write_csv(duplicates.moving_rates(decided, params.windows).assign(**named), output.moving)

"""List original-only boxes and count what was decided about them."""

from pathlib import Path

from labelquality.datasets.adapter import ClassNames
from labelquality.frames import write_csv
from labelquality.human_review import original_only
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    params, output = snakemake.params, snakemake.output
    names = ClassNames.of(params.dataset)
    listed = original_only.original_only(read_table(snakemake.input.legt, "label_errors"))
    decided = original_only.decide(listed, Path(params.votes) if params.votes else None, names)
    added = original_only.added(decided, names)
    summary = original_only.summary(
        decided,
        added,
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        crowds_are_objects=params.crowds_are_objects,
    )
    named = {"dataset": snakemake.wildcards.dataset, "split": params.dataset["split"]}
    write_csv(original_only.review_list(decided), output.to_review)
    write_csv(summary.assign(**named), output.summary)
    write_table(added, output.added)

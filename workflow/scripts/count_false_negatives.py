"""Count the visible objects that each ground truth lacks."""

from pathlib import Path

from labelquality.datasets.adapter import ClassNames
from labelquality.frames import write_csv
from labelquality.human_review import false_negatives
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    params, added = snakemake.params, snakemake.input.added
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    review = false_negatives.read_review(
        Path(params.review),
        read_table(snakemake.input.annotations, "annotations"),
        soft_labels,
        read_table(snakemake.input.images, "images"),
        ClassNames.of(params.dataset),
    )
    joined = read_table(added[0], "annotations") if added else None
    counts = false_negatives.counts(review, soft_labels, joined)
    write_csv(counts.assign(dataset=snakemake.wildcards.dataset), snakemake.output[0])

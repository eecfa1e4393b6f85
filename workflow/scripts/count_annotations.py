"""Count the objects of every ground truth of a data set."""

import pandas as pd

from labelquality.evaluation.ground_truths import hard_ground_truths
from labelquality.frames import write_csv
from labelquality.label_error_counts import objects_by_class
from labelquality.logs import job_log
from labelquality.report.tables import count_objects
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    params, truth = snakemake.params, snakemake.input.truth
    images = read_table(snakemake.input.images, "images")
    original = read_table(snakemake.input.annotations, "annotations")
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    known = read_table(truth[0], "soft_labels") if truth else None
    ground_truths = hard_ground_truths(original, soft_labels, params.thresholds, truth=known)
    sizes = [
        count_objects(table, len(images), size_limits=params.size_limits).assign(ground_truth=name)
        for name, table in ground_truths.items()
    ]
    groups, crowds = params.class_groups, params.crowds_are_objects
    classes = objects_by_class(
        original, soft_labels, class_groups=groups, crowds_are_objects=crowds
    )
    named = {"dataset": snakemake.wildcards.dataset}
    write_csv(pd.concat(sizes).assign(**named), snakemake.output.sizes)
    named |= {"split": images.frame["split"].iloc[0], "images": len(images)}
    write_csv(classes.assign(**named), snakemake.output.classes)

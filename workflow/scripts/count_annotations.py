"""Count the objects of every ground truth of a data set."""

import pandas as pd

from labelquality.evaluation.ground_truths import hard_ground_truths
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.report.tables import count_objects
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    images = read_table(snakemake.input.images, "images")
    truth = snakemake.input.truth
    ground_truths = hard_ground_truths(
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        snakemake.params.thresholds,
        truth=read_table(truth[0], "soft_labels") if truth else None,
    )
    counts = [
        count_objects(table, len(images), size_limits=snakemake.params.size_limits).assign(
            dataset=snakemake.wildcards.dataset, ground_truth=name
        )
        for name, table in ground_truths.items()
    ]
    write_csv(pd.concat(counts), snakemake.output[0])

"""The COCO figures of a detector on every hard ground truth."""

import pandas as pd

from labelquality.evaluation import average_precision
from labelquality.evaluation.ground_truths import hard_ground_truths
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    detections = read_table(snakemake.input.detections, "detections")
    ground_truths = hard_ground_truths(
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        snakemake.params.evaluation["thresholds"],
        truth=read_table(snakemake.input.truth[0], "soft_labels")
        if snakemake.input.truth
        else None,
    )
    named = {key: snakemake.wildcards[key] for key in ("dataset", "detector")}
    options = {
        "backend": snakemake.params.evaluation["backend"],
        "size_limits": snakemake.params.size_limits,
    }
    summaries, per_class = [], []
    for name, ground_truth in ground_truths.items():
        arguments = (detections, ground_truth, detections.image_ids)
        figures = average_precision.evaluate(*arguments, **options)
        summaries.append({**named, "ground_truth": name, **figures})
        classes = average_precision.per_class(*arguments, **options)
        per_class.append(classes.assign(ground_truth=name, **named))
    write_csv(pd.DataFrame(summaries), snakemake.output.summary)
    write_csv(pd.concat(per_class), snakemake.output.per_class)

"""The COCO figures of a detector on every hard ground truth."""

from labelquality.evaluation.ground_truths import hard_ground_truths
from labelquality.evaluation.hard import evaluate_all
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    truth = snakemake.input.truth
    ground_truths = hard_ground_truths(
        read_table(snakemake.input.annotations, "annotations"),
        read_table(snakemake.input.soft_labels, "soft_labels"),
        snakemake.params.evaluation["thresholds"],
        truth=read_table(truth[0], "soft_labels") if truth else None,
    )
    summary, per_class = evaluate_all(
        read_table(snakemake.input.detections, "detections"),
        ground_truths,
        backend=snakemake.params.evaluation["backend"],
        size_limits=snakemake.params.size_limits,
    )
    named = {key: snakemake.wildcards[key] for key in ("dataset", "detector")}
    write_csv(summary.assign(**named), snakemake.output.summary)
    write_csv(per_class.assign(**named), snakemake.output.per_class)

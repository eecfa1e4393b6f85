"""Score label-error methods on synthetic errors, beside their scores on real ones."""

from labelquality.error_detection.synthetic import score_on_synthetic, with_real
from labelquality.frames import read_csv, write_csv
from labelquality.labels import validated_annotations
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    images = read_table(snakemake.input.images, "images")
    if soft_labels.image_ids is not None:
        images = images.take(images.frame["image_id"].isin(soft_labels.image_ids).to_numpy())
    truth = validated_annotations(soft_labels, 0.5)
    scores = score_on_synthetic(
        read_table(snakemake.input.detections, "detections"),
        truth,
        images,
        snakemake.params.methods,
        snakemake.params.rates,
        iou_threshold=snakemake.params.iou_threshold,
        seed=snakemake.params.seed,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    rows = with_real(scores.assign(**named), read_csv(snakemake.input.real), len(truth))
    write_csv(rows, snakemake.output[0])

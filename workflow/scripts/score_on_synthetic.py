"""Score label-error methods on synthetic errors, beside their scores on real ones."""

from labelquality.error_detection.synthetic import score_on_synthetic, with_real
from labelquality.frames import read_csv, write_csv
from labelquality.logs import job_log
from labelquality.synthetic_errors import sound_labels
from labelquality.tables import concatenate, read_table

with job_log(snakemake.log[0]):
    truth, images = sound_labels(
        read_table(snakemake.input.soft_labels, "soft_labels"),
        read_table(snakemake.input.images, "images"),
    )
    kept = [read_table(path, "candidates") for path in snakemake.input.candidates]
    losses = [read_table(path, "label_losses") for path in snakemake.input.label_losses]
    scores = score_on_synthetic(
        read_table(snakemake.input.detections, "detections"),
        truth,
        images,
        snakemake.params.methods,
        snakemake.params.rates,
        iou_threshold=snakemake.params.iou_threshold,
        seed=snakemake.params.seed,
        candidates=kept[0] if kept else None,
        label_losses=concatenate(losses) if losses else None,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    rows = with_real(scores.assign(**named), read_csv(snakemake.input.real), len(truth))
    write_csv(rows, snakemake.output[0])

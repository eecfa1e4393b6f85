"""Propose label errors by every method."""

from labelquality.error_detection import propose, reason_off
from labelquality.logs import job_log
from labelquality.tables import concatenate, read_table, write_table

with job_log(snakemake.log[0]):
    detections = read_table(snakemake.input.detections, "detections")
    annotations = read_table(snakemake.input.annotations, "annotations")
    kept = [read_table(path, "candidates") for path in snakemake.input.candidates]
    losses = [read_table(path, "label_losses") for path in snakemake.input.label_losses]
    evidence = {
        "candidates": kept[0] if kept else None,
        "label_losses": concatenate(losses) if losses else None,
        "seed": snakemake.params.seed,
    }
    for method, path in zip(snakemake.params.methods, snakemake.output, strict=True):
        proposals = propose(method, detections, annotations, **evidence)
        print(f"{method}: {reason_off(proposals) or f'{len(proposals)} proposals'}")
        write_table(proposals, path)

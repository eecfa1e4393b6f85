"""Calibrate a detector on the original ground truth."""

from labelquality.calibration.calibrate import calibrate
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table, write_table

with job_log(snakemake.log[0]):
    settings = snakemake.params.calibration
    calibration = calibrate(
        read_table(snakemake.input.detections, "detections"),
        read_table(snakemake.input.annotations, "annotations"),
        method=settings["method"],
        per=settings["per"],
        min_count=settings["min_count"],
        folds=settings["folds"],
        label_shift=snakemake.params.label_shift,
        iou_threshold=settings["iou_threshold"],
        n_bins=settings["bins"],
        seed=snakemake.params.seed,
    )
    named = {key: snakemake.wildcards[key] for key in ("dataset", "detector")}
    write_table(calibration.table, snakemake.output.calibrated)
    for name in ("curves", "ece", "reliability"):
        write_csv(getattr(calibration, name).assign(**named), snakemake.output[name])

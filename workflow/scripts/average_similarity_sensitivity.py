"""Average similarity of a detector under every reading of its definition."""

from labelquality.evaluation.sensitivity import sensitivity
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    calibrated = read_table(snakemake.input.calibrated, "calibrated")
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    rows = sensitivity(calibrated, soft_labels, calibrated.image_ids)
    named = {key: snakemake.wildcards[key] for key in ("dataset", "detector")}
    write_csv(rows.assign(**named), snakemake.output.rows)

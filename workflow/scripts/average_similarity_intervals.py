"""Intervals of a detector's soft evaluation, from images drawn anew."""

from labelquality.evaluation.average_similarity import evaluate_intervals
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    calibrated = read_table(snakemake.input.calibrated, "calibrated")
    rows = evaluate_intervals(
        calibrated,
        read_table(snakemake.input.soft_labels, "soft_labels"),
        calibrated.image_ids,
        PROTOCOLS[snakemake.wildcards.protocol],
        n_draws=snakemake.params.n_draws,
        seed=snakemake.params.seed,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    write_csv(rows.assign(**named), snakemake.output.rows)

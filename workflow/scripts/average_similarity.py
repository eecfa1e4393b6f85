"""Evaluate a detector against soft labels."""

import pandas as pd

from labelquality.evaluation import average_similarity
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    calibrated = read_table(snakemake.input.calibrated, "calibrated")
    thresholds = average_similarity.evaluate(
        calibrated,
        read_table(snakemake.input.soft_labels, "soft_labels"),
        calibrated.image_ids,
        average_similarity.PROTOCOLS[snakemake.wildcards.protocol],
        size_limits=snakemake.params.size_limits,
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    summary = pd.DataFrame([average_similarity.summarize(thresholds)])
    write_csv(summary.assign(**named), snakemake.output.summary)
    write_csv(thresholds.assign(**named), snakemake.output.thresholds)

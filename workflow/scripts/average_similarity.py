"""Evaluate a detector against soft labels."""

import pandas as pd

from labelquality.evaluation.average_similarity import evaluate, summarize
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.evaluation.soft_evaluation import size_ranges
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    calibrated = read_table(snakemake.input.calibrated, "calibrated")
    protocol = PROTOCOLS[snakemake.wildcards.protocol]
    thresholds = evaluate(
        calibrated,
        read_table(snakemake.input.soft_labels, "soft_labels"),
        calibrated.image_ids,
        protocol,
        sizes=size_ranges(*snakemake.params.size_limits),
    )
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    summary = pd.DataFrame([summarize(thresholds, protocol)])
    write_csv(summary.assign(**named), snakemake.output.summary)
    write_csv(thresholds.assign(**named), snakemake.output.thresholds)

"""Evaluate a detector against soft labels."""

import pandas as pd

from labelquality.evaluation.average_similarity import evaluate, evaluate_per_class, summarize
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.evaluation.soft_evaluation import size_ranges
from labelquality.frames import write_csv
from labelquality.logs import job_log
from labelquality.tables import read_table

with job_log(snakemake.log[0]):
    calibrated = read_table(snakemake.input.calibrated, "calibrated")
    soft_labels = read_table(snakemake.input.soft_labels, "soft_labels")
    protocol = PROTOCOLS[snakemake.wildcards.protocol]
    given = (calibrated, soft_labels, calibrated.image_ids, protocol)
    sizes = size_ranges(*snakemake.params.size_limits)
    thresholds = evaluate(*given, sizes=sizes)
    per_class = evaluate_per_class(*given, sizes=sizes)
    named = {key: snakemake.wildcards[key] for key in ("protocol", "dataset", "detector")}
    summary = pd.DataFrame([summarize(thresholds, protocol) | protocol.choices])
    write_csv(summary.assign(**named), snakemake.output.summary)
    write_csv(thresholds.assign(**named), snakemake.output.thresholds)
    write_csv(per_class.assign(**named), snakemake.output.per_class)

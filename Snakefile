"""How good are the labels of an object-detection benchmark?

Results lie in results/{run}/: data, detections, calibration, evaluation, label_errors,
error_detection, and the leaves in tables, figures and report.html.
"""

from snakemake.utils import min_version

min_version("9.16")


configfile: "config/config.yaml"


report: "workflow/report/workflow.rst"


include: "rules/common.smk"


wildcard_constraints:
    run=RUN,
    dataset=one_of(DATASETS),
    detector=one_of(DETECTORS),
    protocol=one_of(PROTOCOLS),
    shard=r"\d+",


include: "rules/download.smk"
include: "rules/data.smk"
include: "rules/detection.smk"
include: "rules/calibration.smk"
include: "rules/evaluation.smk"
include: "rules/label_errors.smk"
include: "rules/human_review.smk"
include: "rules/error_detection.smk"
include: "rules/leaves.smk"
include: "rules/tables.smk"
include: "rules/figures.smk"
include: "rules/report.smk"
include: "rules/demo_weights.smk"


onstart:
    must_be_writable(f"results/{RUN}", "results", ".")


rule all:
    default_target: True
    input:
        f"results/{RUN}/report.html",

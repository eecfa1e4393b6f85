"""Evaluation: detectors against hard labels (average precision) and soft ones (average similarity).

results/{run}/evaluation/
    hard/{dataset}/{detector}/average_precision.csv, per_class.csv
    {protocol}/{dataset}/{detector}/summary.csv, thresholds.csv
"""


rule average_precision:
    """The COCO figures on the original, the validated and, where known, the true ground truth."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        truth=if_known("results/{run}/data/{dataset}/truth.parquet"),
    output:
        summary="results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv",
        per_class="results/{run}/evaluation/hard/{dataset}/{detector}/per_class.csv",
    log:
        "results/{run}/logs/average_precision/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/average_precision/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        evaluation=config["hard_evaluation"],
        size_limits=lambda wildcards: dataset(wildcards)["size_limits"],
        code=digest("average_precision"),
    script:
        "../workflow/scripts/average_precision.py"


rule average_similarity:
    """Compare calibrated class distributions with the soft labels."""
    input:
        calibrated="results/{run}/calibration/{dataset}/{detector}/calibrated.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        summary="results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv",
        thresholds="results/{run}/evaluation/{protocol}/{dataset}/{detector}/thresholds.csv",
    log:
        "results/{run}/logs/average_similarity/{protocol}/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/average_similarity/{protocol}/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        size_limits=lambda wildcards: dataset(wildcards)["size_limits"],
        code=digest("average_similarity"),
    script:
        "../workflow/scripts/average_similarity.py"

"""Evaluation: detectors against hard labels (average precision) and soft ones (average similarity).

results/{run}/evaluation/
    hard/{dataset}/{detector}/average_precision.csv, per_class.csv
    {protocol}/{dataset}/{detector}/summary.csv, thresholds.csv, per_class.csv, intervals.csv
    sensitivity/{dataset}/{detector}/average_similarity.csv
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
        calibrated=calibrated,
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        summary="results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv",
        thresholds="results/{run}/evaluation/{protocol}/{dataset}/{detector}/thresholds.csv",
        per_class="results/{run}/evaluation/{protocol}/{dataset}/{detector}/per_class.csv",
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


rule average_similarity_sensitivity:
    """Average similarity under every ordering, matching rule and treatment of can't-solve."""
    input:
        calibrated=calibrated,
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        rows="results/{run}/evaluation/sensitivity/{dataset}/{detector}/average_similarity.csv",
    log:
        "results/{run}/logs/average_similarity_sensitivity/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/average_similarity_sensitivity/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=digest("average_similarity_sensitivity"),
    script:
        "../workflow/scripts/average_similarity_sensitivity.py"


rule average_similarity_intervals:
    """How far the figures of soft evaluation move when images are drawn anew."""
    input:
        calibrated=calibrated,
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        rows="results/{run}/evaluation/{protocol}/{dataset}/{detector}/intervals.csv",
    log:
        "results/{run}/logs/average_similarity_intervals/{protocol}/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/average_similarity_intervals/{protocol}/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        n_draws=config["soft_evaluation"]["draws"],
        seed=config["seed"],
        code=digest("average_similarity_intervals"),
    script:
        "../workflow/scripts/average_similarity_intervals.py"

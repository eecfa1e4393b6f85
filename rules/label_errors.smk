"""Label error ground truth (LEGT): where original and validated annotation part ways.

results/{run}/label_errors/{protocol}/{dataset}/
    legt.parquet              every error, with all that the variants select by
    counts.csv                errors of every kind in every variant
    thresholds.csv            the same by probability, height and region
    groups.csv                the same by class, size and difficulty, for every variant
    regions.csv               how many lie in crowds and ignore regions
    against_truth.csv         recall and precision of the LEGT, where the truth is known
"""


rule build_legt:
    """Compare the original with the validated ground truth."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        "results/{run}/label_errors/{protocol}/{dataset}/legt.parquet",
    log:
        "results/{run}/logs/build_legt/{protocol}/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/build_legt/{protocol}/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        crowds_are_objects=crowds_are_objects,
        code=digest("build_legt"),
    script:
        "../workflow/scripts/build_legt.py"


rule count_label_errors:
    """Count the label errors, cut by all that tables cut them by."""
    input:
        legt="results/{run}/label_errors/{protocol}/{dataset}/legt.parquet",
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
    output:
        variants="results/{run}/label_errors/{protocol}/{dataset}/counts.csv",
        thresholds="results/{run}/label_errors/{protocol}/{dataset}/thresholds.csv",
        groups="results/{run}/label_errors/{protocol}/{dataset}/groups.csv",
        regions="results/{run}/label_errors/{protocol}/{dataset}/regions.csv",
    log:
        "results/{run}/logs/count_label_errors/{protocol}/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/count_label_errors/{protocol}/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        **config["label_errors"],
        class_groups=super_categories,
        size_limits=lambda wildcards: dataset(wildcards)["size_limits"],
        crowds_are_objects=crowds_are_objects,
        code=digest("count_label_errors"),
    script:
        "../workflow/scripts/count_label_errors.py"


rule compare_legt_with_truth:
    """Which injected errors the LEGT finds."""
    input:
        legt="results/{run}/label_errors/{protocol}/{dataset}/legt.parquet",
        injected="results/{run}/data/{dataset}/injected_errors.parquet",
    output:
        "results/{run}/label_errors/{protocol}/{dataset}/against_truth.csv",
    log:
        "results/{run}/logs/compare_legt_with_truth/{protocol}/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/compare_legt_with_truth/{protocol}/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(WITH_TRUTH),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        code=digest("compare_legt_with_truth"),
    script:
        "../workflow/scripts/compare_legt_with_truth.py"

"""Label error ground truth (LEGT): where original and validated annotation part ways.

results/{run}/label_errors/{protocol}/{dataset}/
    legt.parquet              every error, with all that the variants select by
    counts.csv                errors of every kind in every variant
    against_truth.csv         recall and precision of the LEGT, where the truth is known
"""


rule build_legt:
    """Compare the original with the validated ground truth."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        legt="results/{run}/label_errors/{protocol}/{dataset}/legt.parquet",
        counts="results/{run}/label_errors/{protocol}/{dataset}/counts.csv",
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
        variants=config["label_errors"]["variants"],
        code=digest("build_legt"),
    script:
        "../workflow/scripts/build_legt.py"


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

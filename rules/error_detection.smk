"""Label error detection: methods propose boxes, the LEGT says which of them are errors.

results/{run}/error_detection/
    {dataset}/{detector}/{method}/proposals.parquet
    {protocol}/{dataset}/{detector}/scores.csv, curves.csv, injected.csv
"""


rule propose:
    """Propose label errors by one method from one detector."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
    output:
        "results/{run}/error_detection/{dataset}/{detector}/{method}/proposals.parquet",
    log:
        "results/{run}/logs/propose/{dataset}/{detector}/{method}.log",
    benchmark:
        "results/{run}/benchmarks/propose/{dataset}/{detector}/{method}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        code=digest("propose"),
    script:
        "../workflow/scripts/propose.py"


rule score_proposals:
    """Score all methods of one detector on every variant of the LEGT."""
    input:
        proposals=proposals,
        legt="results/{run}/label_errors/{protocol}/{dataset}/legt.parquet",
        injected=if_known("results/{run}/data/{dataset}/injected_errors.parquet"),
    output:
        scores="results/{run}/error_detection/{protocol}/{dataset}/{detector}/scores.csv",
        curves="results/{run}/error_detection/{protocol}/{dataset}/{detector}/curves.csv",
        injected="results/{run}/error_detection/{protocol}/{dataset}/{detector}/injected.csv",
    log:
        "results/{run}/logs/score_proposals/{protocol}/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/score_proposals/{protocol}/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=60,
    params:
        variants=config["label_errors"]["variants"],
        methods=METHODS,
        iou_threshold=config["error_detection"]["iou_threshold"],
        code=digest("score_proposals"),
    script:
        "../workflow/scripts/score_proposals.py"

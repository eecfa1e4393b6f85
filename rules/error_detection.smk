"""Label error detection: methods propose boxes, the LEGT says which of them are errors.

results/{run}/error_detection/
    {dataset}/{detector}/{method}/proposals.parquet
    {protocol}/{dataset}/{detector}/
        scores.csv        AP and best F1 of every method
        curves.csv        precision and recall along its ranking
        groups.csv        recall by kind and size of the error
        effort.csv        boxes to review until most errors are found
        differences.csv   between each two methods, with intervals
        injected.csv      recall of injected errors, where they are known
        synthetic.csv     scores on synthetic errors beside those on real ones
"""


rule propose:
    """Propose label errors by every method from one detector."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        candidates=candidates,
        label_losses=label_losses("original"),
        annotations="results/{run}/data/{dataset}/annotations.parquet",
    output:
        expand(
            "results/{{run}}/error_detection/{{dataset}}/{{detector}}/{method}/proposals.parquet",
            method=METHODS,
        ),
    log:
        "results/{run}/logs/propose/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/propose/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=480,
    params:
        methods=METHODS,
        seed=config["seed"],
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
        groups="results/{run}/error_detection/{protocol}/{dataset}/{detector}/groups.csv",
        effort="results/{run}/error_detection/{protocol}/{dataset}/{detector}/effort.csv",
        differences="results/{run}/error_detection/{protocol}/{dataset}/{detector}/differences.csv",
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
        size_limits=lambda wildcards: dataset(wildcards)["size_limits"],
        n_draws=config["error_detection"]["draws"],
        seed=config["seed"],
        code=digest("score_proposals"),
    script:
        "../workflow/scripts/score_proposals.py"


rule inject_errors:
    """Put synthetic errors into the validated labels, for detectors that look at labels."""
    input:
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        images="results/{run}/data/{dataset}/images.parquet",
    output:
        "results/{run}/data/{dataset}/synthetic_labels.parquet",
    log:
        "results/{run}/logs/inject_errors/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/inject_errors/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        rates=config["error_detection"]["synthetic_rates"],
        seed=config["seed"],
        code=digest("inject_errors"),
    script:
        "../workflow/scripts/inject_errors.py"


rule score_on_synthetic:
    """Score all methods on errors put into the validated ground truth, beside the real ones."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        candidates=candidates,
        label_losses=label_losses("synthetic"),
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        images="results/{run}/data/{dataset}/images.parquet",
        real="results/{run}/error_detection/{protocol}/{dataset}/{detector}/scores.csv",
    output:
        "results/{run}/error_detection/{protocol}/{dataset}/{detector}/synthetic.csv",
    log:
        "results/{run}/logs/score_on_synthetic/{protocol}/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/score_on_synthetic/{protocol}/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=12000,
        runtime=480,
    params:
        methods=METHODS,
        rates=config["error_detection"]["synthetic_rates"],
        iou_threshold=config["error_detection"]["iou_threshold"],
        seed=config["seed"],
        code=digest("score_on_synthetic"),
    script:
        "../workflow/scripts/score_on_synthetic.py"

"""Inference: what every detector sees in every image.

results/{run}/detections/{dataset}/{detector}/
    detections.parquet            what it sees, with the full vector of class probabilities
    candidates.parquet            the boxes before suppression, where a method needs them
    label_losses/{labels}/        losses on original or synthetic labels, for loss inspection
    box_areas.csv                 how large validated and detected boxes are

Each of them is made by shards of images, shards/{shard}.parquet, and the first two put together.

A detector of the family `imported` is not run: its detections are read from the user's file.
"""


rule shard_images:
    """Split the images among inference jobs, by their id alone."""
    input:
        "results/{run}/data/{dataset}/images.parquet",
    output:
        "results/{run}/data/{dataset}/shards/{shard}.parquet",
    log:
        "results/{run}/logs/shard_images/{dataset}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/shard_images/{dataset}/{shard}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        shards=config["shards"],
        code=digest("shard_images"),
    script:
        "../workflow/scripts/shard_images.py"


rule detect:
    """Run a detector on the images of one shard."""
    input:
        images="results/{run}/data/{dataset}/shards/{shard}.parquet",
        folder=ancient(file_of("images")),
        weights=weights,
    output:
        **if_kept(
            "results/{run}/detections/{dataset}/{detector}/candidates/shards/{shard}.parquet"
        ),
        detections="results/{run}/detections/{dataset}/{detector}/shards/{shard}.parquet",
    log:
        "results/{run}/logs/detect/{dataset}/{detector}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/detect/{dataset}/{detector}/{shard}.tsv"
    wildcard_constraints:
        detector=one_of(INFERRED),
    conda:
        "../envs/detectors.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=480,
        gpu=int(config["device"] == "cuda"),
    params:
        detector=detector,
        classes=classes,
        folder=path_of("images"),
        device=config["device"],
        code=detector_code,
    script:
        "../workflow/scripts/detect.py"


rule import_detections:
    """Read detections that someone else made."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        weights=weights,
    output:
        "results/{run}/detections/{dataset}/{detector}/detections.parquet",
    log:
        "results/{run}/logs/import_detections/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/import_detections/{dataset}/{detector}.tsv"
    wildcard_constraints:
        detector=one_of(IMPORTED),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        detector=detector,
        classes=classes,
        code=digest("import_detections"),
    script:
        "../workflow/scripts/import_detections.py"


rule gather_detections:
    """Put the shards of a detector together."""
    input:
        **if_kept(
            of_shards(
                "results/{run}/detections/{dataset}/{detector}/candidates/shards/{shard}.parquet"
            )
        ),
        detections=of_shards(
            "results/{run}/detections/{dataset}/{detector}/shards/{shard}.parquet"
        ),
    output:
        **if_kept("results/{run}/detections/{dataset}/{detector}/candidates.parquet"),
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
    log:
        "results/{run}/logs/gather_detections/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/gather_detections/{dataset}/{detector}.tsv"
    wildcard_constraints:
        detector=one_of(INFERRED),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=20,
    params:
        code=digest("gather_detections"),
    script:
        "../workflow/scripts/gather_detections.py"


rule inspect_labels:
    """Tell a detector's losses on labels, box by box, in the images of one shard."""
    input:
        images="results/{run}/data/{dataset}/shards/{shard}.parquet",
        folder=ancient(file_of("images")),
        weights=weights,
        labels=labels_to_inspect,
    output:
        "results/{run}/detections/{dataset}/{detector}/label_losses/{labels}/shards/{shard}.parquet",
    log:
        "results/{run}/logs/inspect_labels/{dataset}/{detector}/{labels}/{shard}.log",
    benchmark:
        "results/{run}/benchmarks/inspect_labels/{dataset}/{detector}/{labels}/{shard}.tsv"
    wildcard_constraints:
        detector=one_of(INSPECTED),
        labels="original|synthetic",
    conda:
        "../envs/detectors.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=480,
        gpu=int(config["device"] == "cuda"),
    params:
        detector=detector,
        classes=classes,
        folder=path_of("images"),
        device=config["device"],
        code=inspection_code,
    script:
        "../workflow/scripts/inspect_labels.py"


rule count_box_areas:
    """How large the validated and the detected boxes are."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        "results/{run}/detections/{dataset}/{detector}/box_areas.csv",
    log:
        "results/{run}/logs/count_box_areas/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/count_box_areas/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=10,
    params:
        code=digest("count_box_areas"),
    script:
        "../workflow/scripts/count_box_areas.py"

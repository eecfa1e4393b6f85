"""Inference: what every detector sees in every image.

results/{run}/detections/{dataset}/{detector}/
    shards/{shard}.parquet    the images of one job
    detections.parquet        all of them, with the full vector of class probabilities

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
        "results/{run}/detections/{dataset}/{detector}/shards/{shard}.parquet",
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
        shards,
    output:
        "results/{run}/detections/{dataset}/{detector}/detections.parquet",
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

"""Weights of the demo's detectors: how those in workflow/resources were made.

Not part of the demo: `snakemake demo_weights` trains them anew on generated scenes, apart from the
validation split, in results/{run}/weights/, to be copied over the shipped ones by hand.
"""


rule training_scenes:
    """Draw the scenes that the tiny detectors learn from, and a small split to watch them by."""
    output:
        directory(f"results/{RUN}/weights/scenes"),
    log:
        f"results/{RUN}/logs/training_scenes.log",
    benchmark:
        f"results/{RUN}/benchmarks/training_scenes.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=20,
    params:
        seed=2026,
        splits={"train": 4000, "watch": 100},
        code=digest("training_scenes"),
    script:
        "../workflow/scripts/training_scenes.py"


rule train_detector:
    """Train a tiny detector of one family from nothing, in one process and one thread."""
    input:
        scenes=f"results/{RUN}/weights/scenes",
    output:
        directory(f"results/{RUN}/weights/{{family}}_scenes"),
    log:
        f"results/{RUN}/logs/train_detector/{{family}}.log",
    benchmark:
        f"results/{RUN}/benchmarks/train_detector/{{family}}.tsv"
    wildcard_constraints:
        family=one_of(TRAINABLE),
    conda:
        "../envs/detectors.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=120,
    params:
        seed=0,
        code=training_code,
    script:
        "../workflow/scripts/train_detector.py"


rule demo_weights:
    """All tiny detectors."""
    input:
        expand(f"results/{RUN}/weights/{{family}}_scenes", family=TRAINABLE),

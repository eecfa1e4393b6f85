"""Data sets: what was annotated, what was re-annotated, and the soft labels that follow.

results/{run}/data/{dataset}/
    raw/                      a generated data set, in the formats of real ones
    images, annotations       .parquet, the original ground truth
    votes, released_soft_labels, unbiased_votes, soft_labels   .parquet, the re-annotation
    merged_votes, merged_released_soft_labels   .parquet, the same without duplicates
    truth, injected_errors    .parquet, what is known of a generated data set
    annotation_counts, class_counts   .csv, objects of every ground truth by size and by class
    *_intake.csv              what was read and what was set aside, and why
"""


rule data:
    """The tables of every data set. Made first, they stop what follows where none of them changed."""
    input:
        data_tables(),


rule generate_scenes:
    """Draw the scenes and write them with a faulty annotation and a simulated re-annotation."""
    output:
        images=directory("results/{run}/data/{dataset}/raw/images"),
        annotations="results/{run}/data/{dataset}/raw/instances_val.json",
        reannotation="results/{run}/data/{dataset}/raw/soft_scenes_val.json",
        unbiased="results/{run}/data/{dataset}/raw/soft_scenes_val_unbiased.json",
        truth="results/{run}/data/{dataset}/raw/truth_val.json",
        duplicate_decisions="results/{run}/data/{dataset}/raw/duplicate_decisions_val.csv",
        original_only_votes="results/{run}/data/{dataset}/raw/original_only_votes_val.csv",
        false_negative_review="results/{run}/data/{dataset}/raw/false_negative_review_val.csv",
    log:
        "results/{run}/logs/generate_scenes/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/generate_scenes/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(GENERATED),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        generate=lambda wildcards: dataset(wildcards)["generate"],
        code=digest("generate_scenes"),
    script:
        "../workflow/scripts/generate_scenes.py"


rule read_dataset:
    """Read images and original annotations into tables."""
    input:
        annotations=file_of("annotations"),
        image_list=file_of("image_list"),
        images=sized_images,
    output:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        intake="results/{run}/data/{dataset}/annotations_intake.csv",
    log:
        "results/{run}/logs/read_dataset/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/read_dataset/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=30,
    params:
        dataset=dataset,
        root=root,
        contents=contents_of("annotations"),
        code=digest("read_dataset"),
    script:
        "../workflow/scripts/read_dataset.py"


rule check_images:
    """Check that every image is there, whole, and of the size that the annotation states."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        folder=ancient(file_of("images")),
    output:
        "results/{run}/data/{dataset}/images_intake.csv",
    log:
        "results/{run}/logs/check_images/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/check_images/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=120,
    params:
        folder=path_of("images"),
        code=digest("check_images"),
    script:
        "../workflow/scripts/check_images.py"


rule read_reannotation:
    """Read the votes of the re-annotation, with and without a proposed class."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        reannotation=file_of("reannotation"),
    output:
        votes="results/{run}/data/{dataset}/votes.parquet",
        released="results/{run}/data/{dataset}/released_soft_labels.parquet",
        intake="results/{run}/data/{dataset}/reannotation_intake.csv",
    log:
        "results/{run}/logs/read_reannotation/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/read_reannotation/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=30,
    params:
        dataset=dataset,
        root=root,
        which="reannotation",
        contents=contents_of("reannotation"),
        code=digest("read_reannotation"),
    script:
        "../workflow/scripts/read_reannotation.py"


use rule read_reannotation as read_unbiased_votes with:
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        reannotation=file_of("unbiased"),
    output:
        votes="results/{run}/data/{dataset}/unbiased_votes.parquet",
        released="results/{run}/data/{dataset}/unbiased_soft_labels.parquet",
        intake="results/{run}/data/{dataset}/unbiased_intake.csv",
    log:
        "results/{run}/logs/read_unbiased_votes/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/read_unbiased_votes/{dataset}.tsv"
    params:
        dataset=dataset,
        root=root,
        which="unbiased",
        contents=contents_of("unbiased"),
        code=digest("read_reannotation"),


rule correct_soft_labels:
    """Turn votes into soft labels and take out the bias towards the proposed class."""
    input:
        votes=without_duplicates("votes"),
        released=without_duplicates("released_soft_labels"),
    output:
        "results/{run}/data/{dataset}/soft_labels.parquet",
    log:
        "results/{run}/logs/correct_soft_labels/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/correct_soft_labels/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        correction=lambda wildcards: dataset(wildcards)["bias_correction"],
        code=digest("correct_soft_labels"),
    script:
        "../workflow/scripts/correct_soft_labels.py"


rule read_truth:
    """Read what is known of a generated data set: its objects and its injected errors."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        truth=file_of("truth"),
        annotations=file_of("annotations"),
    output:
        truth="results/{run}/data/{dataset}/truth.parquet",
        injected="results/{run}/data/{dataset}/injected_errors.parquet",
    log:
        "results/{run}/logs/read_truth/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/read_truth/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(WITH_TRUTH),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        dataset=dataset,
        root=root,
        code=digest("read_truth"),
    script:
        "../workflow/scripts/read_truth.py"


rule compare_soft_labels_with_truth:
    """How far soft labels, raw and corrected, lie from the probabilities behind the votes."""
    input:
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        truth="results/{run}/data/{dataset}/truth.parquet",
    output:
        "results/{run}/data/{dataset}/soft_label_distances.csv",
    log:
        "results/{run}/logs/compare_soft_labels_with_truth/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/compare_soft_labels_with_truth/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(WITH_TRUTH),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        code=digest("compare_soft_labels_with_truth"),
    script:
        "../workflow/scripts/compare_soft_labels_with_truth.py"


rule count_annotations:
    """Count objects, by size and class, in the original, the validated and, where known, the true boxes."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        truth=if_known("results/{run}/data/{dataset}/truth.parquet"),
    output:
        sizes="results/{run}/data/{dataset}/annotation_counts.csv",
        classes="results/{run}/data/{dataset}/class_counts.csv",
    log:
        "results/{run}/logs/count_annotations/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/count_annotations/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        thresholds=config["hard_evaluation"]["thresholds"],
        size_limits=lambda wildcards: dataset(wildcards)["size_limits"],
        class_groups=super_categories,
        crowds_are_objects=crowds_are_objects,
        code=digest("count_annotations"),
    script:
        "../workflow/scripts/count_annotations.py"

"""Human review: what people decide who look at boxes, and the lists that they fill in.

results/{run}/human_review/{dataset}/
    duplicates_to_review.csv            pairs of overlapping re-annotated boxes
    original_only_to_review.csv         original boxes that the re-annotation lacks
    false_negatives_to_review.csv       objects of some images, to be completed
    duplicate_rates.csv                 duplicates among the reviewed pairs, by IoU
    duplicate_moving_rates.csv          the same in the order of review
    original_only.csv, .parquet         what was decided, and the boxes that join the validated ones
    false_negatives.csv                 objects that each ground truth lacks

A filled-in list becomes one of the data set's files; it keeps what was decided when made anew.
"""


rule review_lists:
    """The lists that people fill in, of every re-annotated data set."""
    input:
        of_datasets(
            "results/{run}/human_review/{dataset}/duplicates_to_review.csv",
            with_files("reannotation"),
        ),
        of_datasets(
            "results/{run}/human_review/{dataset}/original_only_to_review.csv",
            with_files("reannotation"),
        ),
        of_datasets(
            "results/{run}/human_review/{dataset}/false_negatives_to_review.csv",
            with_files("reannotation"),
        ),


rule review_duplicates:
    """List pairs of overlapping re-annotated boxes, and count what was decided about them."""
    input:
        soft_labels="results/{run}/data/{dataset}/released_soft_labels.parquet",
        decisions=file_of("duplicate_decisions"),
    output:
        to_review="results/{run}/human_review/{dataset}/duplicates_to_review.csv",
        rates="results/{run}/human_review/{dataset}/duplicate_rates.csv",
        moving="results/{run}/human_review/{dataset}/duplicate_moving_rates.csv",
    log:
        "results/{run}/logs/review_duplicates/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/review_duplicates/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        decisions=path_of("duplicate_decisions"),
        contents=contents_of("duplicate_decisions"),
        min_iou=config["human_review"]["min_iou"],
        windows=config["human_review"]["windows"],
        bins=config["human_review"]["bins"],
        code=digest("review_duplicates"),
    script:
        "../workflow/scripts/review_duplicates.py"


rule merge_duplicates:
    """Merge re-annotated boxes that people found to be one object, and their votes."""
    input:
        votes="results/{run}/data/{dataset}/votes.parquet",
        released="results/{run}/data/{dataset}/released_soft_labels.parquet",
        decisions=file_of("duplicate_decisions"),
    output:
        votes="results/{run}/data/{dataset}/merged_votes.parquet",
        released="results/{run}/data/{dataset}/merged_released_soft_labels.parquet",
        intake="results/{run}/data/{dataset}/duplicate_decisions_intake.csv",
    log:
        "results/{run}/logs/merge_duplicates/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/merge_duplicates/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(with_files("duplicate_decisions")),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        decisions=path_of("duplicate_decisions"),
        contents=contents_of("duplicate_decisions"),
        code=digest("merge_duplicates"),
    script:
        "../workflow/scripts/merge_duplicates.py"


rule review_original_only:
    """List the original boxes that the re-annotation lacks, and what was decided about them."""
    input:
        legt=f"results/{{run}}/label_errors/{MAIN_PROTOCOL}/{{dataset}}/legt.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        votes=file_of("original_only_votes"),
    output:
        to_review="results/{run}/human_review/{dataset}/original_only_to_review.csv",
        summary="results/{run}/human_review/{dataset}/original_only.csv",
        added="results/{run}/human_review/{dataset}/original_only.parquet",
    log:
        "results/{run}/logs/review_original_only/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/review_original_only/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        dataset=dataset,
        crowds_are_objects=crowds_are_objects,
        votes=path_of("original_only_votes"),
        contents=contents_of("original_only_votes"),
        code=digest("review_original_only"),
    script:
        "../workflow/scripts/review_original_only.py"


rule list_visible_objects:
    """List the objects of some images, for people to add those that are missing."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
    output:
        "results/{run}/human_review/{dataset}/false_negatives_to_review.csv",
    log:
        "results/{run}/logs/list_visible_objects/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/list_visible_objects/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        images=config["human_review"]["images"],
        seed=config["seed"],
        code=digest("list_visible_objects"),
    script:
        "../workflow/scripts/list_visible_objects.py"


rule count_false_negatives:
    """Count the visible objects that each ground truth lacks."""
    input:
        images="results/{run}/data/{dataset}/images.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        added=reviewed(
            "original_only_votes",
            "results/{run}/human_review/{dataset}/original_only.parquet",
        ),
        review=file_of("false_negative_review"),
    output:
        "results/{run}/human_review/{dataset}/false_negatives.csv",
    log:
        "results/{run}/logs/count_false_negatives/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/count_false_negatives/{dataset}.tsv"
    wildcard_constraints:
        dataset=one_of(with_files("false_negative_review")),
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        dataset=dataset,
        review=path_of("false_negative_review"),
        contents=contents_of("false_negative_review"),
        code=digest("count_false_negatives"),
    script:
        "../workflow/scripts/count_false_negatives.py"

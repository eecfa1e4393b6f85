"""Tables: the leaves that people read, each as CSV, LaTeX and HTML.

results/{run}/tables/{paper}/{table}.csv, .tex, .html

TABLES says which there are: by category of the report, their titles and what they are made from. One
without inputs is not part of the run. Their columns stand in labelquality/report/tables.py, their
captions in workflow/report/; `like` names the table whose columns and caption another one shares.
"""

REVIEWED = "results/{run}/human_review/{dataset}"
CLASS_COUNTS = "results/{run}/data/{dataset}/class_counts.csv"
THRESHOLDS = "results/{run}/label_errors/{protocol}/{dataset}/thresholds.csv"
BY_DETECTOR = (
    f"results/{{run}}/error_detection/{MAIN_PROTOCOL}/{{dataset}}/{{detector}}"
)

TABLES = {
    "Data": {
        "ours/intake": leaf(
            "What was read of every data set, and what was set aside",
            rows=intake_files(),
        ),
        "ours/annotation_counts": leaf(
            "Objects of every ground truth, by size",
            rows=of_datasets("results/{run}/data/{dataset}/annotation_counts.csv"),
        ),
        "ours/objects_by_class": leaf(
            "Objects of each class, before and after re-annotation",
            rows=of_datasets(CLASS_COUNTS),
            **counts_published("annotation_counts"),
        ),
    },
    "Paper 1, data sets": {
        "paper1/table_01_data_sets": leaf(
            "Images and classes that were re-annotated",
            rows=of_datasets(CLASS_COUNTS),
            **counts_published("annotation_counts"),
        ),
        "paper1/table_02_object_counts": leaf(
            "Objects before and after re-annotation",
            rows=of_datasets(CLASS_COUNTS),
            **counts_published("annotation_counts"),
        ),
        "paper1/table_04_label_errors": leaf(
            "Label errors of every kind and variant",
            rows=of_datasets(
                "results/{run}/label_errors/{protocol}/{dataset}/counts.csv"
            ),
            **counts_published("label_errors"),
        ),
        **{
            f"paper1/table_{number}_objects_by_class_{name}": leaf(
                f"Objects of each class of {name}",
                rows=of_datasets(CLASS_COUNTS, parts_of(name)),
                like="ours/objects_by_class",
                **counts_published("annotation_counts"),
            )
            for number, name in [(12, "voc"), (18, "cityscapes"), (19, "kitti")]
        },
        **{
            f"paper1/table_{number}_objects_by_class_coco_{'_'.join(groups)}": leaf(
                f"Objects of each class of COCO: {', '.join(groups)}",
                rows=of_datasets(CLASS_COUNTS, parts_of("coco")),
                like="ours/objects_by_class",
                options={"super_categories": groups},
                **counts_published("annotation_counts"),
            )
            for number, groups in enumerate(COCO_TABLES, 13)
        },
        **{
            f"paper1/table_{number}_label_errors_{name}": leaf(
                f"Label errors by probability and height in {name}",
                rows=of_datasets(THRESHOLDS, [name] if name in DATASETS else []),
                like="ours/label_errors_by_threshold",
                **counts_published("label_errors"),
            )
            for number, name in enumerate(THRESHOLD_TABLES, 22)
        },
    },
    "Label errors": {
        "ours/label_errors_by_threshold": leaf(
            "Label errors by probability, height and region",
            rows=of_datasets(THRESHOLDS),
            **counts_published("label_errors"),
        ),
        "ours/label_errors_by_group": leaf(
            "Label errors by class, size and difficulty",
            rows=of_datasets(
                "results/{run}/label_errors/{protocol}/{dataset}/groups.csv"
            ),
        ),
        "ours/label_errors_in_regions": leaf(
            "Label errors in crowds and ignore regions",
            rows=of_datasets(
                "results/{run}/label_errors/{protocol}/{dataset}/regions.csv"
            ),
        ),
    },
    "Human review": {
        "paper1/table_03_false_negative_rates": leaf(
            "False negative rates of the original and of the validated ground truth",
            rows=of_datasets(
                f"{REVIEWED}/false_negatives.csv", with_files("false_negative_review")
            ),
            **counts_published("human_review"),
        ),
        "paper1/table_20_false_negatives": leaf(
            "What was reviewed for false negatives, and how many there are",
            rows=of_datasets(
                f"{REVIEWED}/false_negatives.csv", with_files("false_negative_review")
            ),
            **counts_published("human_review"),
        ),
        "paper1/table_29_original_only_review": leaf(
            "Review of the original-only boxes",
            rows=of_datasets(
                f"{REVIEWED}/original_only.csv", with_files("original_only_votes")
            ),
            **counts_published("human_review"),
        ),
        "paper1/table_30_original_only_added": leaf(
            "Objects with the original-only boxes that were added",
            rows=of_datasets(
                f"{REVIEWED}/original_only.csv", with_files("original_only_votes")
            ),
            **counts_published("human_review"),
        ),
        "paper1/table_31_false_negative_rates": leaf(
            "False negative rates with the original-only boxes that were added",
            rows=of_datasets(
                f"{REVIEWED}/false_negatives.csv",
                with_files("false_negative_review", "original_only_votes"),
            ),
            **counts_published("human_review"),
        ),
        "ours/duplicate_rates": leaf(
            "Duplicates among the reviewed pairs of boxes, by IoU",
            rows=of_datasets(
                f"{REVIEWED}/duplicate_rates.csv", with_files("duplicate_decisions")
            ),
        ),
    },
    "Paper 1, detection benchmark": {
        "paper1/table_07_average_precision": leaf(
            "Average precision on original and validated ground truth",
            rows=of_detectors(
                "results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv"
            ),
        ),
        **{
            f"paper1/table_{number}_average_precision_{name}": leaf(
                f"Average precision on {name}",
                rows=of_detectors(
                    "results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv",
                    [name],
                ),
                like="paper1/table_07_average_precision",
            )
            for number, name in numbered(38)
        },
        "paper1/table_08_soft_evaluation": leaf(
            "Average similarity and distances to the soft labels",
            rows=of_detectors(
                "results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv"
            ),
        ),
        **{
            f"paper1/table_{number}_soft_evaluation_{name}": leaf(
                f"Evaluation against soft labels on {name}",
                rows=of_detectors(
                    "results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv",
                    [name],
                ),
                like="paper1/table_08_soft_evaluation",
            )
            for number, name in numbered(43)
        },
        "ours/average_precision_per_class": leaf(
            "Average precision of each class",
            rows=of_detectors(
                "results/{run}/evaluation/hard/{dataset}/{detector}/per_class.csv"
            ),
        ),
        "ours/soft_evaluation_per_class": leaf(
            "Average similarity and distances of each class",
            rows=of_detectors(
                "results/{run}/evaluation/{protocol}/{dataset}/{detector}/per_class.csv"
            ),
        ),
        "ours/soft_evaluation_choices": leaf(
            "What the protocols of soft evaluation choose",
            rows=of_detectors(
                "results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv"
            ),
        ),
        "ours/correlations": leaf(
            "Correlations of what hard and soft evaluation measure",
            average_precision=table("paper1/table_07_average_precision"),
            soft_evaluation=table("paper1/table_08_soft_evaluation"),
            published=[
                f"config/published/{name}.csv"
                for name in [
                    *["average_precision", "average_similarity"],
                    *["artefacts", "correlations"],
                ]
            ],
            script="correlate_measures",
            options={"broken": BROKEN},
        ),
        "ours/average_similarity_sensitivity": leaf(
            "Average similarity under every reading of its definition",
            rows=of_detectors(
                "results/{run}/evaluation/sensitivity/{dataset}/{detector}/average_similarity.csv"
            ),
        ),
        "ours/soft_evaluation_intervals": leaf(
            "How sure the figures of soft evaluation are",
            rows=of_detectors(
                "results/{run}/evaluation/{protocol}/{dataset}/{detector}/intervals.csv",
                protocol=MAIN_PROTOCOL,
            ),
        ),
        "paper1/table_42_calibration_error": leaf(
            "Expected calibration error before and after calibration",
            rows=of_detectors("results/{run}/calibration/{dataset}/{detector}/ece.csv"),
        ),
        "ours/published_comparison": leaf(
            "Our figures beside the published ones",
            average_precision=table("paper1/table_07_average_precision"),
            calibration_error=table("paper1/table_42_calibration_error"),
            soft_evaluation=table("paper1/table_08_soft_evaluation"),
            published=published(
                "names", "average_precision", "calibration_error", "average_similarity"
            ),
            script="compare_with_published",
        ),
    },
    "Paper 1, label error detection": {
        "paper1/table_49_average_precision_original": leaf(
            "Average precision of the detectors behind label error detection",
            rows=of_detectors(
                "results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv",
                detectors=GROUNDING_DINO + CASCADE,
                used_for="error_detection",
            ),
        ),
        "paper1/table_09_label_error_detection": leaf(
            "Methods against the label error ground truth",
            rows=of_detectors(f"{BY_DETECTOR}/scores.csv"),
        ),
        **{
            f"paper1/table_{number}_label_error_detection": leaf(
                f"{title}, {variant.replace('_', ' ')} ground truth",
                rows=of_detectors(f"{BY_DETECTOR}/scores.csv", detectors=detectors),
                like="paper1/table_09_label_error_detection",
                options={"variant": variant},
            )
            for number, title, detectors, variant in [
                (
                    51,
                    "Methods on other detectors than Cascade R-CNN",
                    NOT_CASCADE,
                    VARIANTS[-1],
                ),
                (52, "Methods on Cascade R-CNN", CASCADE, VARIANTS[0]),
                (53, "Methods on Cascade R-CNN", CASCADE, VARIANTS[-1]),
            ]
        },
    },
    "Label error detection": {
        "ours/label_error_recall": leaf(
            "Recall by kind and size of the label error",
            rows=of_detectors(f"{BY_DETECTOR}/groups.csv"),
        ),
        "ours/review_effort": leaf(
            "Boxes to review until most label errors are found",
            rows=of_detectors(f"{BY_DETECTOR}/effort.csv"),
        ),
        "ours/method_differences": leaf(
            "Differences between methods and how sure they are",
            rows=of_detectors(f"{BY_DETECTOR}/differences.csv"),
        ),
        "ours/synthetic_against_real": leaf(
            "Methods on synthetic and on real label errors",
            rows=of_detectors(f"{BY_DETECTOR}/synthetic.csv"),
        ),
    },
    "Known truth": {
        "ours/label_errors_against_truth": leaf(
            "Which injected label errors the LEGT finds",
            rows=of_datasets(
                "results/{run}/label_errors/{protocol}/{dataset}/against_truth.csv",
                WITH_TRUTH,
                MAIN_PROTOCOL,
            ),
        ),
        "ours/soft_labels_against_truth": leaf(
            "Soft labels against the probabilities behind the votes",
            rows=of_datasets(
                "results/{run}/data/{dataset}/soft_label_distances.csv", WITH_TRUTH
            ),
        ),
        "ours/injected_error_recall": leaf(
            "Which injected label errors each method finds",
            rows=of_detectors(f"{BY_DETECTOR}/injected.csv", WITH_TRUTH),
        ),
    },
}


for category, name, made in every_leaf(TABLES):

    rule:
        """Write one table."""
        name:
            f"write_{Path(name).name}"
        input:
            **made.inputs,
        output:
            csv=report(
                f"results/{RUN}/tables/{name}.csv",
                caption=f"../workflow/report/{made.caption}.rst",
                category=category,
                labels={"table": made.title, "format": "csv"},
            ),
            tex=f"results/{RUN}/tables/{name}.tex",
            html=report(
                f"results/{RUN}/tables/{name}.html",
                caption=f"../workflow/report/{made.caption}.rst",
                category=category,
                labels={"table": made.title, "format": "html"},
            ),
        log:
            f"results/{RUN}/logs/tables/{name}.log",
        benchmark:
            f"results/{RUN}/benchmarks/tables/{name}.tsv"
        group:
            "leaves"
        conda:
            "../envs/analysis.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            name=made.like,
            title=made.title,
            options=made.options,
            script=made.script,
            code=digest(made.script),
        # A job would see the last table's `made` here.
        script:
            "../workflow/scripts/{params.script}.py"

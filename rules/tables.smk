"""Tables: the leaves that people read, each as CSV, LaTeX and HTML.

results/{run}/tables/{paper}/{table}.csv, .tex, .html
"""


rule table_01_annotation_counts:
    """Objects of every ground truth, all data sets together."""
    input:
        of_datasets("results/{run}/data/{dataset}/annotation_counts.csv"),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_01_annotation_counts.csv",
            caption="../workflow/report/table_01_annotation_counts.rst",
            category="Paper 1, data sets",
            labels={
                "table": "Objects of every ground truth, all data sets together",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_01_annotation_counts.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_01_annotation_counts.html",
            caption="../workflow/report/table_01_annotation_counts.rst",
            category="Paper 1, data sets",
            labels={
                "table": "Objects of every ground truth, all data sets together",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_01_annotation_counts.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_01_annotation_counts.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        name="paper1/table_01_annotation_counts",
        code=digest("write_leaf"),
    script:
        "../workflow/scripts/write_leaf.py"


use rule table_01_annotation_counts as table_04_label_errors with:
    input:
        of_datasets("results/{run}/label_errors/{protocol}/{dataset}/counts.csv"),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_04_label_errors.csv",
            caption="../workflow/report/table_04_label_errors.rst",
            category="Paper 1, data sets",
            labels={
                "table": "Label errors of every kind and variant",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_04_label_errors.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_04_label_errors.html",
            caption="../workflow/report/table_04_label_errors.rst",
            category="Paper 1, data sets",
            labels={
                "table": "Label errors of every kind and variant",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_04_label_errors.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_04_label_errors.tsv"
    params:
        name="paper1/table_04_label_errors",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_07_average_precision with:
    input:
        of_detectors(
            "results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv"
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_07_average_precision.csv",
            caption="../workflow/report/table_07_average_precision.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average precision on original and validated ground truth",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_07_average_precision.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_07_average_precision.html",
            caption="../workflow/report/table_07_average_precision.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average precision on original and validated ground truth",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_07_average_precision.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_07_average_precision.tsv"
    params:
        name="paper1/table_07_average_precision",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_08_soft_evaluation with:
    input:
        of_detectors(
            "results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv"
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_08_soft_evaluation.csv",
            caption="../workflow/report/table_08_soft_evaluation.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average similarity and distances to the soft labels",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_08_soft_evaluation.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_08_soft_evaluation.html",
            caption="../workflow/report/table_08_soft_evaluation.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average similarity and distances to the soft labels",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_08_soft_evaluation.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_08_soft_evaluation.tsv"
    params:
        name="paper1/table_08_soft_evaluation",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_42_calibration_error with:
    input:
        of_detectors("results/{run}/calibration/{dataset}/{detector}/ece.csv"),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_42_calibration_error.csv",
            caption="../workflow/report/table_42_calibration_error.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Expected calibration error before and after calibration",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_42_calibration_error.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_42_calibration_error.html",
            caption="../workflow/report/table_42_calibration_error.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Expected calibration error before and after calibration",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_42_calibration_error.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_42_calibration_error.tsv"
    params:
        name="paper1/table_42_calibration_error",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_09_label_error_detection with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/scores.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/paper1/table_09_label_error_detection.csv",
            caption="../workflow/report/table_09_label_error_detection.rst",
            category="Paper 1, label error detection",
            labels={
                "table": "Methods against the label error ground truth",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/paper1/table_09_label_error_detection.tex",
        html=report(
            f"results/{RUN}/tables/paper1/table_09_label_error_detection.html",
            caption="../workflow/report/table_09_label_error_detection.rst",
            category="Paper 1, label error detection",
            labels={
                "table": "Methods against the label error ground truth",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/table_09_label_error_detection.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/table_09_label_error_detection.tsv"
    params:
        name="paper1/table_09_label_error_detection",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_label_error_recall with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/groups.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/label_error_recall.csv",
            caption="../workflow/report/label_error_recall.rst",
            category="Label error detection",
            labels={
                "table": "Recall by kind and size of the label error",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/label_error_recall.tex",
        html=report(
            f"results/{RUN}/tables/ours/label_error_recall.html",
            caption="../workflow/report/label_error_recall.rst",
            category="Label error detection",
            labels={
                "table": "Recall by kind and size of the label error",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/label_error_recall.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/label_error_recall.tsv"
    params:
        name="ours/label_error_recall",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_review_effort with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/effort.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/review_effort.csv",
            caption="../workflow/report/review_effort.rst",
            category="Label error detection",
            labels={
                "table": "Boxes to review until most label errors are found",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/review_effort.tex",
        html=report(
            f"results/{RUN}/tables/ours/review_effort.html",
            caption="../workflow/report/review_effort.rst",
            category="Label error detection",
            labels={
                "table": "Boxes to review until most label errors are found",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/review_effort.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/review_effort.tsv"
    params:
        name="ours/review_effort",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_method_differences with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/differences.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/method_differences.csv",
            caption="../workflow/report/method_differences.rst",
            category="Label error detection",
            labels={
                "table": "Differences between methods and how sure they are",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/method_differences.tex",
        html=report(
            f"results/{RUN}/tables/ours/method_differences.html",
            caption="../workflow/report/method_differences.rst",
            category="Label error detection",
            labels={
                "table": "Differences between methods and how sure they are",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/method_differences.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/method_differences.tsv"
    params:
        name="ours/method_differences",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_synthetic_against_real with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/synthetic.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/synthetic_against_real.csv",
            caption="../workflow/report/synthetic_against_real.rst",
            category="Label error detection",
            labels={
                "table": "Methods on synthetic and on real label errors",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/synthetic_against_real.tex",
        html=report(
            f"results/{RUN}/tables/ours/synthetic_against_real.html",
            caption="../workflow/report/synthetic_against_real.rst",
            category="Label error detection",
            labels={
                "table": "Methods on synthetic and on real label errors",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/synthetic_against_real.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/synthetic_against_real.tsv"
    params:
        name="ours/synthetic_against_real",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_label_errors_against_truth with:
    input:
        of_datasets(
            "results/{run}/label_errors/{protocol}/{dataset}/against_truth.csv",
            WITH_TRUTH,
            MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/label_errors_against_truth.csv",
            caption="../workflow/report/label_errors_against_truth.rst",
            category="Known truth",
            labels={
                "table": "Which injected label errors the LEGT finds",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/label_errors_against_truth.tex",
        html=report(
            f"results/{RUN}/tables/ours/label_errors_against_truth.html",
            caption="../workflow/report/label_errors_against_truth.rst",
            category="Known truth",
            labels={
                "table": "Which injected label errors the LEGT finds",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/label_errors_against_truth.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/label_errors_against_truth.tsv"
    params:
        name="ours/label_errors_against_truth",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_soft_labels_against_truth with:
    input:
        of_datasets("results/{run}/data/{dataset}/soft_label_distances.csv", WITH_TRUTH),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/soft_labels_against_truth.csv",
            caption="../workflow/report/soft_labels_against_truth.rst",
            category="Known truth",
            labels={
                "table": "Soft labels against the probabilities behind the votes",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/soft_labels_against_truth.tex",
        html=report(
            f"results/{RUN}/tables/ours/soft_labels_against_truth.html",
            caption="../workflow/report/soft_labels_against_truth.rst",
            category="Known truth",
            labels={
                "table": "Soft labels against the probabilities behind the votes",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/soft_labels_against_truth.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/soft_labels_against_truth.tsv"
    params:
        name="ours/soft_labels_against_truth",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_injected_error_recall with:
    input:
        of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/injected.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/injected_error_recall.csv",
            caption="../workflow/report/injected_error_recall.rst",
            category="Known truth",
            labels={
                "table": "Which injected label errors each method finds",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/injected_error_recall.tex",
        html=report(
            f"results/{RUN}/tables/ours/injected_error_recall.html",
            caption="../workflow/report/injected_error_recall.rst",
            category="Known truth",
            labels={
                "table": "Which injected label errors each method finds",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/injected_error_recall.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/injected_error_recall.tsv"
    params:
        name="ours/injected_error_recall",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_intake with:
    input:
        intake_files(),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/intake.csv",
            caption="../workflow/report/intake.rst",
            category="Data",
            labels={
                "table": "What was read of every data set, and what was set aside",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/intake.tex",
        html=report(
            f"results/{RUN}/tables/ours/intake.html",
            caption="../workflow/report/intake.rst",
            category="Data",
            labels={
                "table": "What was read of every data set, and what was set aside",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/intake.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/intake.tsv"
    params:
        name="ours/intake",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_average_similarity_sensitivity with:
    input:
        of_detectors(
            "results/{run}/evaluation/sensitivity/{dataset}/{detector}/average_similarity.csv"
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/average_similarity_sensitivity.csv",
            caption="../workflow/report/average_similarity_sensitivity.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average similarity under every reading of its definition",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/average_similarity_sensitivity.tex",
        html=report(
            f"results/{RUN}/tables/ours/average_similarity_sensitivity.html",
            caption="../workflow/report/average_similarity_sensitivity.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Average similarity under every reading of its definition",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/average_similarity_sensitivity.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/average_similarity_sensitivity.tsv"
    params:
        name="ours/average_similarity_sensitivity",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_soft_evaluation_intervals with:
    input:
        of_detectors(
            "results/{run}/evaluation/{protocol}/{dataset}/{detector}/intervals.csv",
            protocol=MAIN_PROTOCOL,
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/soft_evaluation_intervals.csv",
            caption="../workflow/report/soft_evaluation_intervals.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "How sure the figures of soft evaluation are",
                "format": "csv",
            },
        ),
        tex=f"results/{RUN}/tables/ours/soft_evaluation_intervals.tex",
        html=report(
            f"results/{RUN}/tables/ours/soft_evaluation_intervals.html",
            caption="../workflow/report/soft_evaluation_intervals.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "How sure the figures of soft evaluation are",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/soft_evaluation_intervals.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/soft_evaluation_intervals.tsv"
    params:
        name="ours/soft_evaluation_intervals",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_38_average_precision with:
    input:
        expand(
            "results/{run}/evaluation/hard/{dataset}/{detector}/average_precision.csv",
            detector=DETECTORS,
            allow_missing=True,
        ),
    output:
        csv=report(
            "results/{run}/tables/paper1/table_{number}_average_precision_{dataset}.csv",
            caption="../workflow/report/table_07_average_precision.rst",
            category="Paper 1, detection benchmark",
            labels={"table": "Average precision on {dataset}", "format": "csv"},
        ),
        tex="results/{run}/tables/paper1/table_{number}_average_precision_{dataset}.tex",
        html=report(
            "results/{run}/tables/paper1/table_{number}_average_precision_{dataset}.html",
            caption="../workflow/report/table_07_average_precision.rst",
            category="Paper 1, detection benchmark",
            labels={"table": "Average precision on {dataset}", "format": "html"},
        ),
    log:
        "results/{run}/logs/tables/table_{number}_average_precision_{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/tables/table_{number}_average_precision_{dataset}.tsv"
    wildcard_constraints:
        number=r"\d+",
    params:
        name="paper1/table_07_average_precision",
        code=digest("write_leaf"),


use rule table_01_annotation_counts as table_43_soft_evaluation with:
    input:
        expand(
            "results/{run}/evaluation/{protocol}/{dataset}/{detector}/summary.csv",
            detector=DETECTORS,
            protocol=PROTOCOLS,
            allow_missing=True,
        ),
    output:
        csv=report(
            "results/{run}/tables/paper1/table_{number}_soft_evaluation_{dataset}.csv",
            caption="../workflow/report/table_08_soft_evaluation.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Evaluation against soft labels on {dataset}",
                "format": "csv",
            },
        ),
        tex="results/{run}/tables/paper1/table_{number}_soft_evaluation_{dataset}.tex",
        html=report(
            "results/{run}/tables/paper1/table_{number}_soft_evaluation_{dataset}.html",
            caption="../workflow/report/table_08_soft_evaluation.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Evaluation against soft labels on {dataset}",
                "format": "html",
            },
        ),
    log:
        "results/{run}/logs/tables/table_{number}_soft_evaluation_{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/tables/table_{number}_soft_evaluation_{dataset}.tsv"
    wildcard_constraints:
        number=r"\d+",
    params:
        name="paper1/table_08_soft_evaluation",
        code=digest("write_leaf"),


rule table_published_comparison:
    """Our figures beside the published ones."""
    input:
        average_precision=f"results/{RUN}/tables/paper1/table_07_average_precision.csv",
        calibration_error=f"results/{RUN}/tables/paper1/table_42_calibration_error.csv",
        soft_evaluation=f"results/{RUN}/tables/paper1/table_08_soft_evaluation.csv",
        published=expand(
            "config/published/{name}.csv",
            name=[
                "names",
                "average_precision",
                "calibration_error",
                "average_similarity",
            ],
        ),
    output:
        csv=report(
            f"results/{RUN}/tables/ours/published_comparison.csv",
            caption="../workflow/report/published_comparison.rst",
            category="Paper 1, detection benchmark",
            labels={"table": "Our figures beside the published ones", "format": "csv"},
        ),
        tex=f"results/{RUN}/tables/ours/published_comparison.tex",
        html=report(
            f"results/{RUN}/tables/ours/published_comparison.html",
            caption="../workflow/report/published_comparison.rst",
            category="Paper 1, detection benchmark",
            labels={
                "table": "Our figures beside the published ones",
                "format": "html",
            },
        ),
    log:
        f"results/{RUN}/logs/tables/published_comparison.log",
    benchmark:
        f"results/{RUN}/benchmarks/tables/published_comparison.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        name="ours/published_comparison",
        code=digest("compare_with_published"),
    script:
        "../workflow/scripts/compare_with_published.py"

"""Figures, each as SVG and PDF.

results/{run}/figures/{paper}/{figure}.svg, .pdf
"""


rule fig_27_reliability:
    """Reliability before and after calibration."""
    input:
        bins=of_detectors(
            "results/{run}/calibration/{dataset}/{detector}/reliability.csv"
        ),
    output:
        svg=report(
            f"results/{RUN}/figures/paper1/fig_27_reliability.svg",
            caption="../workflow/report/fig_27_reliability.rst",
            category="Paper 1, detection benchmark",
            labels={"figure": "Reliability before and after calibration"},
        ),
        pdf=f"results/{RUN}/figures/paper1/fig_27_reliability.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_27_reliability.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_27_reliability.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=1000,
        runtime=10,
    params:
        function="reliability",
        code=digest("draw_figure"),
    script:
        "../workflow/scripts/draw_figure.py"


use rule fig_27_reliability as fig_04_ap_vs_as with:
    input:
        average_precision=f"results/{RUN}/tables/paper1/table_07_average_precision.csv",
        soft_evaluation=f"results/{RUN}/tables/paper1/table_08_soft_evaluation.csv",
    output:
        svg=report(
            f"results/{RUN}/figures/paper1/fig_04_ap_vs_as.svg",
            caption="../workflow/report/fig_04_ap_vs_as.rst",
            category="Paper 1, detection benchmark",
            labels={"figure": "Average precision against average similarity"},
        ),
        pdf=f"results/{RUN}/figures/paper1/fig_04_ap_vs_as.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_04_ap_vs_as.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_04_ap_vs_as.tsv"
    params:
        function="ap_vs_as",
        code=digest("draw_figure"),


use rule fig_27_reliability as fig_average_similarity_sensitivity with:
    input:
        rows=f"results/{RUN}/tables/ours/average_similarity_sensitivity.csv",
    output:
        svg=report(
            f"results/{RUN}/figures/ours/fig_average_similarity_sensitivity.svg",
            caption="../workflow/report/fig_average_similarity_sensitivity.rst",
            category="Paper 1, detection benchmark",
            labels={
                "figure": "Average similarity under every reading of its definition"
            },
        ),
        pdf=f"results/{RUN}/figures/ours/fig_average_similarity_sensitivity.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_average_similarity_sensitivity.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_average_similarity_sensitivity.tsv"
    params:
        function="average_similarity_sensitivity",
        code=digest("draw_figure"),


use rule fig_27_reliability as fig_31_label_error_precision_recall with:
    input:
        curves=of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/curves.csv",
            protocol=MAIN_PROTOCOL,
        ),
        summary=f"results/{RUN}/tables/paper1/table_09_label_error_detection.csv",
    output:
        svg=report(
            f"results/{RUN}/figures/paper1/fig_31_label_error_precision_recall.svg",
            caption="../workflow/report/fig_31_label_error_precision_recall.rst",
            category="Paper 1, label error detection",
            labels={"figure": "Precision and recall of label error detection"},
        ),
        pdf=f"results/{RUN}/figures/paper1/fig_31_label_error_precision_recall.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_31_label_error_precision_recall.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_31_label_error_precision_recall.tsv"
    params:
        function="precision_recall",
        code=digest("draw_figure"),


use rule fig_27_reliability as fig_review_effort with:
    input:
        curves=of_detectors(
            "results/{run}/error_detection/{protocol}/{dataset}/{detector}/curves.csv",
            protocol=MAIN_PROTOCOL,
        ),
        summary=f"results/{RUN}/tables/paper1/table_09_label_error_detection.csv",
    output:
        svg=report(
            f"results/{RUN}/figures/ours/fig_review_effort.svg",
            caption="../workflow/report/fig_review_effort.rst",
            category="Label error detection",
            labels={"figure": "Label errors found against boxes reviewed"},
        ),
        pdf=f"results/{RUN}/figures/ours/fig_review_effort.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_review_effort.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_review_effort.tsv"
    params:
        function="review_effort",
        code=digest("draw_figure"),


use rule fig_27_reliability as fig_synthetic_against_real with:
    input:
        scores=f"results/{RUN}/tables/ours/synthetic_against_real.csv",
    output:
        svg=report(
            f"results/{RUN}/figures/ours/fig_synthetic_against_real.svg",
            caption="../workflow/report/fig_synthetic_against_real.rst",
            category="Label error detection",
            labels={"figure": "Methods on synthetic and on real label errors"},
        ),
        pdf=f"results/{RUN}/figures/ours/fig_synthetic_against_real.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_synthetic_against_real.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_synthetic_against_real.tsv"
    params:
        function="synthetic_against_real",
        code=digest("draw_figure"),


use rule fig_27_reliability as fig_soft_label_error with:
    input:
        distances=of_datasets(
            "results/{run}/data/{dataset}/soft_label_distances.csv", WITH_TRUTH
        ),
    output:
        svg=report(
            f"results/{RUN}/figures/ours/fig_soft_label_error.svg",
            caption="../workflow/report/fig_soft_label_error.rst",
            category="Known truth",
            labels={"figure": "Distance of soft labels from the truth"},
        ),
        pdf=f"results/{RUN}/figures/ours/fig_soft_label_error.pdf",
    log:
        f"results/{RUN}/logs/figures/fig_soft_label_error.log",
    benchmark:
        f"results/{RUN}/benchmarks/figures/fig_soft_label_error.tsv"
    params:
        function="soft_label_error",
        code=digest("draw_figure"),


rule fig_label_error_gallery:
    """Label errors drawn on the images."""
    input:
        errors=f"results/{{run}}/label_errors/{MAIN_PROTOCOL}/{{dataset}}/legt.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        images="results/{run}/data/{dataset}/images.parquet",
        folder=file_of("images"),
    output:
        svg=report(
            "results/{run}/figures/ours/{dataset}/fig_label_error_gallery.svg",
            caption="../workflow/report/fig_label_error_gallery.rst",
            category="Label errors",
            labels={"figure": "Label errors of {dataset}"},
        ),
        pdf="results/{run}/figures/ours/{dataset}/fig_label_error_gallery.pdf",
    log:
        "results/{run}/logs/figures/fig_label_error_gallery/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/figures/fig_label_error_gallery/{dataset}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        folder=path_of("images"),
        code=digest("draw_gallery"),
    script:
        "../workflow/scripts/draw_gallery.py"

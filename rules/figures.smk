"""Figures, each as SVG and PDF.

results/{run}/figures/{paper}/{figure}.svg, .pdf

FIGURES says which there are: by category of the report, their titles and what they are drawn from,
by the names of the drawing function's arguments. One without inputs is not part of the run. The
function of a figure is called like it, without its number (labelquality/report/figures.py).
"""

# Kinds of label errors that each gallery shows, for every data set.
GALLERIES = {
    "fig_05_label_errors": ["missing", "misaligned", "classification", "original_only"],
    "fig_33_missing": ["missing"],
    "fig_34_misaligned": ["misaligned"],
    "fig_35_classification": ["classification"],
}
CURVES = of_detectors(f"{BY_DETECTOR}/curves.csv")

FIGURES = {
    "Human review": {
        "paper1/fig_10_duplicates": leaf(
            "Duplicates of the re-annotation by the order of review and by IoU",
            moving=of_datasets(
                f"{REVIEWED}/duplicate_moving_rates.csv",
                with_files("duplicate_decisions"),
            ),
            rates=of_datasets(
                f"{REVIEWED}/duplicate_rates.csv", with_files("duplicate_decisions")
            ),
        ),
    },
    "Paper 1, detection benchmark": {
        "paper1/fig_27_reliability": leaf(
            "Reliability before and after calibration",
            bins=of_detectors(
                "results/{run}/calibration/{dataset}/{detector}/reliability.csv"
            ),
        ),
        "paper1/fig_04_ap_vs_as": leaf(
            "Average precision against average similarity",
            average_precision=table("paper1/table_07_average_precision"),
            soft_evaluation=table("paper1/table_08_soft_evaluation"),
        ),
        "ours/fig_published_ap_vs_as": leaf(
            "Average precision against average similarity, as published",
            **{
                name: published(name)
                for name in ["average_precision", "average_similarity", "artefacts"]
            },
        ),
        "ours/fig_average_similarity_sensitivity": leaf(
            "Average similarity under every reading of its definition",
            rows=table("ours/average_similarity_sensitivity"),
        ),
    },
    "Paper 1, label error detection": {
        "paper1/fig_30_box_areas": leaf(
            "Areas of validated and of detected boxes",
            rows=of_detectors(
                "results/{run}/detections/{dataset}/{detector}/box_areas.csv",
                used_for="error_detection",
            ),
        ),
        "paper1/fig_31_label_error_precision_recall": leaf(
            "Precision and recall of label error detection",
            curves=of_detectors(f"{BY_DETECTOR}/curves.csv", detectors=NOT_CASCADE),
            summary=table("paper1/table_09_label_error_detection"),
        ),
        "paper1/fig_32_label_error_precision_recall_cascade": leaf(
            "Precision and recall of label error detection with Cascade R-CNN",
            curves=of_detectors(f"{BY_DETECTOR}/curves.csv", detectors=CASCADE),
            summary=table("paper1/table_09_label_error_detection"),
            like="paper1/fig_31_label_error_precision_recall",
        ),
    },
    "Label error detection": {
        "ours/fig_review_effort": leaf(
            "Label errors found against boxes reviewed",
            curves=CURVES,
            summary=table("paper1/table_09_label_error_detection"),
        ),
        "ours/fig_synthetic_against_real": leaf(
            "Methods on synthetic and on real label errors",
            scores=table("ours/synthetic_against_real"),
        ),
    },
    "Known truth": {
        "ours/fig_soft_label_error": leaf(
            "Distance of soft labels from the truth",
            distances=of_datasets(
                "results/{run}/data/{dataset}/soft_label_distances.csv", WITH_TRUTH
            ),
        ),
    },
}


for category, name, drawn in every_leaf(FIGURES):

    rule:
        """Draw one figure."""
        name:
            f"draw_{Path(name).name}"
        input:
            **drawn.inputs,
        output:
            svg=report(
                f"results/{RUN}/figures/{name}.svg",
                caption=f"../workflow/report/{drawn.caption}.rst",
                category=category,
                labels={"figure": drawn.title},
            ),
            pdf=f"results/{RUN}/figures/{name}.pdf",
        log:
            f"results/{RUN}/logs/figures/{name}.log",
        benchmark:
            f"results/{RUN}/benchmarks/figures/{name}.tsv"
        group:
            "leaves"
        conda:
            "../envs/analysis.yaml"
        threads: 1
        resources:
            mem_mb=1000,
            runtime=10,
        params:
            function=drawn.function,
            code=digest("draw_figure"),
        script:
            "../workflow/scripts/draw_figure.py"


rule draw_gallery:
    """Draw label errors on the images."""
    input:
        errors=f"results/{{run}}/label_errors/{MAIN_PROTOCOL}/{{dataset}}/legt.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
        soft_labels="results/{run}/data/{dataset}/soft_labels.parquet",
        images="results/{run}/data/{dataset}/images.parquet",
        folder=file_of("images"),
    output:
        svg=report(
            "results/{run}/figures/paper1/{dataset}/{gallery}.svg",
            caption="../workflow/report/fig_05_label_errors.rst",
            category="Label errors",
            labels={"figure": "{gallery} of {dataset}"},
        ),
        pdf="results/{run}/figures/paper1/{dataset}/{gallery}.pdf",
    log:
        "results/{run}/logs/figures/{gallery}/{dataset}.log",
    benchmark:
        "results/{run}/benchmarks/figures/{gallery}/{dataset}.tsv"
    wildcard_constraints:
        gallery=one_of(GALLERIES),
    group:
        "leaves"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=2000,
        runtime=10,
    params:
        folder=path_of("images"),
        kinds=lambda wildcards: GALLERIES[wildcards.gallery],
        code=digest("draw_gallery"),
    script:
        "../workflow/scripts/draw_gallery.py"

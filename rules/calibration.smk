"""Calibration: scores become probabilities of being right (paper 1, C.4).

results/{run}/calibration/{dataset}/{detector}/
    calibrated.parquet        detections with calibrated vectors
    curves, ece, reliability  .csv, the fitted maps and how well they do
    released/                 the same, where the released calibration compared other labels
"""


rule calibrate:
    """Calibrate a detector on the original ground truth, fold by fold."""
    input:
        detections="results/{run}/detections/{dataset}/{detector}/detections.parquet",
        annotations="results/{run}/data/{dataset}/annotations.parquet",
    output:
        calibrated="results/{run}/calibration/{dataset}/{detector}/calibrated.parquet",
        curves="results/{run}/calibration/{dataset}/{detector}/curves.csv",
        ece="results/{run}/calibration/{dataset}/{detector}/ece.csv",
        reliability="results/{run}/calibration/{dataset}/{detector}/reliability.csv",
    log:
        "results/{run}/logs/calibrate/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/calibrate/{dataset}/{detector}.tsv"
    conda:
        "../envs/analysis.yaml"
    threads: 1
    resources:
        mem_mb=8000,
        runtime=60,
    params:
        calibration=config["calibration"],
        label_shift=0,
        seed=config["seed"],
        code=digest("calibrate"),
    script:
        "../workflow/scripts/calibrate.py"


use rule calibrate as calibrate_as_released with:
    output:
        calibrated="results/{run}/calibration/{dataset}/{detector}/released/calibrated.parquet",
        curves="results/{run}/calibration/{dataset}/{detector}/released/curves.csv",
        ece="results/{run}/calibration/{dataset}/{detector}/released/ece.csv",
        reliability="results/{run}/calibration/{dataset}/{detector}/released/reliability.csv",
    log:
        "results/{run}/logs/calibrate_as_released/{dataset}/{detector}.log",
    benchmark:
        "results/{run}/benchmarks/calibrate_as_released/{dataset}/{detector}.tsv"
    params:
        calibration=config["calibration"],
        label_shift=lambda wildcards: DETECTORS[wildcards.detector][
            "released_label_shift"
        ],
        seed=config["seed"],
        code=digest("calibrate"),

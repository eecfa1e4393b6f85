"""Frames as the stages write them, small and made up."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd

from labelquality.human_review import duplicates

DETECTORS = ("yolov8_scenes", "owlvit_scenes")


def reliability_bins() -> pd.DataFrame:
    rows = []
    for detector, stage, low in product(DETECTORS, ("raw", "platt", "isotonic"), range(10)):
        n = 0 if low == 7 else 1000 >> low
        mean = low / 10 + 0.05 if n else np.nan
        precision = mean**2 if stage == "raw" else mean
        rows.append(("scenes", detector, stage, low, low / 10, low / 10 + 0.1, n, mean, precision))
    columns = "dataset detector stage bin low high n mean_score precision"
    return pd.DataFrame(rows, columns=columns.split()).assign(binning="equal_width")


def detection_scores() -> pd.DataFrame:
    rows = []
    for detector, method in product(DETECTORS, ("naive", "score")):
        measures = (np.nan, 0.1, 0.05, 0.9, np.nan)
        if method == "score":
            measures = (0.6, 0.6, 0.75, 0.5, 0.4)
        rows.append(("defined", "scenes", detector, "less_restrictive", method, 40, 9, *measures))
    columns = (
        "protocol dataset detector variant method n_proposals n_errors AP best_f1 best_precision"
        " best_recall best_threshold"
    )
    return pd.DataFrame(rows, columns=columns.split())


def detection_curves() -> pd.DataFrame:
    points = {
        "naive": [(40, 0.05, 0.9)],
        "score": [(1, 1.0, 0.25), (2, 0.75, 0.5), (5, 0.3, 0.6)],
    }
    rows = [
        ("defined", "scenes", detector, "less_restrictive", method, *point)
        for detector, method in product(DETECTORS, points)
        for point in points[method]
    ]
    columns = "protocol dataset detector variant method rank precision recall"
    return pd.DataFrame(rows, columns=columns.split())


def synthetic_scores() -> pd.DataFrame:
    rows = [
        ("defined", "scenes", detector, method, errors, rate, None if method == "naive" else ap)
        for detector, method in product(DETECTORS, ("naive", "score"))
        for errors, rate, ap in (
            ("synthetic_0.2", 0.2, 0.85),
            ("synthetic_0.1", 0.1, 0.8),
            ("stricter", 0.15, 0.5),
        )
    ]
    columns = "protocol dataset detector method errors error_rate AP"
    return pd.DataFrame(rows, columns=columns.split())


def hard_scores() -> pd.DataFrame:
    rows = [
        ("scenes", detector, truth, ap)
        for (detector, ap), truth in product(
            [("a", 0.2), ("b", 0.4), ("c", 0.7)], ["original", "validated_0.5"]
        )
    ]
    return pd.DataFrame(rows, columns=["dataset", "detector", "ground_truth", "AP"])


def soft_scores() -> pd.DataFrame:
    rows = [
        (protocol, "scenes", detector, similarity)
        for protocol, (detector, similarity) in product(
            ["defined", "released"], [("a", 0.3), ("b", 0.5), ("c", 0.8)]
        )
    ]
    return pd.DataFrame(rows, columns=["protocol", "dataset", "detector", "AS"])


def distances() -> pd.DataFrame:
    rows = [
        ("scenes", "raw", "clear", 0.1, 0.2, 1.0),
        ("scenes", "raw", "clear", 0.3, 0.4, 0.0),
        ("scenes", "raw", "ambiguous", 0.5, 0.6, 1.0),
        ("scenes", "raw", None, np.nan, np.nan, np.nan),
        ("scenes", "corrected", "clear", 0.0, 0.0, 1.0),
        ("scenes", "corrected", "clear", 0.2, 0.3, 1.0),
        ("scenes", "corrected", "ambiguous", 0.4, 0.5, 1.0),
        ("scenes", "corrected", None, np.nan, np.nan, np.nan),
    ]
    columns = ["dataset", "label", "subset", "tvd", "root_jsd", "same_class"]
    return pd.DataFrame(rows, columns=columns)


def sensitivity_rows() -> pd.DataFrame:
    orderings = ("entropy_descending", "entropy_ascending", "max_probability", "foreground")
    rows = []
    for detector, matching, cant_solve, place in product(
        DETECTORS, ("greedy", "single_candidate"), ("drop", "keep"), range(4)
    ):
        value = 0.6 - 0.03 * (cant_solve == "keep") + 0.02 * (place in (1, 2))
        choice = (matching, cant_solve, orderings[place])
        rows.append(("scenes", detector, *choice, value, 0.66, 0.9, 0.594, 0.594 / value))
    columns = (
        "dataset detector matching cant_solve_objects ordering AS recall mean_similarity"
        " recall_x_similarity share_explained"
    )
    return pd.DataFrame(rows, columns=columns.split())


def reviewed_pairs(decisions: str) -> pd.DataFrame:
    """Pairs of boxes from the largest IoU downwards, `d`uplicates or `t`wo objects."""
    names = {"d": duplicates.DUPLICATE, "t": duplicates.TWO_OBJECTS}
    return pd.DataFrame(
        {
            "iou": np.linspace(0.95, 0.15, len(decisions)),
            "decision": [names[letter] for letter in decisions],
            "first_class": "a",
            "second_class": "a",
        }
    )


def moving_rates() -> pd.DataFrame:
    """Rates of duplicates in the order of review, of two data sets."""
    parts = [
        duplicates.moving_rates(reviewed_pairs(decisions), [2, 4]).assign(dataset=dataset)
        for dataset, decisions in {"a": "ddtt", "b": "dtd"}.items()
    ]
    return pd.concat(parts)


def review_rates() -> pd.DataFrame:
    """The same by IoU."""
    parts = [
        duplicates.rates(reviewed_pairs(decisions), 5).assign(dataset=dataset)
        for dataset, decisions in {"a": "ddtt", "b": "dtd"}.items()
    ]
    return pd.concat(parts)


def area_rows() -> pd.DataFrame:
    """Areas of the boxes of two detectors, in three classes."""
    rows = [
        {
            "dataset": "scenes",
            "detector": detector,
            "source": source,
            "low": low,
            "high": 4 * low,
            "n": n,
        }
        for detector in ("yolov8", "rtdetr")
        for source, numbers in (("validated", (3, 5, 2)), ("predictions", (1, 6, 4)))
        for low, n in zip((16.0, 64.0, 256.0), numbers, strict=True)
    ]
    return pd.DataFrame(rows)

"""The tables of evaluation that go beyond paper 1's main ones: by class, and correlations."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labelquality.evaluation.correlation import correlations as correlate
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.report.rows import select

PRECISIONS = ("AP", "AP50", "AP75", "AP_small", "AP_medium", "AP_large")
RECALLS = ("AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large")
SIMILARITIES = ("AS", "AS_50", "AS_75", "AS_small", "AS_medium", "AS_large")
DISTANCES = ("TVD", "TVD_matched", "root_JSD", "root_JSD_matched")
_OF_CLASS = {"category": "class", "n_objects": "objects", "n_detections": "detections"}


def average_precision_original(rows: pd.DataFrame) -> pd.DataFrame:
    """Table 49: COCO's twelve numbers on the original ground truth."""
    if len(rows):
        rows = rows[rows["ground_truth"] == "original"]
    return select(rows, ("detector", "dataset", *PRECISIONS, *RECALLS))


def average_precision_per_class(rows: pd.DataFrame) -> pd.DataFrame:
    """COCO's twelve numbers of each class, from `Result.per_class`."""
    keys = ("dataset", "detector", "ground_truth", *_OF_CLASS.values())
    return select(rows.rename(columns=_OF_CLASS), (*keys, *PRECISIONS, *RECALLS))


def soft_evaluation_per_class(rows: pd.DataFrame) -> pd.DataFrame:
    """Average similarity and distances of each class, from `evaluate_per_class`."""
    keys = ("protocol", "dataset", "detector", *_OF_CLASS.values())
    measures = (*SIMILARITIES, *DISTANCES, "AS_all", "recall", "mean_similarity")
    return select(rows.rename(columns=_OF_CLASS), (*keys, *measures))


def soft_evaluation_choices(rows: pd.DataFrame) -> pd.DataFrame:
    """What each protocol of soft evaluation chooses, from the summaries of `average_similarity`."""
    columns = ("choice", "protocol", "chosen")
    if not len(rows):
        return select(rows, columns)
    choices = list(PROTOCOLS["defined"].choices)
    of_protocol = rows[["protocol", *choices]].drop_duplicates()
    table = of_protocol.astype(object).melt("protocol", choices, "choice", "chosen")
    return select(table.assign(chosen=table["chosen"].map(str, na_action="ignore")), columns)


def correlations(
    points: pd.DataFrame,
    published: pd.DataFrame | None = None,
    stated: pd.DataFrame | None = None,
    *,
    broken: Sequence[str] = (),
) -> pd.DataFrame:
    """Correlations over our points, over the published ones, and as the paper states them.

    `points` and `published` as in `report.points`; `stated` has x, y and published. `broken` names
    our detectors whose calibration the released protocol breaks. For each protocol there is a row
    with all points, and one without the broken ones of either side.
    """
    keys, beside = ("protocol", "points", "x", "y"), ("n", "pearson", "spearman")
    columns = (*keys, *beside, *(f"{name}_published" for name in beside), "stated")
    if points.empty or published is None or stated is None:
        return select(points.head(0), columns)
    named = {name: f"{name}_published" for name in beside}
    frames = []
    for protocol, every in points.groupby("protocol", sort=False):
        sides = {
            "all": (every, published),
            "sound": (every[~every["detector"].isin(broken)], published[~published["broken"]]),
        }
        for name, (ours, theirs) in sides.items():
            rows = correlate(ours).merge(correlate(theirs).rename(columns=named), on=["x", "y"])
            frames.append(rows.assign(protocol=protocol, points=name))
    # What the paper states are the correlations of all points.
    statements = stated.rename(columns={"published": "stated"}).assign(points="all")
    statements = statements[["points", "x", "y", "stated"]]
    table = pd.concat(frames, ignore_index=True).merge(statements, how="left")
    return select(table, columns)

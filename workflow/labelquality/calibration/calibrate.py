"""Calibrate the detections of a data set, out of fold, and measure what that does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from labelquality.calibration.correctness import judge
from labelquality.calibration.curves import METHODS, Method
from labelquality.calibration.folds import (
    fit_folds,
    map_probabilities,
    map_scores,
    to_frame,
)
from labelquality.calibration.image_folds import assign_folds
from labelquality.calibration.reliability import (
    BINNINGS,
    expected_calibration_error,
    reliability,
)
from labelquality.errors import DataError
from labelquality.tables import SCHEMAS, Table

Scope = Literal["dataset", "class"]


@dataclass(frozen=True)
class Calibration:
    """What calibrating a detector on a data set gives.

    table: kind `calibrated`; every entry of `probabilities` mapped, `calibrated_score` the mapped
        score, `fold` the fold of the image. Rows as in the detections.
    curves: the curves that were applied, as `folds.to_frame` writes and `from_frame` reads them.
    ece: stage (raw, isotonic, platt), binning, ece, n (detections), n_bins.
    reliability: stage, binning, bin, low, high, n, mean_score, precision; NaN in an empty bin.
    """

    table: Table
    curves: pd.DataFrame
    ece: pd.DataFrame
    reliability: pd.DataFrame


def calibrate(
    detections: Table,
    annotations: Table,
    *,
    method: Method = "isotonic",
    per: Scope = "dataset",
    min_count: int = 100,
    folds: int = 5,
    iou_threshold: float = 0.5,
    label_shift: int = 0,
    seed: int = 0,
    n_bins: int = 10,
) -> Calibration:
    """Calibrate `detections` on the (original) `annotations`, out of fold.

    Folds part `detections.image_ids`, sorted and then shuffled with `seed`, so that images without
    detections take part. `method` says which curves are applied; the calibration error and the
    reliability are reported for both, over the detections that COCO's matching judges: the 300 best
    of an image and class. Both binnings of `reliability.reliability` are reported.

    `per` data set, as in the paper, one curve serves all classes; per class, each class has its own
    and falls back on the common one where it has fewer than `min_count` detections to fit on, or
    only correct or only wrong ones.

    Every entry is mapped, the background of `softmax+background` included (by the common curve),
    as released; the rows then no longer sum to 1. Correctness is that of `judge`.
    Where all detections that a curve is fitted on are correct, or all are wrong, it is constant. No
    detection at all gives empty results.

    Raises DataError for more folds than images, an unknown method, classes that differ, or a fold
    with detections while the other folds have none.
    """
    _check(detections, annotations, method, per, folds)
    image_ids = _image_ids(detections)
    position = pd.Index(image_ids, dtype=object)
    image = position.get_indexer(pd.Index(detections.frame["image_id"], dtype=object))
    fold = assign_folds(len(image_ids), folds, seed)[image]
    score = detections.frame["score"].to_numpy(dtype=np.float64)
    category = detections.frame["category"].to_numpy(dtype=np.intp)
    correct, judged = judge(
        detections, annotations, position, iou_threshold, label_shift=label_shift
    )

    pool = (score[judged], correct[judged], fold[judged])
    options = {"category": category[judged], "min_count": min_count} if per == "class" else {}
    curves = {m: fit_folds(*pool, folds, m, **options) for m in METHODS}
    stages = {"raw": score}
    stages |= {m: map_scores(curves[m], score, category, fold) for m in METHODS}
    bins: dict[tuple[str, str], pd.DataFrame] = {
        (stage, binning): reliability(
            values[judged], correct[judged], n_bins=n_bins, binning=binning
        )
        for stage, values in stages.items()
        for binning in BINNINGS
    }
    columns = {"calibrated_score": stages[method], "fold": fold.astype(np.int32)}
    frame = detections.frame.assign(**columns)[list(SCHEMAS["calibrated"].columns)]
    probabilities = map_probabilities(curves[method], detections.vectors["probabilities"], fold)
    table = replace(
        detections,
        kind="calibrated",
        frame=frame,
        vectors={"probabilities": probabilities},
        meta={**detections.meta, "calibration": method, "calibrated_per": per},
    )
    return Calibration(table, to_frame(curves[method], detections.classes), *_report(bins))


def _report(bins: dict[tuple[str, str], pd.DataFrame]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Calibration errors, and all bins, of every stage and binning."""
    errors = [
        {
            "stage": stage,
            "binning": binning,
            "ece": expected_calibration_error(rows),
            "n": int(rows["n"].sum()),
            "n_bins": len(rows),
        }
        for (stage, binning), rows in bins.items()
    ]
    frames = [rows.assign(stage=stage, binning=binning) for (stage, binning), rows in bins.items()]
    columns = ["stage", "binning", "bin", "low", "high", "n", "mean_score", "precision"]
    return pd.DataFrame(errors), pd.concat(frames, ignore_index=True)[columns]


def _check(detections: Table, annotations: Table, method: str, per: str, folds: int) -> None:
    if method not in METHODS:
        raise DataError(f"calibration method {method!r} is unknown; should be one of {METHODS}")
    if per not in ("dataset", "class"):
        raise DataError(f"calibration per {per!r} is unknown; should be 'dataset' or 'class'")
    if detections.classes != annotations.classes:
        raise DataError(
            f"detections: classes {list(detections.classes)} differ from those of the annotations"
            f" {list(annotations.classes)}; use detections made for this data set"
        )
    lost = (detections.frame["category"] < 0).to_numpy()
    if lost.any():
        image = detections.frame["image_id"][lost].iloc[0]
        raise DataError(
            f"detections: image {image}, category is no class ({int(lost.sum())} rows);"
            " mend or leave out these"
        )
    if not 2 <= folds <= max(2, len(_image_ids(detections))):
        raise DataError(
            f"calibration: {folds} folds for {len(_image_ids(detections))} images;"
            " should be between 2 and the number of images"
        )


def _image_ids(detections: Table) -> list[str]:
    listed = detections.image_ids
    return sorted(set(detections.frame["image_id"]) if listed is None else listed)

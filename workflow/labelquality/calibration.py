"""Calibration of scores and class probabilities, and how well calibrated they are.

Paper 1, C.4: a detection is correct when COCO's matching at IoU 0.5 gives it an object of its
class. One map per fold of images, from raw score to the probability of being correct, is fitted on
the other folds, all classes together, and applied to every class probability of its own fold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.errors import DataError
from labelquality.matching import by_score, same_image_pairs
from labelquality.ordering import descending
from labelquality.tables import SCHEMAS, Table

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Method = Literal["isotonic", "platt"]
METHODS: tuple[Method, ...] = ("isotonic", "platt")


class Curve(Protocol):
    """A map from raw scores to probabilities of being correct."""

    def __call__(self, scores: NDArray) -> Floats: ...

    def knots(self) -> tuple[Floats, Floats]:
        """Scores and calibrated scores between which the curve may be drawn straight."""
        ...


@dataclass(frozen=True)
class PiecewiseLinear:
    """Straight between the knots, constant outside (isotonic regression)."""

    scores: Floats
    calibrated: Floats

    def __call__(self, scores: NDArray) -> Floats:
        return np.interp(scores, self.scores, self.calibrated)

    def knots(self) -> tuple[Floats, Floats]:
        return self.scores, self.calibrated


@dataclass(frozen=True)
class Logistic:
    """1 / (1 + exp(-(slope * score + intercept))) (Platt scaling)."""

    slope: float
    intercept: float

    def __call__(self, scores: NDArray) -> Floats:
        exponent = self.slope * np.asarray(scores, dtype=np.float64) + self.intercept
        return 1.0 / (1.0 + np.exp(-exponent))

    def knots(self) -> tuple[Floats, Floats]:
        scores = np.arange(101) / 100
        return scores, self(scores)


@dataclass(frozen=True)
class Calibration:
    """What calibrating a detector on a data set gives.

    table: kind `calibrated`; every entry of `probabilities` mapped, `calibrated_score` the mapped
        score, `fold` the fold of the image. Rows as in the detections.
    curves: fold, score, calibrated: the knots of each fold's curve.
    ece: stage (raw, isotonic, platt), ece, n (detections), binning, n_bins.
    reliability: stage, bin, low, high, n, mean_score, precision; NaN in an empty bin.
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
    folds: int = 5,
    iou_threshold: float = 0.5,
    seed: int = 0,
    n_bins: int = 10,
) -> Calibration:
    """Calibrate `detections` on the (original) `annotations`, out of fold.

    Folds part `detections.image_ids`, sorted and then shuffled with `seed`, so that images without
    detections take part. `method` says which curves are applied; the calibration error and the
    reliability are reported for both, over the detections that COCO's matching judges: the 300 best
    of an image and class. Scores of 0 and 1 lie in the first and the last bin.

    Every entry is mapped, the background of `softmax+background` included, as released; the rows
    then no longer sum to 1. Correctness is that of `correct_detections`. Where all detections that
    a curve is fitted on are correct, or all are wrong, it is constant. No detection at all gives
    empty results.

    Raises DataError for more folds than images, an unknown method, classes that differ, or a fold
    with detections while the other folds have none.
    """
    _check(detections, annotations, method, folds)
    image_ids = _image_ids(detections)
    fold_of_image = assign_folds(len(image_ids), folds, seed)
    position = pd.Index(image_ids, dtype=object)
    image = position.get_indexer(pd.Index(detections.frame["image_id"], dtype=object))
    fold = fold_of_image[image]
    score = detections.frame["score"].to_numpy(dtype=np.float64)
    correct, judged = _judged(detections, annotations, position, iou_threshold)

    pool = (score[judged], correct[judged], fold[judged])
    curves = {m: fit_folds(*pool, folds, m) for m in METHODS}
    stages = {"raw": score}
    stages |= {m: apply_folds(curves[m], score, fold) for m in METHODS}
    probabilities = apply_folds(curves[method], detections.vectors["probabilities"], fold)
    measured = {
        name: reliability(values[judged], correct[judged], n_bins=n_bins)
        for name, values in stages.items()
    }
    knots = [(i, *curve.knots()) for i, curve in enumerate(curves[method]) if curve is not None]
    columns = {"calibrated_score": stages[method], "fold": fold.astype(np.int32)}
    frame = detections.frame.assign(**columns)[list(SCHEMAS["calibrated"].columns)]
    return Calibration(
        replace(
            detections,
            kind="calibrated",
            frame=frame,
            vectors={"probabilities": probabilities},
            meta={**detections.meta, "calibration": method},
        ),
        pd.concat(
            [pd.DataFrame({"fold": i, "score": x, "calibrated": y}) for i, x, y in knots]
            or [pd.DataFrame({"fold": [], "score": [], "calibrated": []})],
            ignore_index=True,
        ),
        pd.DataFrame(
            {
                "stage": list(stages),
                "ece": [expected_calibration_error(frame) for frame in measured.values()],
                "n": int(judged.sum()),
                "binning": "equal_width",
                "n_bins": n_bins,
            }
        ),
        pd.concat(
            [frame.assign(stage=stage) for stage, frame in measured.items()], ignore_index=True
        )[["stage", "bin", "low", "high", "n", "mean_score", "precision"]],
    )


def _check(detections: Table, annotations: Table, method: str, folds: int) -> None:
    if method not in METHODS:
        raise DataError(f"calibration method {method!r} is unknown; should be one of {METHODS}")
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


def assign_folds(n_images: int, folds: int, seed: int) -> Ints:
    """Fold of each of `n_images` images, shape (n_images,): a seeded shuffle cut in equal parts."""
    fold = np.empty(n_images, dtype=np.intp)
    shuffled = np.random.default_rng(seed).permutation(n_images)
    for number, images in enumerate(np.array_split(shuffled, folds)):
        fold[images] = number
    return fold


def _judged(
    detections: Table, annotations: Table, images: pd.Index, iou_threshold: float
) -> tuple[Bools, Bools]:
    """`correct_detections` of two tables, ties of score by image, box and category."""
    frame, truth = detections.frame, annotations.frame
    image = images.get_indexer(pd.Index(frame["image_id"], dtype=object))
    object_image = images.get_indexer(pd.Index(truth["image_id"], dtype=object))
    score = frame["score"].to_numpy(dtype=np.float64)
    order = descending(score, [image, *detections.boxes.T, frame["category"].to_numpy()])
    category = truth["category"].to_numpy(dtype=np.intp)
    # By box, so that equal overlaps do not go by row.
    objects = np.lexsort(annotations.boxes.T)
    objects = objects[((object_image >= 0) & (category >= 0))[objects]]
    crowd = (truth["crowd"] | (truth["region"] != "")).to_numpy(dtype=bool)
    n_classes = len(detections.classes)
    group = image * n_classes + frame["category"].to_numpy(dtype=np.intp)
    correct, judged = np.empty(len(frame), dtype=bool), np.empty(len(frame), dtype=bool)
    correct[order], judged[order] = correct_detections(
        group[order],
        detections.boxes[order],
        score[order],
        (object_image * n_classes + category)[objects],
        annotations.boxes[objects],
        crowd[objects],
        iou_threshold=iou_threshold,
    )
    return correct, judged


def correct_detections(
    group: Ints,
    boxes: Floats,
    score: Floats,
    object_group: Ints,
    object_boxes: Floats,
    crowd: Bools,
    *,
    iou_threshold: float = 0.5,
    max_detections: int = 300,
) -> tuple[Bools, Bools]:
    """Which detections (n,) are correct, and which are judged at all; ties of score go by row.

    A group is an image and a class; its `max_detections` best are judged. By descending score each
    takes the most similar free object of its group whose IoU reaches `iou_threshold`, and is
    correct. Left without one, it is correct as well when the share of it that lies in a crowd of
    its group reaches the threshold: COCO would leave it out, the released calibration does not.
    """
    order = np.argsort(-score, kind="stable")
    judged = np.zeros(len(score), dtype=bool)
    judged[order] = _rank_in_group(group[order]) < max_detections
    objects = np.flatnonzero(~crowd)
    ia, ib = same_image_pairs(group, object_group[objects])
    keep = judged[ia]
    ia, ib = ia[keep], ib[keep]
    similarity = geometry.iou(boxes[ia], object_boxes[objects[ib]])
    matching = by_score(order, ia, ib, similarity, len(score), len(objects), iou_threshold)
    correct = np.zeros(len(score), dtype=bool)
    correct[matching.pairs[:, 0]] = True
    ia, ib = same_image_pairs(group, object_group[crowd])
    inside = geometry.ioa(boxes[ia], object_boxes[crowd][ib]) >= iou_threshold
    correct[ia[inside]] = True
    return correct & judged, judged


def _rank_in_group(group: Ints) -> Ints:
    """Number of earlier entries of the same group, shape (n,)."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.searchsorted(ordered, ordered, side="left")
    rank = np.empty(len(group), dtype=np.intp)
    rank[order] = np.arange(len(group)) - first
    return rank


def fit(scores: Floats, correct: Bools, method: Method) -> Curve:
    """Fit one curve to detections (n,): raw score and whether it is correct.

    Constant where all are correct or all wrong. Raises ValueError without detections.
    """
    if len(scores) == 0:
        raise ValueError("a calibration curve needs at least one detection")
    if correct.all() or not correct.any():
        return PiecewiseLinear(np.zeros(1), np.full(1, float(correct[0])))
    if method == "platt":
        from sklearn.linear_model import LogisticRegression

        # The defaults, as released: with a stricter solver the slope moves by some thousandths.
        logistic = LogisticRegression().fit(scores[:, None], correct)
        return Logistic(float(logistic.coef_[0, 0]), float(logistic.intercept_[0]))
    from sklearn.isotonic import IsotonicRegression

    isotonic = IsotonicRegression(out_of_bounds="clip").fit(scores, correct.astype(np.float64))
    return PiecewiseLinear(isotonic.X_thresholds_, isotonic.y_thresholds_)


def fit_folds(
    scores: Floats, correct: Bools, fold: Ints, folds: int, method: Method
) -> list[Curve | None]:
    """One curve per fold, fitted on the detections of the other folds; None where nothing is.

    Raises DataError when a fold has detections but the others have none.
    """
    curves: list[Curve | None] = []
    for number in range(folds):
        others = fold != number
        if not others.any() and len(scores):
            raise DataError(
                f"calibration: all {len(scores)} detections lie in images of fold {number}, so"
                " nothing is left to fit its curve on; use other folds or more images"
            )
        curves.append(fit(scores[others], correct[others], method) if others.any() else None)
    return curves


def apply_folds(curves: Sequence[Curve | None], values: NDArray, fold: Ints) -> NDArray:
    """Map the rows of `values` (n,) or (n, width) by the curve of their fold; the type is kept."""
    mapped = np.array(values)
    for number, curve in enumerate(curves):
        rows = fold == number
        if curve is not None and rows.any():
            mapped[rows] = curve(values[rows])
    return mapped


def reliability(scores: Floats, correct: Bools, *, n_bins: int = 10) -> pd.DataFrame:
    """Mean score and precision in `n_bins` equal bins over [0, 1], NaN in an empty one.

    Columns bin, low, high, n, mean_score, precision. Bins contain their lower end, the last one
    both.
    """
    edges = np.arange(n_bins + 1) / n_bins
    place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, n_bins - 1)
    n = np.bincount(place, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        mean_score = np.bincount(place, weights=scores, minlength=n_bins) / n
        precision = np.bincount(place, weights=correct, minlength=n_bins) / n
    return pd.DataFrame(
        {
            "bin": np.arange(n_bins),
            "low": edges[:-1],
            "high": edges[1:],
            "n": n,
            "mean_score": mean_score,
            "precision": precision,
        }
    )


def expected_calibration_error(bins: pd.DataFrame) -> float:
    """Mean distance of score and precision over the bins of `reliability`, weighted by n.

    In [0, 1]; NaN without detections (paper 1, C.4).
    """
    n = bins["n"].to_numpy()
    if n.sum() == 0:
        return float("nan")
    gap = (bins["mean_score"] - bins["precision"]).abs().to_numpy()
    return float((n * np.where(n > 0, gap, 0.0)).sum() / n.sum())

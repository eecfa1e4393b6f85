"""MetaDetect: how likely a detection is right, told from the boxes that suppression left out.

Schubert et al., "MetaDetect: Uncertainty Quantification and Prediction Quality Estimates for Object
Detection" (IJCNN 2021), with the features of the authors' code. Gradient boosting learns from them
whether a detection has an IoU of 0.5 or more with an object of its class; false positives that it
holds to be right point to label errors (paper 1, D.1). Paper 1 names no features and takes default
hyper-parameters; here the boosting is scikit-learn's on histograms, with its defaults, all
iterations run.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from labelquality.calibration.image_folds import assign_folds
from labelquality.error_detection.false_positives import (
    as_proposals,
    codes_by_image_and_class,
    false_positives,
)
from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.matching import same_image_pairs
from labelquality.tables import Table, image_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Protocol = Literal["defined", "released"]

CANDIDATE_IOU = 0.45
FOLDS = 5
SHAPES = ("x", "y", "half_width", "half_height", "size", "circumference", "ratio", "score")
STATISTICS = ("min", "max", "mean", "std")
NAMES = (
    "candidates",
    *(f"{name}_{statistic}" for name in (*SHAPES, "iou") for statistic in STATISTICS),
    *("own_size", "own_circumference", "own_ratio"),
    *("x1", "y1", "x2", "y2", "own_score", "category", "probability_sum"),
)
"""The features before the probabilities of the classes."""

_PAIRS_AT_ONCE = 2_000_000


def propose(
    detections: Table, annotations: Table, *, candidates: Table, seed: int = 0, folds: int = FOLDS
) -> Table:
    """Every false positive by the probability of being right, the size of a box being its area.

    `candidates` are the boxes before suppression. Images are parted in `folds` as in calibration,
    and each detection is judged by what the other folds teach.

    Raises DataError for fewer images than folds, and where all detections lie in one fold.
    """
    return _propose("metadetect", detections, annotations, candidates, seed, folds, "defined")


def propose_released(
    detections: Table, annotations: Table, *, candidates: Table, seed: int = 0, folds: int = FOLDS
) -> Table:
    """The same with the released size, which is a quarter of x1 * y1."""
    name = "metadetect_released"
    return _propose(name, detections, annotations, candidates, seed, folds, "released")


def _propose(
    name: str,
    detections: Table,
    annotations: Table,
    candidates: Table,
    seed: int,
    folds: int,
    protocol: Protocol,
) -> Table:
    wrong = false_positives(detections, annotations)
    fold = _fold_of_detection(detections, folds, seed)
    described = features(detections, candidates, protocol)
    right = probability_right(described, ~wrong, fold, wrong, seed)
    return as_proposals(detections.take(wrong), name, right[wrong])


def features(detections: Table, candidates: Table, protocol: Protocol = "defined") -> Floats:
    """What is told of each detection: `NAMES`, then its probabilities; (n, 47 + K) or one more.

    Its candidates are the boxes of its image and class with an IoU above 0.45, itself included. Of
    them, the least, largest and mean value and the (population's) standard deviation of: the
    centre's x and y, half the width w and height h, size, circumference w + h, the ratio of wh / 4
    to it, score, and IoU. Size is wh / 4, as `released` a quarter of x1 * y1. Pixels throughout.
    IoUs of 1, the detection's own first of all, are left out, and without another one all four are
    0. Without any candidate, which is what other boxes than the detector's own can lead to, the
    statistics are NaN.
    """
    boxes = _shapes(candidates, protocol)
    probabilities = detections.vectors["probabilities"]
    table = np.full((len(detections), len(NAMES) + probabilities.shape[1]), np.nan)
    table[:, 0] = 0
    of_iou = 1 + len(SHAPES) * len(STATISTICS)
    table[:, of_iou : of_iou + 4] = 0
    for row, candidate, overlap in _assigned(detections, candidates):
        starts, counts = _runs(row)
        table[row[starts], 0] = counts
        for k, values in enumerate(boxes.T):
            columns = slice(1 + 4 * k, 5 + 4 * k)
            table[row[starts], columns] = _statistics(values[candidate], starts, counts)
        others = row[overlap < 1]
        starts, counts = _runs(others)
        table[others[starts], of_iou : of_iou + 4] = _statistics(
            overlap[overlap < 1], starts, counts
        )
    table[:, of_iou + 4 : len(NAMES)] = np.column_stack(
        [
            _shapes(detections, protocol)[:, 4:7],
            detections.boxes,
            detections.frame[["score", "category"]],
            probabilities.sum(axis=1, dtype=np.float64),
        ]
    )
    table[:, len(NAMES) :] = probabilities
    return table


def probability_right(
    features: Floats, right: Bools, fold: Ints, asked: Bools, seed: int
) -> Floats:
    """Probability of being right of the rows (n,) `asked` for, learnt on other folds; else NaN.

    features (n, f) may hold NaN; `right` (n,) is what to learn. Where all that there is to learn
    from is right, or all wrong, the probability is 1 or 0.

    Raises DataError when a fold has rows but the others have none.
    """
    # A second to import, and every stage that lists the methods would wait for it.
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    result = np.full(len(features), np.nan)
    for number in np.unique(fold[asked]):
        own, others = asked & (fold == number), fold != number
        if not others.any():
            raise DataError(
                f"metadetect: all {len(fold)} detections lie in images of fold {number}, so nothing"
                " is left to learn from; use more images or leave the method out"
            )
        if right[others].all() or not right[others].any():
            result[own] = float(right[others][0])
            continue
        model = HistGradientBoostingClassifier(early_stopping=False, random_state=seed)
        # Its threads wait for each other at every node: on a busy machine, minutes for seconds.
        with threadpool_limits(1, user_api="openmp"):
            model.fit(features[others], right[others])
            result[own] = model.predict_proba(features[own])[:, 1]
    return result


def _fold_of_detection(detections: Table, folds: int, seed: int) -> Ints:
    """Fold of the image of each detection, as calibration parts them; (n,)."""
    listed = detections.image_ids
    images = sorted(set(detections.frame["image_id"]) if listed is None else listed)
    if len(detections) and len(images) < folds:
        raise DataError(
            f"metadetect: {folds} folds for {len(images)} images; use as many images at least, or"
            " leave the method out"
        )
    [image, _] = image_codes(detections.frame["image_id"], images)
    return assign_folds(len(images), folds, seed)[image]


def _shapes(table: Table, protocol: Protocol) -> Floats:
    """The `SHAPES` of all boxes of a table, (n, 8)."""
    low, high = table.boxes[:, :2], table.boxes[:, 2:]
    centre, half = (low + high) / 2, (high - low) / 2
    area, circumference = half.prod(axis=1), 2 * half.sum(axis=1)
    size = area if protocol == "defined" else (low / 2).prod(axis=1)
    score = table.frame["score"].to_numpy(dtype=np.float64)
    return np.column_stack([centre, half, size, circumference, area / circumference, score])


def _assigned(detections: Table, candidates: Table) -> Iterator[tuple[Ints, Ints, Floats]]:
    """Rows of detections and of their candidates, and IoU, block by block; all (p,).

    All candidates of a detection stand together.
    """
    group, of_candidate = codes_by_image_and_class(detections, candidates)
    order, sorted_candidates = (np.argsort(g, kind="stable") for g in (group, of_candidate))
    groups = of_candidate[sorted_candidates]
    first, last = (np.searchsorted(groups, group[order], side=s) for s in ("left", "right"))
    block = np.cumsum(last - first) // _PAIRS_AT_ONCE
    found, candidate_boxes = detections.boxes, candidates.boxes
    for number in np.unique(block):
        here = block == number
        rows = order[here]
        columns = sorted_candidates[first[here].min() : last[here].max()]
        a, b = same_image_pairs(group[rows], of_candidate[columns])
        a, b = rows[a], columns[b]
        overlap = iou(found[a], candidate_boxes[b])
        near = overlap > CANDIDATE_IOU
        yield a[near], b[near], overlap[near]


def _runs(values: Ints) -> tuple[Ints, Ints]:
    """Start and length of each stretch of equal `values` (p,)."""
    starts = np.flatnonzero(np.diff(values, prepend=-1))
    return starts, np.diff(starts, append=len(values))


def _statistics(values: Floats, starts: Ints, counts: Ints) -> Floats:
    """`STATISTICS` of each stretch of `values` (p,), given its start and length; (m, 4)."""
    if not len(starts):
        return np.zeros((0, len(STATISTICS)))
    mean = np.add.reduceat(values, starts) / counts
    apart = np.add.reduceat((values - np.repeat(mean, counts)) ** 2, starts) / counts
    least, largest = np.minimum.reduceat(values, starts), np.maximum.reduceat(values, starts)
    return np.column_stack([least, largest, mean, np.sqrt(apart)])

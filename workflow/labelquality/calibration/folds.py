"""Curves per fold of images: fitted on the other folds, applied to their own, kept in a frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.calibration.curves import (
    Curve,
    Logistic,
    Method,
    PiecewiseLinear,
    fit_sorted,
)
from labelquality.errors import DataError

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
COLUMNS = ("fold", "category", "n", "score", "calibrated", "slope", "intercept")
# Values mapped in one go: few enough that what is computed on the way stays in the cache.
_BLOCK = 131_072


@dataclass(frozen=True)
class FoldCurves:
    """The curves that one fold is calibrated with.

    pooled: fitted on all classes together. of_class: by class index, for the classes that have one
    of their own. n, n_of_class: detections that they were fitted on.
    """

    pooled: Curve
    of_class: Mapping[int, Curve] = field(default_factory=dict)
    n: int = 0
    n_of_class: Mapping[int, int] = field(default_factory=dict)

    def map_scores(self, scores: Floats, category: Ints) -> Floats:
        """Calibrated scores (n,) of detections of the given classes."""
        mapped = self.pooled(scores)
        for k, curve in self.of_class.items():
            rows = category == k
            mapped[rows] = curve(scores[rows])
        return mapped

    def map_probabilities(self, values: NDArray) -> NDArray:
        """Calibrated probabilities (n, K) or (n, K + 1), column by column; the type is kept."""
        mapped = self.pooled(values).astype(values.dtype, copy=False)
        for k, curve in self.of_class.items():
            mapped[:, k] = curve(values[:, k])
        return mapped


Folds = Sequence[FoldCurves | None]


def fit_folds(
    scores: Floats,
    correct: Bools,
    fold: Ints,
    folds: int,
    method: Method,
    *,
    category: Ints | None = None,
    min_count: int = 0,
) -> list[FoldCurves | None]:
    """Curves of every fold, fitted on the detections (n,) of the other folds; None where none are.

    With `category` (n,), a class gets a curve of its own where at least `min_count` detections are
    there to fit it on, correct and wrong ones among them; the others share the pooled curve.

    Raises DataError when a fold has detections but the others have none.
    """
    order = np.argsort(scores, kind="stable")
    scores, correct, fold = scores[order], correct[order], fold[order]
    category = None if category is None else category[order]
    curves: list[FoldCurves | None] = []
    for number in range(folds):
        others = fold != number
        if not others.any():
            if len(scores):
                raise DataError(
                    f"calibration: all {len(scores)} detections lie in images of fold {number}, so"
                    " nothing is left to fit its curve on; use other folds or more images"
                )
            curves.append(None)
            continue
        x, y = scores[others], correct[others]
        of_class, n_of_class = {}, {}
        for k, rows in _by_class(None if category is None else category[others]):
            if len(rows) >= min_count and 0 < y[rows].sum() < len(rows):
                of_class[k] = fit_sorted(x[rows], y[rows], method)
                n_of_class[k] = len(rows)
        curves.append(FoldCurves(fit_sorted(x, y, method), of_class, len(x), n_of_class))
    return curves


def _by_class(category: Ints | None) -> Iterator[tuple[int, Ints]]:
    """Rows of each class, ascending; nothing without classes."""
    if category is None:
        return
    order = np.argsort(category, kind="stable")
    classes, starts = np.unique(category[order], return_index=True)
    yield from zip(classes.tolist(), np.split(order, starts[1:]), strict=True)


def map_scores(curves: Folds, scores: Floats, category: Ints, fold: Ints) -> Floats:
    """Calibrated scores (n,): each by the curves of its fold; unchanged where there are none."""
    mapped = scores.copy()
    for part, rows in _blocks(curves, fold, 1):
        mapped[rows] = part.map_scores(scores[rows], category[rows])
    return mapped


def map_probabilities(curves: Folds, values: NDArray, fold: Ints) -> NDArray:
    """Calibrated probabilities, rows as `values` (n, width) and of its type."""
    mapped = values.copy()
    for part, rows in _blocks(curves, fold, values.shape[1]):
        mapped[rows] = part.map_probabilities(values[rows])
    return mapped


def _blocks(curves: Folds, fold: Ints, width: int) -> Iterator[tuple[FoldCurves, Ints]]:
    step = max(1, _BLOCK // max(width, 1))
    for number, part in enumerate(curves):
        rows = np.flatnonzero(fold == number)
        for start in range(0, len(rows) if part else 0, step):
            assert part is not None
            yield part, rows[start : start + step]


def to_frame(curves: Folds, classes: Sequence[str]) -> pd.DataFrame:
    """The curves as rows: fold, category (none for the pooled one), n, and what they are made of.

    score and calibrated are the knots between which a curve is straight; a logistic curve has its
    slope and intercept in every row, and is only drawn by its knots.
    """
    frames = []
    for number, part in enumerate(curves):
        if part is None:
            continue
        named = [("", part.pooled, part.n)]
        named += [(classes[k], curve, part.n_of_class[k]) for k, curve in part.of_class.items()]
        for category, curve, n in named:
            score, calibrated = curve.knots()
            line = (curve.slope, curve.intercept) if isinstance(curve, Logistic) else (None, None)
            values = (number, category or None, n, score, calibrated, *line)
            frames.append(pd.DataFrame(dict(zip(COLUMNS, values, strict=True))))
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=list(COLUMNS))


def from_frame(frame: pd.DataFrame, classes: Sequence[str], folds: int) -> list[FoldCurves | None]:
    """The curves that `to_frame` wrote, to be applied again."""
    index = {name: k for k, name in enumerate(classes)}
    curves: list[FoldCurves | None] = [None] * folds
    for number, rows in frame.groupby("fold"):
        own = rows[rows["category"].notna()].groupby("category", sort=False)
        of_class = {index[name]: _curve(part) for name, part in own}
        n_of_class = {index[name]: int(part["n"].iloc[0]) for name, part in own}
        pooled = rows[rows["category"].isna()]
        curves[int(number)] = FoldCurves(
            _curve(pooled), of_class, int(pooled["n"].iloc[0]), n_of_class
        )
    return curves


def _curve(rows: pd.DataFrame) -> Curve:
    if rows["slope"].notna().all():
        return Logistic(float(rows["slope"].iloc[0]), float(rows["intercept"].iloc[0]))
    return PiecewiseLinear(
        rows["score"].to_numpy(dtype=np.float64), rows["calibrated"].to_numpy(dtype=np.float64)
    )

"""Maps from raw scores to probabilities of being correct: isotonic regression and Platt scaling."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, special

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Method = Literal["isotonic", "platt"]
METHODS: tuple[Method, ...] = ("isotonic", "platt")
# The leading bits of a float32 in [0, 1] number 256 cells per octave, in ascending order.
_SHIFT = 15
_CELLS = (0x3F800000 >> _SHIFT) + 1
# Scores looked at in one go: few enough that what is computed on the way stays in the cache.
_BLOCK = 16_384
_LARGEST_EXPONENT = 500.0


@dataclass(frozen=True)
class PiecewiseLinear:
    """Straight between the knots, constant outside (isotonic regression).

    scores, calibrated (k,): the knots, scores strictly ascending.
    """

    scores: Floats
    calibrated: Floats

    def __call__(self, scores: NDArray) -> Floats:
        """Calibrated `scores`, any shape."""
        scores = np.asarray(scores)
        many = scores.dtype == np.float32 and scores.size > _CELLS
        if many and scores.min() >= 0 and scores.max() <= 1:
            return self._by_cell(scores)
        return np.interp(scores, self.scores, self.calibrated)

    def knots(self) -> tuple[Floats, Floats]:
        """Scores and calibrated scores between which the curve may be drawn straight."""
        return self.scores, self.calibrated

    def _by_cell(self, scores: NDArray[np.float32]) -> Floats:
        """As `np.interp`, to the last bit, without a search where a cell holds no knot."""
        start, value, slope, has_knot = self._cells
        # Adding 0 makes a negative zero, whose sign is a leading bit, an ordinary one.
        cell = ((scores + np.float32(0)).view(np.uint32) >> _SHIFT).astype(np.intp)
        mapped = (scores - start[cell]) * slope[cell] + value[cell]
        search = has_knot[cell]
        mapped[search] = np.interp(scores[search], self.scores, self.calibrated)
        return mapped

    @cached_property
    def _cells(self) -> tuple[Floats, Floats, Floats, Bools]:
        """Start, value and slope of the segment of each cell, and whether a knot lies inside."""
        first = np.arange(_CELLS, dtype=np.uint32) << _SHIFT
        last = first | np.uint32((1 << _SHIFT) - 1)
        low, high = (
            np.searchsorted(self.scores, bits.view(np.float32), side="right")
            for bits in (first, last)
        )
        x = np.append(0.0, self.scores)
        y = np.append(self.calibrated[0], self.calibrated)
        slope = np.zeros(len(x))
        slope[1:-1] = np.diff(self.calibrated) / np.diff(self.scores)
        return x[low], y[low], slope[low], low != high


@dataclass(frozen=True)
class Logistic:
    """1 / (1 + exp(-(slope * score + intercept))) (Platt scaling)."""

    slope: float
    intercept: float

    def __call__(self, scores: NDArray) -> Floats:
        """Calibrated `scores`, any shape."""
        return special.expit(self.slope * np.asarray(scores, dtype=np.float64) + self.intercept)

    def knots(self) -> tuple[Floats, Floats]:
        """Scores and calibrated scores between which the curve may be drawn straight."""
        scores = np.arange(101) / 100
        return scores, self(scores)


Curve = PiecewiseLinear | Logistic


def fit(scores: Floats, correct: Bools, method: Method) -> Curve:
    """Fit one curve to detections (n,): raw score and whether it is correct.

    Constant where all are correct or all wrong. Raises ValueError without detections.
    """
    order = np.argsort(scores, kind="stable")
    return fit_sorted(scores[order], correct[order], method)


def fit_sorted(scores: Floats, correct: Bools, method: Method) -> Curve:
    """As `fit`, for scores in ascending order."""
    if len(scores) == 0:
        raise ValueError("a calibration curve needs at least one detection")
    if correct.all() or not correct.any():
        return PiecewiseLinear(np.zeros(1), np.full(1, float(correct[0])))
    return _isotonic(scores, correct) if method == "isotonic" else _platt(scores, correct)


def _isotonic(scores: Floats, correct: Bools) -> PiecewiseLinear:
    starts = np.flatnonzero(np.append(True, scores[1:] != scores[:-1]))
    counts = np.diff(np.append(starts, len(scores)))
    hits = np.add.reduceat(correct, starts, dtype=np.float64)
    level = optimize.isotonic_regression(hits / counts, weights=counts).x
    rises = level[1:] != level[:-1]
    keep = np.append(True, rises) | np.append(rises, True)
    return PiecewiseLinear(scores[starts][keep], level[keep])


def _platt(scores: Floats, correct: Bools) -> Logistic:
    """Logistic regression as scikit-learn fits it by default, which is what was released.

    The slope is held back by half its square, and the solver stops where no derivative of the mean
    loss exceeds 1e-4: up to some thousandths short of the least loss on a few hundred detections.
    """
    n, hits, hit_scores = len(scores), correct.sum(), scores[correct].sum()
    blocks = np.array_split(scores, -(-n // _BLOCK))

    def loss(parameters: Floats) -> tuple[float, Floats]:
        slope, intercept = parameters
        value = slope**2 / 2 - slope * hit_scores - intercept * hits
        gradient = np.array([slope - hit_scores, -hits])
        for x in blocks:
            odds = np.exp(np.minimum(slope * x + intercept, _LARGEST_EXPONENT))
            chance = odds / (1.0 + odds)
            value += np.log(1.0 + odds).sum()
            # No BLAS here: its sums, and its speed, change with the number of threads.
            gradient += np.einsum("i,i->", chance, x), chance.sum()
        return value / n, gradient / n

    found = optimize.minimize(
        loss, np.zeros(2), jac=True, method="L-BFGS-B",
        options={"maxiter": 100, "maxls": 50, "gtol": 1e-4, "ftol": 64 * np.finfo(float).eps},
    )  # fmt: skip
    return Logistic(float(found.x[0]), float(found.x[1]))

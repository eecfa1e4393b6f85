"""How sure the scores of label-error detection are: images drawn anew, with replacement.

A proposal's match depends on its image alone, so an image that is drawn k times brings its
proposals and errors k times, at the same rank; nothing is matched again. All methods are scored on
the same draws, which makes their differences paired.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.error_detection.scoring import Ranked

Floats = NDArray[np.float64]
LEVEL = 0.95
MEASURES = ("AP", "best_f1")

_ENTRIES_AT_ONCE = 4_000_000


@dataclass(frozen=True)
class Draws:
    """`copies` (n_draws, n_images): how often each of `images` is drawn."""

    images: pd.Index
    copies: NDArray[np.int32]


def draw_images(images: pd.Index, n_draws: int, seed: int) -> Draws:
    """As many images as there are, drawn with replacement, `n_draws` times."""
    rng = np.random.default_rng(seed)
    n = len(images)
    copies = rng.multinomial(n, np.full(n, 1 / n), size=n_draws) if n else np.zeros((n_draws, 0))
    return Draws(images, copies.astype(np.int32))


def scores_of_draws(ranked: Ranked, draws: Draws) -> dict[str, Floats]:
    """AP and best F1 of each draw, as `scoring.score` defines them: name to (n_draws,).

    NaN where a draw has no errors; AP is NaN throughout for proposals without an order.
    """
    of_proposal = draws.images.get_indexer(ranked.image_id)
    of_error = draws.images.get_indexer(ranked.errors.frame["image_id"])
    n_draws, n_images = draws.copies.shape
    n_errors = draws.copies @ np.bincount(of_error, minlength=n_images)
    hits = np.flatnonzero(ranked.right)
    precisions, f1s = np.zeros(n_draws), np.zeros(n_draws)
    size = max(1, _ENTRIES_AT_ONCE // max(len(of_proposal), 1))
    for start in range(0, n_draws if len(hits) else 0, size):
        rows = slice(start, start + size)
        copies = draws.copies[rows][:, of_proposal]
        reviewed = np.cumsum(copies, axis=1)
        found = np.cumsum(copies[:, hits], axis=1)
        total = n_errors[rows, None]
        at_hits = reviewed[:, hits] if ranked.is_ordered else reviewed[:, -1:]
        point = found if ranked.is_ordered else found[:, -1:]
        with np.errstate(invalid="ignore"):
            f1s[rows] = (2 * point / (at_hits + total)).max(axis=1)
            precision = np.nan_to_num(point / at_hits)
            envelope = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
            steps = np.diff(point, axis=1, prepend=0) / total
        precisions[rows] = (steps * envelope).sum(axis=1)
    known = n_errors > 0
    return {
        "AP": np.where(known & ranked.is_ordered, precisions, np.nan),
        "best_f1": np.where(known, f1s, np.nan),
    }


def interval(values: Floats) -> tuple[float, float]:
    """The middle 95 % of the draws that have a value; NaN where none has."""
    values = values[~np.isnan(values)]
    if not len(values):
        return np.nan, np.nan
    low, high = np.quantile(values, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def intervals(of_draws: Mapping[str, Floats]) -> dict[str, float]:
    """AP_low, AP_high, best_f1_low, best_f1_high of one method."""
    found = {name: interval(of_draws[name]) for name in MEASURES}
    return {
        f"{name}_{end}": value
        for name in MEASURES
        for end, value in zip(("low", "high"), found[name], strict=True)
    }


def differences(
    summaries: Mapping[str, Mapping[str, float]], of_draws: Mapping[str, Mapping[str, Floats]]
) -> pd.DataFrame:
    """Every method minus every one after it, with the interval of the paired draws.

    Takes the summaries (`Scores.summary`) and draws of each method. Columns method, other,
    measure, difference, low, high; a row for each measure that both methods have.
    """
    columns = ["method", "other", "measure", "difference", "low", "high"]
    rows = [
        (
            a, b, name, summaries[a][name] - summaries[b][name],
            *interval(of_draws[a][name] - of_draws[b][name]),
        )
        for name in MEASURES
        for a, b in combinations(summaries, 2)
        if not np.isnan(summaries[a][name] - summaries[b][name])
    ]  # fmt: skip
    return pd.DataFrame(rows, columns=columns)

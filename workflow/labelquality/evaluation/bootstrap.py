"""How sure the figures of the soft evaluation are: images drawn anew, with replacement.

A match depends on its image alone, so an image that is drawn k times brings its predictions and
objects k times; nothing is matched or compared again.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.evaluation.protocols import Protocol
from labelquality.evaluation.similarity import SIMILARITIES, area_under_curve
from labelquality.evaluation.soft_evaluation import (
    IOUS,
    Objects,
    Predictions,
    evaluated_images,
    outcomes,
    prepare,
)

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Copies = NDArray[np.int64]
LEVEL = 0.95
QUANTITIES = (
    "AS_all",
    "TVD",
    "TVD_matched",
    "root_JSD",
    "root_JSD_matched",
    "recall",
    "mean_similarity",
)


def intervals(
    predictions: Predictions,
    objects: Objects,
    n_images: int,
    protocol: Protocol,
    *,
    n_draws: int = 200,
    seed: int = 0,
    ious: Iterable[float] = IOUS,
) -> pd.DataFrame:
    """One row for each of QUANTITIES: quantity, value, low, high, n_images, n_draws.

    All sizes together, means over `ious`, as `average_similarity.summarize` gives them. low and
    high are the 2.5 and 97.5 % quantiles over `n_draws` draws of as many images as take part.
    """
    evaluated = evaluated_images(predictions, n_images, protocol)
    copies = np.vstack([evaluated, draw_copies(evaluated, n_draws, seed)])
    values = figures_of_draws(predictions, objects, protocol, copies, ious=ious)
    records = []
    for name, of_draws in values.items():
        known = of_draws[1:][~np.isnan(of_draws[1:])]
        tails = ((1 - LEVEL) / 2, (1 + LEVEL) / 2)
        low, high = np.quantile(known, tails) if len(known) else (np.nan, np.nan)
        records.append({"quantity": name, "value": of_draws[0], "low": low, "high": high})
    return pd.DataFrame(records).assign(n_images=int(evaluated.sum()), n_draws=n_draws)


def draw_copies(evaluated: Bools, n_draws: int, seed: int) -> Copies:
    """How often each image is drawn, shape (n_draws, n_images); never one that takes no part."""
    copies = np.zeros((n_draws, len(evaluated)), dtype=np.int64)
    n = int(evaluated.sum())
    if n:
        rng = np.random.default_rng(seed)
        copies[:, evaluated] = rng.multinomial(n, np.full(n, 1 / n), size=n_draws)
    return copies


def figures_of_draws(
    predictions: Predictions,
    objects: Objects,
    protocol: Protocol,
    copies: Copies,
    *,
    ious: Iterable[float] = IOUS,
) -> dict[str, Floats]:
    """QUANTITIES of every draw, name to (n_draws,), where image i is there copies[:, i] times.

    Copies of one prediction are one step of the similarity-recall curve. NaN is a mean over
    nothing.
    """
    n_draws, n_images = copies.shape
    objects, [walk] = prepare(predictions, objects, n_images, protocol, [protocol.ordering])
    image = predictions.image[walk.rows]
    n_objects = copies @ np.bincount(objects.image, minlength=n_images)

    def total(values: Floats, rows: Bools) -> Floats:
        of_image = np.bincount(image[rows], values[rows], minlength=n_images)
        return (copies @ of_image).astype(np.float64)

    def mean(values: Floats, rows: Bools) -> Floats:
        return _ratio(total(values, rows), total(np.ones(len(image)), rows))

    every = np.ones(len(image), dtype=bool)
    at_iou: list[list[Floats]] = []
    for _, _, outcome in outcomes(predictions, objects, protocol, ious, {"all": (0.0, np.inf)}):
        steps = walk.apply(outcome)
        matched, sampled = steps.matched, steps.sampled
        tv, js = (steps.similarity[SIMILARITIES.index(name)] for name in ("tv", "js"))
        areas = [
            area_under_curve(tv, matched, int(n_objects[i]), copies=copies[i, image])
            for i in range(n_draws)
        ]
        figures = [np.where(n_objects > 0, areas, protocol.without_objects)]
        for values in (tv, js):
            figures += [1 - mean(values, rows) for rows in (sampled, sampled & matched)]
        found = total(np.ones(len(image)), matched)
        figures += [_ratio(found, n_objects), mean(tv, every)]
        at_iou.append(figures)
    return dict(zip(QUANTITIES, _mean_of_known(np.array(at_iou)), strict=True))


def _ratio(numerator: Floats, denominator: NDArray) -> Floats:
    out = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=out, where=denominator > 0)


def _mean_of_known(values: Floats) -> Floats:
    """Mean over the first axis of what is not NaN."""
    known = ~np.isnan(values)
    sums, counts = np.where(known, values, 0.0).sum(axis=0), known.sum(axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)

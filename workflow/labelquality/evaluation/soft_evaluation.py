"""The soft evaluation on arrays; `average_similarity` is its face for tables.

Every similarity is computed once: of each prediction to background, and of each candidate pair.
IoU thresholds, size ranges and orderings only select among these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.distributions import entropy
from labelquality.evaluation.candidates import Pairs, by_preference, candidate_pairs
from labelquality.evaluation.protocols import Ordering, Protocol
from labelquality.evaluation.similarity import (
    RECALL_LEVELS,
    SIMILARITIES,
    area_under_curve,
    similarities,
    similarities_to_background,
)
from labelquality.matching import choose
from labelquality.ordering import descending

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]
Rows = slice | Ints

IOUS: tuple[float, ...] = tuple(np.linspace(0.5, 0.95, 10).tolist())
# COCO's area ranges in square pixels, both ends included: 32^2 and 96^2 belong to two of them.
SIZES: dict[str, tuple[float, float]] = {
    "all": (0.0, 1e10),
    "small": (0.0, 32.0**2),
    "medium": (32.0**2, 96.0**2),
    "large": (96.0**2, 1e10),
}
# Rows whose distributions exist at one time: small enough for the processor's cache.
_BLOCK = 4096


def size_ranges(small: float, medium: float) -> dict[str, tuple[float, float]]:
    """COCO's size ranges with other limits: the largest area of a small and of a medium object."""
    return {
        "all": SIZES["all"],
        "small": (0.0, small),
        "medium": (small, medium),
        "large": (medium, SIZES["large"][1]),
    }


@dataclass(frozen=True)
class Predictions:
    """Predictions (n,): image code, box, raw score, class, and a function to distributions.

    `category` is the class that the detector names. `distribution(rows)` gives float64 rows of
    K + 1 entries that sum to 1, background last.
    """

    image: Ints
    boxes: Floats
    score: Floats
    category: Ints
    distribution: Callable[[Rows], Floats]

    def __len__(self) -> int:
        return len(self.score)


@dataclass(frozen=True)
class Objects:
    """Objects (g,): image code, box, and soft label (g, K + 1), can't-solve last."""

    image: Ints
    boxes: Floats
    labels: Floats

    def take(self, rows: Bools) -> Objects:
        """The objects that a mask selects."""
        return Objects(self.image[rows], self.boxes[rows], self.labels[rows])


@dataclass(frozen=True)
class Outcome:
    """What matching at one IoU threshold and size range gives.

    inside (n,): predictions whose own area is in the range. counts (g,): objects in the range,
    which count. prediction, object, similarity (m,), (m,), (3, m): the matched predictions, their
    objects, and how similar they are, rows as SIMILARITIES.
    """

    inside: Bools
    counts: Bools
    prediction: Ints
    object: Ints
    similarity: Floats

    @property
    def n_objects(self) -> int:
        """How many objects count."""
        return int(self.counts.sum())

    @property
    def counted(self) -> Bools:
        """Which matched predictions (m,) have an object that counts."""
        return self.counts[self.object]


@dataclass(frozen=True)
class Steps:
    """The predictions (v,) that count, in the order of a walk.

    prediction: which they are. similarity (3, v): to their object or to background. matched,
    sampled (v,): those with an object, and those that enter the mean distances.
    """

    prediction: Ints
    similarity: Floats
    matched: Bools
    sampled: Bools

    def take(self, rows: Ints) -> Steps:
        """The steps that an index array selects."""
        return Steps(
            self.prediction[rows],
            self.similarity.take(rows, axis=1),
            self.matched[rows],
            self.sampled[rows],
        )


@dataclass(frozen=True)
class Walk:
    """Predictions (n,) in the order in which a similarity-recall curve is walked.

    rows: the predictions in this order. position: its inverse. to_background (3, n): similarities
    of unmatched predictions, in this order; sampled (n,): those that enter the mean distances.
    """

    rows: Ints
    position: Ints
    to_background: Floats
    sampled: Bools

    @staticmethod
    def along(rows: Ints, to_background: Floats, sampled: Bools) -> Walk:
        """Put similarities and flags of predictions in the order `rows`."""
        position = np.empty_like(rows)
        position[rows] = np.arange(len(rows))
        return Walk(rows, position, to_background[:, rows], sampled[rows])

    def apply(self, outcome: Outcome) -> Steps:
        """The predictions with an object that counts, and the unmatched ones inside."""
        at = self.position[outcome.prediction]
        valid, matched = outcome.inside[self.rows], np.zeros(len(self.rows), dtype=bool)
        valid[at] = matched[at] = outcome.counted
        similarity = self.to_background.copy()
        similarity[:, at] = outcome.similarity
        steps = Steps(self.rows, similarity, matched, self.sampled)
        return steps if valid.all() else steps.take(np.flatnonzero(valid))


def evaluate_arrays(
    predictions: Predictions,
    objects: Objects,
    n_images: int,
    protocol: Protocol,
    *,
    ious: Iterable[float] = IOUS,
    sizes: Mapping[str, tuple[float, float]] = SIZES,
    orderings: Sequence[Ordering] | None = None,
    levels: Floats = RECALL_LEVELS,
) -> pd.DataFrame:
    """As `average_similarity.evaluate`; image codes are 0 to n_images - 1, ties go by row."""
    orderings = tuple(orderings or [protocol.ordering])
    objects, walks = prepare(predictions, objects, n_images, protocol, orderings)
    records: list[dict[str, object]] = []
    for size, iou, outcome in outcomes(predictions, objects, protocol, ious, sizes):
        for ordering, walk in zip(orderings, walks, strict=True):
            where = {
                "protocol": protocol.name, "size": size, "iou": iou, "ordering": ordering
            }  # fmt: skip
            n_objects, steps = outcome.n_objects, walk.apply(outcome)
            records += [where | row for row in figures(steps, n_objects, protocol, levels)]
    return pd.DataFrame.from_records(records)


def figures(
    steps: Steps, n_objects: int, protocol: Protocol, levels: Floats = RECALL_LEVELS
) -> list[dict[str, object]]:
    """The figures of one walk past `n_objects`, one record per similarity."""
    facts = _facts(steps, n_objects)
    areas = [area_under_curve(row, steps.matched, n_objects, levels) for row in steps.similarity]
    return [
        {
            "similarity": name,
            "AS": area if n_objects else protocol.without_objects,
            "mean_similarity": _mean(values),
        }
        | facts
        for name, area, values in zip(SIMILARITIES, areas, steps.similarity, strict=True)
    ]


def prepare(
    predictions: Predictions,
    objects: Objects,
    n_images: int,
    protocol: Protocol,
    orderings: Sequence[Ordering],
) -> tuple[Objects, list[Walk]]:
    """The objects that take part, and a walk along each of `orderings`."""
    evaluated = evaluated_images(predictions, n_images, protocol)
    objects = objects.take(evaluated[objects.image] & _solvable(objects.labels, protocol))
    sampled = _sampled(predictions.image, evaluated, protocol)
    to_background, keys = _describe(predictions, orderings, protocol)
    walks = [Walk.along(descending(key), to_background, sampled) for key in keys]
    return objects, walks


def evaluated_images(predictions: Predictions, n_images: int, protocol: Protocol) -> Bools:
    """Which images take part, shape (n_images,)."""
    if protocol.images_without_predictions == "keep":
        return np.ones(n_images, dtype=bool)
    return np.bincount(predictions.image, minlength=n_images) > 0


def outcomes(
    predictions: Predictions,
    objects: Objects,
    protocol: Protocol,
    ious: Iterable[float],
    sizes: Mapping[str, tuple[float, float]],
) -> Iterator[tuple[str, float, Outcome]]:
    """Match at every size range and IoU threshold, in this order.

    Predictions go by descending raw score. A prediction that finds no object within the size range
    may take one outside, and then does not count.
    """
    ious = sorted(ious)
    pairs = candidate_pairs(
        predictions.image,
        predictions.boxes,
        objects.image,
        objects.boxes,
        min(ious),
        union_epsilon=protocol.union_epsilon,
    )
    similarity = _pair_similarities(pairs, predictions, objects, protocol.log_epsilon)
    turn = np.empty(len(predictions), dtype=np.intp)
    turn[descending(predictions.score)] = np.arange(len(predictions))
    prediction_areas = geometry.areas(predictions.boxes)
    object_areas = geometry.areas(objects.boxes)
    for size, (low, high) in sizes.items():
        inside = (prediction_areas >= low) & (prediction_areas <= high)
        counts = (object_areas >= low) & (object_areas <= high)
        choices = by_preference(pairs, turn, ignored=~counts)
        for iou in ious:
            choices = choices[pairs.iou[choices] >= iou]
            taken = choices[
                choose(
                    pairs.prediction[choices],
                    pairs.object[choices],
                    len(counts),
                    second_choices=protocol.matching == "greedy",
                )
            ]
            found = (pairs.prediction[taken], pairs.object[taken], similarity[:, taken])
            yield size, iou, Outcome(inside, counts, *found)


def _facts(steps: Steps, n_objects: int) -> dict[str, object]:
    """Recall, mean distances and numbers of one walk."""
    matched, sampled = steps.matched, steps.sampled
    n_matched = int(matched.sum())
    facts: dict[str, object] = {"recall": n_matched / n_objects if n_objects else np.nan}
    for name, measure in (("TVD", "tv"), ("root_JSD", "js")):
        values = steps.similarity[SIMILARITIES.index(measure)]
        facts[name] = 1.0 - _mean(values if sampled.all() else values[sampled])
        facts[f"{name}_matched"] = 1.0 - _mean(values[matched & sampled])
    numbers = {"n_objects": n_objects, "n_predictions": len(matched), "n_matched": n_matched}
    return facts | numbers


def _mean(values: Floats) -> float:
    return float(values.mean()) if len(values) else float("nan")


def _solvable(labels: Floats, protocol: Protocol) -> Bools:
    """Objects that take part: under `drop`, those whose most likely entry is a real class."""
    if protocol.cant_solve_objects == "keep" or len(labels) == 0:
        return np.ones(len(labels), dtype=bool)
    return labels.argmax(axis=1) < labels.shape[1] - 1


def _sampled(image: Ints, evaluated: Bools, protocol: Protocol) -> Bools:
    """Predictions that enter the mean distances."""
    if protocol.distances_over == "all":
        return np.ones(len(image), dtype=bool)
    listed = np.flatnonzero(evaluated)
    last = np.append(listed[protocol.chunk - 1 :: protocol.chunk], listed[-1:])
    return np.isin(image, last)


def _describe(
    predictions: Predictions, orderings: Sequence[Ordering], protocol: Protocol
) -> tuple[Floats, Floats]:
    """Similarities to background (3, n) and keys of the orderings (orderings, n), block by block.

    Keys are rounded, so that what is equal in exact arithmetic stays tied whatever the order of the
    classes.
    """
    to_background = np.empty((len(SIMILARITIES), len(predictions)))
    keys = np.empty((len(orderings), len(predictions)))
    epsilon = protocol.log_epsilon
    for start in range(0, len(predictions), _BLOCK):
        rows = slice(start, min(start + _BLOCK, len(predictions)))
        p = predictions.distribution(rows)
        to_background[:, rows] = similarities_to_background(p, log_epsilon=epsilon)
        keys[:, rows] = [_key(p, ordering, epsilon) for ordering in orderings]
    return to_background, np.round(keys, 12)


def _key(p: Floats, ordering: Ordering, log_epsilon: float) -> Floats:
    if ordering == "max_probability":
        return p.max(axis=1)
    if ordering == "foreground":
        return p[:, :-1].max(axis=1)
    value = -(p * np.log(p + log_epsilon)).sum(axis=1) if log_epsilon else entropy(p)
    return value if ordering == "entropy_descending" else -value


def _pair_similarities(
    pairs: Pairs, predictions: Predictions, objects: Objects, log_epsilon: float
) -> Floats:
    """Similarity of every candidate pair, shape (3, m)."""
    out = np.empty((len(SIMILARITIES), len(pairs)))
    for start in range(0, len(pairs), _BLOCK):
        rows = slice(start, start + _BLOCK)
        p = predictions.distribution(pairs.prediction[rows])
        q = objects.labels[pairs.object[rows]]
        out[:, rows] = similarities(p, q, log_epsilon=log_epsilon)
    return out

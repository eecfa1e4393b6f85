"""The soft evaluation on arrays; `average_similarity` is its face for tables.

Every similarity is computed once: of each prediction to background and of each candidate pair to its
object. IoU thresholds, size ranges and orderings only select among these numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.distributions import entropy
from labelquality.evaluation.candidates import Pairs, assign, by_preference, candidate_pairs
from labelquality.evaluation.protocols import Ordering, Protocol
from labelquality.evaluation.similarity import (
    RECALL_LEVELS,
    SIMILARITIES,
    area_under_curve,
    similarities,
    similarities_to_background,
)

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


@dataclass(frozen=True)
class Predictions:
    """Predictions (n,): image code, box, raw score, and a function from rows to distributions.

    `distribution(rows)` gives float64 rows of K + 1 entries that sum to 1, background last.
    """

    image: Ints
    boxes: Floats
    score: Floats
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
    """What matching at one IoU threshold and size range leaves of the predictions (n,).

    valid: predictions that count. matched: those with an object that counts. similarity (3, n): to
    that object or to background, rows as SIMILARITIES. n_objects: objects that count.
    """

    valid: Bools
    matched: Bools
    similarity: Floats
    n_objects: int


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
    evaluated = np.ones(n_images, dtype=bool)
    if protocol.images_without_predictions == "drop":
        evaluated = np.bincount(predictions.image, minlength=n_images) > 0
    objects = objects.take(evaluated[objects.image] & _solvable(objects.labels, protocol))
    sampled = _sampled(predictions.image, evaluated, protocol)
    walks = _walks(predictions, orderings, protocol)

    records: list[dict[str, object]] = []
    for size, iou, outcome in outcomes(predictions, objects, protocol, ious, sizes):
        common = {"protocol": protocol.name, "size": size, "iou": iou}
        facts = _facts(outcome, sampled)
        for ordering, walk in zip(orderings, walks, strict=True):
            rows = walk[outcome.valid[walk]]
            for name, similarity in zip(SIMILARITIES, outcome.similarity, strict=True):
                area = area_under_curve(
                    similarity[rows], outcome.matched[rows], outcome.n_objects, levels
                )
                if outcome.n_objects == 0:
                    area = protocol.without_objects
                which = {"similarity": name, "ordering": ordering, "AS": area}
                mean = _mean(similarity[rows])
                records.append({**common, **which, "mean_similarity": mean, **facts})
    return pd.DataFrame.from_records(records)


def outcomes(
    predictions: Predictions,
    objects: Objects,
    protocol: Protocol,
    ious: Iterable[float],
    sizes: Mapping[str, tuple[float, float]],
) -> Iterator[tuple[str, float, Outcome]]:
    """Match at every size range and IoU threshold, in this order.

    Predictions go by descending raw score. A prediction that finds no object within the size range
    may take one outside, and is then left out, as are unmatched predictions of other sizes.
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
    to_background = _by_block(
        predictions,
        lambda p: similarities_to_background(p, log_epsilon=protocol.log_epsilon),
        np.empty((len(predictions), len(SIMILARITIES))),
    )
    to_object = _pair_similarities(pairs, predictions, objects, protocol.log_epsilon)
    turn = np.empty(len(predictions), dtype=np.intp)
    turn[np.argsort(-predictions.score, kind="stable")] = np.arange(len(predictions))
    prediction_areas, object_areas = (
        geometry.areas(predictions.boxes),
        geometry.areas(objects.boxes),
    )
    for size, (low, high) in sizes.items():
        inside = (prediction_areas >= low) & (prediction_areas <= high)
        counts = (object_areas >= low) & (object_areas <= high)
        choices = by_preference(pairs, turn, ignored=~counts)
        for iou in ious:
            choices = choices[pairs.iou[choices] >= iou]
            taken = choices[assign(pairs.take(choices), len(counts), protocol.matching)]
            yield (
                size,
                iou,
                _outcome(pairs.take(taken), to_object[:, taken], to_background, inside, counts),
            )


def _outcome(
    taken: Pairs, to_object: Floats, to_background: Floats, inside: Bools, counts: Bools
) -> Outcome:
    counted = counts[taken.object]
    valid, matched, similarity = inside.copy(), np.zeros_like(inside), to_background.copy()
    valid[taken.prediction] = counted
    matched[taken.prediction] = counted
    similarity[:, taken.prediction] = to_object
    return Outcome(valid, matched, similarity, int(counts.sum()))


def _facts(outcome: Outcome, sampled: Bools) -> dict[str, object]:
    """Recall, mean distances and numbers of one outcome."""
    n_matched = int(outcome.matched.sum())
    facts: dict[str, object] = {
        "recall": n_matched / outcome.n_objects if outcome.n_objects else float("nan")
    }
    for name, measure in (("TVD", "tv"), ("root_JSD", "js")):
        distance = 1.0 - outcome.similarity[SIMILARITIES.index(measure)]
        facts[name] = _mean(distance[outcome.valid & sampled])
        facts[f"{name}_matched"] = _mean(distance[outcome.matched & sampled])
    return facts | {
        "n_objects": outcome.n_objects,
        "n_predictions": int(outcome.valid.sum()),
        "n_matched": n_matched,
    }


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


def _walks(
    predictions: Predictions, orderings: Sequence[Ordering], protocol: Protocol
) -> list[Ints]:
    """For each ordering, the rows in the order in which the curve is walked."""
    keys = _by_block(
        predictions,
        lambda p: np.stack([_key(p, o, protocol.log_epsilon) for o in orderings]),
        np.empty((len(predictions), len(orderings))),
    )
    # Keys that are equal in exact arithmetic must stay tied whatever the order of the classes.
    return [np.argsort(-np.round(key, 12), kind="stable") for key in keys]


def _key(p: Floats, ordering: Ordering, log_epsilon: float) -> Floats:
    if ordering == "max_probability":
        return p.max(axis=1)
    if ordering == "foreground":
        return p[:, :-1].max(axis=1)
    value = -(p * np.log(p + log_epsilon)).sum(axis=1) if log_epsilon else entropy(p)
    return value if ordering == "entropy_descending" else -value


def _by_block(
    predictions: Predictions, measure: Callable[[Floats], Floats], out: Floats
) -> Floats:
    """`measure` of all distributions, of shape (columns of `out`, n), a block at a time."""
    for start in range(0, len(predictions), _BLOCK):
        rows = slice(start, min(start + _BLOCK, len(predictions)))
        out[rows] = measure(predictions.distribution(rows)).T
    return np.ascontiguousarray(out.T)


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

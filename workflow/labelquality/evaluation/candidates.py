"""Candidate pairs of predictions and objects, and the order in which they are chosen from.

A pair is a prediction and an object of the same image whose IoU reaches the lowest threshold. It is
found once; thresholds and size ranges only select among the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.matching import same_image_pairs

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
# Pairs looked at in one go: bounds the memory at about 200 MB whatever the number of images.
_BLOCK = 1_000_000


@dataclass(frozen=True)
class Pairs:
    """Pairs (m,) of a prediction and an object with their IoU, by prediction, then object."""

    prediction: Ints
    object: Ints
    iou: Floats

    def __len__(self) -> int:
        return len(self.iou)

    def take(self, rows: NDArray) -> Pairs:
        """The pairs that a mask or an index array selects."""
        return Pairs(self.prediction[rows], self.object[rows], self.iou[rows])


def candidate_pairs(
    prediction_group: Ints,
    prediction_boxes: Floats,
    object_group: Ints,
    object_boxes: Floats,
    lowest_iou: float,
    *,
    union_epsilon: float = 0.0,
) -> Pairs:
    """Pairs within one group (an image, or an image and a class) whose IoU reaches `lowest_iou`."""
    found = []
    for rows in _blocks(prediction_group, object_group):
        ia, ib = same_image_pairs(prediction_group[rows], object_group)
        a, b = prediction_boxes[rows][ia], object_boxes[ib]
        if union_epsilon:
            shared = geometry.intersections(a, b)
            union = geometry.areas(a) + geometry.areas(b) - shared + union_epsilon
            iou = shared / union
        else:
            iou = geometry.iou(a, b)
        keep = iou >= lowest_iou
        found.append((ia[keep] + rows.start, ib[keep], iou[keep]))
    if not found:
        return Pairs(np.zeros(0, np.intp), np.zeros(0, np.intp), np.zeros(0))
    return Pairs(*(np.concatenate(column) for column in zip(*found, strict=True)))


def _blocks(prediction_group: Ints, object_group: Ints) -> Iterator[slice]:
    """Slices of predictions with about `_BLOCK` same-group pairs each."""
    ordered = np.sort(object_group)
    counts = np.searchsorted(ordered, prediction_group, side="right")
    counts -= np.searchsorted(ordered, prediction_group, side="left")
    block = np.cumsum(counts) // _BLOCK
    bounds = np.append(np.flatnonzero(np.diff(block, prepend=-1)), len(block))
    for start, stop in pairwise(bounds.tolist()):
        yield slice(start, stop)


def by_preference(pairs: Pairs, turn: Ints, ignored: Bools | None = None) -> Ints:
    """Order of the pairs in which the choices are made; shape (m,).

    By the prediction's `turn` (n,), 0 first; within a prediction by preference: objects that count
    before `ignored` ones (mask over objects), then descending IoU, then the first object.
    """
    keys: tuple[NDArray, ...] = (pairs.object, -pairs.iou)
    if ignored is not None:
        keys = (*keys, ignored[pairs.object])
    return np.lexsort((*keys, turn[pairs.prediction]))

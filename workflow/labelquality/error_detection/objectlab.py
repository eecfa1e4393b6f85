"""ObjectLab: how far a detector agrees with the labels of an image (Tkachenko et al., 2023).

Scores lie in [0, 1], and a low one speaks against a label: *overlooked* (a detection where nothing
is labelled), *badly located* and *swapped* (of the wrong class). The definitions are those of the
authors' implementation, cleanlab 2.9, with its default settings. Its thresholds ask for the
detector's score to be a probability; paper 1 gives it raw scores, and so does this module. Where no
score reaches 0.95, nothing is overlooked or swapped, and badly located boxes alone make the score.

Crowds and ignore regions are no labels here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.error_detection.false_positives import (
    as_proposals,
    false_positives,
    labelled_objects,
)
from labelquality.geometry import iou
from labelquality.matching import same_image_pairs
from labelquality.tables import Table, concatenate, image_codes

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]

MIN_SIMILARITY = 2.0**-53
"""Smallest similarity of any large data set in the authors' code, which rounds to such steps."""

_PAIRS_AT_ONCE = 2_000_000


@dataclass(frozen=True)
class Settings:
    """The constants of ObjectLab.

    Attributes
    ----------
    iou_weight : float
        Share of IoU in the similarity of two boxes; the rest is exp(-decay * distance).
    decay : float
        Per pixel of distance between box centres, so that scores depend on the images' scale.
    low_probability : float
        A detection must score higher to tell that a label is badly located.
    high_probability : float
        A detection must reach this to be overlooked, and score higher to show a swapped label.
    same_box_iou : float
        Two labels of different classes with this IoU stand for one object, and both are swapped.
    temperature : float
        Of the soft minimum that pools the boxes of an image.
    min_similarity : float or None
        Stands in for similarities that there are none of. None takes the smallest similarity of the
        data set, as the authors do; then every score depends on all images.
    """

    iou_weight: float = 0.9
    decay: float = 0.1
    low_probability: float = 0.5
    high_probability: float = 0.95
    same_box_iou: float = 0.95
    temperature: float = 0.1
    min_similarity: float | None = MIN_SIMILARITY


@dataclass(frozen=True)
class BoxScores:
    """`overlooked` (n,) per detection, NaN where it does not apply; the others (m,) per label."""

    overlooked: Floats
    badly_located: Floats
    swapped: Floats
    min_similarity: float


@dataclass(frozen=True)
class _Pairs:
    """Labels and detections of one image: rows of both sides, IoU and similarity, all (p,)."""

    label: Ints
    detection: Ints
    iou: Floats
    similarity: Floats


def propose(detections: Table, annotations: Table, *, settings: Settings | None = None) -> Table:
    """Every false positive by (1 - image score) * confidence (paper 1, D.1).

    The smallest similarity that was used is recorded as `min_similarity` in the metadata.
    """
    settings = settings or Settings()
    labels = labelled_objects(detections, annotations)
    boxes = box_scores(detections, labels, settings)
    quality = image_scores(boxes, detections, labels, settings)
    found = detections.take(false_positives(detections, annotations))
    doubt = 1.0 - quality.reindex(found.frame["image_id"]).to_numpy()
    score = doubt * found.frame["score"].to_numpy()
    return as_proposals(found, "objectlab", score, meta=_record(boxes))


def propose_boxes(
    detections: Table, annotations: Table, *, settings: Settings | None = None
) -> Table:
    """Every box that ObjectLab's own box scores speak against, by 1 - score.

    Overlooked detections are proposed at their place, labels at theirs, with the lower of their two
    scores. A box with a score of 1 shows no sign of an error and is not proposed.
    """
    settings = settings or Settings()
    labels = labelled_objects(detections, annotations)
    boxes = box_scores(detections, labels, settings)
    doubt_of_label = 1.0 - np.minimum(boxes.badly_located, boxes.swapped)
    doubt_of_detection = np.nan_to_num(1.0 - boxes.overlooked, nan=0.0)
    tables = [
        as_proposals(
            table.take(doubt > 0), "objectlab_boxes", doubt[doubt > 0], meta=_record(boxes)
        )
        for table, doubt in ((detections, doubt_of_detection), (labels, doubt_of_label))
    ]
    return replace(concatenate(tables), image_ids=detections.image_ids)


def box_scores(detections: Table, labels: Table, settings: Settings) -> BoxScores:
    """The three scores of all boxes; `labels` are objects only, of the detections' classes."""
    # Detections below the low threshold can change no score, and they are most of the pairs.
    confident = np.flatnonzero(detections.frame["score"].to_numpy() > settings.low_probability)
    chosen = detections.take(confident)
    smallest = settings.min_similarity
    if smallest is None:
        smallest = smallest_similarity(detections, labels, settings)
    pairs = _pairs(chosen, labels, settings)
    overlooked = np.full(len(detections), np.nan)
    overlooked[confident] = _overlooked(chosen, labels, pairs, settings, smallest)
    return BoxScores(
        overlooked,
        _badly_located(chosen, labels, pairs),
        _swapped(chosen, labels, pairs, settings, smallest),
        smallest,
    )


def image_scores(
    boxes: BoxScores, detections: Table, labels: Table, settings: Settings
) -> pd.Series:
    """Score of each image, by image id: the geometric mean of its three pooled box scores."""
    ids = [detections.frame["image_id"], labels.frame["image_id"]]
    listed = [t.image_ids for t in (detections, labels) if t.image_ids is not None]
    index = pd.Index(np.unique(np.concatenate([*ids, *listed]).astype(object)))
    of_detection, of_label = (index.get_indexer(column) for column in ids)
    pooled = [
        _soft_minimum(scores, image, len(index), settings.temperature)
        for scores, image in (
            (boxes.overlooked, of_detection),
            (boxes.badly_located, of_label),
            (boxes.swapped, of_label),
        )
    ]
    logs = [np.log(1e-100 + values) for values in pooled]
    return pd.Series(np.exp(np.mean(logs, axis=0)), index=index)


def smallest_similarity(detections: Table, labels: Table, settings: Settings) -> float:
    """Smallest similarity above 0 of any label with any detection of its image, 1 without any.

    Rounded to steps of 2^-53 as in the authors' code, which skips what vanishes.
    """
    smallest = 1.0
    of_detection, of_label = image_codes(detections.frame["image_id"], labels.frame["image_id"])
    per_label = np.bincount(of_detection, minlength=of_label.max(initial=-1) + 1)[of_label]
    block = np.cumsum(per_label) // _PAIRS_AT_ONCE
    for number in np.unique(block):
        similarity = _pairs(detections, labels.take(block == number), settings).similarity
        rounded = 1.0 - (1.0 - similarity)
        smallest = min(smallest, rounded[rounded > 0].min(initial=1.0))
    return float(smallest)


def _pairs(detections: Table, labels: Table, settings: Settings) -> _Pairs:
    of_label, of_detection = image_codes(labels.frame["image_id"], detections.frame["image_id"])
    label, detection = same_image_pairs(of_label, of_detection)
    a, b = labels.boxes[label], detections.boxes[detection]
    overlap = iou(a, b)
    apart = (a[:, :2] + a[:, 2:] - b[:, :2] - b[:, 2:]) / 2
    nearness = np.exp(-settings.decay * np.hypot(apart[:, 0], apart[:, 1]))
    weight = settings.iou_weight
    return _Pairs(label, detection, overlap, weight * overlap + (1 - weight) * nearness)


def _categories(detections: Table, labels: Table, pairs: _Pairs) -> NDArray[np.bool_]:
    """Whether label and detection of each pair are of one class."""
    of_label, of_detection = (t.frame["category"].to_numpy() for t in (labels, detections))
    return of_label[pairs.label] == of_detection[pairs.detection]


def _largest(values: Floats, rows: Ints, n_rows: int, without: float) -> Floats:
    """Largest of the `values` of each row, `without` for a row that has none; (n_rows,)."""
    largest = np.full(n_rows, -np.inf)
    np.maximum.at(largest, rows, values)
    return np.where(np.isneginf(largest), without, largest)


def _overlooked(
    detections: Table, labels: Table, pairs: _Pairs, settings: Settings, smallest: float
) -> Floats:
    probability = detections.frame["score"].to_numpy()
    n = len(detections)
    applies = probability >= settings.high_probability
    applies[pairs.detection[pairs.iou > 0]] = False
    same = _categories(detections, labels, pairs)
    nearest = _largest(pairs.similarity[same], pairs.detection[same], n, np.nan)
    score = np.where(np.isnan(nearest), smallest * (1 - probability), nearest)
    return np.where(applies, score, np.nan)


def _badly_located(detections: Table, labels: Table, pairs: _Pairs) -> Floats:
    rows = _categories(detections, labels, pairs) & (pairs.iou > 0)
    return _largest(pairs.similarity[rows], pairs.label[rows], len(labels), 1.0)


def _swapped(
    detections: Table, labels: Table, pairs: _Pairs, settings: Settings, smallest: float
) -> Floats:
    sure = detections.frame["score"].to_numpy() > settings.high_probability
    rows = ~_categories(detections, labels, pairs) & sure[pairs.detection]
    other = _largest(pairs.similarity[rows], pairs.label[rows], len(labels), 0.0)
    score = np.maximum(smallest, 1.0 - other)
    score[_doubly_labelled(labels, settings.same_box_iou)] = smallest
    return score


def _doubly_labelled(labels: Table, same_box_iou: float) -> Ints:
    """Labels in whose place there is another one of a different class."""
    image, category = image_codes(labels.frame["image_id"])[0], labels.frame["category"].to_numpy()
    a, b = same_image_pairs(image, image)
    different = category[a] != category[b]
    a, b = a[different], b[different]
    return a[iou(labels.boxes[a], labels.boxes[b]) >= same_box_iou]


def _soft_minimum(scores: Floats, image: Ints, n_images: int, temperature: float) -> Floats:
    """Mean of each image's scores, weighted by exp(-score / temperature); 1 without scores."""
    known = ~np.isnan(scores)
    scores, image = scores[known], image[known]
    lowest = np.full(n_images, np.inf)
    np.minimum.at(lowest, image, scores)
    weight = np.exp((lowest[image] - scores) / temperature)
    total = np.bincount(image, weights=weight, minlength=n_images)
    pooled = np.bincount(image, weights=weight * scores, minlength=n_images)
    return np.divide(pooled, total, out=np.ones(n_images), where=total > 0)


def _record(boxes: BoxScores) -> dict[str, str]:
    return {"min_similarity": repr(boxes.min_similarity)}

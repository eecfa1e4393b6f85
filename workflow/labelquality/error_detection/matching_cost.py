"""The cost of a label: how badly the best detection matches it. A definition of this project.

Loss inspection needs a two-stage network. For detectors of one stage and of queries, the cost by
which DETR pairs predictions and objects stands in for the loss: what class and box of the closest
detection lack. It is told from the detections alone, of any family.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from labelquality.error_detection.false_positives import (
    as_proposals,
    labelled_objects,
    without_label,
)
from labelquality.geometry import giou
from labelquality.matching import same_image_pairs
from labelquality.tables import Table, concatenate, image_codes

Floats = NDArray[np.float64]

_PAIRS_AT_ONCE = 2_000_000


def propose(detections: Table, annotations: Table, *, iou_threshold: float = 0.5) -> Table:
    """Every label by its cost, and every detection with no label on it by its score.

    A detection without a label has the score as its cost, since that is what it lacks to be
    background. One with an IoU of `iou_threshold` or more with a label, of whichever class, speaks
    of that label and is not proposed.
    """
    labels = labelled_objects(detections, annotations)
    alone = detections.take(without_label(detections, labels, iou_threshold=iou_threshold))
    proposals = [
        as_proposals(labels, "matching_cost", costs(labels, detections)),
        as_proposals(alone, "matching_cost", alone.frame["score"]),
    ]
    return replace(concatenate(proposals), image_ids=detections.image_ids)


def costs(labels: Table, detections: Table) -> Floats:
    """Least cost of each label over the detections of its image, in [0, 1]; (n,).

    Half of (1 - p) + (1 - GIoU) / 2, where p is the probability that the detection gives to the
    label's class. 1, the largest possible, for a label in an image without detections.
    """
    least = np.ones(len(labels))
    of_label, of_detection = image_codes(labels.frame["image_id"], detections.frame["image_id"])
    counts = np.bincount(of_detection, minlength=of_label.max(initial=-1) + 1)[of_label]
    block = np.cumsum(counts) // _PAIRS_AT_ONCE
    for number in np.unique(block):
        rows = np.flatnonzero(block == number)
        label, detection = same_image_pairs(of_label[rows], of_detection)
        label = rows[label]
        np.minimum.at(least, label, _cost_of_pairs(labels, detections, label, detection))
    return least


def _cost_of_pairs(labels: Table, detections: Table, label: NDArray, detection: NDArray) -> Floats:
    category = labels.frame["category"].to_numpy()[label]
    probability = detections.vectors["probabilities"][detection, category].astype(np.float64)
    apart = (1 - giou(labels.boxes[label], detections.boxes[detection])) / 2
    return ((1 - probability) + apart) / 2

"""Mistakenness: the formulas of FiftyOne, as a baseline from outside the papers.

With a detector's confidence c, a label is mistaken to the degree (m c + 1) / 2, where m is 1 if the
detection on it has another class and -1 if it has the same; and its box to the degree
(c (2 i - 1) + 1) / 2 with i = 2 - 2 IoU (Voxel51, fiftyone-brain). Half is indifference.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from labelquality.error_detection.false_positives import as_proposals, labelled_objects
from labelquality.geometry import iou
from labelquality.matching import by_score, same_image_pairs
from labelquality.ordering import descending
from labelquality.tables import Table, concatenate, image_codes


def propose(detections: Table, annotations: Table, *, iou_threshold: float = 0.5) -> Table:
    """Every label with a detection on it and every detection without a label, most mistaken first.

    Detections take labels of their image, whatever the class, from the most confident downwards,
    one to one and from `iou_threshold` on. A label is proposed at its place with the larger of its
    two degrees. A detection without a label is proposed at its own, with (c + 1) / 2: it speaks for
    a label that is not there as one of another class would. FiftyOne only marks those with c above
    0.95 as possibly missing. A label without a detection has no degree and is not proposed; the
    original-only errors among them are not scored either.
    """
    labels = labelled_objects(detections, annotations)
    images = image_codes(detections.frame["image_id"], labels.frame["image_id"])
    ia, ib = same_image_pairs(*images)
    overlap = iou(detections.boxes[ia], labels.boxes[ib])
    confidence = detections.frame["score"].to_numpy()
    category = detections.frame["category"].to_numpy()
    order = descending(confidence, [images[0], *detections.boxes.T, category])
    sizes = len(detections), len(labels)
    matching = by_score(order, ia, ib, overlap, *sizes, iou_threshold)

    a, b = matching.pairs.T
    other_class = category[a] != labels.frame["category"].to_numpy()[b]
    apart = 2 - 2 * iou(detections.boxes[a], labels.boxes[b])
    of_class = (np.where(other_class, 1, -1) * confidence[a] + 1) / 2
    of_box = (confidence[a] * (2 * apart - 1) + 1) / 2
    alone = matching.unmatched_a
    joined = concatenate(
        [
            as_proposals(labels.take(b), "mistakenness", np.maximum(of_class, of_box)),
            as_proposals(detections.take(alone), "mistakenness", (confidence[alone] + 1) / 2),
        ]
    )
    return replace(joined, image_ids=detections.image_ids)

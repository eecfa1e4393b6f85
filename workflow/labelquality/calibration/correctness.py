"""Which detections are correct: COCO's matching within an image and a class."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.matching import by_score, same_image_pairs
from labelquality.ordering import descending_within
from labelquality.tables import Table

Floats = NDArray[np.float64]
Ints = NDArray[np.intp]
Bools = NDArray[np.bool_]


def judge(
    detections: Table,
    annotations: Table,
    images: pd.Index,
    iou_threshold: float,
    *,
    label_shift: int = 0,
) -> tuple[Bools, Bools]:
    """`correct_detections` of two tables, ties of score by image, box and category.

    `images` are the images that take part; all detections must lie in one of them. A detection of
    class k is compared with objects of class k + `label_shift`; one without such a class is not
    judged. The released calibration of Faster R-CNN outside COCO compares labels counted from 1
    with classes counted from 0, a shift of 1.
    """
    frame, truth = detections.frame, annotations.frame
    image = images.get_indexer(pd.Index(frame["image_id"], dtype=object))
    object_image = images.get_indexer(pd.Index(truth["image_id"], dtype=object))
    score = frame["score"].to_numpy(dtype=np.float64)
    boxes = detections.boxes
    named = frame["category"].to_numpy(dtype=np.intp)
    order = descending_within(image, score, [*boxes.T, named])
    category = truth["category"].to_numpy(dtype=np.intp)
    # By box, so that equal overlaps do not go by row.
    objects = np.lexsort(annotations.boxes.T)
    objects = objects[((object_image >= 0) & (category >= 0))[objects]]
    crowd = (truth["crowd"] | (truth["region"] != "")).to_numpy(dtype=bool)
    n_classes = len(detections.classes)
    meant = named + label_shift
    order = order[((meant >= 0) & (meant < n_classes))[order]]
    correct, judged = np.zeros(len(frame), dtype=bool), np.zeros(len(frame), dtype=bool)
    correct[order], judged[order] = correct_detections(
        (image * n_classes + meant)[order],
        boxes[order],
        score[order],
        (object_image * n_classes + category)[objects],
        annotations.boxes[objects],
        crowd[objects],
        iou_threshold=iou_threshold,
    )
    return correct, judged


def correct_detections(
    group: Ints,
    boxes: Floats,
    score: Floats,
    object_group: Ints,
    object_boxes: Floats,
    crowd: Bools,
    *,
    iou_threshold: float = 0.5,
    max_detections: int = 300,
) -> tuple[Bools, Bools]:
    """Which detections (n,) are correct, and which are judged at all; ties of score go by row.

    A group is an image and a class; its `max_detections` best are judged. By descending score each
    takes the most similar free object of its group whose IoU reaches `iou_threshold`, and is
    correct. Left without one, it is correct as well when the share of it that lies in a crowd of
    its group reaches the threshold: COCO would leave it out, the released calibration does not.
    """
    order = np.argsort(-score, kind="stable")
    judged = np.zeros(len(score), dtype=bool)
    judged[order] = _rank_in_group(group[order]) < max_detections
    objects = np.flatnonzero(~crowd)
    ia, ib = same_image_pairs(group, object_group[objects])
    keep = judged[ia]
    ia, ib = ia[keep], ib[keep]
    similarity = geometry.iou(boxes[ia], object_boxes[objects[ib]])
    matching = by_score(order, ia, ib, similarity, len(score), len(objects), iou_threshold)
    correct = np.zeros(len(score), dtype=bool)
    correct[matching.pairs[:, 0]] = True
    ia, ib = same_image_pairs(group, object_group[crowd])
    inside = geometry.ioa(boxes[ia], object_boxes[crowd][ib]) >= iou_threshold
    correct[ia[inside]] = True
    return correct & judged, judged


def _rank_in_group(group: Ints) -> Ints:
    """Number of earlier entries of the same group, shape (n,)."""
    order = np.argsort(group, kind="stable")
    ordered = group[order]
    at = np.arange(len(group))
    starts = np.append(True, ordered[1:] != ordered[:-1])[: len(group)]
    rank = np.empty(len(group), dtype=np.intp)
    rank[order] = at - np.maximum.accumulate(np.where(starts, at, 0))
    return rank

"""Detections that the original annotations do not explain: what most methods rank."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike, NDArray

from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.label_errors import is_region
from labelquality.matching import same_image_pairs
from labelquality.tables import Table, image_codes, make_table


def false_positives(
    detections: Table, annotations: Table, *, iou_threshold: float = 0.5
) -> NDArray[np.bool_]:
    """Whether each detection has IoU below `iou_threshold` with every object of its class; (n,).

    Crowds and ignore regions are no objects and excuse no detection: the LEGT counts the objects
    inside them as missing (paper 1, B.4), so a detection there can be right about an error.

    Raises DataError where the two tables differ in their classes.
    """
    objects = labelled_objects(detections, annotations)
    codes = codes_by_image_and_class(detections, objects)
    return _unexplained(detections, objects, codes, iou_threshold)


def without_label(
    detections: Table, objects: Table, *, iou_threshold: float = 0.5
) -> NDArray[np.bool_]:
    """Whether each detection has IoU below `iou_threshold` with every object, whichever class."""
    codes = image_codes(detections.frame["image_id"], objects.frame["image_id"])
    return _unexplained(detections, objects, codes, iou_threshold)


def _unexplained(
    detections: Table, objects: Table, codes: list[NDArray[np.intp]], iou_threshold: float
) -> NDArray[np.bool_]:
    ia, ib = same_image_pairs(*codes)
    explained = iou(detections.boxes[ia], objects.boxes[ib]) >= iou_threshold
    unexplained = np.ones(len(detections), dtype=bool)
    unexplained[ia[explained]] = False
    return unexplained


def labelled_objects(detections: Table, annotations: Table) -> Table:
    """The annotations of single objects of a known class, to compare with `detections`.

    Raises DataError where the two tables differ in their classes.
    """
    if detections.classes != annotations.classes:
        raise DataError(
            f"label-error proposals: the detector's classes {detections.classes} are not those of"
            f" the annotations {annotations.classes}; map them to the data set's"
        )
    known = annotations.frame["category"].to_numpy() >= 0
    return annotations.take(known & ~is_region(annotations))


def codes_by_image_and_class(*tables: Table) -> list[NDArray[np.intp]]:
    """Integers that are equal for boxes of one image and class, (n,) for each table."""
    n_codes = len(tables[0].classes) + 1
    images = image_codes(*(t.frame["image_id"] for t in tables))
    return [
        image * n_codes + table.frame["category"].to_numpy()
        for image, table in zip(images, tables, strict=True)
    ]


def as_proposals(
    boxes: Table, method: str, score: ArrayLike, *, meta: Mapping[str, str] | None = None
) -> Table:
    """A table of proposals at the `boxes` of any table, with a `score` each (or one for all)."""
    return make_table(
        "proposals",
        {
            "image_id": boxes.frame["image_id"],
            "method": method,
            "category": boxes.frame["category"],
            "score": score,
        },
        boxes.classes,
        boxes=boxes.boxes,
        meta=meta,
        image_ids=boxes.image_ids,
    )

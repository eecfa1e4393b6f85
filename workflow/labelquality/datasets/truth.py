"""What is known about generated data: true objects with their probabilities, injected errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.datasets.adapter import (
    ClassNames,
    Intake,
    Repairs,
    class_order,
    file_path,
    image_stem,
    mend_boxes,
)
from labelquality.datasets.coco import read_coco
from labelquality.datasets.records import IDENTIFIER, NAME, Records, load_json
from labelquality.matching import same_image_pairs
from labelquality.tables import LABEL_ERROR_KINDS, Table, image_codes, make_table

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
_STRICT = Repairs()
_ROUNDING = 1e-3


@dataclass(frozen=True)
class Truth:
    """`objects` as soft labels (the known probabilities) and `injected` as label errors."""

    objects: Table
    injected: Table


def read_truth(spec: Mapping[str, Any], root: Path, images: Table) -> Truth:
    """Read the data set's `truth` file, and the original boxes that its errors speak of.

    Returns
    -------
    Truth
        `objects`: `soft_label` and `corrected` are the known probabilities, `n_votes` is 0 and
        `proposed` -1. `injected`: box and class of the true object, or of the original box where
        nothing is there (`original_only`); `probability` that of the class, NaN for
        `original_only`; `max_iou` with the boxes of the other side; `ioa_dontcare` 1 or 0 for
        inside or outside an ignore region.

    Raises DataError for a reference to an unknown image, object or annotation and for anything
    that the layout does not permit.
    """
    path = file_path(spec, root, "truth")
    data = load_json(path)
    names = ClassNames.of(spec)
    image_row = _image_rows(data, images, path.name)
    records = Records.of(data, "objects", "object", path.name)
    objects, category = _objects(records, data, names, image_row, images)
    annotations = read_coco(spec, root).annotations
    error_records = Records.of(data, "errors", "error", path.name)
    injected = _injected(error_records, image_row, images, objects, category, annotations)
    return Truth(objects, injected)


def _image_rows(data: dict[str, Any], images: Table, file: str) -> dict[str, int]:
    """Row in the table of images for each image id of the file."""
    records = Records.of(data, "images", "image", file)
    ids = [str(i) for i in records.column("id", IDENTIFIER)]
    records.unique(ids, "id")
    row_of = _row_of(images.frame["image_id"])
    rows = [row_of.get(image_stem(name), -1) for name in records.column("file_name", NAME)]
    unknown = np.array(rows, dtype=np.intp) < 0
    records.refuse(unknown, "file_name is not among the data set's images")
    return dict(zip(ids, rows, strict=True))


def _row_of(ids: Iterable[str]) -> dict[str, int]:
    return {own_id: row for row, own_id in enumerate(ids)}


def _rows(records: Records, field: str, row_of: Mapping[str, int]) -> Rows:
    """Rows that the ids in `field` refer to, -1 where it is absent or null."""
    ids = records.column(field, IDENTIFIER, default=None)
    rows = np.array([-1 if i is None else row_of.get(str(i), -2) for i in ids], dtype=np.intp)
    records.refuse(rows == -2, f"{field} refers to nothing in the data set")
    return rows


def _objects(
    records: Records,
    data: dict[str, Any],
    names: ClassNames,
    image_row: Mapping[str, int],
    images: Table,
) -> tuple[Table, NDArray[np.int32]]:
    """True objects in file order, and the class (n,) of each."""
    order = class_order(data, names, records.file)
    ids = records.column("object_id", IDENTIFIER)
    records.unique(ids, "object_id")
    image = _rows(records, "image_id", image_row)
    records.refuse(image < 0, "image_id is missing")
    sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)[image]
    corners = records.numbers("bbox", 4)[0]
    boxes, _ = mend_boxes(
        corners, sizes[:, 0], sizes[:, 1], _STRICT, records, Intake(records.file), "object"
    )
    raw = records.numbers("probabilities", len(order))[0]
    wrong = (raw < 0).any(axis=1) | (np.abs(raw.sum(axis=1) - 1) > _ROUNDING)
    records.refuse(wrong, "probabilities are no distribution")
    known = np.empty_like(raw)
    known[:, order] = raw / raw.sum(axis=1, keepdims=True)
    # Category ids count the file's classes from 1.
    class_of = dict(enumerate(order.tolist(), start=1))
    wanted = records.column("category_id", (int,))
    category = np.array([class_of.get(i, -1) for i in wanted], dtype=np.int32)
    unknown = (category < 0) | (category == len(names.classes))
    records.refuse(unknown, f"category_id is none of the {len(names.classes)} classes")
    image_ids = images.frame["image_id"].to_numpy()
    table = make_table(
        "soft_labels",
        {
            "image_id": image_ids[image],
            "box_id": [str(i) for i in ids],
            "n_votes": 0,
            "proposed": -1,
        },
        names.classes,
        boxes=boxes,
        vectors={"soft_label": known, "corrected": known},
        image_ids=image_ids,
    )
    return table, category


def _injected(
    records: Records,
    image_row: Mapping[str, int],
    images: Table,
    objects: Table,
    object_category: NDArray[np.int32],
    annotations: Table,
) -> Table:
    kinds = np.array(records.column("kind", NAME), dtype=object)
    records.refuse(~np.isin(kinds, LABEL_ERROR_KINDS), f"kind is none of {LABEL_ERROR_KINDS}")
    image = _rows(records, "image_id", image_row)
    true_row = _rows(records, "object_id", _row_of(objects.frame["box_id"]))
    original_row = _rows(records, "annotation_id", _row_of(annotations.frame["box_id"]))
    spurious = kinds == "original_only"
    records.refuse(np.where(spurious, original_row, true_row) < 0, "names no box of its kind")
    own_image = np.where(
        spurious,
        _take(annotations.frame["image_id"].to_numpy(), original_row),
        _take(objects.frame["image_id"].to_numpy(), true_row),
    )
    records.refuse(own_image != images.frame["image_id"].to_numpy()[image], "is of another image")

    boxes = np.where(
        spurious[:, None], _take(annotations.boxes, original_row), _take(objects.boxes, true_row)
    )
    category = np.where(
        spurious,
        _take(annotations.frame["category"].to_numpy(), original_row),
        _take(object_category, true_row),
    )
    known = _take(objects.vectors["corrected"], true_row)
    plain = annotations.take(~annotations.frame["crowd"].to_numpy(dtype=bool))
    return make_table(
        "label_errors",
        {
            "image_id": own_image,
            "kind": kinds,
            "category": category,
            "probability": np.where(spurious, np.nan, known[np.arange(len(known)), category]),
            "height": geometry.heights(boxes),
            "max_iou": np.where(
                spurious,
                _max_iou(own_image, boxes, objects),
                _max_iou(own_image, boxes, plain),
            ),
            "ioa_dontcare": np.array(records.column("in_region", (bool,)), dtype=np.float64),
            "original_box_id": _id_of(annotations, original_row),
            "validated_box_id": _id_of(objects, true_row),
        },
        objects.classes,
        boxes=boxes,
        image_ids=objects.image_ids,
    )


def _take(values: NDArray, rows: Rows) -> NDArray:
    """`values[rows]`, anything where a row is -1."""
    if len(values) == 0:
        return np.zeros((len(rows), *values.shape[1:]), dtype=values.dtype)
    return values[rows]


def _id_of(table: Table, rows: Rows) -> NDArray[np.object_]:
    """Box id of each row, empty text where it is -1."""
    return np.where(rows < 0, "", _take(table.frame["box_id"].to_numpy(dtype=object), rows))


def _max_iou(image_id: NDArray, boxes: Floats, others: Table) -> Floats:
    """Largest IoU of each box (n,) with the boxes of its image in another table, 0 without any."""
    own, theirs = image_codes(image_id, others.frame["image_id"])
    i, j = same_image_pairs(own, theirs)
    best = np.zeros(len(boxes))
    np.maximum.at(best, i, geometry.iou(boxes[i], others.boxes[j]))
    return best

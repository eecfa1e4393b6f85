"""COCO instances JSON: images, categories, boxes as `x y width height`, crowds.

The layout is that of https://cocodataset.org/#format-data. The area is not read: every stage
computes it from the box.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.datasets.adapter import (
    ClassNames,
    Dataset,
    Intake,
    Repairs,
    file_path,
    image_stem,
    listed,
    mend_boxes,
)
from labelquality.datasets.records import (
    IDENTIFIER,
    INTEGER,
    NAME,
    Records,
    load_json,
)
from labelquality.tables import Table, make_table

_BOX_FIELDS = ["image_id", "x1", "y1", "x2", "y2", "category"]


def read_coco(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the data set's `annotations` file below `root`.

    Crowds are kept as rows with `crowd` set and region `group`. An image's id is the stem of its
    file name, an annotation's box id its id in the file.

    Raises DataError for anything that the layout or the data set's `repairs` do not permit.
    """
    path = file_path(spec, root, "annotations")
    data = load_json(path)
    intake = Intake(path.name)
    image_records = Records.of(data, "images", "image", path.name)
    images = _images(image_records, spec)
    intake.add("image", "read", "", len(images))
    annotations = _annotations(data, image_records, images, spec, intake)
    return Dataset(images, annotations, intake.frame())


def _images(records: Records, spec: Mapping[str, Any]) -> Table:
    names = records.column("file_name", NAME)
    stems = [image_stem(name) for name in names]
    records.unique(stems, "file_name without suffix")
    sizes = {side: np.array(records.column(side, INTEGER), object) for side in ("width", "height")}
    for side, values in sizes.items():
        implausible = np.array([not 0 < v < 2**31 for v in values], dtype=bool)
        records.refuse(implausible, f"{side} is no number of pixels")
    return make_table(
        "images",
        {"image_id": stems, "file_name": names, "split": spec["split"]}
        | {side: values.astype(np.int32) for side, values in sizes.items()},
        spec["classes"],
    )


def _annotations(
    data: dict[str, Any],
    image_records: Records,
    images: Table,
    spec: Mapping[str, Any],
    intake: Intake,
) -> Table:
    records = Records.of(data, "annotations", "annotation", intake.file)
    names, repairs = ClassNames.of(spec), Repairs.of(spec)
    ids = [str(i) for i in records.column("id", IDENTIFIER)]
    records.unique(ids, "id")
    image = _image_rows(records, image_records)
    category = _categories(records, data, names)
    known = category >= 0
    if repairs.unknown_classes == "error":
        records.refuse(
            ~known,
            "category is not among the data set's classes",
            "add it to classes or class_names, set repairs.unknown_classes, or remove",
        )
    intake.add("annotation", "dropped", "class is not in the data set", int((~known).sum()))

    corners = geometry.xywh_to_xyxy(records.numbers("bbox", 4)[0])
    sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)[image]
    boxes, kept = mend_boxes(
        corners, sizes[:, 0], sizes[:, 1], repairs, records, intake, "annotation", known
    )
    crowd = np.array(records.column("iscrowd", INTEGER, default=0))
    records.refuse((crowd != 0) & (crowd != 1), "iscrowd is neither 0 nor 1")
    image_ids = images.frame["image_id"].to_numpy()
    table = make_table(
        "annotations",
        {
            "image_id": image_ids[image],
            "box_id": ids,
            "category": category,
            "crowd": crowd == 1,
            "difficult": False,
            "region": np.where(crowd == 1, "group", ""),
            "annotator": "",
        },
        names.classes,
        boxes=boxes,
        image_ids=image_ids,
    ).take(kept)
    repeated = int(table.frame.duplicated(_BOX_FIELDS).sum())
    intake.add("annotation", "kept", "repeats another box of the same class", repeated)
    intake.add("annotation", "read", "", len(table))
    return table


def _image_rows(records: Records, image_records: Records) -> NDArray[np.intp]:
    """Row of each annotation's image in the table of images."""
    image_ids = image_records.column("id", IDENTIFIER)
    image_records.unique(image_ids, "id")
    row_of = {image_id: row for row, image_id in enumerate(image_ids)}
    wanted = records.column("image_id", IDENTIFIER)
    rows = np.array([row_of.get(i, -1) for i in wanted], dtype=np.intp)
    records.refuse(rows < 0, "image_id is not among the file's images", "mend or remove")
    return rows


def _categories(records: Records, data: dict[str, Any], names: ClassNames) -> NDArray[np.int32]:
    """Class index of each annotation, -1 where its category is not a class of the data set."""
    categories = Records.of(data, "categories", "category", records.file)
    category_ids = categories.column("id", IDENTIFIER)
    categories.unique(category_ids, "id")
    class_of = {
        i: names.find_real(name)
        for i, name in zip(category_ids, categories.column("name", NAME), strict=True)
    }
    wanted = records.column("category_id", IDENTIFIER)
    undeclared = np.array([i not in class_of for i in wanted], dtype=bool)
    records.refuse(
        undeclared,
        "category_id is not among the file's categories",
        f"use one of {listed(category_ids)}, or mend",
    )
    return np.array([class_of[i] for i in wanted], dtype=np.int32)

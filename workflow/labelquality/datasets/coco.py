"""COCO instances JSON: images, categories, boxes as `x y width height`, crowds.

The layout is that of https://cocodataset.org/#format-data. The area is not read: every stage
computes it from the box. Files with several annotators name them as in LVIS's doubly annotated
subset: `rater_list` of an image, `rater_id` of an annotation.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.datasets.adapter import (
    Dataset,
    Intake,
    Repairs,
    count_repeats,
    file_path,
    image_stem,
    listed,
    mend_boxes,
    sort_classes,
)
from labelquality.datasets.folder import in_split
from labelquality.datasets.records import (
    IDENTIFIER,
    INTEGER,
    NAME,
    Records,
    garbage_collection_paused,
    load_json,
)
from labelquality.tables import Table, make_table


@garbage_collection_paused()
def read_coco(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the data set's `annotations` file below `root`.

    Crowds are kept as rows with `crowd` set and region `group`. An image's id is the stem of its
    file name, an annotation's box id its id in the file. `files.image_list`, of ids or file names,
    or `random_split` may choose images. Where the file lists the annotators of its images, the
    table's meta entry `raters` holds them: JSON, image id -> names.

    Raises DataError for anything that the layout or the data set's `repairs` do not permit.
    """
    path = file_path(spec, root, "annotations")
    data = load_json(path)
    intake = Intake(path.name)
    records = Records.of(data, "images", "image", path.name)
    ids = [str(i) for i in records.column("id", IDENTIFIER)]
    records.unique(ids, "id")
    every = _images(records, spec)
    stems = every.frame["image_id"].tolist()
    own_ids = dict(zip(ids, stems, strict=True))
    chosen = set(in_split(spec, root, dict.fromkeys(stems), path.name, own_ids))
    inside = np.array([stem in chosen for stem in stems], dtype=bool)
    images = every.take(inside)
    intake.add("image", "read", "", len(images))
    intake.add("image", "dropped", "is not in the split", int((~inside).sum()))
    annotations = _annotations(data, records, every, inside, spec, intake)
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
    inside: NDArray[np.bool_],
    spec: Mapping[str, Any],
    intake: Intake,
) -> Table:
    """Annotations of those `images` (n,) that are `inside` (n,) the split."""
    records = Records.of(data, "annotations", "annotation", intake.file)
    ids = [str(i) for i in records.column("id", IDENTIFIER)]
    records.unique(ids, "id")
    image = _image_rows(records, image_records)
    if not inside.all():
        kept = inside[image]
        intake.add("annotation", "dropped", "image is not in the split", int((~kept).sum()))
        image, ids = image[kept], [i for i, keep in zip(ids, kept, strict=True) if keep]
        records = records.take(np.flatnonzero(kept))
    category, known = sort_classes(_names(records, data), spec, records, intake)

    corners = geometry.xywh_to_xyxy(records.numbers("bbox", 4)[0])
    sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)[image]
    boxes, kept = mend_boxes(
        corners, sizes[:, 0], sizes[:, 1], Repairs.of(spec), records, intake, "annotation", known
    )
    crowd = np.array(records.column("iscrowd", INTEGER, default=0))
    records.refuse((crowd != 0) & (crowd != 1), "iscrowd is neither 0 nor 1")
    image_ids = images.frame["image_id"].to_numpy()
    raters = _raters(image_records)
    table = make_table(
        "annotations",
        {
            "image_id": image_ids[image],
            "box_id": ids,
            "category": category,
            "crowd": crowd == 1,
            "difficult": False,
            "region": np.where(crowd == 1, "group", ""),
            "annotator": _annotators(records, image, raters),
        },
        spec["classes"],
        boxes=boxes,
        meta=_raters_of_images(image_ids, inside, raters),
        image_ids=image_ids[inside],
    ).take(kept)
    count_repeats(table, intake)
    return table


def _raters(image_records: Records) -> list[list[str]] | None:
    """Who annotated each image, None for a file that does not say."""
    lists = image_records.column("rater_list", (list,), default=None)
    if all(raters is None for raters in lists):
        return None
    for row, raters in enumerate(lists):
        if raters is None:
            raise image_records.error(row, "rater_list is missing, other images have one", "add it")
        if (
            not raters
            or {*map(type, raters)} - {*IDENTIFIER}
            or len({*map(str, raters)}) < len(raters)
        ):
            raise image_records.error(row, "rater_list is no list of different annotators")
    return [[str(rater) for rater in raters] for raters in lists]


def _annotators(
    records: Records, image: NDArray[np.intp], raters: list[list[str]] | None
) -> list[str]:
    """Who made each annotation, "" where the file does not say."""
    given = records.column("rater_id", IDENTIFIER, default=None)
    names = ["" if rater is None else str(rater) for rater in given]
    if raters is not None:
        strangers = [name not in raters[row] for name, row in zip(names, image, strict=True)]
        records.refuse(
            np.array(strangers, dtype=bool), "rater_id is not in the rater_list of its image"
        )
    return names


def _raters_of_images(
    image_ids: NDArray, inside: NDArray[np.bool_], raters: list[list[str]] | None
) -> dict[str, str]:
    """The meta entry `raters`: annotators without a box are in no row, but looked at the image."""
    if raters is None:
        return {}
    rows = np.flatnonzero(inside)
    return {"raters": json.dumps({image_ids[row]: raters[row] for row in rows}, sort_keys=True)}


def _image_rows(records: Records, image_records: Records) -> NDArray[np.intp]:
    """Row of each annotation's image in the table of images."""
    row_of = {image_id: row for row, image_id in enumerate(image_records.column("id", IDENTIFIER))}
    wanted = records.column("image_id", IDENTIFIER)
    rows = np.array([row_of.get(i, -1) for i in wanted], dtype=np.intp)
    records.refuse(rows < 0, "image_id is not among the file's images", "mend or remove")
    return rows


def _names(records: Records, data: dict[str, Any]) -> list[str]:
    """Name of each annotation's category, as the file spells it."""
    categories = Records.of(data, "categories", "category", records.file)
    category_ids = categories.column("id", IDENTIFIER)
    categories.unique(category_ids, "id")
    name_of = dict(zip(category_ids, categories.column("name", NAME), strict=True))
    wanted = records.column("category_id", IDENTIFIER)
    undeclared = np.array([i not in name_of for i in wanted], dtype=bool)
    records.refuse(
        undeclared,
        "category_id is not among the file's categories",
        f"use one of {listed(category_ids)}, or mend",
    )
    return [name_of[i] for i in wanted]

"""Objects that a ground truth lacks, counted by people who looked at whole images.

On images drawn at random every visible object is listed, with its original and its re-annotated
box where it has one. The share of objects without a box is the false negative rate (paper 1,
section IV-B, Tables 3, 20 and 31).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.datasets.adapter import ClassNames
from labelquality.geometry import iou
from labelquality.human_review.sheets import Sheet, read_sheet
from labelquality.intervals import share
from labelquality.label_errors import is_object
from labelquality.labels import validated_annotations
from labelquality.matching import greedy, same_image_pairs
from labelquality.tables import BOX, Table, image_codes

ORIGINAL, VALIDATED, EXTENDED = "original", "validated", "validated_and_original_only"
COLUMNS = ("image_id", "class", "original_box_id", "validated_box_id")
VALIDATED_ABOVE = 0.5
SAME_OBJECT = 0.5


def draw_images(image_ids: Sequence[str], n: int, seed: int) -> list[str]:
    """At most `n` images, drawn without replacement, in the order of their ids."""
    ids = sorted(image_ids)
    chosen = np.random.default_rng(seed).permutation(len(ids))[:n]
    return [ids[i] for i in np.sort(chosen)]


def review_list(original: Table, soft_labels: Table, image_ids: Sequence[str]) -> pd.DataFrame:
    """What people start from: the objects of some images that either ground truth has.

    Original and validated boxes are the same object from IoU 0.5 on, one to one and whatever their
    classes. People add a line, without box ids, for each object that is missing, join those of an
    object whose two boxes lie too far apart, and remove those of what is none. An image without any
    object stays, with nothing but its id.
    Columns image_id, class, original_box_id, validated_box_id and the corners.
    """
    first = _objects(original, image_ids)
    second = _in_images(validated_annotations(soft_labels, VALIDATED_ABOVE), image_ids)
    ia, ib = same_image_pairs(*image_codes(first.frame["image_id"], second.frame["image_id"]))
    overlap = iou(first.boxes[ia], second.boxes[ib])
    matching = greedy(ia, ib, overlap, len(first), len(second), SAME_OBJECT)
    partner = matching.partner_of_a(len(first))
    validated_ids = np.append(second.frame["box_id"].to_numpy(dtype=object), "")
    rows = [
        _listed(first).assign(
            original_box_id=first.frame["box_id"], validated_box_id=validated_ids[partner]
        ),
        _listed(second.take(matching.unmatched_b)).assign(
            original_box_id="",
            validated_box_id=second.frame["box_id"].to_numpy()[matching.unmatched_b],
        ),
    ]
    found = pd.concat(rows, ignore_index=True)
    empty = pd.DataFrame({"image_id": sorted(set(image_ids) - set(found["image_id"]))})
    listed = pd.concat([found, empty], ignore_index=True)
    listed[list(COLUMNS)] = listed[list(COLUMNS)].fillna("")
    listed = listed.sort_values(["image_id", *BOX, "class", "original_box_id", "validated_box_id"])
    return listed[[*COLUMNS, *BOX]].reset_index(drop=True)


def _objects(original: Table, image_ids: Sequence[str] | None) -> Table:
    return _in_images(original.take(is_object(original)), image_ids)


def _in_images(table: Table, image_ids: Sequence[str] | None) -> Table:
    if image_ids is None:
        return table
    return table.take(table.frame["image_id"].isin(image_ids).to_numpy())


def _listed(objects: Table) -> pd.DataFrame:
    names = np.array([*objects.classes, ""], dtype=object)
    frame = objects.frame[["image_id", *BOX]].reset_index(drop=True)
    return frame.assign(**{"class": names[objects.frame["category"].to_numpy()]})


def read_review(
    path: Path, original: Table, soft_labels: Table, images: Table, names: ClassNames
) -> pd.DataFrame:
    """The reviewed list: columns image_id, class, original_box_id, validated_box_id.

    A line with nothing but an image says that it was reviewed; the others are one visible object
    each, with the ids of its boxes or without.

    Raises DataError for an image that was not re-annotated, a class or box that does not exist, a
    box in another image and one that stands for two objects.
    """
    sheet = read_sheet(path, COLUMNS)
    ids = images.frame["image_id"] if soft_labels.image_ids is None else soft_labels.image_ids
    sheet.refuse(~sheet.frame["image_id"].isin(ids), "image {image_id} is not re-annotated")
    objects = sheet.take((sheet.frame[list(COLUMNS[1:])] != "").any(axis=1).to_numpy())
    found = np.array([names.find_real(name) for name in objects.frame["class"]], dtype=np.intp)
    objects.refuse(
        found < 0,
        "class '{class}' is no class of the data set",
        "add it to class_names of the data set, or mend it",
    )
    _check_boxes(objects, "original_box_id", _objects(original, None))
    _check_boxes(objects, "validated_box_id", soft_labels)
    return sheet.frame[list(COLUMNS)]


def _check_boxes(sheet: Sheet, column: str, boxes: Table) -> None:
    given = sheet.take((sheet.frame[column] != "").to_numpy())
    given.unique(["image_id", column], f"{column} {{{column}}}")
    known = pd.MultiIndex.from_frame(boxes.frame[["image_id", "box_id"]])
    wanted = pd.MultiIndex.from_frame(given.frame[["image_id", column]])
    given.refuse(~wanted.isin(known), f"image {{image_id}} has no object {column} {{{column}}}")


def counts(review: pd.DataFrame, soft_labels: Table, joined: Table | None) -> pd.DataFrame:
    """Visible objects and those that each ground truth lacks, one row per ground truth.

    `review` as from `read_review`. The original lacks an object without original box, the
    validated ground truth one without a re-annotated box that has a hard label. Where original-only
    boxes were reviewed, `joined` are those that were added; the validated ground truth with them
    has the object of such an original box as well.

    Columns ground_truth, images, objects, missing, rate, low, high (false negative rate with its
    Wilson interval) and reduction, the share by which the rate lies below that of the original.
    """
    objects = review[(review[list(COLUMNS[1:])] != "").any(axis=1)]
    image_id, original_id = objects["image_id"], objects["original_box_id"]
    validated = validated_annotations(soft_labels, VALIDATED_ABOVE)
    has = {
        ORIGINAL: (original_id != "").to_numpy(),
        VALIDATED: _among(image_id, objects["validated_box_id"], validated),
    }
    if joined is not None:
        has[EXTENDED] = has[VALIDATED] | _among(image_id, original_id, joined)
    missing = {name: int((~present).sum()) for name, present in has.items()}
    return pd.DataFrame(
        [
            {
                "ground_truth": name,
                "images": review["image_id"].nunique(),
                "objects": len(objects),
                "missing": missing[name],
                **share(missing[name], len(objects)),
                "reduction": _reduction(missing, name),
            }
            for name in has
        ]
    )


def _among(image_id: pd.Series, box_id: pd.Series, boxes: Table) -> NDArray[np.bool_]:
    wanted = pd.MultiIndex.from_arrays([image_id, box_id])
    return wanted.isin(pd.MultiIndex.from_frame(boxes.frame[["image_id", "box_id"]]))


def _reduction(missing: Mapping[str, int], name: str) -> float:
    return 1 - missing[name] / missing[ORIGINAL] if missing[ORIGINAL] else float("nan")

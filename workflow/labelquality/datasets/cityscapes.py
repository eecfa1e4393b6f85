"""Cityscapes polygons: one JSON file for each image, in a folder for each city.

Classes are those of cityscapesScripts (https://github.com/mcordts/cityscapesScripts). There are no
boxes: an object's box is the extent of its polygon. A label that ends in `group` marks several
objects that nobody told apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from labelquality.datasets.adapter import ClassNames, Dataset, Intake, condensed, file_path
from labelquality.datasets.folder import (
    Objects,
    by_image_id,
    files_below,
    images_table,
    in_split,
    whole,
)
from labelquality.datasets.records import INTEGER, NAME, NUMBER, Records, load_json, member

_SUFFIX = "_gtFine_polygons"
_IMAGE_SUFFIX = "_leftImg8bit.png"
# Labels that the data set knows; those that are not among its classes are left out and counted.
_KNOWN = (
    "unlabeled, ego vehicle, rectification border, out of roi, static, dynamic, ground, road,"
    " sidewalk, parking, rail track, building, wall, fence, guard rail, bridge, tunnel, pole,"
    " polegroup, traffic light, traffic sign, vegetation, terrain, sky, person, rider, car, truck,"
    " bus, caravan, trailer, train, motorcycle, bicycle, license plate"
)
_LABELS = frozenset(map(condensed, _KNOWN.split(", ")))


def read_cityscapes(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the polygons in the data set's `annotations` folder (gtFine/{split}) below `root`.

    An image's id is its name without `_leftImg8bit`. Objects marked as deleted and labels that are
    not among the data set's classes are left out and counted; groups are regions of their class.

    Raises DataError for a label that Cityscapes does not know and for anything that the layout or
    the data set's rules do not permit.
    """
    folder = file_path(spec, root, "annotations")
    found = files_below(folder, f"*/*{_SUFFIX}.json")
    paths = by_image_id([(path.stem.removesuffix(_SUFFIX), path) for path in found])
    names = ClassNames.of(spec)
    intake, objects = Intake(folder.name), Objects()
    left_out: Counter[str] = Counter()
    files: dict[str, str] = {}
    sizes = []
    for row, image_id in enumerate(in_split(spec, root, paths, str(folder))):
        path = paths[image_id]
        files[image_id] = f"{path.parent.name}/{image_id}{_IMAGE_SUFFIX}"
        data = load_json(path)
        sizes.append(
            (
                whole(member(data, "imgWidth", int, path.name), "imgWidth", path.name),
                whole(member(data, "imgHeight", int, path.name), "imgHeight", path.name),
            )
        )
        _read_objects(data, path.name, row, names, objects, left_out)
    images = images_table(spec, files, sizes)
    intake.add("image", "read", "", len(images))
    for reason in sorted(left_out):
        intake.add("annotation", "dropped", reason, left_out[reason])
    return Dataset(images, objects.table(images, spec, intake), intake.frame())


def _read_objects(
    data: dict[str, Any],
    file: str,
    row: int,
    names: ClassNames,
    objects: Objects,
    left_out: Counter[str],
) -> None:
    records = Records.of(data, "objects", "object", file)
    labels = records.column("label", NAME)
    deleted = records.column("deleted", (*INTEGER, bool), default=0)
    polygons = records.column("polygon", (list,))
    for index, (label, polygon) in enumerate(zip(labels, polygons, strict=True)):
        if deleted[index]:
            left_out["is marked as deleted"] += 1
            continue
        name, region = _class_of(label, names)
        if names.find_real(name) < 0 and condensed(name) in _LABELS:
            left_out[f"label {label} is not a class of the data set"] += 1
            continue
        corners = _extent(records, index, polygon)
        objects.add(row, index, f"{file}, object {index}", name, corners, region=region)


def _class_of(label: str, names: ClassNames) -> tuple[str, str]:
    """The class that a label speaks of, and the kind of region it marks."""
    name = label.removesuffix("group")
    is_group = name != label and (names.find_real(name) >= 0 or condensed(name) in _LABELS)
    return (name, "group") if is_group and names.find_real(label) < 0 else (label, "")


def _extent(records: Records, index: int, polygon: list[Any]) -> tuple[float, float, float, float]:
    """Smallest box around the corners of a polygon."""
    pairs = all(type(point) is list and len(point) == 2 for point in polygon)
    if not polygon or not pairs or not {*map(type, chain(*polygon))} <= {*NUMBER}:
        raise records.error(index, "polygon is no list of points [x, y]")
    x, y = zip(*polygon, strict=True)
    return float(min(x)), float(min(y)), float(max(x)), float(max(y))

"""YOLO text: a file for each image, a line `class x y width height` for each object.

Centre and size are shares of the image's width and height
(https://docs.ultralytics.com/datasets/detect). Classes are numbers: positions in the data set's
`classes`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelquality.datasets.adapter import Dataset, Intake, file_path
from labelquality.datasets.folder import (
    Objects,
    files_below,
    image_files,
    images_table,
    in_split,
    lines_of,
    number,
)
from labelquality.errors import DataError
from labelquality.images import image_size

_COLUMNS = ("class", "x", "y", "width", "height")
_REMEDIES = {6: "leave out the score (detections come in through the family imported)"}


def read_yolo(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the text files below the data set's `annotations` folder below `root`.

    The images are those below the `images` folder, or those of them that `files.image_list` or
    `random_split` choose; an image's annotations lie at the same place in the other folder. An
    image without file is one without objects, and counted.

    Raises DataError for anything that the layout or the data set's rules do not permit.
    """
    folder, image_folder = file_path(spec, root, "annotations"), file_path(spec, root, "images")
    paths = image_files(image_folder)
    labels = {path.relative_to(folder) for path in files_below(folder, "**/*.txt")}
    chosen = in_split(spec, root, paths, str(image_folder))
    names = {i: paths[i].relative_to(image_folder) for i in chosen}
    sizes = [image_size(paths[i]) for i in chosen]
    images = images_table(spec, {i: name.as_posix() for i, name in names.items()}, sizes)
    intake, objects = Intake(folder.name), Objects()
    files = [name.with_suffix(".txt") for name in names.values()]
    every = {path.relative_to(image_folder).with_suffix(".txt") for path in paths.values()}
    intake.add("image", "read", "", len(images))
    intake.add("image", "kept", "has no annotation file", sum(file not in labels for file in files))
    intake.add("annotation file", "dropped", "has no image", len(labels - every))
    for row, (file, size) in enumerate(zip(files, sizes, strict=True)):
        if file not in labels:
            continue
        for index, (line, text) in enumerate(lines_of(folder / file)):
            name, corners = _object(text, size, spec["classes"], f"{folder / file}, line {line}")
            objects.add(row, index, f"{file.as_posix()}, line {line}", name, corners)
    return Dataset(images, objects.table(images, spec, intake), intake.frame())


def _object(
    text: str, size: tuple[int, int], classes: list[str], place: str
) -> tuple[str, tuple[float, ...]]:
    """Class name and corners in pixels of a line."""
    fields = text.split()
    if len(fields) != len(_COLUMNS):
        remedy = _REMEDIES.get(len(fields), "export boxes, neither polygons nor rotated boxes")
        raise DataError(f"{place}: has {len(fields)} columns, should have 5; {remedy}")
    index, *box = (number(value, name, place) for value, name in zip(fields, _COLUMNS, strict=True))
    if index % 1 or not 0 <= index < len(classes):
        raise DataError(
            f"{place}: class {fields[0]} is none of 0 to {len(classes) - 1}; list its name in"
            " classes of the data set, or mend it"
        )
    (x, y, width, height), (w, h) = box, size
    corners = (x - width / 2) * w, (y - height / 2) * h, (x + width / 2) * w, (y + height / 2) * h
    return classes[int(index)], corners

"""KITTI 2D objects: a text file for each image, a line for each object.

A line has 15 columns (type, truncation, occlusion, alpha, the box `x1 y1 x2 y2` in pixels, and 7
about the third dimension), and a 16th, the score, in results
(https://www.cvlibs.net/datasets/kitti/eval_object.php). `DontCare` marks a region where objects of
any class were left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labelquality.datasets.adapter import Dataset, Intake, file_path
from labelquality.datasets.folder import (
    Objects,
    image_files,
    images_table,
    in_split,
    lines_of,
    no_label_files,
    number,
)
from labelquality.errors import DataError
from labelquality.images import image_size

_HEADER = "type truncated occluded alpha x1 y1 x2 y2 height width length x y z rotation_y score"
_NUMBERS = _HEADER.split()[1:]
_BOX = slice(_NUMBERS.index("x1"), _NUMBERS.index("y2") + 1)


def read_kitti(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the text files in the data set's `annotations` folder below `root`.

    The images are those in the `images` folder that `files.image_list` or `random_split` choose;
    their sizes come from the image headers. An empty file is an image without objects.

    Raises DataError for an absent file and for anything that the layout or the data set's rules do
    not permit.
    """
    folder, image_folder = file_path(spec, root, "annotations"), file_path(spec, root, "images")
    paths = image_files(image_folder)
    chosen = in_split(spec, root, paths, str(image_folder))
    missing = [folder / f"{i}.txt" for i in chosen if not (folder / f"{i}.txt").is_file()]
    if missing:
        raise no_label_files(missing)
    names = {i: paths[i].relative_to(image_folder).as_posix() for i in chosen}
    images = images_table(spec, names, [image_size(paths[i]) for i in chosen])
    intake, objects = Intake(folder.name), Objects()
    intake.add("image", "read", "", len(images))
    for row, image_id in enumerate(chosen):
        path = folder / f"{image_id}.txt"
        for index, (line, text) in enumerate(lines_of(path)):
            place = f"{path.name}, line {line}"
            name, values = _fields(text, f"{path}, line {line}")
            region = "dontcare" if name == "DontCare" else ""
            objects.add(row, index, place, name, values[_BOX], region=region)
    return Dataset(images, objects.table(images, spec, intake), intake.frame())


def _fields(text: str, place: str) -> tuple[str, tuple[float, ...]]:
    """Type and numbers of a line."""
    name, *values = text.split()
    if len(values) + 1 not in (15, 16):
        raise DataError(
            f"{place}: has {len(values) + 1} columns, should have 15, or 16 with a score; mend it"
        )
    named = zip(values, _NUMBERS, strict=False)
    return name, tuple(number(value, column, place) for value, column in named)

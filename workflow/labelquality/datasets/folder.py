"""What formats with one annotation file for each image share.

Which files there are, which images belong to the split, and how the objects of all files become
one table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from labelquality.datasets.adapter import (
    IMAGE_SUFFIXES,
    Intake,
    Repairs,
    count_repeats,
    file_path,
    image_stem,
    listed,
    mend_boxes,
    sort_classes,
)
from labelquality.datasets.records import Records, load_json, member
from labelquality.errors import DataError
from labelquality.tables import Table, make_table

# Stricter than float(), which also takes 1_0, nan and infinity.
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")


def files_below(folder: Path, pattern: str) -> list[Path]:
    """Files below `folder` that match the glob `pattern`, sorted.

    Raises DataError, naming the pattern, where there are none: a folder one level off would
    otherwise be a data set without images.
    """
    found = sorted(path for path in folder.glob(pattern) if path.is_file())
    if not found:
        raise DataError(
            f"{folder / pattern}: no such files; check `root` and `files` of the data set"
        )
    return found


def image_files(folder: Path) -> dict[str, Path]:
    """Image id (stem) -> file, for every image below `folder`, sorted by path.

    Raises DataError where there are none and where two images have the same stem.
    """
    files = [path for path in sorted(folder.rglob("*")) if path.suffix.lower() in IMAGE_SUFFIXES]
    if not files:
        kinds = ",".join(IMAGE_SUFFIXES)
        raise DataError(
            f"{folder}/**/*{{{kinds}}}: no such files; check `root` and `files` of the data set"
        )
    return by_image_id([(path.stem, path) for path in files])


def by_image_id(files: Sequence[tuple[str, Path]]) -> dict[str, Path]:
    """Image id -> file; DataError, naming both, where two files have the same id."""
    found: dict[str, Path] = {}
    for image_id, path in files:
        if image_id in found:
            raise DataError(
                f"{path}: is for image {image_id}, as is {found[image_id]}; give each its own name"
            )
        found[image_id] = path
    return found


def in_split(
    spec: Mapping[str, Any],
    root: Path,
    known: Mapping[str, Any],
    where: str,
    other_names: Mapping[str, str] | None = None,
) -> list[str]:
    """Those images of `known` (by id) that belong to the data set's split, in order.

    `files.image_list` names them (by id, file name or one of `other_names`), or `random_split`
    draws them: the share `train` of all images, rounded down, is the split train, the rest val.
    Without either it is all of them.

    Raises DataError for a list that names an image twice or one that `where` does not hold.
    """
    if "image_list" in spec["files"]:
        if "random_split" in spec:
            raise DataError(
                f"data set {spec['name']}: has both files.image_list and random_split; take one out"
            )
        path = file_path(spec, root, "image_list")
        return _listed(path, spec["split"], known, other_names or {}, where)
    if "random_split" not in spec:
        return list(known)
    if spec["split"] not in ("train", "val"):
        raise DataError(
            f"data set {spec['name']}: split is {spec['split']}, random_split makes only train and"
            " val; choose one of them"
        )
    names, rule = sorted(known), spec["random_split"]
    rng = np.random.default_rng(rule["seed"])
    train = np.zeros(len(names), dtype=bool)
    train[rng.choice(len(names), size=int(rule["train"] * len(names)), replace=False)] = True
    wanted = train if spec["split"] == "train" else ~train
    return [name for name, inside in zip(names, wanted, strict=True) if inside]


def _listed(
    path: Path,
    split: str,
    known: Mapping[str, Any],
    other_names: Mapping[str, str],
    where: str,
) -> list[str]:
    place: dict[str, str] = {}
    for own_place, name in _entries(path, split):
        image_id = image_stem(name)
        image_id = image_id if image_id in known else other_names.get(name, image_id)
        if image_id in place:
            raise DataError(
                f"{path}: {own_place}: image {image_id} is also at {place[image_id]}; name it once"
            )
        if image_id not in known:
            raise DataError(
                f"{path}: {own_place}: image {image_id} is not in {where}; fetch it, or take it off"
                " the list"
            )
        place[image_id] = own_place
    if not place:
        raise DataError(f"{path}: names no image; check files.image_list of the data set")
    return list(place)


def _entries(path: Path, split: str) -> list[tuple[str, str]]:
    """Place and text of each entry: lines, or the list `{split}_imgs` of a JSON file."""
    if path.suffix == ".json":
        key = f"{split}_imgs"
        entries = member(load_json(path), key, list, str(path))
        wrong = [i for i, entry in enumerate(entries) if type(entry) not in (int, str)]
        if wrong:
            raise DataError(f"{path}: {key} {wrong[0]}: is neither a name nor a number; mend it")
        return [(f"{key} {i}", str(entry)) for i, entry in enumerate(entries)]
    return [(f"line {number}", line) for number, line in lines_of(path)]


def lines_of(path: Path) -> list[tuple[int, str]]:
    """Number (from 1) and text of each line that is not blank.

    Raises DataError when the file is absent or not UTF-8 text.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise DataError(
            f"{path}: no such file; fetch it, or check `root` and `files` of the data set"
        ) from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not UTF-8 text; fetch it again, or convert it") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check it") from None
    numbered = enumerate(text.split("\n"), start=1)
    return [(number, line.strip()) for number, line in numbered if line.strip()]


def number(text: str, name: str, place: str) -> float:
    """The finite number that `text` spells out, else DataError naming `place` and field."""
    value = float(text) if _NUMBER.fullmatch(text) else np.nan
    if not np.isfinite(value):
        raise DataError(f"{place}: {name} is {text[:40]!r}, should be a number; mend it")
    return value


def whole(value: float, name: str, place: str) -> int:
    """`value` as a positive number of pixels, else DataError naming `place` and field."""
    if value % 1 or not 0 < value < 2**31:
        raise DataError(f"{place}: {name} is {value:g}, no number of pixels; mend it")
    return int(value)


def images_table(
    spec: Mapping[str, Any], files: Mapping[str, str], sizes: Sequence[tuple[int, int]]
) -> Table:
    """Table of the images `files` (image id -> file name) of the given (width, height)."""
    return make_table(
        "images",
        {
            "image_id": list(files),
            "file_name": list(files.values()),
            "width": [width for width, _ in sizes],
            "height": [height for _, height in sizes],
            "split": spec["split"],
        },
        spec["classes"],
    )


@dataclass
class Objects:
    """The objects of many annotation files, while they are collected."""

    image: list[int] = field(default_factory=list)
    index: list[int] = field(default_factory=list)
    place: list[str] = field(default_factory=list)
    name: list[str] = field(default_factory=list)
    corners: list[tuple[float, ...]] = field(default_factory=list)
    difficult: list[bool] = field(default_factory=list)
    region: list[str] = field(default_factory=list)

    def add(
        self,
        image: int,
        index: int,
        place: str,
        name: str,
        corners: tuple[float, ...],
        *,
        difficult: bool = False,
        region: str = "",
    ) -> None:
        """Take up the object `index` of the image in row `image`; `place` is for messages."""
        self.image.append(image)
        self.index.append(index)
        self.place.append(place)
        self.name.append(name)
        self.corners.append(corners)
        self.difficult.append(difficult)
        self.region.append(region)

    def table(self, images: Table, spec: Mapping[str, Any], intake: Intake) -> Table:
        """Table of annotations, classes and boxes treated as the data set's rules say.

        A box id is the image's id and the object's number in its file. A region `dontcare` is of
        no class, a region `group` is a crowd of its class.
        """
        records = Records(intake.file, [{}] * len(self.place), self.place.__getitem__)
        region = np.array(self.region, dtype=object)
        category, kept = sort_classes(self.name, spec, records, intake, region == "dontcare")
        rows = np.array(self.image, dtype=np.intp)
        sizes = images.frame[["width", "height"]].to_numpy(dtype=np.float64)[rows]
        boxes, kept = mend_boxes(
            np.array(self.corners, dtype=np.float64).reshape(-1, 4),
            sizes[:, 0],
            sizes[:, 1],
            Repairs.of(spec),
            records,
            intake,
            "annotation",
            kept,
        )
        image_ids = images.frame["image_id"].to_numpy()
        image_id = image_ids[rows]
        table = make_table(
            "annotations",
            {
                "image_id": image_id,
                "box_id": [f"{i}_{n}" for i, n in zip(image_id, self.index, strict=True)],
                "category": category,
                "crowd": region == "group",
                "difficult": np.array(self.difficult, dtype=bool),
                "region": region,
                "annotator": "",
            },
            spec["classes"],
            boxes=boxes,
            image_ids=image_ids,
        ).take(kept)
        count_repeats(table, intake)
        return table


def no_label_files(missing: Sequence[Path]) -> DataError:
    """The error for images without their annotation files."""
    names = listed([path.name for path in missing], 5)
    return DataError(
        f"{missing[0].parent}: {len(missing)} images have no annotation file: {names}; fetch them"
        " (an image without objects has an empty file)"
    )

"""What every adapter shares: class names, declared repairs of boxes, and the account of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality import geometry
from labelquality.datasets.records import Records, member
from labelquality.errors import DataError
from labelquality.tables import Table

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
CANT_SOLVE = "cantsolve"
INTAKE_COLUMNS = ("file", "item", "action", "reason", "count")
IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".webp")
# Sums of decimal coordinates overshoot the border by this much without anyone having meant it.
_BORDER_TOLERANCE = 1e-6
_BOX_FIELDS = ["image_id", "x1", "y1", "x2", "y2", "category", "region", "annotator"]


@dataclass
class Intake:
    """What was read from one file and what was set aside, changed or noticed, and why."""

    file: str
    rows: list[tuple[str, str, str, str, int]] = field(default_factory=list)

    def add(self, item: str, action: str, reason: str, count: int) -> None:
        """Note that `count` records of a kind met with an action; nothing is noted for none."""
        if count or action == "read":
            self.rows.append((self.file, item, action, reason, int(count)))

    def frame(self) -> pd.DataFrame:
        """The notes as a frame with the columns file, item, action, reason, count."""
        return pd.DataFrame(self.rows, columns=list(INTAKE_COLUMNS))


@dataclass(frozen=True)
class Dataset:
    """A data set as its makers published it: tables `images` and `annotations`, and the intake."""

    images: Table
    annotations: Table
    intake: pd.DataFrame


def file_path(spec: Mapping[str, Any], root: Path, key: str) -> Path:
    """Path of the file that the data set's `files` calls `key`, below `root`."""
    if key not in spec["files"]:
        raise DataError(f"data set {spec['name']}: files has no {key}; add it to the data set")
    return root / spec["files"][key]


def image_stem(name: str) -> str:
    """File name without folders and image suffix; this is the id of an image.

    A name without suffix keeps its dots, since the released files leave suffixes off.
    """
    path = PurePosixPath(name)
    return path.stem if path.suffix.lower() in IMAGE_SUFFIXES else path.name


def condensed(name: str) -> str:
    """Lower-case letters and digits of a class name: `Person_sitting` is `personsitting`."""
    return "".join(c for c in name.casefold() if c.isalnum()) or name


@dataclass(frozen=True)
class ClassNames:
    """The classes of a data set and every spelling under which files know them."""

    classes: tuple[str, ...]
    index: Mapping[str, int]

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> ClassNames:
        """From `classes` and `class_names` (other spelling -> class) of a data set."""
        classes = tuple(spec["classes"])
        index: dict[str, int] = {}
        for i, name in enumerate(classes):
            short = condensed(name)
            if short in index or short == CANT_SOLVE:
                raise DataError(
                    f"data set {spec['name']}: classes: {name} cannot be told from"
                    f" {classes[index[short]] if short in index else CANT_SOLVE}; rename it"
                )
            index[short] = i
        aliases = dict(spec.get("class_names", {}))
        for raw, name in aliases.items():
            if name not in classes:
                raise DataError(
                    f"data set {spec['name']}: class_names: {raw} is mapped to {name}, which is not"
                    " among classes; mend one of them"
                )
        return cls(classes, index | {raw: classes.index(name) for raw, name in aliases.items()})

    def find(self, name: str) -> int:
        """Index of the class that a file calls `name`; K for can't-solve, -1 if unknown."""
        if name in self.index:
            return self.index[name]
        short = condensed(name)
        return len(self.classes) if short == CANT_SOLVE else self.index.get(short, -1)

    def find_real(self, name: str) -> int:
        """As `find`, but can't-solve is no class: -1."""
        found = self.find(name)
        return found if found < len(self.classes) else -1


def class_order(data: dict[str, Any], names: ClassNames, file: str) -> NDArray[np.intp]:
    """Index, in the data set's order, of each class of the file; can't-solve is the last one.

    The classes stand under `classes`, or under `categories` in the order of their ids. Raises
    DataError unless every class of the data set and can't-solve are there once.
    """
    if "classes" in data:
        listing = member(data, "classes", list, file)
    else:
        categories = Records.of(data, "categories", "category", file)
        ids = categories.column("id", (int,))
        by_id = sorted(zip(ids, categories.column("name", (str,)), strict=True))
        listing = [name for _, name in by_id]
    order = [names.find(name) if type(name) is str else -1 for name in listing]
    unknown = [name for name, found in zip(listing, order, strict=True) if found < 0]
    if unknown:
        raise DataError(
            f"{file}: classes: {listed(unknown)} not among the data set's classes; add to classes"
            " or class_names of the data set"
        )
    wanted = [*names.classes, CANT_SOLVE]
    if sorted(order) != list(range(len(wanted))):
        missing = [name for i, name in enumerate(wanted) if i not in order]
        raise DataError(
            f"{file}: classes: {listed(missing) or 'nothing'} missing, {len(listing)} given for"
            f" {len(wanted)}; list every class of the data set and {CANT_SOLVE} once"
        )
    return np.array(order, dtype=np.intp)


@dataclass(frozen=True)
class Repairs:
    """What to do about odd records; each rule is `error` or one of the named repairs."""

    inverted_boxes: str = "error"
    empty_boxes: str = "error"
    unknown_classes: str = "error"
    boxes_outside: str = "clip"
    unknown_images: str = "error"

    @classmethod
    def of(cls, spec: Mapping[str, Any]) -> Repairs:
        """The rules under `repairs` of a data set."""
        return cls(**spec.get("repairs", {}))


def sort_classes(
    raw: Sequence[str],
    spec: Mapping[str, Any],
    records: Records,
    intake: Intake,
    regions: Mask | None = None,
) -> tuple[NDArray[np.int32], Mask]:
    """Class index (n,) of annotations with the class names `raw` (n,), and which to keep (n,).

    The data set's `excluded_classes` are dropped and counted, other unknown ones treated as its
    `repairs` say. Annotations that are `regions` (n,) need no class; theirs is -1.

    Raises DataError for an unknown class that no rule permits.
    """
    names = ClassNames.of(spec)
    excluded = {condensed(name): name for name in spec.get("excluded_classes", ())}
    for short, name in excluded.items():
        if names.find(short) >= 0:
            raise DataError(
                f"data set {spec['name']}: excluded_classes: {name} is also among classes; take it"
                " out of one of them"
            )
    found = {name: names.find_real(name) for name in dict.fromkeys(raw)}
    plain = np.ones(len(raw), dtype=bool) if regions is None else ~regions
    category = np.where(plain, np.array([found[name] for name in raw], dtype=np.int32), -1)
    unknown = plain & (category < 0)
    for name in sorted(name for name, index in found.items() if index < 0):
        if condensed(name) in excluded:
            rows = unknown & np.array([other == name for other in raw], dtype=bool)
            unknown &= ~rows
            intake.add("annotation", "dropped", f"class {name} is excluded", int(rows.sum()))
    if Repairs.of(spec).unknown_classes == "error":
        first = raw[int(np.flatnonzero(unknown)[0])] if unknown.any() else ""
        records.refuse(
            unknown,
            f"category {first} is not among the data set's classes",
            "add it to classes, class_names or excluded_classes, set repairs.unknown_classes, or"
            " remove",
        )
    intake.add("annotation", "dropped", "class is not in the data set", int(unknown.sum()))
    return category.astype(np.int32), ~plain | (category >= 0)


def count_repeats(table: Table, intake: Intake) -> None:
    """Note how many annotations stand twice, and how many were read."""
    repeated = int(table.frame.duplicated(_BOX_FIELDS).sum())
    intake.add("annotation", "kept", "repeats another box of the same class", repeated)
    intake.add("annotation", "read", "", len(table))


def mend_boxes(
    boxes: Floats,
    widths: NDArray,
    heights: NDArray,
    repairs: Repairs,
    records: Records,
    intake: Intake,
    item: str,
    kept: Mask | None = None,
) -> tuple[Floats, Mask]:
    """Swap, clip or drop boxes (n, 4) as declared, and count it.

    `widths` and `heights` (n,) are those of each box's image; only records that are still `kept`
    (n,) count. Returns the boxes (n, 4) and which of them to keep (n,). An empty box is one
    without area inside its image.

    Raises DataError for a box that no rule permits.
    """
    kept = np.ones(len(boxes), dtype=bool) if kept is None else kept
    inverted = kept & (boxes[:, 2:] < boxes[:, :2]).any(axis=1)
    if repairs.inverted_boxes == "error":
        records.refuse(inverted, "bbox is inverted", "set repairs.inverted_boxes, or mend")
    elif repairs.inverted_boxes == "swap":
        boxes = np.hstack(
            [np.minimum(boxes[:, :2], boxes[:, 2:]), np.maximum(boxes[:, :2], boxes[:, 2:])]
        )
        intake.add(item, "swapped", "box was inverted", int(inverted.sum()))
    else:
        kept = kept & ~inverted
        intake.add(item, "dropped", "box is inverted", int(inverted.sum()))

    clipped = geometry.clip(boxes, widths, heights)
    outside = kept & (np.abs(clipped - boxes) > _BORDER_TOLERANCE).any(axis=1)
    if repairs.boxes_outside == "error":
        records.refuse(outside, "bbox leaves the image", "set repairs.boxes_outside, or mend")

    empty = kept & (clipped[:, 2:] <= clipped[:, :2]).any(axis=1)
    if repairs.empty_boxes == "error":
        records.refuse(
            empty, "bbox has no area inside its image", "set repairs.empty_boxes, or mend"
        )
    intake.add(item, "dropped", "box has no area inside its image", int(empty.sum()))
    intake.add(item, "clipped", "box left its image", int((outside & ~empty).sum()))
    return clipped, kept & ~empty


def listed(names: Sequence[object], limit: int = 10) -> str:
    """The first few names, for a message."""
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(str(n) for n in names[:limit]) + more

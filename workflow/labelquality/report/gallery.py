"""Label errors drawn on the images they were found in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray
from PIL import Image

from labelquality.geometry import iou
from labelquality.images import load_rgb
from labelquality.report import style
from labelquality.tables import BOX, LABEL_ERROR_KINDS, Table

PIXELS = 240
"""Sides of a crop in the figure, about: smaller ones are enlarged, larger ones reduced."""

ACROSS = 4
LEAST_SIDE = 40.0
CONTEXT = 2.4


def choose_examples(errors: Table, per_kind: int) -> dict[str, NDArray[np.intp]]:
    """Rows to show of each kind that occurs: the most probable, then by image and box ids.

    Errors in don't-care regions (more than half inside) come last; an image gives a second example
    of a kind only when there are too few images.
    """
    keys = ["image_id", "validated_box_id", "original_box_id"]
    ranked = errors.frame.assign(
        inside=errors.frame["ioa_dontcare"] > 0.5, unlikely=-errors.frame["probability"]
    ).sort_values(["inside", "unlikely", *keys], kind="stable", na_position="last")
    chosen = {}
    for kind in LABEL_ERROR_KINDS:
        rows = ranked[ranked["kind"] == kind]
        again = rows.groupby(["inside", "image_id"], sort=False).cumcount()
        order = np.lexsort((np.arange(len(rows)), again, rows["inside"]))
        if len(rows):
            chosen[kind] = rows.index.to_numpy()[order][:per_kind]
    return chosen


def crop_window(boxes: NDArray[np.float64], width: int, height: int) -> NDArray[np.int64]:
    """Square window `x1 y1 x2 y2` of whole pixels around `boxes` (n, 4), moved into the image.

    It is cut where the image is smaller than the square.
    """
    low, high = boxes[:, :2].min(axis=0), boxes[:, 2:].max(axis=0)
    side = np.ceil(max(CONTEXT * (high - low).max(), LEAST_SIDE))
    limits = np.array([width, height])
    start = np.clip(np.round((low + high - side) / 2), 0, np.maximum(limits - side, 0))
    return np.concatenate([start, np.minimum(start + side, limits)]).astype(np.int64)


def resize(crop: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Bring a crop (h, w, 3) near PIXELS: pixels repeated upwards, averaged downwards."""
    largest = max(crop.shape[:2])
    if largest <= PIXELS:
        times = -(-PIXELS // largest)
        return crop.repeat(times, axis=0).repeat(times, axis=1)
    h, w = (max(1, round(side * PIXELS / largest)) for side in crop.shape[:2])
    return np.asarray(Image.fromarray(crop).resize((w, h), Image.Resampling.BOX))


@style.styled
def label_error_gallery(
    errors: Table,
    original: Table,
    soft_labels: Table,
    images: Table,
    image_folder: Path,
    *,
    kinds: Sequence[str] = LABEL_ERROR_KINDS,
    examples: int = 16,
) -> Figure:
    """Crops of label errors with original and validated box (paper 1, Figs 5 and 33 to 35).

    Four of each of the `kinds`, a row each; of a single kind as many as `examples`. `original` is
    the table of annotations, `soft_labels` that of the re-annotation; `errors` names their boxes.
    Raises DataError where an image cannot be read.
    """
    rows = _rows_of_examples(errors, kinds, examples)
    if not rows:
        return style.says("No label errors were found.")
    figure = Figure(figsize=(style.PAGE, 0.2 + 1.98 * len(rows)))
    grid = figure.add_gridspec(len(rows), ACROSS)
    for row, (kind, chosen) in enumerate(rows):
        for column, index in enumerate(chosen):
            axes = figure.add_subplot(grid[row, column])
            error = errors.frame.loc[index]
            _draw(axes, error, original, soft_labels, images, image_folder)
            if column == 0:
                axes.set_ylabel(style.display(kind), weight="bold")
        for column in range(len(chosen), ACROSS):
            figure.add_subplot(grid[row, column]).set_axis_off()
    _legend(figure)
    return figure


def _rows_of_examples(
    errors: Table, kinds: Sequence[str], examples: int
) -> list[tuple[str, NDArray[np.intp]]]:
    """Kind and rows of the errors in each row of the figure, at most four."""
    of_kind = choose_examples(errors, examples if len(kinds) == 1 else ACROSS)
    return [
        (kind, of_kind[kind][start : start + ACROSS])
        for kind in kinds
        for start in range(0, len(of_kind.get(kind, ())), ACROSS)
    ]


def _box_of(table: Table, image_id: str, box_id: str) -> pd.Series | None:
    frame = table.frame
    rows = frame[(frame["image_id"] == image_id) & (frame["box_id"] == box_id)]
    return None if rows.empty else rows.iloc[0]


def _draw(
    axes: Axes,
    error: pd.Series,
    original: Table,
    soft_labels: Table,
    images: Table,
    image_folder: Path,
) -> None:
    image_id = error["image_id"]
    before = after = None
    if error["kind"] != "missing":
        before = _box_of(original, image_id, error["original_box_id"])
    if error["kind"] != "original_only":
        after = _box_of(soft_labels, image_id, error["validated_box_id"])
    boxes = np.array([b[list(BOX)].to_numpy(float) for b in (before, after) if b is not None])
    record = images.frame[images.frame["image_id"] == image_id].iloc[0]
    image = load_rgb(image_folder / record["file_name"])
    x1, y1, x2, y2 = crop_window(boxes, image.shape[1], image.shape[0])
    axes.imshow(resize(image[y1:y2, x1:x2]), extent=(x1, x2, y2, y1), interpolation="none")
    for box in original.boxes[(original.frame["image_id"] == image_id).to_numpy()]:
        if before is None or (box != before[list(BOX)].to_numpy(float)).any():
            _rectangle(axes, box, **_NEIGHBOUR)
    if after is not None:
        _rectangle(axes, after[list(BOX)].to_numpy(float), **_VALIDATED)
    if before is not None:
        _rectangle(axes, before[list(BOX)].to_numpy(float), **_ORIGINAL)
    side = max(x2 - x1, y2 - y1)
    axes.set(xlim=(x1, x1 + side), ylim=(y1 + side, y1), xticks=[], yticks=[], facecolor="#f2f2f2")
    axes.spines[:].set_visible(False)
    axes.set_xlabel(_caption(error, before, boxes, original.classes), fontsize=7, labelpad=3)


_ON_ANY_GROUND = [withStroke(linewidth=2.9, foreground="#00000099")]
_VALIDATED: dict[str, Any] = {
    "edgecolor": style.VALIDATED,
    "linestyle": "-",
    "linewidth": 1.7,
    "path_effects": _ON_ANY_GROUND,
}
_NEIGHBOUR: dict[str, Any] = {
    "edgecolor": style.ORIGINAL,
    "linestyle": (0, (3.2, 1.8)),
    "linewidth": 0.8,
}
_ORIGINAL: dict[str, Any] = _NEIGHBOUR | {"linewidth": 1.7, "path_effects": _ON_ANY_GROUND}


def _rectangle(axes: Axes, box: NDArray[np.float64], **look: Any) -> None:
    x1, y1, x2, y2 = box.tolist()
    axes.add_patch(Rectangle((x1, y1), x2 - x1, y2 - y1, fill=False, **look))


def _caption(
    error: pd.Series, before: pd.Series | None, boxes: NDArray, classes: tuple[str, ...]
) -> str:
    name = classes[error["category"]] if error["category"] >= 0 else "no class"
    probability = f"p = {error['probability']:.2f}"
    if error["kind"] == "original_only":
        return f"labelled {name}"
    if before is None:
        return f"{name}, {probability}"
    if error["kind"] == "classification":
        return f"{classes[before['category']]} → {name}, {probability}"
    overlap = float(iou(boxes[0], boxes[-1]))
    return f"{name}, {probability}, IoU {overlap:.2f}"


def _legend(figure: Figure) -> None:
    looks = {
        "original annotation": _ORIGINAL,
        "validated object": _VALIDATED,
        "other original annotations": _NEIGHBOUR,
    }
    handles = [
        Line2D([], [], color=v["edgecolor"], linestyle=v["linestyle"], linewidth=v["linewidth"])
        for v in looks.values()
    ]
    figure.legend(handles, list(looks), loc="outside upper left", ncols=3)

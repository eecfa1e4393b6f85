"""Names beside the points of a scatter plot, kept off each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from matplotlib.axes import Axes
from numpy.typing import NDArray

from labelquality.geometry import areas, intersections

FONT_SIZE = 7.0
_CHARACTER = 0.6
_POINT = 3.0
_NEAR = 5.0


def _places() -> Iterator[tuple[float, float, str, str]]:
    """Where a name may stand: offset in points, alignment; the first of equals is taken."""
    for gap in (4.5, 12.0):
        yield gap, 0.0, "left", "center"
        yield -gap, 0.0, "right", "center"
        yield 0.0, gap, "center", "bottom"
        yield 0.0, -gap, "center", "top"
        for dx, horizontal in ((gap, "left"), (-gap, "right")):
            yield dx, 0.7 * gap, horizontal, "bottom"
            yield dx, -0.7 * gap, horizontal, "top"


_PLACES = tuple(_places())
_SHIFT = {"left": 0.0, "center": -0.5, "right": -1.0, "bottom": 0.0, "top": -1.0}


def place_labels(
    axes: Axes,
    points: NDArray[np.float64],
    names: Sequence[str],
    colors: Sequence[str],
    size: tuple[float, float],
) -> None:
    """Write each name beside its point (n, 2), in data units, where it covers the least.

    The limits of the axes must be set; `size` is their width and height in points, roughly. The
    extent of a name is estimated from its length, so that the result depends on no renderer.
    """
    low, high = np.transpose([axes.get_xlim(), axes.get_ylim()])
    where = (points - low) / (high - low) * np.array(size)
    taken = [np.concatenate([p - _POINT, p + _POINT]) for p in where]
    panel = np.array([0.0, 0.0, *size])
    for index, (name, color) in enumerate(zip(names, colors, strict=True)):
        others = np.array(taken[:index] + taken[index + 1 :]).reshape(-1, 4)
        boxes = np.array([_box(where[index], len(name), *place) for place in _PLACES])
        covered = intersections(boxes[:, None], others[None]).sum(axis=1)
        outside = areas(boxes) - intersections(boxes, panel)
        best = int(np.argmin(covered + 2 * outside))
        taken.append(boxes[best])
        dx, dy, horizontal, vertical = _PLACES[best]
        far = max(abs(dx), abs(dy)) > _NEAR
        axes.annotate(
            name, tuple(points[index]), (dx, dy), textcoords="offset points", fontsize=FONT_SIZE,
            ha=horizontal, va=vertical, zorder=4, color=color,
            arrowprops={"arrowstyle": "-", "linewidth": 0.4, "color": color, "shrinkA": 0}
            if far else None,
        )  # fmt: skip


def _box(
    point: NDArray[np.float64], length: int, dx: float, dy: float, horizontal: str, vertical: str
) -> NDArray[np.float64]:
    width, height = _CHARACTER * FONT_SIZE * length, 1.25 * FONT_SIZE
    x = point[0] + dx + _SHIFT[horizontal] * width
    y = point[1] + dy + _SHIFT[vertical] * height
    return np.array([x, y, x + width, y + height])

"""How the figures lay out their panels and curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from numpy.typing import NDArray

from labelquality.report import style
from labelquality.report.rows import grouped

PANELS_ACROSS = 4
T = TypeVar("T")


def groups(frame: pd.DataFrame, keys: Sequence[str]) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each panel with its title: the values of those `keys` that vary."""
    varying = [k for k in keys if len(frame[k].unique()) > 1] or list(keys[-1:])
    for values, rows in grouped(frame, keys).groupby(list(keys), sort=False):
        named = dict(zip(keys, values, strict=True))
        yield "\n".join(style.display(named[k]) for k in varying), rows


def grid(n_panels: int, panel_height: float) -> tuple[Figure, int, int]:
    """A figure with room for the panels, and how many rows and columns they make."""
    across = min(max(n_panels, 2), PANELS_ACROSS)
    down = -(-n_panels // across)
    width = style.PAGE * across / PANELS_ACROSS
    return Figure(figsize=(width, panel_height * down + 0.25)), down, across


def columns(figure: Figure, most: int) -> int:
    """How many columns of a legend fit above the figure, `most` across a page."""
    return max(1, round(most * figure.get_figwidth() / style.PAGE))


def cycle(looks: Sequence[T]) -> Iterator[T]:
    """The colours or looks, again and again."""
    while True:
        yield from looks


def thinned(x: pd.Series, y: pd.Series) -> tuple[NDArray, NDArray]:
    """The curve without points that no eye could tell from the one before them."""
    points = np.column_stack([x, y]).astype(float)
    cell = np.round(points * 500)
    moves = np.ones(len(points), dtype=bool)
    moves[1:] = (cell[1:] != cell[:-1]).any(axis=1)
    moves[-1:] = True
    return points[moves, 0], points[moves, 1]

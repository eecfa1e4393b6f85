"""The figures of soft evaluation that no paper has."""

from __future__ import annotations

from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from labelquality.report import style
from labelquality.report.panels import groups

_COLORS = {
    "entropy_descending": style.BLUE,
    "foreground": style.SKY,
    "entropy_ascending": style.VERMILLION,
    "max_probability": style.ORANGE,
}
_MARKERS = {
    "entropy_descending": "o",
    "foreground": "s",
    "entropy_ascending": "o",
    "max_probability": "s",
}
# Rings show where a square lies on a circle.
_MARKER_SIZES = {"o": 7.0, "s": 3.8}
_PRODUCT: dict[str, Any] = {"marker": "|", "color": style.INK, "markersize": 9, "linestyle": "none"}
# Where the two matching rules stand beside the line of their detector.
_OFFSETS = {"greedy": -0.16, "single_candidate": 0.16}


@style.styled
def average_similarity_sensitivity(rows: pd.DataFrame) -> Figure:
    """Average similarity of each detector under every reading of its definition.

    `rows` is the table of that name. One panel per data set, one line per detector and matching
    rule; colours are orderings, open marks keep the objects that nobody could solve, a stroke is
    recall times mean similarity.
    """
    if rows.empty:
        return style.says("No detector was evaluated against soft labels.")
    panels = list(groups(rows, ("dataset",)))
    lines = max(part["detector"].nunique() for _, part in panels)
    height = (0.5 * lines + 0.5) * len(panels) + 0.55
    figure = Figure(figsize=(style.PAGE, height))
    for index, (title, part) in enumerate(panels):
        axes = figure.add_subplot(len(panels), 1, index + 1)
        axes.set_title(title)
        _dots(axes, part)
        axes.set_xlabel("average similarity, all sizes together" if part is panels[-1][1] else "")
    _legend(figure)
    return figure


def _dots(axes: Axes, rows: pd.DataFrame) -> None:
    detectors = list(dict.fromkeys(rows["detector"]))
    place = {name: i for i, name in enumerate(detectors)}
    for row in rows.to_dict("records"):
        y = place[row["detector"]] + _OFFSETS[row["matching"]]
        color, marker = _COLORS[row["ordering"]], _MARKERS[row["ordering"]]
        face = color if row["cant_solve_objects"] == "drop" else "white"
        axes.plot(row["recall_x_similarity"], y, zorder=2, **_PRODUCT)
        axes.plot(
            row["AS"], y, marker=marker, color=color, markerfacecolor=face,
            markersize=_MARKER_SIZES[marker], linestyle="none", zorder=3 + (marker == "s"),
        )  # fmt: skip
    axes.set_yticks(range(len(detectors)), [style.display(name) for name in detectors])
    axes.set_ylim(len(detectors) - 0.5, -0.5)
    for name, offset in _OFFSETS.items():
        axes.annotate(
            style.display(name), (1, offset), xycoords=axes.get_yaxis_transform(), va="center",
            xytext=(4, 0), textcoords="offset points", color=style.MUTED, fontsize=6,
        )  # fmt: skip
    axes.tick_params(axis="y", length=0)
    axes.grid(True, axis="x")


def _legend(figure: Figure) -> None:
    handles = [
        Line2D(
            [], [], color=color, marker=_MARKERS[name], linestyle="none",
            markersize=_MARKER_SIZES[_MARKERS[name]],
        )
        for name, color in _COLORS.items()
    ]  # fmt: skip
    open_mark = Line2D(
        [], [], color=style.MUTED, marker="o", markerfacecolor="white", markersize=4.5,
        linestyle="none",
    )  # fmt: skip
    names = [style.display(name) for name in _COLORS]
    figure.legend(
        [*handles, open_mark, Line2D([], [], **_PRODUCT)],
        [*names, "can't-solve objects kept", "recall × mean similarity"],
        loc="outside upper left",
        ncols=3,
        columnspacing=1.6,
    )

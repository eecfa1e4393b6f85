"""The figures of soft evaluation: against average precision (Fig. 4), and what no paper has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from labelquality.evaluation.correlation import correlations
from labelquality.report import style
from labelquality.report.panels import cycle, groups
from labelquality.report.placing import place_labels
from labelquality.report.points import GROUND_TRUTH, own_points, published_points

CROWDED = 10

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
def ap_vs_as(
    average_precision: pd.DataFrame,
    soft_evaluation: pd.DataFrame,
    *,
    ground_truth: str = GROUND_TRUTH,
) -> Figure:
    """AP on hard labels against AS on soft labels, one panel per protocol of AS (Fig. 4).

    Takes the two tables; AP is that on `ground_truth` (the paper's figure uses p > 0.5). From three
    points on, their correlation is written in the panel.
    """
    points = own_points(average_precision, soft_evaluation, ground_truth=ground_truth)
    points = points.dropna(subset=["AP", "AS"])
    if points.empty:
        return style.says(f"No detector has both AP on {ground_truth} and AS.")
    titles = {p: f"{style.display(str(p))} protocol" for p in points["protocol"].unique()}
    return _panels([(titles[p], rows) for p, rows in points.groupby("protocol", sort=False)])


@style.styled
def published_ap_vs_as(
    average_precision: pd.DataFrame, average_similarity: pd.DataFrame, artefacts: pd.DataFrame
) -> Figure:
    """Fig. 4 from the published values, detectors whose calibration was broken as open marks.

    The frames are those of config/published. The second correlation is that without these.
    """
    points = published_points(average_precision, average_similarity, artefacts)
    return _panels([("published values", points)])


def _panels(panels: Sequence[tuple[str, pd.DataFrame]]) -> Figure:
    points = pd.concat([rows for _, rows in panels])
    datasets = list(dict.fromkeys(points["dataset"]))
    crowded = max(len(rows) for _, rows in panels) > CROWDED
    across = 1 if crowded else min(2, len(panels))
    down = -(-len(panels) // across)
    panel = (style.PAGE if crowded else style.PAGE / 2, 4.4 if crowded else 3.1)
    figure = Figure(figsize=(panel[0] * across, panel[1] * down))
    for index, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        axes.set(xlim=_limits(points["AP"]), ylim=_limits(points["AS"]), xlabel="AP")
        axes.set_title(title)
        axes.grid(True)
        if index % across == 0:
            axes.set_ylabel("AS")
        _scatter(axes, rows, datasets, (panel[0] * 72 - 45, panel[1] * 72 - 50))
        axes.set_title(_correlation(rows), loc="right", weight="normal", fontsize=7.5)
    return figure


def _limits(values: pd.Series) -> tuple[float, float]:
    """A range with room around the values, in whole steps of 0.05."""
    low, high = float(values.min()), float(values.max())
    margin = max(0.03, 0.14 * (high - low))
    return max(0.0, np.floor((low - margin) * 20) / 20), np.ceil((high + margin) * 20) / 20


def _correlation(rows: pd.DataFrame) -> str:
    """Pearson's r and Spearman's rho, and both without the broken points where there are any."""
    sides = {"": rows}
    if "broken" in rows and rows["broken"].any():
        sides["; without open marks "] = rows[~rows["broken"]]
    text = ""
    for name, points in sides.items():
        found = correlations(points).iloc[0]
        if not np.isnan(found["pearson"]):
            text += f"{name}r = {found['pearson']:.2f}, ρ = {found['spearman']:.2f}"
    return text


def _scatter(
    axes: Axes, rows: pd.DataFrame, datasets: Sequence[str], size: tuple[float, float]
) -> None:
    colors = dict(zip(datasets, cycle(style.PALETTE), strict=False))
    broken = rows["broken"] if "broken" in rows else pd.Series(False, index=rows.index)
    for index, dataset in enumerate(datasets):
        marker = style.MARKERS[index % len(style.MARKERS)]
        look: dict[str, Any] = {"color": colors[dataset], "marker": marker, "markersize": 5}
        look |= {"linestyle": "none", "zorder": 3}
        of_dataset = rows["dataset"] == dataset
        sound, open_marks = rows[of_dataset & ~broken], rows[of_dataset & broken]
        axes.plot(
            sound["AP"], sound["AS"], **look, label=style.display(dataset),
            markeredgecolor="white", markeredgewidth=0.6,
        )  # fmt: skip
        if len(open_marks):
            axes.plot(open_marks["AP"], open_marks["AS"], **look, markerfacecolor="white")
    place_labels(
        axes,
        rows[["AP", "AS"]].to_numpy(dtype=float),
        [style.display(name) for name in rows["detector"]],
        [colors[name] if len(datasets) > 1 else style.INK for name in rows["dataset"]],
        size,
    )
    if len(datasets) > 1:
        axes.legend(loc="lower right", handletextpad=0.2, borderaxespad=0.2)


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

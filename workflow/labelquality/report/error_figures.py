"""Figures of label-error detection."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from labelquality.error_detection.registry import METHODS
from labelquality.report import style
from labelquality.report.panels import columns, cycle, grid, groups, thinned

KEYS = ("protocol", "dataset", "variant", "detector")
KEYS_OF_DETECTOR = ("protocol", "dataset", "detector")
_MARKER: dict[str, Any] = {
    "marker": "o",
    "markersize": 4.5,
    "markeredgecolor": "white",
    "markeredgewidth": 0.6,
}
_BEST_F1 = _MARKER
_LINES: tuple[Any, ...] = ("-", (0, (2, 1)), (0, (4, 1, 1, 1)))
_ONE_POINT: dict[str, Any] = _MARKER | {"marker": "X", "markersize": 6.5}


def _looks(methods: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Colour and kind of line of each method, the same ones in every figure."""
    shown = dict.fromkeys(methods)
    looks = ({"color": c, "linestyle": line} for line in _LINES for c in style.PALETTE)
    of_name = dict(zip(dict.fromkeys([*METHODS, *shown]), cycle(list(looks)), strict=False))
    return {method: of_name[method] for method in shown}


@style.styled
def label_error_precision_recall(curves: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Precision against recall of label-error detection, naive baseline as a point (Fig. 31).

    `summary` is the table of label-error detection; `curves` has its keys (protocol, dataset,
    detector, variant, method) and precision, recall in the order of the ranking. One panel per
    protocol, data set, variant and detector that has a curve. A method without AP is one operating
    point; on the others the best F1 is marked.
    """
    found = _with_curves(curves, summary)
    if found.empty:
        return style.says("No label errors, or no proposals: there is no precision and recall.")
    panels = list(groups(found, KEYS))
    looks = _looks(found["method"])
    figure, down, across = grid(len(panels), 2.05)
    for index, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        axes.set_title(title)
        _precision_recall_panel(axes, rows, _curves_of(curves, rows), looks)
        if index % across == 0:
            axes.set_ylabel("precision")
        if index >= len(panels) - across:
            axes.set_xlabel("recall")
    _method_legend(figure, found, looks)
    return figure


def _with_curves(curves: pd.DataFrame, summary: pd.DataFrame) -> pd.DataFrame:
    """The rows of the summary whose panel has something to draw."""
    if summary.empty or curves.empty:
        return pd.DataFrame()
    return summary[summary["best_recall"].notna()].merge(curves[list(KEYS)].drop_duplicates())


def _curves_of(curves: pd.DataFrame, rows: pd.DataFrame) -> pd.DataFrame:
    """The curves of the panel that holds `rows`."""
    return curves[np.logical_and.reduce([curves[k] == rows[k].iloc[0] for k in KEYS])]


def _precision_recall_panel(
    axes: Axes, rows: pd.DataFrame, curves: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    _f1_contours(axes)
    for row in rows.to_dict("records"):
        look = looks[row["method"]]
        ranked = not pd.isna(row["AP"])
        if ranked:
            curve = curves[curves["method"] == row["method"]]
            recall, precision = thinned(curve["recall"], curve["precision"])
            axes.plot(recall, precision, zorder=3, **look)
        axes.plot(
            row["best_recall"], row["best_precision"], zorder=4, clip_on=False,
            **look | {"linestyle": "none"} | (_BEST_F1 if ranked else _ONE_POINT),
        )  # fmt: skip
    style.unit_square(axes)


def _method_legend(
    figure: Figure,
    summary: pd.DataFrame,
    looks: dict[str, dict[str, Any]],
    *,
    marked: bool = True,
    point: str = " (one operating point)",
) -> None:
    ranked = summary.groupby("method", sort=False)["AP"].count() > 0
    handles = [
        Line2D([], [], **looks[method], **(_BEST_F1 if marked else {}))
        if has_ap
        else Line2D([], [], **looks[method] | {"linestyle": "none"} | _ONE_POINT)
        for method, has_ap in ranked.items()
    ]
    names = [
        f"{style.display(str(method))}{'' if has_ap else point}"
        for method, has_ap in ranked.items()
    ]
    figure.legend(
        handles, names, loc="outside upper left", ncols=columns(figure, 3), columnspacing=1.6
    )


def _f1_contours(axes: Axes) -> None:
    """Lines of equal F1, 0.2 to 0.8, named at the right edge."""
    for f1 in (0.2, 0.4, 0.6, 0.8):
        recall = np.linspace(f1 / (2 - f1), 1, 60)
        precision = f1 * recall / (2 * recall - f1)
        axes.plot(recall, precision, color=style.FAINT, linewidth=0.8)
        axes.text(1, precision[-1] + 0.01, f"F1 {f1}", ha="right", color=style.MUTED, fontsize=5.5)


@style.styled
def review_effort(curves: pd.DataFrame, summary: pd.DataFrame) -> Figure:
    """Share of the label errors found against boxes reviewed, on a logarithmic scale.

    Takes what `label_error_precision_recall` takes, with the rank of each point. Random order of
    the proposals of a method without AP (the naive one) is a dashed line to the point where all are
    reviewed.
    """
    found = _with_curves(curves, summary)
    if found.empty:
        return style.says("No label errors, or no proposals: there is no effort to show.")
    panels = list(groups(found, KEYS))
    looks = _looks(found["method"])
    figure, down, across = grid(len(panels), 2.05)
    for index, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        axes.set_title(title)
        _effort_panel(axes, rows, _curves_of(curves, rows), looks)
        if index % across == 0:
            axes.set_ylabel("errors found")
        if index >= len(panels) - across:
            axes.set_xlabel("boxes reviewed")
    _method_legend(figure, found, looks, marked=False, point=" (random order)")
    return figure


def _effort_panel(
    axes: Axes, rows: pd.DataFrame, curves: pd.DataFrame, looks: dict[str, dict[str, Any]]
) -> None:
    for row in rows.to_dict("records"):
        look = looks[row["method"]]
        last = max(float(row["n_proposals"]), 1.0)
        if pd.isna(row["AP"]):
            reviewed = np.geomspace(1, last, 60)
            random = row["best_recall"] * reviewed / last
            axes.plot(reviewed, random, **look | {"linestyle": "--"})
            axes.plot(
                last, row["best_recall"], zorder=4, clip_on=False,
                **look | {"linestyle": "none"} | _ONE_POINT,
            )  # fmt: skip
            continue
        curve = curves[curves["method"] == row["method"]]
        if curve.empty:
            continue
        end = float(curve["recall"].iloc[-1])
        axes.step([*curve["rank"], last], [*curve["recall"], end], where="post", zorder=3, **look)
    axes.set_xscale("log")
    axes.set(xlim=(1, None), ylim=(-0.02, 1.02))
    axes.set_yticks([0, 0.5, 0.8, 0.9, 1], ["0", "0.5", "0.8", "", "1"])
    axes.grid(True, axis="y")
    axes.minorticks_off()


@style.styled
def synthetic_against_real(scores: pd.DataFrame) -> Figure:
    """AP of each method on synthetic errors by how many there are, and on the real ones.

    Takes the table of that name. One panel per protocol, data set and detector; a line for the
    synthetic errors, a marker for each variant of the real ones.
    """
    ranked = scores[scores["AP"].notna()] if len(scores) else scores
    if ranked.empty:
        return style.says("No method ranks its proposals, or there are no label errors.")
    panels = list(groups(ranked, KEYS_OF_DETECTOR))
    looks = _looks(ranked["method"])
    synthetic = ranked["errors"].str.startswith("synthetic_")
    variants = list(dict.fromkeys(ranked.loc[~synthetic, "errors"]))
    markers = dict(zip(variants, style.MARKERS[1:], strict=False))
    figure, down, across = grid(len(panels), 2.05)
    for index, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        axes.set_title(title)
        _synthetic_panel(axes, rows, looks, markers)
        if index % across == 0:
            axes.set_ylabel("AP")
        if index >= len(panels) - across:
            axes.set_xlabel("errors per object")
    handles = [Line2D([], [], **look) for look in looks.values()]
    handles += [
        Line2D([], [], color=style.INK, linestyle="none", **_MARKER | {"marker": marker})
        for marker in ("o", *markers.values())
    ]
    names = [*looks, "synthetic", *(f"real, {name}" for name in markers)]
    labels = [style.display(name) for name in names]
    figure.legend(
        handles, labels, loc="outside upper left", ncols=columns(figure, 4), columnspacing=1.6
    )
    return figure


def _synthetic_panel(
    axes: Axes, rows: pd.DataFrame, looks: dict[str, dict[str, Any]], markers: dict[str, str]
) -> None:
    for method, of_method in rows.groupby("method", sort=False):
        synthetic = of_method["errors"].str.startswith("synthetic_")
        line = of_method[synthetic].sort_values("error_rate")
        look = looks[str(method)]
        axes.plot(line["error_rate"], line["AP"], zorder=3, **look | _MARKER)
        for row in of_method[~synthetic].to_dict("records"):
            point = _MARKER | {"marker": markers[row["errors"]], "markersize": 6.0}
            point = look | {"linestyle": "none"} | point
            axes.plot(row["error_rate"], row["AP"], zorder=4, **point)
    axes.set(xlim=(0, None), ylim=(-0.02, 1.02))
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.grid(True)


@style.styled
def box_areas(rows: pd.DataFrame) -> Figure:
    """Shares of boxes by area: validated objects filled, predictions as lines (Fig. 30).

    `rows` has dataset, detector, source (validated, predictions), low, high (square pixels) and n,
    the classes of area in order. One panel per data set; the axis gives the root of the area.
    """
    if rows.empty:
        return style.says("No detectors were run: there are no areas to compare.")
    panels = list(groups(rows, ["dataset"]))
    detectors = list(dict.fromkeys(rows["detector"]))
    colors = dict(zip(detectors, cycle(style.PALETTE), strict=False))
    figure, down, across = grid(len(panels), 2.05)
    for index, (title, of_dataset) in enumerate(panels):
        axes = figure.add_subplot(down, across, index + 1)
        axes.set_title(title)
        for name, of_detector in of_dataset.groupby("detector", sort=False):
            for source, areas in of_detector.groupby("source", sort=False):
                edges = np.sqrt([*areas["low"], areas["high"].iloc[-1]])
                share = areas["n"] / max(areas["n"].sum(), 1)
                if source == "predictions":
                    axes.stairs(share, edges, color=colors[str(name)], linewidth=1.2)
                elif name == of_dataset["detector"].iloc[0]:
                    axes.stairs(share, edges, color=style.FAINT, fill=True)
        occurring = of_dataset[of_dataset["n"] > 0]
        axes.set_xscale("log", base=2)
        if len(occurring):
            axes.set_xlim(np.sqrt(occurring["low"].min()), np.sqrt(occurring["high"].max()))
        axes.xaxis.set_major_formatter("{x:.0f}")
        axes.set_ylim(0, None)
        if index % across == 0:
            axes.set_ylabel("share of boxes")
        if index >= len(panels) - across:
            axes.set_xlabel("root of the area in pixels")
    handles = [Patch(color=style.FAINT), *(Line2D([], [], color=c) for c in colors.values())]
    names = ["validated objects", *map(style.display, detectors)]
    figure.legend(handles, names, loc="outside upper left", ncols=columns(figure, 3))
    return figure

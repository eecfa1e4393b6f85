"""The figures of the report: one function per figure, from frames to a Figure.

`style.save(figure, stem)` writes it. Frames hold the rows of all data sets and detectors; what is
not there to be drawn is said in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labelquality.calibration.reliability import expected_calibration_error
from labelquality.report import style
from labelquality.report.error_figures import (
    box_areas,
    label_error_precision_recall,
    review_effort,
    synthetic_against_real,
)
from labelquality.report.panels import grid, groups
from labelquality.report.review_figures import duplicates
from labelquality.report.soft_figures import (
    ap_vs_as,
    average_similarity_sensitivity,
    published_ap_vs_as,
)

__all__ = [
    "ap_vs_as",
    "average_similarity_sensitivity",
    "box_areas",
    "duplicates",
    "label_error_precision_recall",
    "published_ap_vs_as",
    "reliability",
    "review_effort",
    "soft_label_error",
    "synthetic_against_real",
]

STAGES = {"raw": style.RAW, "isotonic": style.CALIBRATED, "platt": style.GREEN}


@style.styled
def reliability(bins: pd.DataFrame, *, stages: Sequence[str] = ("raw", "isotonic")) -> Figure:
    """Precision against score before and after calibration, counts per bin below (Fig. 27).

    `bins` has dataset, detector, stage (raw, isotonic, platt), binning, bin, low, high, n,
    mean_score and precision; one panel per data set and detector, in it the given stages in bins of
    equal width. Bins without detections are left out; the ECE written in each panel is that of its
    own bins.
    """
    if bins.empty or not bins["n"].sum():
        return style.says("No detections to calibrate.")
    bins = bins[bins["stage"].isin(stages) & (bins["binning"] == "equal_width")]
    panels = list(groups(bins, ("dataset", "detector")))
    figure, down, across = grid(len(panels), 2.75)
    cells = figure.add_gridspec(2 * down, across, height_ratios=[3, 1] * down)
    for index, (title, rows) in enumerate(panels):
        row, column = divmod(index, across)
        curve = figure.add_subplot(cells[2 * row, column])
        counts = figure.add_subplot(cells[2 * row + 1, column])
        curve.set_title(title, pad=23)
        _reliability_curves(curve, rows)
        _score_counts(counts, rows)
        if column == 0:
            curve.set_ylabel("precision")
            counts.set_ylabel("detections")
    return figure


def _stages(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    for stage, color in STAGES.items():
        part = rows[rows["stage"] == stage].sort_values("low")
        if part["n"].sum():
            yield stage, color, part


def _reliability_curves(axes: Axes, rows: pd.DataFrame) -> None:
    axes.plot([0, 1], [0, 1], color=style.MUTED, linewidth=0.8, linestyle=(0, (4, 3)))
    for line, (stage, color, part) in enumerate(_stages(rows)):
        filled = part[part["n"] > 0]
        face = "white" if stage == "raw" else color
        axes.plot(
            filled["mean_score"], filled["precision"], color=color, marker="o", markersize=3.6,
            markerfacecolor=face, markeredgewidth=1.0, zorder=3,
        )  # fmt: skip
        axes.annotate(
            f"{stage}  ECE {expected_calibration_error(part):.3f}", (0, 1), (0, 14 - 10 * line),
            xycoords="axes fraction", textcoords="offset points", color=color, fontsize=7,
        )  # fmt: skip
    style.unit_square(axes)
    axes.tick_params(labelbottom=False)
    axes.grid(True)


def _score_counts(axes: Axes, rows: pd.DataFrame) -> None:
    for stage, color, part in _stages(rows):
        edges = [*part["low"], part["high"].iloc[-1]]
        axes.stairs(
            part["n"].clip(lower=0.5), edges, baseline=0.5, color=color, linewidth=1.0,
            fill=stage != "raw", alpha=1.0 if stage == "raw" else 0.35,
        )  # fmt: skip
    axes.set_yscale("log")
    axes.set(xlim=(-0.02, 1.02), xlabel="score")
    axes.set_ylim(bottom=0.5)
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.minorticks_off()


@style.styled
def soft_label_error(distances: pd.DataFrame) -> Figure:
    """Share of objects by distance between soft label and known probabilities.

    `distances` is what `soft_label_distances` returns, with dataset. Cumulative curves for
    raw and corrected labels, one panel per data set and subset (clear, ambiguous); the median is
    marked.
    """
    matched = distances[distances["tvd"].notna()] if len(distances) else distances
    if matched.empty:
        return style.says("No re-annotated object has known probabilities.")
    matched = matched.sort_values("subset", ascending=False, kind="stable")
    panels = list(groups(matched, ("dataset", "subset")))
    figure = Figure(figsize=(style.PAGE / 2 * min(len(panels), 2), 2.5 * -(-len(panels) // 2)))
    for index, (title, rows) in enumerate(panels):
        axes = figure.add_subplot(-(-len(panels) // 2), min(len(panels), 2), index + 1)
        n_objects = int((rows["label"] == rows["label"].iloc[0]).sum())
        axes.set_title(f"{title} objects (n = {n_objects:,})")
        _cumulative(axes, rows)
        axes.set_xlabel("total variation distance to the known probabilities")
        if index % 2 == 0:
            axes.set_ylabel("share of objects")
    return figure


def _cumulative(axes: Axes, rows: pd.DataFrame) -> None:
    styles: dict[str, dict[str, Any]] = {
        "raw": {"color": style.RAW},
        "corrected": {"color": style.CALIBRATED},
    }
    for line, (label, look) in enumerate(styles.items()):
        tvd = np.sort(rows.loc[rows["label"] == label, "tvd"].to_numpy(dtype=float))
        if not len(tvd):
            continue
        share = np.arange(1, len(tvd) + 1) / len(tvd)
        axes.step([0, *tvd, 1], [0, *share, 1], where="post", **look)
        median = float(np.median(tvd))
        axes.plot(median, 0.5, marker="o", markersize=4, **look)
        axes.text(
            0.97, 0.06 + 0.1 * (1 - line), f"{label}  median {median:.3f}, mean {tvd.mean():.3f}",
            transform=axes.transAxes, ha="right", **look,
        )  # fmt: skip
    end = min(1.0, float(rows["tvd"].quantile(0.995)) * 1.15 + 0.02)
    axes.set(xlim=(0, end), ylim=(0, 1.02))
    axes.grid(True)

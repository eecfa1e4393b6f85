"""The figure of human review: how duplicates of the re-annotation thin out."""

from __future__ import annotations

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labelquality.report import style
from labelquality.report.panels import cycle, groups

_ROW_HEIGHT = 2.2
_REVIEWED, _DUPLICATE = style.SKY, style.VERMILLION
_CURVES = (style.BLUE, style.ORANGE, style.GREEN)


@style.styled
def duplicates(moving: pd.DataFrame, rates: pd.DataFrame) -> Figure:
    """Rate of duplicates along the review, pairs by IoU, and the rate by IoU (Figs. 10 to 13).

    `moving` and `rates` are those of `human_review.duplicates` with dataset; one row of panels for
    each data set. The last panel is not in the paper; its bars are Wilson intervals.
    """
    if rates.empty or not rates["reviewed"].sum():
        return style.says("No pair of boxes was reviewed for duplicates.")
    whole = (rates["iou_from"] == 0) & (rates["iou_to"] == 1)
    bins = rates[(rates["classes"] == "all") & ~whole]
    panels = list(groups(bins, ("dataset",)))
    figure = Figure(figsize=(style.PAGE, _ROW_HEIGHT * len(panels) + 0.2))
    axes = figure.subplots(len(panels), 3, squeeze=False)
    for (title, part), (curve, counts, rate) in zip(panels, axes, strict=True):
        dataset = part["dataset"].iloc[0]
        _moving(curve, moving[moving["dataset"] == dataset] if len(moving) else moving)
        curve.set_title(title)
        _pairs(counts, part)
        _rate(rate, part)
    return figure


def _moving(axes: Axes, rows: pd.DataFrame) -> None:
    axes.set(xlabel="reviewed pairs, from the largest IoU", ylabel="duplicate rate")
    axes.set_ylim(-0.02, 1.02)
    axes.grid(True)
    if rows.empty:
        axes.annotate(
            "fewer reviews than a window", (0.5, 0.5), xycoords="axes fraction", ha="center"
        )
        return
    for color, (window, part) in zip(cycle(_CURVES), rows.groupby("window"), strict=False):
        axes.plot(part["review"], part["rate"], color=color, label=f"last {window}")
    axes.set_xlim(left=0)
    axes.legend(loc="upper right")


def _pairs(axes: Axes, rows: pd.DataFrame) -> None:
    edges = [*rows["iou_from"], rows["iou_to"].iloc[-1]]
    for counts, color, label in (
        (rows["pairs"], style.FAINT, "not reviewed"),
        (rows["reviewed"], _REVIEWED, "two objects"),
        (rows["duplicates"], _DUPLICATE, "duplicates"),
    ):
        axes.stairs(counts, edges, fill=True, color=color, label=label)
    axes.set(xlabel="IoU", ylabel="pairs", xlim=(0, 1))
    axes.legend(loc="upper right")


def _rate(axes: Axes, rows: pd.DataFrame) -> None:
    seen = rows[rows["reviewed"] > 0]
    middle = ((seen["iou_from"] + seen["iou_to"]) / 2).to_numpy()
    value = seen["rate"].to_numpy()
    reach = np.stack([value - seen["low"].to_numpy(), seen["high"].to_numpy() - value])
    axes.errorbar(
        middle, value, yerr=np.maximum(reach, 0), color=_DUPLICATE, marker="o", markersize=3.6,
        linewidth=1.0, capsize=2,
    )  # fmt: skip
    style.unit_square(axes)
    axes.grid(True)
    axes.set(xlabel="IoU", ylabel="duplicate rate")

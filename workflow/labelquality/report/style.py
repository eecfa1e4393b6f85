"""One look for all figures, and one way to save them that gives the same bytes every time."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, ParamSpec

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from labelquality.tables import write_atomically

P = ParamSpec("P")

PAGE = 7.2
"""Width of a figure across the page, in inches."""

INK, MUTED, FAINT = "#222222", "#767676", "#e2e2e2"
# Okabe and Ito's colours, told apart with any kind of colour vision; yellow is left out on white.
BLUE, VERMILLION, GREEN = "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY = "#cc79a7", "#e69f00", "#56b4e9"
PALETTE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY)
MARKERS = ("o", "s", "D", "^", "v", "P")
RAW, CALIBRATED = VERMILLION, BLUE
ORIGINAL, VALIDATED = ORANGE, SKY

_SETTINGS: dict[str, Any] = {
    "axes.axisbelow": True,
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.labelsize": 8,
    "axes.linewidth": 0.6,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 8,
    "axes.titleweight": "bold",
    "figure.constrained_layout.h_pad": 0.05,
    "figure.constrained_layout.w_pad": 0.05,
    "figure.constrained_layout.use": True,
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "grid.color": FAINT,
    "grid.linewidth": 0.6,
    "legend.fontsize": 7.5,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "pdf.fonttype": 42,
    "savefig.dpi": 200,
    "svg.fonttype": "path",
    # Without a salt the ids inside an SVG are random.
    "svg.hashsalt": "labelquality",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "xtick.labelsize": 7,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
    "ytick.labelsize": 7,
}
_NO_DATES: dict[str, dict[str, None]] = {
    "svg": {"Date": None, "Creator": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}


def _context() -> Any:
    """The library's defaults with our settings, whatever a user's own matplotlibrc says."""
    defaults = {k: v for k, v in mpl.rcParamsDefault.items() if not k.startswith("backend")}
    return mpl.rc_context({**defaults, **_SETTINGS})


def styled(draw: Callable[P, Figure]) -> Callable[P, Figure]:
    """Make a function draw its figure with our settings."""

    @wraps(draw)
    def with_settings(*args: P.args, **kwargs: P.kwargs) -> Figure:
        with _context():
            return draw(*args, **kwargs)

    return with_settings


def save(figure: Figure, stem: Path) -> None:
    """Write `stem`.svg and `stem`.pdf, each complete or not at all, without date or version."""
    with _context():
        # Laid out once, so that both files place everything alike.
        figure.draw_without_rendering()
        figure.set_layout_engine("none")
        for suffix, metadata in _NO_DATES.items():
            write = partial(figure.savefig, format=suffix, metadata=metadata)
            write_atomically(stem.with_name(f"{stem.name}.{suffix}"), write)


def display(name: str) -> str:
    """A configured name as a figure shows it."""
    return name.replace("_", " ")


def says(text: str, *, width: float = PAGE, height: float = 1.0) -> Figure:
    """A figure of words alone, for when there is nothing to draw."""
    figure = Figure(figsize=(width, height))
    figure.text(0.5, 0.5, text, ha="center", va="center", color=MUTED, fontsize=9)
    return figure


def unit_square(axes: Axes) -> None:
    """Both axes from 0 to 1, few ticks."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    axes.set_yticks([0, 0.5, 1], ["0", "0.5", "1"])

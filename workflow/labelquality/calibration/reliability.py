"""How well calibrated scores are: bins, and the expected calibration error over them."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Binning = Literal["equal_width", "equal_mass"]
BINNINGS: tuple[Binning, ...] = ("equal_width", "equal_mass")


def reliability(
    scores: Floats, correct: Bools, *, n_bins: int = 10, binning: Binning = "equal_width"
) -> pd.DataFrame:
    """Mean score and precision in bins of the scores (n,), NaN in an empty one.

    `equal_width` (paper 1, C.4): `n_bins` bins over [0, 1] that contain their lower end, the last
    one both, so that 0 and 1 lie inside. `equal_mass`: bins of about n / n_bins detections, from
    one's lowest score to the next one's; equal scores stay together, so there may be fewer.

    Columns bin, low, high, n, mean_score, precision.
    """
    if binning == "equal_width":
        edges = np.arange(n_bins + 1) / n_bins
    else:
        edges = _mass_edges(scores, n_bins)
    bins = len(edges) - 1
    place = np.clip(np.searchsorted(edges, scores, side="right") - 1, 0, bins - 1)
    n = np.bincount(place, minlength=bins)
    with np.errstate(invalid="ignore"):
        mean_score = np.bincount(place, weights=scores, minlength=bins) / n
        precision = np.bincount(place, weights=correct, minlength=bins) / n
    return pd.DataFrame(
        {
            "bin": np.arange(bins),
            "low": edges[:-1],
            "high": edges[1:],
            "n": n,
            "mean_score": mean_score,
            "precision": precision,
        }
    )


def _mass_edges(scores: Floats, n_bins: int) -> Floats:
    """0, the scores at which a new bin of equal mass begins, and 1."""
    starts = np.arange(1, n_bins) * len(scores) // n_bins
    if len(scores) == 0 or n_bins == 1:
        return np.array([0.0, 1.0])
    inner = np.unique(np.partition(scores, starts)[starts])
    return np.concatenate([[0.0], inner[(inner > scores.min()) & (inner < 1)], [1.0]])


def expected_calibration_error(bins: pd.DataFrame) -> float:
    """Mean distance of score and precision over the bins of `reliability`, weighted by n.

    In [0, 1]; NaN without detections (paper 1, C.4).
    """
    n = bins["n"].to_numpy()
    if n.sum() == 0:
        return float("nan")
    gap = (bins["mean_score"] - bins["precision"]).abs().to_numpy()
    return float((n * np.where(n > 0, gap, 0.0)).sum() / n.sum())

"""Whether measures of detectors say the same: correlations over detectors and data sets.

Paper 1, section V-A and Fig. 4: AP against AS, and both against the distances to the soft labels.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

PAIRS = (
    ("AS", "AP"),
    ("AP", "TVD"),
    ("AP", "root_JSD"),
    ("AS", "TVD"),
    ("AS", "root_JSD"),
    ("TVD", "root_JSD"),
)
FEWEST = 3


def correlations(points: pd.DataFrame) -> pd.DataFrame:
    """Correlations of each of PAIRS over `points`, which has a column for every measure.

    Columns x, y, n (points that have both), pearson, spearman, in [-1, 1]. Equal values share
    their mean rank. NaN with fewer than FEWEST points, or where a measure does not vary.
    """
    records = []
    for x, y in PAIRS:
        both = points[[x, y]].dropna().astype(np.float64)
        numbers = {"pearson": _pearson(both), "spearman": _pearson(both.rank())}
        records.append({"x": x, "y": y, "n": len(both), **numbers})
    return pd.DataFrame(records)


def _pearson(both: pd.DataFrame) -> float:
    if len(both) < FEWEST or (both.nunique() < 2).any():
        return float("nan")
    return float(np.corrcoef(both.to_numpy().T)[0, 1])

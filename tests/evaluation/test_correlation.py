from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from labelquality.evaluation.correlation import PAIRS, correlations


def points(n: int = 12, seed: int = 0) -> pd.DataFrame:
    """Points with ties and, in one of them, without AS."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({name: rng.random(n).round(1) for name in ("AS", "AP", "TVD")})
    frame["root_JSD"] = frame["TVD"] ** 2 + 0.1 * rng.random(n)
    frame.loc[3, "AS"] = np.nan
    return frame


@pytest.mark.parametrize("seed", range(3))
def test_correlations_are_those_of_scipy(seed: int) -> None:
    given = points(seed=seed)
    rows = correlations(given)
    assert list(zip(rows["x"], rows["y"], strict=True)) == list(PAIRS)
    for row in rows.itertuples():
        both = given[[row.x, row.y]].dropna()
        assert row.n == len(both) == (11 if "AS" in (row.x, row.y) else 12)
        x, y = both.to_numpy().T
        assert row.pearson == pytest.approx(stats.pearsonr(x, y).statistic, abs=1e-12)
        assert row.spearman == pytest.approx(stats.spearmanr(x, y).statistic, abs=1e-12)


def test_two_points_or_a_measure_that_does_not_vary_have_no_correlation() -> None:
    two = correlations(points(2))
    assert (two["n"] == 2).all()
    assert two[["pearson", "spearman"]].isna().all(axis=None)
    level = correlations(points().assign(AP=0.5)).set_index(["x", "y"])
    assert np.isnan(level["pearson"]["AS", "AP"])
    assert not np.isnan(level["pearson"]["AS", "TVD"])


def test_ranks_do_not_see_how_far_values_lie_apart() -> None:
    given = pd.DataFrame({"AS": [0.1, 0.2, 0.3, 0.9], "AP": [0.0, 0.1, 0.11, 0.12]})
    row = correlations(given.assign(TVD=0.0, root_JSD=0.0)).iloc[0]
    assert row["spearman"] == pytest.approx(1.0, abs=1e-12)
    assert row["pearson"] < 0.8

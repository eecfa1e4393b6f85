from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labelquality.intervals import share, wilson

Z = 1.959963984540054


@given(st.data())
def test_wilson_is_its_formula(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 100_000))
    k = data.draw(st.integers(0, n))
    centre = (k + Z**2 / 2) / (n + Z**2)
    reach = Z / (n + Z**2) * math.sqrt(k * (n - k) / n + Z**2 / 4)
    low, high = wilson(k, n)
    assert low == pytest.approx(max(0, centre - reach), abs=1e-12)
    assert high == pytest.approx(min(1, centre + reach), abs=1e-12)
    assert 0 <= low <= k / n <= high <= 1


def test_nothing_found_is_not_nothing_there() -> None:
    low, high = wilson(0, 100)
    assert low == 0
    assert high == pytest.approx(Z**2 / (100 + Z**2))
    assert wilson(100, 100) == pytest.approx((1 - high, 1))


def test_no_trials_have_no_interval() -> None:
    assert all(math.isnan(value) for value in share(0, 0).values())


@pytest.mark.parametrize(("successes", "trials"), [(1, 0), (3, 2), (-1, 2)])
def test_impossible_counts_are_refused(successes: int, trials: int) -> None:
    with pytest.raises(ValueError, match=r"must|between|not"):
        wilson(successes, trials)

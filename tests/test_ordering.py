from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from labelquality.ordering import descending, descending_within


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=12))
@settings(max_examples=60, deadline=None)
def test_descending_is_a_sort_by_all_keys(rows: list[tuple[int, int, int]]) -> None:
    score, first, second = (
        np.array(c, dtype=np.float64) for c in (zip(*rows, strict=True) if rows else [[]] * 3)
    )
    expected = sorted(range(len(rows)), key=lambda i: (-rows[i][0], rows[i][1], rows[i][2], i))
    assert descending(score, [first, second]).tolist() == expected
    by_row = sorted(range(len(rows)), key=lambda i: (-rows[i][0], i))
    assert descending(score).tolist() == by_row


@given(st.lists(st.tuples(*[st.integers(0, 3)] * 3), max_size=12), st.booleans())
@settings(max_examples=60, deadline=None)
def test_one_group_after_the_other(rows: list[tuple[int, int, int]], in_order: bool) -> None:
    if in_order:
        rows = sorted(rows, key=lambda row: (row[0], -row[1]))
    group, score, tie = (
        np.array(c, dtype=np.float64) for c in (zip(*rows, strict=True) if rows else [[]] * 3)
    )
    expected = sorted(range(len(rows)), key=lambda i: (rows[i][0], -rows[i][1], rows[i][2], i))
    assert descending_within(group, score, [tie]).tolist() == expected

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelquality import matching
from labelquality.matching import Matching

COMMON = settings(max_examples=100, deadline=None)
THRESHOLD = 0.5


@st.composite
def overlaps(draw: st.DrawFn) -> np.ndarray:
    """A small matrix of overlaps with many ties."""
    n, m = draw(st.integers(0, 5)), draw(st.integers(0, 4))
    values = draw(st.lists(st.integers(0, 4), min_size=n * m, max_size=n * m))
    return np.array(values, dtype=np.float64).reshape(n, m) / 4


@st.composite
def turns(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    overlap = draw(overlaps())
    return overlap, np.array(draw(st.permutations(range(len(overlap)))), dtype=np.intp)


def as_pairs(overlap: np.ndarray) -> tuple:
    ia, ib = np.indices(overlap.shape)
    return ia.ravel(), ib.ravel(), overlap.ravel(), *overlap.shape, THRESHOLD


def check(result: Matching, overlap: np.ndarray, expected: list[tuple[int, int]]) -> None:
    assert list(map(tuple, result.pairs.tolist())) == expected
    a, b = (set(result.pairs[:, side].tolist()) for side in (0, 1))
    assert len(a) == len(b) == len(result.pairs)
    assert result.unmatched_a.tolist() == sorted(set(range(overlap.shape[0])) - a)
    assert result.unmatched_b.tolist() == sorted(set(range(overlap.shape[1])) - b)
    partner = dict(map(tuple, result.pairs.tolist()))
    n = overlap.shape[0]
    assert result.partner_of_a(n).tolist() == [partner.get(i, -1) for i in range(n)]


@given(overlaps())
@COMMON
def test_greedy_takes_the_largest_overlap_again_and_again(overlap: np.ndarray) -> None:
    left, expected = overlap.copy(), []
    while left.size and left.max() >= THRESHOLD:
        a, b = (int(i) for i in np.unravel_index(left.argmax(), left.shape))
        expected.append((a, b))
        left[a], left[:, b] = -1, -1
    check(matching.greedy(*as_pairs(overlap)), overlap, expected)


def choose_in_turn(overlap: np.ndarray, order: np.ndarray, second: bool) -> Iterator[tuple]:
    free = set(range(overlap.shape[1]))
    for a in order.tolist():
        wishes = sorted(range(overlap.shape[1]), key=lambda b: (-overlap[a, b], b))
        wishes = [b for b in wishes if overlap[a, b] >= THRESHOLD]
        for b in wishes if second else wishes[:1]:
            if b in free:
                free.remove(b)
                yield a, b
                break


@given(turns())
@COMMON
def test_by_score_and_single_candidate_choose_in_turn(case: tuple) -> None:
    overlap, order = case
    expected = list(choose_in_turn(overlap, order, second=True))
    check(matching.by_score(order, *as_pairs(overlap)), overlap, expected)
    expected = list(choose_in_turn(overlap, order, second=False))
    check(matching.single_candidate(order, *as_pairs(overlap)), overlap, expected)


@given(overlaps())
@settings(max_examples=40, deadline=None)
def test_optimal_has_the_least_total_cost(overlap: np.ndarray) -> None:
    cost, maximum = 1 - overlap, 0.6
    result = matching.optimal(cost, maximum)

    def total(pairs: list[tuple[int, int]]) -> float:
        return sum(cost[a, b] - maximum for a, b in pairs)

    n, m = cost.shape
    best = 0.0
    for chosen in permutations([*range(m), *[-1] * n], n):
        best = min(best, total([(a, b) for a, b in enumerate(chosen) if b >= 0]))
    pairs = list(map(tuple, result.pairs.tolist()))
    assert total(pairs) == pytest.approx(best, abs=1e-12)
    assert all(cost[a, b] < maximum for a, b in pairs)
    check(result, overlap, pairs)


@given(st.lists(st.integers(0, 3), max_size=8), st.lists(st.integers(0, 3), max_size=8))
@COMMON
def test_pairs_of_the_same_image(image_a: list[int], image_b: list[int]) -> None:
    expected = [(i, j) for i, x in enumerate(image_a) for j, y in enumerate(image_b) if x == y]
    for dtype in (np.int64, str):
        ia, ib = matching.same_image_pairs(
            np.array(image_a, dtype=dtype), np.array(image_b, dtype=dtype)
        )
        assert list(zip(ia.tolist(), ib.tolist(), strict=True)) == expected


def test_an_overlap_on_the_threshold_matches() -> None:
    half = np.array([[0.5]])
    order = np.array([0])
    assert len(matching.greedy(*as_pairs(half)).pairs) == 1
    assert len(matching.by_score(order, *as_pairs(half)).pairs) == 1
    assert len(matching.single_candidate(order, *as_pairs(half)).pairs) == 1


def test_second_choices() -> None:
    overlap = np.array([[0.9, 0.6], [0.8, 0.7]])
    order = np.array([0, 1])
    assert matching.by_score(order, *as_pairs(overlap)).pairs.tolist() == [[0, 0], [1, 1]]
    assert matching.single_candidate(order, *as_pairs(overlap)).pairs.tolist() == [[0, 0]]

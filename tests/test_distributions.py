from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import jensenshannon
from scipy.stats import entropy as scipy_entropy

from labelquality import distributions

COMMON = settings(max_examples=60, deadline=None)
counts = st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any)
triples = st.tuples(counts, counts, counts)


def normalised(rows: tuple) -> list[np.ndarray]:
    return [np.array(row) / sum(row) for row in rows]


@given(triples)
@COMMON
def test_distances_against_scipy(rows: tuple) -> None:
    p, q, _ = normalised(rows)
    assert distributions.entropy(p) == pytest.approx(scipy_entropy(p), abs=1e-12)
    # A rounding error of 1e-16 in the divergence is 1e-8 in its root.
    expected = np.nan_to_num(jensenshannon(p, q))
    assert distributions.root_jensen_shannon(p, q) == pytest.approx(expected, abs=3e-8)
    events = [
        sum(p[list(s)]) - sum(q[list(s)]) for s in ([0], [1], [2], [3], [0, 1], [0, 2], [0, 3])
    ]
    assert distributions.total_variation(p, q) == pytest.approx(np.abs(events).max(), abs=1e-12)
    cosine = p @ q / np.sqrt((p @ p) * (q @ q))
    assert distributions.cosine_similarity(p, q) == pytest.approx(cosine, abs=1e-12)


@given(triples)
@COMMON
def test_distances_are_metrics(rows: tuple) -> None:
    p, q, r = normalised(rows)
    for distance in (distributions.total_variation, distributions.root_jensen_shannon):
        assert distance(p, q) == distance(q, p)
        assert distance(p, p) == 0
        assert distance(p, r) <= distance(p, q) + distance(q, r) + 1e-7
        assert distance(p, q) > 0 or np.allclose(p, q)


def test_disjoint_distributions_are_farthest() -> None:
    p, q = np.array([0.5, 0.5, 0, 0]), np.array([0, 0, 0.1, 0.9])
    assert distributions.total_variation(p, q) == 1
    assert distributions.root_jensen_shannon(p, q) == pytest.approx(0.8325546111576977)
    assert distributions.cosine_similarity(p, q) == 0
    assert distributions.cosine_similarity(p, np.zeros(4)) == 0


def test_entropy_of_certainty_and_of_none() -> None:
    assert distributions.entropy(np.array([0.0, 1.0])) == 0
    assert distributions.entropy(np.full(5, 0.2)) == pytest.approx(np.log(5))


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=1, max_size=5))
@COMMON
def test_with_background_is_the_product_model_divided_by_its_sum(rows: list) -> None:
    result = distributions.with_background(np.array(rows))
    for p, row in zip(rows, result, strict=True):
        background = (1 - p[0]) * (1 - p[1]) * (1 - p[2])
        total = sum(p) + background
        assert row == pytest.approx([*(x / total for x in p), background / total], abs=1e-12)


def test_background_at_the_ends() -> None:
    result = distributions.with_background(np.array([[0.0, 0.0], [1.0, 1.0], [0.5, 0.5]]))
    np.testing.assert_allclose(result, [[0, 0, 1], [0.5, 0.5, 0], [0.4, 0.4, 0.2]])

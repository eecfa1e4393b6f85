from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelquality import matching
from labelquality.evaluation import candidates
from labelquality.evaluation.candidates import Pairs, assign, by_preference, candidate_pairs
from labelquality.geometry import iou


@st.composite
def overlaps(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A small matrix of overlaps with many ties, and the predictions' turns."""
    n, m = draw(st.integers(0, 6)), draw(st.integers(1, 5))
    values = draw(st.lists(st.integers(0, 4), min_size=n * m, max_size=n * m))
    turn = draw(st.permutations(range(n)))
    return np.array(values, dtype=np.float64).reshape(n, m) / 4, np.array(turn, dtype=np.intp)


@given(overlaps())
@settings(max_examples=80, deadline=None)
def test_rounds_of_proposals_give_what_choosing_in_turn_gives(
    case: tuple[np.ndarray, np.ndarray],
) -> None:
    overlap, turn = case
    ia, ib = (i.ravel() for i in np.indices(overlap.shape))
    order = np.argsort(turn)
    above = overlap.ravel() >= 0.5
    pairs = Pairs(ia[above], ib[above], overlap.ravel()[above])
    pairs = pairs.take(by_preference(pairs, turn))
    for rule, reference in (
        ("greedy", matching.by_score),
        ("single_candidate", matching.single_candidate),
    ):
        expected = reference(order, ia, ib, overlap.ravel(), *overlap.shape, 0.5)
        got = pairs.take(assign(pairs, overlap.shape[1], rule))  # type: ignore[arg-type]
        found = set(zip(got.prediction.tolist(), got.object.tolist(), strict=True))
        assert found == set(map(tuple, expected.pairs.tolist()))


def test_objects_that_do_not_count_come_last() -> None:
    pairs = Pairs(np.array([0, 0]), np.array([0, 1]), np.array([0.9, 0.6]))
    chosen = by_preference(pairs, np.array([0]), np.array([True, False]))
    assert pairs.take(chosen).object.tolist() == [1, 0]


@pytest.mark.parametrize("block", [1, 7, 1_000_000])
def test_blocks_change_nothing(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    corner = rng.random((60, 2)) * 50
    boxes = np.hstack([corner, corner + 5 + rng.random((60, 2)) * 50])
    group, object_group = rng.integers(0, 4, 40), rng.integers(0, 5, 20)
    monkeypatch.setattr(candidates, "_BLOCK", block)
    pairs = candidate_pairs(group, boxes[:40], object_group, boxes[40:], 0.3)
    overlap = iou(boxes[:40, None], boxes[None, 40:])
    expected = np.nonzero((overlap >= 0.3) & (group[:, None] == object_group[None]))
    assert pairs.prediction.tolist() == expected[0].tolist()
    assert pairs.object.tolist() == expected[1].tolist()
    assert pairs.iou.tolist() == overlap[expected].tolist()

from __future__ import annotations

import numpy as np
import pytest

from labelquality.evaluation import candidates
from labelquality.evaluation.candidates import Pairs, by_preference, candidate_pairs
from labelquality.geometry import iou


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

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from label_error_tables import label_errors, proposals
from labelquality.error_detection.review_effort import boxes_to_review, review_effort
from labelquality.error_detection.scoring import Scores, score

ERRORS = [(20 * i, 0, 20 * i + 10, 10) for i in range(4)]
FAR = (0, 80, 10, 90)


def ranking(*right: int, scored: bool = True) -> Scores:
    """A ranking whose proposals are right (1) or wrong (0), on four errors."""
    errors = iter(ERRORS)
    boxes = [next(errors) if hit else FAR for hit in right]
    scores = -np.arange(len(boxes)) if scored else np.nan
    return score(proposals(boxes, scores), label_errors(ERRORS))


def test_the_fewest_boxes_that_reach_a_recall() -> None:
    result = ranking(0, 1, 0, 1, 1, 0)
    assert [boxes_to_review(result, r) for r in (0.25, 0.5, 0.51, 0.75)] == [2, 4, 5, 5]
    assert np.isnan(boxes_to_review(result, 0.8))


def test_random_order_is_the_mean_over_all_orders() -> None:
    naive = ranking(1, 1, 0, 0, 0, scored=False)
    places = [[i for i, hit in enumerate(p, 1) if hit] for p in permutations((1, 1, 0, 0, 0))]
    assert boxes_to_review(naive, 0.25) == pytest.approx(np.mean([p[0] for p in places]))
    assert boxes_to_review(naive, 0.5) == pytest.approx(np.mean([p[1] for p in places]))
    assert np.isnan(boxes_to_review(naive, 0.75))


def test_effort_is_the_share_of_random_order() -> None:
    scores = {"naive": ranking(0, 1, 1, 0, 0, scored=False), "score": ranking(1, 1, 0, 0, 0)}
    table = review_effort(scores).set_index("method")
    assert table["boxes_50"].tolist() == [4, 2]
    assert table["effort_50"].tolist() == [1, 0.5]
    assert table[["boxes_80", "boxes_90", "effort_80", "effort_90"]].isna().to_numpy().all()
    alone = review_effort({"score": scores["score"]})
    assert alone["boxes_50"].tolist() == [2]
    assert alone["effort_50"].isna().all()


def test_rounding_asks_for_no_error_too_many() -> None:
    # 0.9 * 10 = 9.000000000000002 in the other order of factors, and 0.8 * 5 may exceed 4.
    errors = [(20 * i, 0, 20 * i + 10, 10) for i in range(10)]
    result = score(proposals(errors, -np.arange(10)), label_errors(errors))
    assert [boxes_to_review(result, r) for r in (0.5, 0.8, 0.9)] == [5, 8, 9]


def test_nothing_to_find_or_nothing_proposed() -> None:
    nothing = score(proposals([], []), label_errors(ERRORS))
    unasked = score(proposals([FAR], [0.5]), label_errors([]))
    for result in (nothing, unasked):
        assert np.isnan(boxes_to_review(result, 0.5))
    assert review_effort({"naive": nothing, "score": unasked})["boxes_50"].isna().all()

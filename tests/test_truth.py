from __future__ import annotations

import numpy as np
import pytest

from labelquality.tables import Table, make_table
from labelquality.truth import soft_label_distances


def objects(boxes: list[list[float]], vectors: list[list[float]], corrected=None) -> Table:
    n = len(boxes)
    known = np.array(vectors, dtype=float).reshape(n, 3)
    return make_table(
        "soft_labels",
        {"image_id": "a", "box_id": [f"{n}{k}" for k in range(n)], "n_votes": 11, "proposed": 0},
        ["square", "circle"],
        boxes=np.array(boxes, dtype=float).reshape(n, 4),
        vectors={
            "soft_label": known,
            "corrected": known if corrected is None else np.array(corrected, dtype=float),
        },
    )


HERE, NEAR, FAR = [0, 0, 10, 10], [0, 0, 10, 8], [50, 50, 60, 60]


def test_distances_of_raw_and_corrected_labels() -> None:
    given = objects([HERE], [[0.5, 0.5, 0.0]], corrected=[[0.25, 0.75, 0.0]])
    frame = soft_label_distances(given, objects([NEAR], [[0.25, 0.75, 0.0]]))
    assert frame["label"].tolist() == ["raw", "corrected"]
    assert frame["tvd"].tolist() == [0.25, 0.0]
    assert frame["root_jsd"].iloc[1] == pytest.approx(0)
    assert frame["same_class"].tolist() == [0.0, 1.0]
    assert frame["subset"].tolist() == ["ambiguous"] * 2


def test_a_probability_of_0_8_is_clear() -> None:
    frame = soft_label_distances(objects([HERE], [[1, 0, 0]]), objects([HERE], [[0.8, 0.1, 0.1]]))
    assert frame["subset"].tolist() == ["clear"] * 2


def test_an_object_without_a_true_one_keeps_its_row() -> None:
    frame = soft_label_distances(
        objects([FAR, HERE], [[1, 0, 0], [0, 1, 0]]), objects([HERE], [[0, 1, 0]])
    )
    assert frame["box_id"].tolist() == ["20", "21"] * 2
    assert frame["object_id"].tolist()[1] == "10"
    assert frame["tvd"].isna().tolist() == [True, False] * 2


def test_a_true_object_is_matched_once_by_the_closest() -> None:
    frame = soft_label_distances(
        objects([NEAR, HERE], [[1, 0, 0]] * 2), objects([HERE], [[1, 0, 0]])
    )
    assert frame["tvd"].isna().tolist() == [True, False] * 2


@pytest.mark.parametrize("given", [[], [HERE]])
def test_nothing_to_compare(given: list) -> None:
    frame = soft_label_distances(objects(given, [[1, 0, 0]] * len(given)), objects([], []))
    assert len(frame) == 2 * len(given)
    assert frame["tvd"].isna().all()

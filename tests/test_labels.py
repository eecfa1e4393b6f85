from __future__ import annotations

import numpy as np
import pytest

from labelquality.labels import hard_label, soft_label, validated_annotations
from labelquality.tables import Table, check_table, make_table


def test_soft_label_is_the_share_of_votes() -> None:
    votes = np.array([[7, 3, 1], [0, 0, 22]])
    np.testing.assert_allclose(soft_label(votes), [[7 / 11, 3 / 11, 1 / 11], [0, 0, 1]])
    assert soft_label(np.zeros((0, 3))).shape == (0, 3)


def test_an_object_without_votes_has_no_soft_label() -> None:
    with pytest.raises(ValueError, match="1 objects have no votes"):
        soft_label(np.array([[1, 0], [0, 0]]))


@pytest.mark.parametrize(
    ("soft", "threshold", "strict", "expected"),
    [
        ([0.5, 0.4, 0.1], 0.5, True, -1),
        ([0.5, 0.4, 0.1], 0.5, False, 0),
        ([11 / 22, 6 / 22, 5 / 22], 0.5, True, -1),
        ([12 / 22, 5 / 22, 5 / 22], 0.5, True, 0),
        ([0.1, 0.8, 0.1], 0.8, True, -1),
        ([0.1, 0.8, 0.1], 0.8, False, 1),
        ([np.nextafter(0.5, 1), 0.4, 0.1], 0.5, True, 0),
        ([0.4, 0.4, 0.2], 0.3, True, 0),  # a tie goes to the first class
        ([0.1, 0.3, 0.6], 0.5, True, -1),  # the majority cannot tell
        ([0.1, 0.3, 0.6], 0.2, True, -1),  # and no other class steps in
        ([0.45, 0.1, 0.45], 0.4, True, 0),  # a tie with can't-solve goes to the class
        ([0.0, 0.0, 1.0], 0.0, True, -1),
        ([0.4, 0.3, 0.3], 0.0, True, 0),
    ],
)
def test_hard_label(soft: list[float], threshold: float, strict: bool, expected: int) -> None:
    result = hard_label(np.array([soft]), threshold, strict=strict)
    assert result.tolist() == [expected]
    assert result.dtype == np.int32


def test_no_objects_have_no_hard_labels() -> None:
    assert hard_label(np.zeros((0, 3)), 0.5).shape == (0,)


def soft_labels() -> Table:
    return make_table(
        "soft_labels",
        {"image_id": ["a", "a", "b"], "box_id": ["0", "1", "2"], "n_votes": 11, "proposed": 0},
        ("car", "van"),
        boxes=np.array([[0, 0, 1, 1], [1, 1, 3, 3], [2, 2, 5, 5]], dtype=float),
        vectors={
            "soft_label": np.array([[0.9, 0.1, 0], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]),
            "corrected": np.array([[0.5, 0.5, 0], [0.1, 0.8, 0.1], [0.6, 0.2, 0.2]]),
        },
    )


def test_validated_annotations_are_the_objects_with_a_hard_label() -> None:
    validated = validated_annotations(soft_labels(), 0.5)
    check_table(validated, "validated")
    assert validated.frame["box_id"].tolist() == ["1", "2"]
    assert validated.frame["category"].tolist() == [1, 0]
    assert validated.boxes.tolist() == [[1, 1, 3, 3], [2, 2, 5, 5]]
    assert set(validated.frame["annotator"]) == {"validated"}


def test_validated_annotations_from_uncorrected_labels() -> None:
    validated = validated_annotations(soft_labels(), 0.5, column="soft_label")
    assert validated.frame["box_id"].tolist() == ["0", "1"]
    assert len(validated_annotations(soft_labels(), 0.95)) == 0

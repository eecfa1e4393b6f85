from __future__ import annotations

import pytest

from label_error_tables import detected, originals
from labelquality.error_detection.mistakenness import propose

A, B = (0, 0, 10, 10), (20, 0, 30, 10)


@pytest.mark.parametrize(
    ("box", "category", "degree"),
    [
        (A, 0, 0.1),  # m = -1 and i = 0: the detector agrees, (1 - c) / 2 in both
        (A, 1, 0.9),  # m = 1
        ((0, 0, 10, 5), 0, 0.9),  # IoU 0.5, i = 1
        ((0, 0, 10, 7.5), 0, 0.5),  # IoU 0.75, i = 0.5: indifferent
    ],
)
def test_degrees_by_hand(box: tuple, category: int, degree: float) -> None:
    found = propose(detected([box], 0.8, category), originals([A]))
    assert found.boxes.tolist() == [list(A)]
    assert found.frame["score"].tolist() == pytest.approx([degree])
    assert found.frame["category"].tolist() == [0]


def test_detections_without_a_label_are_proposed_and_labels_without_a_detection_are_not() -> None:
    found = propose(detected([A, A, (0, 0, 10, 4.9)], [0.5, 0.8, 0.3]), originals([A, B]))
    assert found.boxes.tolist() == [list(A), list(A), [0, 0, 10, 4.9]]
    assert found.frame["score"].tolist() == pytest.approx([0.1, 0.75, 0.65])


def test_labels_go_to_the_most_confident_whatever_its_class() -> None:
    found = propose(detected([A, A], [0.6, 0.9], [0, 1]), originals([A]))
    assert found.frame["score"].tolist() == pytest.approx([0.95, 0.8])

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from label_error_tables import detected, originals
from labelquality.error_detection import matching_cost
from labelquality.geometry import giou
from labelquality.tables import Table

A, B, FAR = (0, 0, 10, 10), (20, 0, 30, 10), (90, 90, 100, 100)


def seen(boxes: Any, probabilities: Any, image_id: Any = "i") -> Table:
    vectors = np.asarray(probabilities, dtype=np.float32)
    table = detected(boxes, vectors.max(axis=1), vectors.argmax(axis=1), image_id)
    return replace(table, vectors={"probabilities": vectors})


@pytest.mark.parametrize(
    ("box", "vector", "cost"),
    [
        (A, (1, 0, 0), 0.0),
        (A, (0.25, 0.75, 0), 0.375),  # half of 1 - 0.25
        (A, (0.25, 0, 0, 0.75), 0.375),  # the background takes no part
        ((0, 0, 10, 5), (1, 0, 0), 0.125),  # IoU and GIoU 0.5
        (B, (1, 0, 0), (1 + 1 / 3) / 4),  # GIoU -1/3
    ],
)
def test_costs_by_hand(box: tuple, vector: tuple, cost: float) -> None:
    found = matching_cost.costs(originals([A]), seen([box], [vector]))
    assert found == pytest.approx([cost])


def test_the_best_detection_counts_and_only_of_the_same_image() -> None:
    detections = seen([A, A, A], [(0.5, 0, 0), (0.75, 0, 0), (1, 0, 0)], ["i", "i", "j"])
    assert matching_cost.costs(originals([A]), detections).tolist() == [0.125]


def test_a_label_without_any_detection_costs_most() -> None:
    assert matching_cost.costs(originals([A]), seen([], np.zeros((0, 3)))).tolist() == [1.0]
    assert matching_cost.costs(originals([A]), seen([A], [(1, 0, 0)], "j")).tolist() == [1.0]


def test_labels_by_cost_and_detections_without_a_label_by_score() -> None:
    detections = seen([A, B, (0, 0, 10, 4.999)], [(0, 1, 0), (0, 0.75, 0), (0, 0, 0.5)])
    found = matching_cost.propose(detections, originals([A]))
    assert found.boxes.tolist() == [list(A), list(B), [0, 0, 10, 4.999]]
    assert found.frame["score"].tolist() == [0.5, 0.75, 0.5]
    assert found.frame["category"].tolist() == [0, 1, 2]
    assert found.image_ids == detections.image_ids


def test_crowds_are_no_labels() -> None:
    labels = originals([A, FAR], crowd=[True, False], region=["group", ""])
    found = matching_cost.propose(seen([A], [(1, 0, 0)]), labels)
    assert found.boxes.tolist() == [list(FAR), list(A)]


@pytest.mark.parametrize("at_once", [1, 7, 2_000_000])
def test_costs_are_the_least_over_all_pairs_however_they_are_parted(
    monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr(matching_cost, "_PAIRS_AT_ONCE", at_once)
    rng = np.random.default_rng(0)

    def boxes(n: int) -> np.ndarray:
        corner = rng.uniform(0, 50, (n, 2))
        return np.concatenate([corner, corner + rng.uniform(5, 30, (n, 2))], axis=1)

    here, there = rng.choice(["i", "j", "k"], 20), rng.choice(["i", "j"], 30)
    labels = originals(boxes(20), rng.integers(0, 3, 20), here)
    detections = seen(boxes(30), rng.random((30, 3)), there)
    expected = [
        min(
            (
                (1 - vector[category] + (1 - giou(box, other)) / 2) / 2
                for other, vector, image in zip(
                    detections.boxes, detections.vectors["probabilities"], there, strict=True
                )
                if image == own
            ),
            default=1.0,
        )
        for box, category, own in zip(labels.boxes, labels.frame["category"], here, strict=True)
    ]
    assert matching_cost.costs(labels, detections) == pytest.approx(expected, rel=1e-6)

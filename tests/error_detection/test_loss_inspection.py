from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from label_error_tables import CLASSES, boxes_of, detected, one_for_all, originals
from labelquality.error_detection import propose, reason_off
from labelquality.error_detection.loss_inspection import propose as inspect_losses
from labelquality.errors import DataError
from labelquality.tables import Table, concatenate, make_table, read_table, write_table

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (50, 50, 60, 60)


def losses(
    boxes: Sequence[Sequence[float]],
    classification: Any,
    regression: Any = (0.0, 0.0),
    *,
    box_id: Any = "",
    category: Any = 0,
    image_id: Any = "i",
) -> Table:
    n = len(boxes)
    return make_table(
        "label_losses",
        {
            "image_id": one_for_all(image_id, n),
            "box_id": one_for_all(box_id, n),
            "category": one_for_all(category, n),
            "classification": [list(classification)] * n,
            "regression": [list(regression)] * n,
        },
        CLASSES,
        boxes=boxes_of(boxes),
        image_ids=("i", "j"),
    )


def test_losses_of_the_heads_count_by_their_mean() -> None:
    told = losses([A], (0.25, 1.5, 2.0), (0.5, 0.25, 0.75), box_id=["o0"])
    found = inspect_losses(detected([]), originals([A]), label_losses=told)
    assert found.frame["score"].tolist() == [0.75 + (1.75 + 2.75) / 2]
    assert found.boxes.tolist() == [list(A)]
    assert found.image_ids == ("i", "j")


@pytest.mark.parametrize(("height", "proposed"), [(5, False), (4.999, True)])
@pytest.mark.parametrize("category", [0, 1])
def test_a_detection_on_a_label_of_any_class_speaks_of_the_label(
    height: float, proposed: bool, category: int
) -> None:
    told = concatenate(
        [
            losses([A], (0.0, 1.0), box_id=["o0"]),
            losses([(0, 0, 10, height)], (3.0, 4.0), category=category),
        ]
    )
    found = inspect_losses(detected([]), originals([A]), label_losses=told)
    assert found.frame["score"].tolist() == [1.0] + [7.0] * proposed
    assert found.frame["category"].tolist() == [0] + [category] * proposed


def test_a_detection_is_not_excused_by_a_label_of_another_image() -> None:
    told = concatenate(
        [losses([A], (1.0, 0.0), box_id=["o0"]), losses([A], (2.0, 0.0), image_id="j")]
    )
    found = inspect_losses(detected([]), originals([A]), label_losses=told)
    assert found.frame["image_id"].tolist() == ["i", "j"]


def test_crowds_regions_and_unknown_classes_are_no_labels() -> None:
    boxes = [A, B, C]
    told = concatenate(
        [losses([box], (1.0, 0.0), box_id=[f"o{k}"]) for k, box in enumerate(boxes)]
        + [losses([B], (5.0, 0.0))]
    )
    labels = originals(boxes, crowd=[False, True, False], region=["", "group", "dontcare"])
    found = inspect_losses(detected([]), labels, label_losses=told)
    assert found.frame["score"].tolist() == [1.0, 5.0]


def test_losses_may_cover_more_labels_than_are_asked_for() -> None:
    told = concatenate(
        [
            losses([A], (1.0, 0.0), box_id=["o0"]),
            losses([A], (9.0, 0.0), box_id=["o0"], category=1),
            losses([B], (8.0, 0.0), box_id=["o0"]),
        ]
    )
    for labels, score in ((originals([A]), 1), (originals([A], 1), 9), (originals([B]), 8)):
        found = inspect_losses(detected([]), labels, label_losses=told)
        assert found.frame["score"].tolist() == [score]


@pytest.mark.parametrize("labels", [originals([B]), originals([A], 1), originals([A], 0, "j")])
def test_losses_of_other_labels_are_refused(labels: Table) -> None:
    told = losses([A], (1.0, 0.0), box_id=["o0"])
    with pytest.raises(DataError, match=r"image [ij]: the losses lack box o0; they are of other"):
        inspect_losses(detected([]), labels, label_losses=told)


def test_losses_of_several_detectors_are_refused() -> None:
    told = concatenate([losses([A], (0.0, 1.0)), losses([B], (0.0, 1.0, 2.0), (0.0, 0.0, 0.0))])
    with pytest.raises(DataError, match="classification: rows differ in their number of stages"):
        inspect_losses(detected([]), originals([]), label_losses=told)


def test_losses_keep_their_stages_on_disk(tmp_path: Path) -> None:
    write_table(losses([B, A], (0.0, 1.0, 2.5), (0.0, 0.0, 0.0)), tmp_path / "losses")
    found = read_table(tmp_path / "losses", "label_losses")
    assert found.boxes.tolist() == [list(A), list(B)]
    assert [list(row) for row in found.frame["classification"]] == [[0.0, 1.0, 2.5]] * 2
    labels = originals([])
    assert len(inspect_losses(detected([]), labels, label_losses=found)) == 2


def test_without_losses_the_method_is_switched_off_and_says_why() -> None:
    found = propose("loss_inspection", detected([A]), originals([A]), label_losses=None)
    assert len(found) == 0
    assert reason_off(found).startswith("needs the losses of a two-stage detector")

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_error_tables import CLASSES, detected, originals
from labelquality.error_detection.objectlab import (
    MIN_SIMILARITY,
    Settings,
    box_scores,
    image_scores,
    propose,
    propose_boxes,
    smallest_similarity,
)
from labelquality.tables import Table, read_table, write_table
from oracles import objectlab as oracle

A, B = (0, 0, 10, 10), (20, 0, 30, 10)
AS_PUBLISHED = Settings(min_similarity=None)


def test_a_badly_located_label_has_the_similarity_of_its_best_detection() -> None:
    detections = detected([(0, 0, 10, 5), (0, 0, 10, 4), (0, 0, 10, 10)], [0.6, 0.9, 0.5])
    scores = box_scores(detections, originals([A, B]), Settings())
    # IoU 0.5, centres 2.5 apart; a score of exactly 0.5 is too low; B has no candidate.
    assert scores.badly_located == pytest.approx([0.9 * 0.5 + 0.1 * np.exp(-0.25), 1.0])


@pytest.mark.parametrize(
    ("score", "category", "expected"),
    [(0.95, 0, 0.1 * np.exp(-2)), (0.949, 0, np.nan), (0.96, 1, MIN_SIMILARITY * 0.04)],
)
def test_what_is_overlooked(score: float, category: int, expected: float) -> None:
    found = box_scores(detected([B], score, category), originals([A]), Settings()).overlooked
    assert found == pytest.approx([expected], rel=1e-9, nan_ok=True)


def test_nothing_is_overlooked_that_touches_any_label() -> None:
    scores = box_scores(detected([(9, 9, 19, 19)], 0.99, 1), originals([A]), Settings())
    assert np.isnan(scores.overlooked).all()
    beside = box_scores(detected([(10, 0, 20, 10)], 0.99, 1), originals([A]), Settings())
    assert not np.isnan(beside.overlooked).any()


def test_a_sure_detection_of_another_class_speaks_against_a_label() -> None:
    scores = box_scores(detected([A, B], [0.96, 0.95], [1, 1]), originals([A, B]), Settings())
    far = 0.1 * np.exp(-2)
    assert scores.swapped == pytest.approx([MIN_SIMILARITY, 1 - far])


def test_two_labels_of_one_object_are_both_swapped() -> None:
    labels = originals([A, (0, 0, 10, 9.5), (0, 0, 10, 9.4)], category=[0, 1, 0])
    swapped = box_scores(detected([]), labels, Settings()).swapped
    # The third box has an IoU of 0.989 with the second, of another class, too.
    assert swapped.tolist() == [MIN_SIMILARITY] * 3
    apart = originals([A, (0, 0, 10, 9.4)], category=[0, 1])
    assert box_scores(detected([]), apart, Settings()).swapped.tolist() == [1, 1]


def test_images_without_labels_or_detections_are_good() -> None:
    detections = detected([A], 0.5, image_id="i")
    scores = quality(detections, originals([B], image_id="j"))
    assert scores == pytest.approx({"i": 1.0, "j": 1.0})


def test_an_overlooked_box_where_nothing_is_labelled_spoils_its_image() -> None:
    found = quality(detected([A], 0.96), originals([]))
    assert found["i"] == pytest.approx((MIN_SIMILARITY * 0.04) ** (1 / 3))


def quality(detections: Table, labels: Table, chosen: Settings = Settings()) -> dict[str, float]:  # noqa: B008
    scores = box_scores(detections, labels, chosen)
    return image_scores(scores, detections, labels, chosen).to_dict()


def test_another_image_moves_a_score_only_as_published() -> None:
    labels = originals([A, A], image_id=["i", "j"])
    detections = detected([A, (90, 90, 99, 99)], [0.96, 0.1], [1, 0], image_id=["i", "j"])
    alone, one = detections.take(np.array([0])), labels.take(np.array([0]))
    assert quality(detections, labels)["i"] == quality(alone, one)["i"]
    assert quality(detections, labels, AS_PUBLISHED)["i"] < quality(alone, one, AS_PUBLISHED)["i"]


def test_the_smallest_similarity_of_no_pairs_is_one() -> None:
    assert (
        smallest_similarity(detected([A], image_id="i"), originals([A], image_id="j"), Settings())
        == 1
    )
    assert smallest_similarity(detected([]), originals([]), Settings()) == 1


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    detections, labels = random_tables(np.random.default_rng(1), 6)
    whole = smallest_similarity(detections, labels, Settings())
    monkeypatch.setattr("labelquality.error_detection.objectlab._PAIRS_AT_ONCE", 7)
    assert smallest_similarity(detections, labels, Settings()) == whole < 1


def test_false_positives_are_ranked_by_doubt_and_confidence(tmp_path: Path) -> None:
    detections = detected([A, B, B], [0.9, 0.8, 0.4], image_id=["i", "i", "j"])
    labels = originals([(0, 0, 10, 8)], image_id="i")
    image = quality(detections, labels)
    proposals = propose(detections, labels)
    expected = [(1 - image["i"]) * 0.8, (1 - image["j"]) * 0.4]
    assert proposals.frame["score"].tolist() == pytest.approx(expected)
    assert expected[1] == pytest.approx(0)
    write_table(proposals, tmp_path / "p")
    assert read_table(tmp_path / "p", "proposals").meta == {"min_similarity": repr(2.0**-53)}


def test_boxes_in_doubt_are_proposed_where_they_are() -> None:
    labels = originals([A, B], category=[0, 2], image_id=["i", "j"])
    detections = detected(
        [(0, 0, 10, 5), (50, 50, 60, 60), (70, 70, 80, 80)], [0.6, 0.97, 0.9], [0, 1, 1]
    )
    proposals = propose_boxes(detections, labels)
    assert proposals.boxes.tolist() == [[50, 50, 60, 60], list(A)]
    assert proposals.frame["category"].tolist() == [1, 0]
    # The label is swapped a little, too: a sure detection of another class lies 71 px away.
    expected = [1.0, 1 - (0.45 + 0.1 * np.exp(-0.25))]
    assert proposals.frame["score"].tolist() == pytest.approx(expected)
    assert proposals.image_ids == detections.image_ids


def test_crowds_are_no_labels() -> None:
    labels = originals([A], crowd=True, region="group")
    assert propose_boxes(detected([A], 0.97), labels).frame["score"].tolist() == [1.0]


def random_tables(rng: np.random.Generator, n_images: int) -> tuple[Table, Table]:
    """Boxes on a grid, so that overlaps and doubles are common; scores on the thresholds, too."""

    def some(n: int) -> tuple[list[Any], list[int], list[str]]:
        corner, side = rng.integers(0, 25, (n, 2)), rng.integers(2, 12, (n, 2))
        boxes = np.concatenate([corner, corner + side], axis=1).tolist()
        images = [f"{i}" for i in rng.integers(0, n_images, n)]
        return boxes, rng.integers(0, len(CLASSES), n).tolist(), images

    boxes, category, image = some(5 * n_images)
    scores = rng.choice([0.2, 0.5, 0.7, 0.95, 0.97, 0.99], len(boxes))
    labels = originals(*some(3 * n_images))
    ids = [str(i) for i in range(n_images)]
    return detected(boxes, scores, category, image, image_ids=ids), labels


def of_image(table: Table, image: str) -> list[tuple[Any, ...]]:
    rows = table.take((table.frame["image_id"] == image).to_numpy())
    columns = [c for c in ("category", "score") if c in rows.frame]
    values = rows.frame[columns].itertuples(index=False, name=None)
    return [(tuple(b), *v) for b, v in zip(rows.boxes.tolist(), values, strict=True)]


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_equals_the_literal_version(seed: int) -> None:
    detections, labels = random_tables(np.random.default_rng(seed), 4)
    smallest = min(
        (
            oracle.similarity(label[0], prediction[0])
            for image in detections.image_ids or ()
            for label in of_image(labels, image)
            for prediction in of_image(detections, image)
        ),
        default=1.0,
    )
    assert smallest_similarity(detections, labels, Settings()) == pytest.approx(smallest, rel=1e-9)
    for image, score in quality(detections, labels, AS_PUBLISHED).items():
        expected = oracle.image_score(
            of_image(labels, image), of_image(detections, image), smallest
        )
        assert score == pytest.approx(expected, rel=1e-9)


def test_equals_cleanlab() -> None:
    rank = pytest.importorskip(
        "cleanlab.object_detection.rank", reason="cleanlab is no requirement of the project"
    )
    detections, labels = random_tables(np.random.default_rng(0), 40)
    ids = list(detections.image_ids or ())
    theirs = rank.get_label_quality_scores(
        [
            {
                "bboxes": np.array([b for b, _ in of_image(labels, i)]).reshape(-1, 4),
                "labels": np.array([k for _, k in of_image(labels, i)], dtype=int),
            }
            for i in ids
        ],
        [
            np.array(
                [
                    np.array(
                        [[*b, p] for b, k, p in of_image(detections, i) if k == c], dtype=float
                    ).reshape(-1, 5)
                    for c in range(len(CLASSES))
                ]
                + [None],
                dtype=object,
            )[:-1]
            for i in ids
        ],
        verbose=False,
    )
    ours = quality(detections, labels, AS_PUBLISHED)
    assert [ours[i] for i in ids] == pytest.approx(list(theirs), abs=1e-9)

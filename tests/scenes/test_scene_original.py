from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from labelquality.geometry import heights, ioa, pairwise_iou
from labelquality.scenes.original import (
    CLASSIFICATION,
    MISALIGNED,
    MISSING,
    ORIGINAL_ONLY,
    Original,
    annotate,
    check_promises,
)
from labelquality.scenes.render import Scene, draw_scene, stream

Pair = tuple[Scene, Original]


@pytest.fixture(scope="module")
def annotated() -> list[Pair]:
    scenes = [draw_scene("test", i, 7) for i in range(120)]
    return [(s, annotate(s, stream("test", i, 7, 2))) for i, s in enumerate(scenes)]


def _errors(annotated: list[Pair], kind: str) -> list[tuple[Scene, Original, int, int]]:
    return [
        (s, o, -1 if e.object is None else e.object, -1 if e.annotation is None else e.annotation)
        for s, o in annotated
        for e in o.errors
        if e.kind == kind
    ]


def test_every_kind_occurs_about_as_often_as_planned(annotated: list[Pair]) -> None:
    n = sum(len(s.boxes) for s, _ in annotated)
    share = {k: c / n for k, c in Counter(e.kind for _, o in annotated for e in o.errors).items()}
    assert 0.08 < share[MISSING] < 0.19
    assert 0.04 < share[MISALIGNED] < 0.1
    assert 0.03 < share[CLASSIFICATION] < 0.08
    assert 0.02 < share[ORIGINAL_ONLY] < 0.06


def test_missing_objects_are_mostly_small_and_no_original_box_is_near(
    annotated: list[Pair],
) -> None:
    missing = _errors(annotated, MISSING)
    for scene, original, i, a in missing:
        assert a == -1
        assert pairwise_iou(scene.boxes[[i]], original.boxes).max(initial=0.0) <= 0.1
    assert np.mean([heights(s.boxes[i]) < 12 for s, _, i, _ in missing]) > 0.5


def test_misaligned_boxes_keep_their_iou_and_match_nothing_else(annotated: list[Pair]) -> None:
    for scene, original, i, a in _errors(annotated, MISALIGNED):
        to_true = pairwise_iou(original.boxes[[a]], scene.boxes)[0]
        to_original = pairwise_iou(scene.boxes[[i]], original.boxes)[0]
        assert 0.14 <= to_true[i] <= 0.46
        assert np.delete(to_true, i).max(initial=0.0) < 0.5
        assert to_original.max() < 0.5
        assert original.category[a] == scene.category[i]


def test_classification_errors_are_in_place_with_another_class(annotated: list[Pair]) -> None:
    for scene, original, i, a in _errors(annotated, CLASSIFICATION):
        assert pairwise_iou(scene.boxes[[i]], original.boxes[[a]])[0, 0] >= 0.8
        assert original.category[a] != scene.category[i]
        assert not scene.ambiguous[i]


def test_spurious_boxes_touch_no_object(annotated: list[Pair]) -> None:
    for scene, original, i, a in _errors(annotated, ORIGINAL_ONLY):
        assert i == -1
        assert pairwise_iou(original.boxes[[a]], scene.boxes).max() <= 0.05


def test_whatever_is_no_error_is_right(annotated: list[Pair]) -> None:
    for scene, original in annotated:
        wrong = {e.annotation for e in original.errors}
        right = [a for a in np.flatnonzero(~original.crowd).tolist() if a not in wrong]
        overlap = pairwise_iou(original.boxes[right], scene.boxes)
        assert (overlap.max(axis=1, initial=0.0) >= 0.8).all()
        assert (original.category[right] == scene.category[overlap.argmax(axis=1)]).all()
        objects = [e.object for e in original.errors if e.object is not None]
        assert len(right) == len(scene.boxes) - len(objects)
        assert len(set(objects)) == len(objects)


def test_ignore_regions_hold_a_cluster_that_is_not_annotated(annotated: list[Pair]) -> None:
    with_region = [(s, o) for s, o in annotated if o.crowd.any()]
    assert 2 <= len(with_region) <= 15
    for scene, original in with_region:
        region = original.boxes[original.crowd]
        assert len(region) == 1
        inside = ioa(scene.boxes, region[0]) > 0.5
        assert inside[scene.clustered].all()
        flagged = {e.object for e in original.errors if e.in_region and e.kind == MISSING}
        assert set(np.flatnonzero(scene.clustered).tolist()) <= flagged
        assert flagged <= set(np.flatnonzero(inside).tolist())


@pytest.mark.parametrize("kind", [MISSING, MISALIGNED, CLASSIFICATION, ORIGINAL_ONLY])
def test_a_broken_promise_is_noticed(annotated: list[Pair], kind: str) -> None:
    scene, original, i, a = _errors(annotated, kind)[0]
    boxes, category = original.boxes.copy(), original.category.copy()
    if kind == MISSING:
        boxes[0] = scene.boxes[i]
    elif kind == CLASSIFICATION:
        category[a] = scene.category[i]
    else:
        boxes[a] = scene.boxes[max(i, 0)]
    with pytest.raises(AssertionError):
        check_promises(scene, replace(original, boxes=boxes, category=category))

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from labelquality.geometry import areas, pairwise_iou
from labelquality.scenes import render
from labelquality.scenes.render import (
    HEIGHT,
    WIDTH,
    Scene,
    draw_scene,
    human_probabilities,
    training_labels,
)
from labelquality.scenes.shapes import CLASSES, PAIRS, outline, partner


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [draw_scene("test", i, 5) for i in range(70)]


def _all(scenes: list[Scene], field: str) -> np.ndarray:
    return np.concatenate([getattr(scene, field) for scene in scenes])


def test_images_are_small_rgb_and_hold_1_to_10_objects(scenes: list[Scene]) -> None:
    assert {scene.image.shape for scene in scenes} == {(HEIGHT, WIDTH, 3)}
    counts = [len(scene.boxes) for scene in scenes]
    assert min(counts) >= 1
    assert max(counts) <= 10
    assert 4.0 < np.mean(counts) < 5.2


def test_boxes_lie_in_the_image_and_overlap_little(scenes: list[Scene]) -> None:
    boxes = _all(scenes, "boxes")
    assert boxes.min() >= 0
    assert boxes.max() <= 128
    assert (boxes[:, 2:] - boxes[:, :2]).min() >= 4.5
    for scene in scenes:
        overlap = pairwise_iou(scene.boxes, scene.boxes)
        assert (overlap[~np.eye(len(overlap), dtype=bool)] <= 0.35).all()


def test_scenes_are_as_hard_as_promised(scenes: list[Scene]) -> None:
    assert 0.3 < (areas(_all(scenes, "boxes")) < 256).mean() < 0.45
    assert 0.1 < _all(scenes, "ambiguous").mean() < 0.22
    assert _all(scenes, "visible").min() >= 0.25
    assert (_all(scenes, "visible") < 0.8).any()
    assert (np.bincount(_all(scenes, "category"), minlength=6) > 15).all()


def test_category_is_the_most_probable_class_and_probabilities_sum_to_1(
    scenes: list[Scene],
) -> None:
    probabilities = _all(scenes, "probabilities")
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0, atol=1e-12)
    assert probabilities.min() > 0
    assert (probabilities[:, :-1].argmax(axis=1) == _all(scenes, "category")).all()


@pytest.mark.parametrize("category", range(len(CLASSES)))
@pytest.mark.parametrize("centre", [(64.0, 50.0), (3.0, 120.0)])
def test_box_is_the_extent_of_what_was_painted(category: int, centre: tuple[float, float]) -> None:
    fine = 4
    canvas = Image.new("RGB", (WIDTH * fine, HEIGHT * fine))
    owner = np.full((HEIGHT * fine, WIDTH * fine), -1, dtype=np.int16)
    plan = render._Plan(category, 0.0, 30.0, centre)
    placed = render._place(
        canvas, owner, plan, np.empty((0, 4)), np.empty(0), np.random.default_rng(category)
    )
    assert placed is not None
    painted = np.asarray(canvas).any(axis=2)
    rows, columns = np.nonzero(painted)
    extent = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    np.testing.assert_allclose(placed[0], np.array(extent) / fine, atol=1 / fine)
    assert (painted == (owner == 0)).mean() > 0.998


def test_drawing_depends_on_seed_split_and_index_alone() -> None:
    first = draw_scene("val", 3, 1)
    again = draw_scene("val", 3, 1)
    assert (first.image == again.image).all()
    assert (first.probabilities == again.probabilities).all()
    for other in (draw_scene("val", 4, 1), draw_scene("train", 3, 1), draw_scene("val", 3, 2)):
        assert (other.image != first.image).mean() > 0.5


def test_people_agree_on_big_clear_shapes_and_split_on_morphs() -> None:
    for category in range(len(CLASSES)):
        clear = human_probabilities(category, 0.0, 40.0, 1.0)
        assert clear.argmax() == category
        assert clear[category] >= 0.97
    for first, second in PAIRS:
        between = human_probabilities(first, 0.5, 40.0, 1.0)
        assert between[first] == pytest.approx(between[second], abs=0.03)
        shares = [human_probabilities(first, t, 40.0, 1.0)[second] for t in (0.2, 0.4, 0.6, 0.8)]
        assert (np.diff(shares) > 0.1).all()


def test_cant_solve_grows_for_small_and_hidden_objects() -> None:
    by_height = [human_probabilities(0, 0.0, h, 1.0)[-1] for h in (20.0, 10.0, 8.0, 6.0)]
    by_visible = [human_probabilities(0, 0.0, 40.0, v)[-1] for v in (1.0, 0.5, 0.4, 0.3)]
    assert (np.diff(by_height) > 0).all()
    assert (np.diff(by_visible) > 0).all()
    assert by_height[0] < 0.01
    assert 0.2 < by_height[-1] < 0.5


@pytest.mark.parametrize(("category", "other"), PAIRS)
def test_a_full_morph_is_the_other_class(category: int, other: int) -> None:
    start, end = outline(category, 1.0), outline(other, 0.0)
    np.testing.assert_allclose(start, end)
    assert np.abs(outline(category, 0.0) - end).max() > 0.2
    assert partner(category) == other


def test_unknown_class_has_no_partner() -> None:
    with pytest.raises(ValueError, match="no class 6"):
        partner(6)


def test_training_labels_of_ambiguous_objects_follow_the_known_probabilities() -> None:
    probabilities = np.tile(human_probabilities(3, 0.45, 30.0, 1.0), (4000, 1))
    scene = Scene(
        image=np.zeros((1, 1, 3), dtype=np.uint8),
        boxes=np.zeros((4000, 4)),
        category=np.full(4000, 3),
        probabilities=probabilities,
        visible=np.ones(4000),
        ambiguous=np.arange(4000) < 3000,
        clustered=np.zeros(4000, dtype=bool),
        clutter=np.zeros((0, 4)),
    )
    labels = training_labels(scene, np.random.default_rng(0))
    assert (labels[3000:] == 3).all()
    real = probabilities[0, :-1] / probabilities[0, :-1].sum()
    np.testing.assert_allclose(np.bincount(labels[:3000], minlength=6) / 3000, real, atol=0.03)

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from labelquality.detectors import load_detector
from labelquality.detectors.base import limit_side_effects
from labelquality.errors import DataError
from labelquality.geometry import pairwise_iou
from labelquality.scenes.render import draw_scene
from placed_objects import noise
from shipped_detectors import CLASSES, shipped

limit_side_effects()
torch = pytest.importorskip("torch")
pytest.importorskip("torchvision")

SCENES = [draw_scene("test", index, 5) for index in range(12)]


@pytest.fixture(scope="module")
def detector() -> Any:
    return load_detector(shipped("cascade_rcnn_scenes"), CLASSES)


def test_what_was_drawn_is_found_and_named(detector: Any) -> None:
    named = total = 0
    for scene in SCENES:
        found = detector.detect([scene.image])[0]
        overlap = pairwise_iou(scene.boxes, found.boxes)
        best = found.probabilities[:, :-1].argmax(axis=1)
        right = (overlap > 0.5) & (best[None] == scene.category[:, None])
        named += int(right.any(axis=1).sum())
        total += len(scene.boxes)
    assert named / total > 0.6


def test_vectors_sum_to_one_and_hold_the_background_last(detector: Any) -> None:
    found = detector.detect([SCENES[0].image])[0]
    assert found.probabilities.shape == (len(found), len(CLASSES) + 1)
    assert found.probabilities.dtype == np.float32
    assert np.abs(found.probabilities.sum(axis=1, dtype=np.float64) - 1).max() < 1e-6
    assert np.all(np.diff(found.probabilities[:, :-1].max(axis=1)) <= 0)


def test_what_suppression_chose_from_holds_what_it_kept(detector: Any) -> None:
    found = detector.detect([SCENES[0].image])[0]
    kept = {tuple(box) for box in found.boxes}
    assert kept <= {tuple(box) for box in found.candidates.boxes}
    assert len(found.candidates.scores) > len(found)
    assert found.candidates.scores.min() > 0.001


def test_images_of_any_size_and_the_same_alone_as_in_a_batch(detector: Any) -> None:
    images = [noise((50, 90), seed=1), SCENES[0].image, noise((300, 60), seed=2), SCENES[1].image]
    for image, result in zip(images, detector.detect(images), strict=True):
        alone = detector.detect([image])[0]
        assert len(alone) == len(result)
        assert np.abs(alone.boxes - result.boxes).max(initial=0) < 1e-3
        assert np.all(result.boxes[:, 2:] <= [image.shape[1], image.shape[0]])


def test_a_larger_picture_gives_larger_boxes(detector: Any) -> None:
    scene = SCENES[0]
    large = scene.image.repeat(2, axis=0).repeat(2, axis=1)
    one, two = detector.detect([scene.image])[0], detector.detect([large])[0]
    sure = one.boxes[one.probabilities[:, :-1].max(axis=1) > 0.8]
    assert len(sure) > 0
    assert pairwise_iou(2 * sure, two.boxes).max(axis=1).min() > 0.8


def test_the_same_bytes_every_time(detector: Any) -> None:
    first, again = (detector.detect([SCENES[2].image])[0] for _ in range(2))
    assert first.boxes.tobytes() == again.boxes.tobytes()
    assert first.probabilities.tobytes() == again.probabilities.tobytes()


def test_classes_are_matched_by_name_and_the_rest_is_background(detector: Any) -> None:
    image = SCENES[0].image
    both = [
        load_detector(
            shipped("cascade_rcnn_scenes")
            | {"score_threshold": 0.0, "nms_iou": None, "max_detections": None},
            names,
        )
        for names in (CLASSES, ["Circle", "square"])
    ]
    own, other = (one.detect([image])[0] for one in both)
    order = np.lexsort(own.boxes.T), np.lexsort(other.boxes.T)
    assert np.array_equal(own.boxes[order[0]], other.boxes[order[1]])
    expected = own.probabilities[order[0]]
    assert np.array_equal(expected[:, [1, 0]], other.probabilities[order[1]][:, :2])
    assert other.probabilities.sum(axis=1) == pytest.approx(1)


def test_a_wrong_label_costs_more_than_the_right_one(detector: Any) -> None:
    right, flipped, shifted = [], [], []
    for scene in SCENES:
        told = [
            detector.losses(scene.image, boxes, categories)
            for boxes, categories in (
                (scene.boxes, scene.category),
                (scene.boxes, (scene.category + 1) % len(CLASSES)),
                (np.clip(scene.boxes + 6, 0, 128), scene.category),
            )
        ]
        right.append(told[0].classification.sum(axis=1))
        flipped.append(told[1].classification.sum(axis=1))
        shifted.append(told[2].regression.sum(axis=1) - told[0].regression.sum(axis=1))
    assert np.mean(np.concatenate(flipped) > np.concatenate(right)) > 0.8
    assert np.mean(np.concatenate(shifted) > 0) > 0.8


def test_the_detections_of_the_losses_are_those_of_detection(detector: Any) -> None:
    scene = SCENES[0]
    told = detector.losses(scene.image, scene.boxes, scene.category)
    found = detector.detect([scene.image])[0]
    assert told.detections.boxes.tobytes() == found.boxes.tobytes()
    stages = np.exp(-told.background[:, 1:].astype(np.float64))
    assert stages.mean(axis=1) == pytest.approx(found.probabilities[:, -1], abs=1e-5)
    some = load_detector(shipped("cascade_rcnn_scenes"), ["star", "circle"])
    told = some.losses(scene.image, np.zeros((0, 4)), np.zeros(0, int))
    stages = np.exp(-told.background[:, 1:].astype(np.float64))
    assert stages.mean(axis=1) == pytest.approx(told.detections.probabilities[:, -1], abs=1e-5)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the shipped weights to spoil, without digests."""
    source = Path(shipped("cascade_rcnn_scenes")["weights"])
    for name in ("model.yaml", "model.safetensors"):
        (tmp_path / name).write_bytes((source / name).read_bytes())
    return tmp_path


def test_weights_that_do_not_fit_are_refused(folder: Path) -> None:
    spec = shipped("cascade_rcnn_scenes") | {"weights": str(folder)}
    path = folder / "model.yaml"
    content = yaml.safe_load(path.read_text())
    path.write_text(yaml.safe_dump(content | {"iou_thresholds": [0.5]}))
    with pytest.raises(DataError, match=r"cascade_rcnn_scenes: .* does not fit its model\.yaml"):
        load_detector(spec, CLASSES)
    path.unlink()
    with pytest.raises(DataError, match=r"holds no model\.yaml; give a folder as written by"):
        load_detector(spec, CLASSES)

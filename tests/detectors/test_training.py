from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labelquality.detectors import load_detector
from labelquality.detectors.base import ImageDetections
from labelquality.detectors.training.common import (
    Split,
    augmented,
    average_precision,
    batches,
    load_split,
    one_cycle,
    relative_centres,
    report,
)
from labelquality.errors import DataError
from labelquality.scenes import write_scenes
from shipped_detectors import CLASSES

ONE = Split(
    images=np.arange(2 * 8 * 8 * 3, dtype=np.uint8).reshape(2, 8, 8, 3),
    boxes=[np.array([[1, 2, 4, 8]], np.float32), np.zeros((0, 4), np.float32)],
    labels=[np.array([1]), np.zeros(0, np.int64)],
    classes=("a", "b"),
)


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("scenes")
    write_scenes(folder, split="train", n_images=8, seed=3)
    write_scenes(folder, split="watch", n_images=2, seed=3)
    return folder


def test_the_watched_objects_are_the_true_ones(scenes: Path) -> None:
    from labelquality.scenes.render import draw_scene

    split = load_split(scenes, "watch")
    assert split.classes == CLASSES
    for index in range(2):
        scene = draw_scene("watch", index, 3)
        assert np.array_equal(split.images[index], scene.image)
        assert np.allclose(split.boxes[index], scene.boxes, atol=1e-3)
        assert np.array_equal(split.labels[index], scene.category)


def test_an_epoch_shows_every_image_once_in_a_new_order() -> None:
    rows = [list(r) for _, r in batches(10, 5, 4, np.random.default_rng(0))]
    assert sorted(rows[0] + rows[1]) == sorted(rows[2] + rows[3]) == list(range(10))
    assert rows[:2] != rows[2:]


def test_flips_move_boxes_with_their_pixels() -> None:
    image = np.zeros((8, 8, 3), np.uint8)
    image[2:8, 1:4] = 255
    split = Split(image[None], ONE.boxes[:1], ONE.labels[:1], ONE.classes)
    seen = set()
    for seed in range(20):
        images, boxes, labels = augmented(split, np.array([0]), np.random.default_rng(seed))
        x1, y1, x2, y2 = boxes[0][0].astype(int)
        bright = images[0, 0] > 0.5
        assert bright[y1:y2, x1:x2].all()
        assert bright.sum() == 18
        assert labels[0].tolist() == [1]
        seen.add((x1, y1))
    assert seen == {(1, 2), (4, 2), (1, 0), (4, 0)}


def test_the_learning_rate_rises_once_and_falls_once() -> None:
    factors = [one_cycle(step, 100) for step in range(100)]
    peak = int(np.argmax(factors))
    assert np.all(np.diff(factors[: peak + 1]) > 0)
    assert np.all(np.diff(factors[peak:]) < 0)
    assert max(factors) <= 1.0
    assert factors[-1] == pytest.approx(0.02)


def test_boxes_in_fractions() -> None:
    expected = [[2.5 / 10, 5 / 20, 3 / 10, 6 / 20]]
    assert np.allclose(relative_centres(ONE.boxes[0], 10, 20), expected)


def test_average_precision_counts_what_is_found() -> None:
    nothing = ImageDetections(np.zeros((0, 4)), np.zeros((0, 2), np.float32))
    right = ImageDetections(np.array([[1.0, 2, 4, 8]]), np.array([[0.1, 0.9]], np.float32))
    loose = ImageDetections(np.array([[1.0, 2, 4, 6]]), np.array([[0.1, 0.9]], np.float32))
    assert average_precision([right, nothing], ONE) == pytest.approx({"AP": 1.0, "AP50": 1.0})
    assert average_precision([nothing, nothing], ONE) == {"AP": 0.0, "AP50": 0.0}
    # IoU 2/3: right at 0.5, 0.55, 0.6 and 0.65 of the ten thresholds.
    found = average_precision([loose, nothing], ONE)
    assert found == pytest.approx({"AP": 0.4, "AP50": 1.0})


def test_a_loss_that_is_no_number_stops_the_training() -> None:
    with pytest.raises(DataError, match="loss is nan at step 3"):
        report(3, 100, float("nan"), dict)


def test_a_split_that_was_not_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"instances_train\.json: not found; write the scenes"):
        load_split(tmp_path, "train")


@pytest.mark.parametrize("family", ["yolov8", "rtdetr", "cascade_rcnn"])
def test_a_few_steps_are_finite_repeatable_and_give_weights_that_load(
    family: str, scenes: Path, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    training = import_module(f"labelquality.detectors.training.{family}")

    def train(name: str) -> Any:
        return training.train(scenes, tmp_path / name, seed=1, steps=2, batch_size=4)

    assert set(train("first")) == set(train("again")) == {"AP", "AP50"}
    for path in sorted((tmp_path / "first").iterdir()):
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes(), path.name
    spec = training.SPEC | {"weights": str(tmp_path / "first"), "score_threshold": 0.0}
    found = load_detector(spec, CLASSES).detect([load_split(scenes, "watch").images[0]])[0]
    assert len(found) > 0
    assert np.isfinite(found.probabilities).all()

"""What holds for Grounding DINO and OWL-ViT alike, on the shipped weights."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import yaml

from labelquality.detectors import load_detector
from labelquality.detectors.base import Detector
from labelquality.detectors.common import corners, detections, equal_shapes, select
from labelquality.detectors.training import common
from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.scenes import CLASSES, draw_scene, write_scenes

ROOT = Path(__file__).parents[2]
FAMILIES = ("grounding_dino", "owlvit")


def spec_of(family: str) -> dict[str, Any]:
    spec = yaml.safe_load((ROOT / f"config/detectors/{family}_scenes.yaml").read_text())
    return spec | {"weights": str(ROOT / spec["weights"])}


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture(scope="module")
def detector(family: str) -> Detector:
    return load_detector(spec_of(family), CLASSES)


def test_images_of_one_shape_share_a_batch_whatever_their_order() -> None:
    tall, wide = np.zeros((4, 2, 3)), np.zeros((2, 4, 3))
    assert list(equal_shapes([tall, wide, tall])) == [[0, 2], [1]]


def test_relative_centres_become_pixel_corners() -> None:
    assert corners(np.array([[0.5, 0.5, 0.2, 0.4]]), 200, 50).tolist() == [[80, 15, 120, 35]]


def test_rows_are_ranked_cut_and_suppressed_by_class() -> None:
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10], [50, 0, 60, 10]], float)
    scores = np.array([[0.5, 0.1], [0.6, 0.1], [0.1, 0.7], [0.2, 0.0]], np.float32)
    spec = {"score_threshold": 0.2, "nms_iou": None, "max_detections": None}
    assert select(boxes, scores, spec).tolist() == [2, 1, 0, 3]
    assert select(boxes, scores, spec | {"max_detections": 2}).tolist() == [2, 1]
    assert select(boxes, scores, spec | {"nms_iou": 0.6}).tolist() == [2, 1, 3]
    assert select(boxes, scores, spec | {"score_threshold": 0.55}).tolist() == [2, 1]


def test_candidates_are_all_boxes_above_the_threshold_inside_the_image() -> None:
    boxes = np.array([[0, 0, 10, 10], [-5, 0, 10, 10], [50, 0, 60, 10], [0, 0, 9, 9]], float)
    scores = np.array([[0.5, 0.1], [0.6, 0.1], [0.9, 0.7], [0.1, 0.1]], np.float32)
    spec = {"score_threshold": 0.2, "nms_iou": 0.5, "max_detections": 1}
    found = detections(boxes, scores, spec, 20, 20)
    assert found.boxes.tolist() == [[0, 0, 10, 10]]
    assert found.candidates is not None
    assert found.candidates.boxes.tolist() == [[0, 0, 10, 10], [0, 0, 10, 10]]
    assert found.candidates.scores == pytest.approx([0.6, 0.5])
    assert found.candidates.categories.tolist() == [0, 0]


def test_every_detection_is_among_its_candidates(detector: Detector) -> None:
    (found,) = detector.detect([draw_scene("candidates", 0, 0).image])
    assert found.candidates is not None
    assert len(found.candidates.boxes) >= len(found) > 0
    every = {
        (*box, score, category)
        for box, score, category in zip(
            found.candidates.boxes.tolist(),
            found.candidates.scores.tolist(),
            found.candidates.categories.tolist(),
            strict=True,
        )
    }
    scores = found.probabilities.max(axis=1).astype(float).tolist()
    categories = found.probabilities.argmax(axis=1).tolist()
    for box, score, category in zip(found.boxes.tolist(), scores, categories, strict=True):
        assert (*box, score, category) in every


def test_shipped_weights_find_the_objects_of_unseen_scenes(detector: Detector) -> None:
    scenes = [draw_scene("unseen", i, 0) for i in range(24)]
    split = common.Split(
        images=np.stack([s.image for s in scenes]),
        boxes=[s.boxes.astype(np.float32) for s in scenes],
        labels=[s.category.astype(np.int64) for s in scenes],
        classes=CLASSES,
    )
    assert common.watch(detector, split)["AP50"] > 0.45


def test_batch_mates_do_not_matter(detector: Detector) -> None:
    images = [draw_scene("mates", i, 0).image for i in range(4)]
    images.insert(2, images[0][:, :96])
    alone = [detector.detect([image])[0] for image in images]
    for one, many in zip(alone, detector.detect(images), strict=True):
        assert many.boxes == pytest.approx(one.boxes, abs=1e-3)
        assert many.probabilities == pytest.approx(one.probabilities, abs=1e-4)


class BrightSpot:
    """Stands in for both models: its one box is where the input tensor is bright."""

    device = torch.device("cpu")

    def __call__(self, pixel_values: torch.Tensor, input_ids: torch.Tensor) -> Any:
        box = self._box(pixel_values)
        logits = torch.zeros(*box.shape[:2], input_ids.shape[1])
        return type("Output", (), {"logits": logits, "pred_boxes": box})()

    def image_embedder(self, pixel_values: torch.Tensor) -> tuple[torch.Tensor, None]:
        return self._box(pixel_values)[:, None], None

    def class_predictor(
        self, patches: torch.Tensor, queries: torch.Tensor
    ) -> tuple[torch.Tensor, None]:
        return torch.zeros(*patches.shape[:2], queries.shape[1]), None

    def box_predictor(self, patches: torch.Tensor, feature_map: torch.Tensor) -> torch.Tensor:
        return patches

    @staticmethod
    def _box(pixels: torch.Tensor) -> torch.Tensor:
        found = []
        for bright in pixels.mean(dim=1) > 0:
            rows, columns = bright.any(dim=1).nonzero(), bright.any(dim=0).nonzero()
            y1, y2 = rows.min() / len(bright), (rows.max() + 1) / len(bright)
            x1, x2 = columns.min() / bright.shape[1], (columns.max() + 1) / bright.shape[1]
            found.append(torch.stack([(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1]))
        return torch.stack(found)[:, None]


def test_an_object_is_found_where_it_is_in_images_of_any_shape(
    detector: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(detector, "model", BrightSpot())
    images, places = [], []
    for height, width in ((128, 128), (96, 192), (300, 77), (240, 320)):
        x1, y1, x2, y2 = width // 2, height // 8, width - width // 8, height // 2
        image = np.zeros((height, width, 3), np.uint8)
        image[y1:y2, x1:x2] = 255
        images.append(image)
        places.append([x1, y1, x2, y2])
    found = np.concatenate([d.boxes for d in detector.detect(images)])
    assert iou(found, np.array(places, float)).min() > 0.9


def test_damaged_weights_are_refused(family: str, tmp_path: Path) -> None:
    spec = spec_of(family)
    copy = shutil.copytree(spec["weights"], tmp_path / "weights")
    tensors = bytearray((copy / "model.safetensors").read_bytes())
    tensors[-1] ^= 1
    (copy / "model.safetensors").write_bytes(tensors)
    with pytest.raises(DataError, match=r"1 of \d+ tensors differ from digests.json"):
        load_detector(spec | {"weights": str(copy)}, CLASSES)


def test_a_few_steps_of_training_leave_weights_that_load(family: str, tmp_path: Path) -> None:
    for split, n_images in (("train", 4), ("watch", 2)):
        write_scenes(tmp_path, split=split, n_images=n_images, seed=1)
    module = import_module(f"labelquality.detectors.training.{family}")
    out = tmp_path / "weights"
    reached = module.train(tmp_path, out, seed=0, steps=2, batch_size=2)
    assert 0.0 <= reached["AP50"] <= 1.0
    detector = load_detector(spec_of(family) | {"weights": str(out)}, CLASSES)
    found = detector.detect([draw_scene("smoke", 0, 0).image])[0]
    assert np.isfinite(found.probabilities).all()
    assert found.probabilities.shape[1] == len(CLASSES)


NO_NETWORK = """
import sys

def refuse(event, args):
    if event in ("socket.connect", "socket.getaddrinfo", "socket.gethostbyname"):
        raise RuntimeError(f"tried {event} {args}")

sys.addaudithook(refuse)
import numpy as np, yaml
from labelquality.detectors import load_detector
for path in sys.argv[1:]:
    spec = yaml.safe_load(open(path))
    detector = load_detector(spec, ("square", "circle", "triangle", "star", "cross", "diamond"))
    detector.detect([np.zeros((128, 128, 3), np.uint8)])
print("quiet")
"""


def test_loading_and_detecting_asks_nobody() -> None:
    paths = [str(ROOT / f"config/detectors/{name}_scenes.yaml") for name in FAMILIES]
    done = subprocess.run(
        [sys.executable, "-c", NO_NETWORK, *paths],
        cwd=ROOT,
        env={"PYTHONPATH": str(ROOT / "workflow"), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "quiet", done.stderr[-2000:]

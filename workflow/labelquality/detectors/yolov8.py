"""YOLOv8 of ultralytics (AGPL-3.0: see the README before you distribute what builds on it).

The network is called directly. The library's own pipeline pads by batch-mates, drops all but the
best class, and stops its suppression on a wall clock; here each image is letterboxed to one fixed
square and the suppression keeps row indices, so the full class vector stays with its box.

Source: paper 1, appendix C.3: score above 0.001, suppression at IoU 0.7, best 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.base import ImageDetections, ProbabilityKind, match_classes
from labelquality.detectors.common import corners, detections
from labelquality.detectors.weights import load_float32
from labelquality.errors import DataError

if TYPE_CHECKING:
    import torch

STRIDE = 32
GREY = 114


@dataclass
class YoloV8:
    """Adapter; see `load`. `columns` are the data set's classes among the model's own."""

    model: Any
    columns: np.ndarray
    spec: Mapping[str, Any]
    family: str = "yolov8"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("opencv-python", "torch", "torchvision", "ultralytics")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per kept anchor point."""
        boxed = [letterbox(image, self.spec["input_size"]) for image in images]
        raw = run_network(self.model, [square for square, _, _ in boxed])[0].cpu().numpy()
        return [
            self._of_image(raw[i], scale, offset, images[i].shape)
            for i, (_, scale, offset) in enumerate(boxed)
        ]

    def _of_image(
        self, raw: np.ndarray, scale: np.ndarray, offset: np.ndarray, shape: tuple[int, ...]
    ) -> ImageDetections:
        """Detections from one image's raw output (4 + classes, anchor points)."""
        # Most points see nothing, many of them in the padding: not boxes that could be lost.
        rows = raw.T[raw[4:].max(axis=0) > self.spec["score_threshold"]]
        boxes = (corners(rows[:, :4], 1, 1) - np.tile(offset, 2)) / np.tile(scale, 2)
        return detections(boxes, rows[:, 4:][:, self.columns], self.spec, shape[1], shape[0])


def run_network(network: Any, squares: Sequence[np.ndarray]) -> Any:
    """Call an ultralytics network on RGB uint8 images of one shape, as fractions of 255."""
    import torch

    batch = np.stack(squares).transpose(0, 3, 1, 2).astype(np.float32) / 255.0
    device = next(network.parameters()).device
    with torch.inference_mode():
        return network(torch.from_numpy(batch).to(device))


def letterbox(image: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Fit an image into a grey (size, size) square, centred, its aspect ratio kept.

    Returns the square, the scale (x, y) and the offset (x, y) with
    ``square pixels = original pixels * scale + offset``. OpenCV's linear resize, which the
    published weights were trained with.
    """
    import cv2

    height, width = image.shape[:2]
    ratio = min(size / width, size / height)
    new_width, new_height = max(round(width * ratio), 1), max(round(height * ratio), 1)
    left, top = (size - new_width) // 2, (size - new_height) // 2
    if (new_width, new_height) != (width, height):
        image = cv2.resize(image, (new_width, new_height), interpolation=cv2.INTER_LINEAR)
    square = np.full((size, size, 3), GREY, np.uint8)
    square[top : top + new_height, left : left + new_width] = image
    scale = np.array([new_width / width, new_height / height])
    return square, scale, np.array([left, top], np.float64)


def build(architecture: Mapping[str, Any]) -> torch.nn.Module:
    """Build a YOLOv8 of the width, depth and classes that a weights folder's model.yaml states."""
    from ultralytics.nn.tasks import DetectionModel, yaml_model_load

    layers = yaml_model_load("yolov8n.yaml")
    layers["scales"] = {"own": [architecture[k] for k in ("depth", "width", "max_channels")]}
    layers["scale"] = "own"
    return DetectionModel(layers, nc=len(architecture["names"]), verbose=False)


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> YoloV8:
    """Load a weights folder (model.yaml, model.safetensors) or an official ``.pt`` file.

    A ``.pt`` file is a pickle and runs code when loaded: use only those you trust.

    Raises
    ------
    DataError : weights missing or damaged, classes unknown to them, an input_size that is no
        multiple of 32.
    """
    name = spec["name"]
    network, names = load_network(spec["weights"], name)
    size = own_size(network, spec)
    if size % STRIDE:
        raise DataError(f"detector {name}: input_size {size} is not a multiple of {STRIDE}")
    columns = match_classes(names, classes, name)
    return YoloV8(network, columns, {**spec, "input_size": size})


def own_size(network: Any, spec: Mapping[str, Any]) -> int:
    """Side of the input square: the spec's, or where it has none the one trained at."""
    return spec["input_size"] or network.args["imgsz"]


def load_network(weights: str | Path, model: str) -> tuple[Any, list[str]]:
    """Return an ultralytics network, float32 and in evaluation mode, and its class names."""
    path = Path(weights)
    if path.is_dir():
        return _from_folder(path)
    if not path.exists():
        raise DataError(
            f"detector {model}: weights {path} not found; nothing is downloaded at run time, so "
            "fetch the file from the detector's `source` and give its path"
        )
    from ultralytics.nn.tasks import load_checkpoint

    network, _ = load_checkpoint(path)
    return network, list(network.names.values())


def _from_folder(folder: Path) -> tuple[Any, list[str]]:
    import torch
    import yaml

    tensors = load_float32(folder)
    architecture = yaml.safe_load((folder / "model.yaml").read_text())
    network = build(architecture)
    network.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
    network.args = {"imgsz": architecture["input_size"]}
    return network.eval(), architecture["names"]

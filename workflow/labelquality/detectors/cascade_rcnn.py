"""Cascade R-CNN on torchvision (BSD): box heads one after the other, each more exact.

Every proposal gives one box with a softmax over the classes and the background, averaged over the
heads, each of which saw the box that the one before had made (Cai and Vasconcelos, "Cascade R-CNN",
CVPR 2018; averaged as in Detectron2). With a single head this is Faster R-CNN.

Source: paper 1, appendix D.2: score above 0.01, class-wise suppression at IoU 0.6.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.base import (
    ImageDetections,
    ProbabilityKind,
    clip_to_image,
    match_classes,
)
from labelquality.detectors.common import candidates, equal_shapes, select
from labelquality.detectors.label_losses import BoxLosses
from labelquality.detectors.weights import load_float32
from labelquality.errors import DataError

if TYPE_CHECKING:
    import torch

    from labelquality.detectors.cascade_network import Stage


@dataclass
class CascadeRcnn:
    """Adapter; see `load`. `columns` are the data set's classes among the model's own."""

    model: Any
    columns: np.ndarray
    spec: Mapping[str, Any]
    family: str = "cascade_rcnn"
    probability_kind: ProbabilityKind = "softmax+background"
    libraries: tuple[str, ...] = ("torch", "torchvision")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per kept proposal."""
        import torch

        results: dict[int, ImageDetections] = {}
        for rows in equal_shapes(images):
            with torch.inference_mode():
                batch, features = self.model.features(self._tensors([images[i] for i in rows]))
                proposals, _ = self.model.propose(batch, features)
                said = self.model.cascade(features, proposals, batch.image_sizes)
                counts = [len(boxes) for boxes in proposals]
                probabilities = mean_probabilities(said).split(counts)
                boxes = self.model.refined(said, batch.image_sizes)
            for place, i in enumerate(rows):
                size = batch.image_sizes[place]
                results[i], _ = self._kept(boxes[place], probabilities[place], size, images[i])
        return [results[i] for i in range(len(images))]

    def losses(self, image: np.ndarray, boxes: np.ndarray, categories: np.ndarray) -> BoxLosses:
        """See `labelquality.detectors.label_losses.LossDetector`."""
        import torch

        with torch.inference_mode():
            batch, features = self.model.features(self._tensors([image]))
            [size] = batch.image_sizes
            proposals, objectness = self.model.propose(batch, features)
            said = self.model.cascade(features, proposals, [size])
            [refined] = self.model.refined(said, [size])
            found, rows = self._kept(refined, mean_probabilities(said), size, image)
            nothing = np.setdiff1d(np.arange(said[0].logits.shape[1]), self.columns + 1)
            background = self.model.losses_of_background(
                said, objectness[0], torch.from_numpy(nothing).to(refined.device)
            )
            labels = torch.from_numpy(boxes / _scale(size, image)).to(refined)
            targets = torch.from_numpy(self.columns[categories] + 1).to(refined.device)
            classification, regression = self.model.losses_of_labels(
                features, labels, targets, size
            )
        return BoxLosses(
            classification.cpu().numpy(),
            regression.cpu().numpy(),
            found,
            background.cpu().numpy()[rows],
        )

    def _tensors(self, images: Sequence[np.ndarray]) -> list[torch.Tensor]:
        """Images as the network takes them: (3, h, w) float32 in 0-1, where it is."""
        import torch

        device = next(self.model.parameters()).device
        planes = [image.transpose(2, 0, 1).astype(np.float32) / 255 for image in images]
        return [torch.from_numpy(plane).to(device) for plane in planes]

    def _kept(
        self,
        boxes: torch.Tensor,
        probabilities: torch.Tensor,
        size: tuple[int, int],
        image: np.ndarray,
    ) -> tuple[ImageDetections, np.ndarray]:
        """Detections of an image, and their rows among the boxes (n, 4) of the network's input.

        Classes that the data set lacks are background to it.
        """
        height, width = image.shape[:2]
        inside, sound = clip_to_image(boxes.cpu().numpy() * _scale(size, image), width, height)
        known = probabilities.cpu().numpy()[:, 1:][:, self.columns]
        proposed = candidates(inside[sound], known[sound], self.spec)
        rows = np.flatnonzero(sound)[select(inside[sound], known[sound], self.spec)]
        rest = np.clip(1 - known.sum(axis=1, keepdims=True, dtype=np.float64), 0, 1)
        vectors = np.concatenate([known, rest.astype(np.float32)], axis=1)
        dropped = int((~sound).sum())
        return ImageDetections(inside[rows], vectors[rows], dropped, candidates=proposed), rows


def mean_probabilities(said: Sequence[Stage]) -> torch.Tensor:
    """Softmax (n, 1 + K), background first, averaged over the heads."""
    import torch

    return torch.stack([stage.logits.softmax(dim=1) for stage in said]).mean(dim=0)


def _scale(size: tuple[int, int], image: np.ndarray) -> np.ndarray:
    """What turns boxes of the network's input, (height, width), into those of the image; (4,)."""
    return np.tile([image.shape[1] / size[1], image.shape[0] / size[0]], 2)


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> CascadeRcnn:
    """Load a weights folder (model.yaml, model.safetensors), as training writes it.

    spec : `input_size` is the shorter side of the images in pixels; None: as in training.

    Raises
    ------
    DataError : weights missing, damaged or of another network, classes unknown to them.
    """
    import torch
    import yaml

    from labelquality.detectors.cascade_network import build

    name, folder = spec["name"], Path(spec["weights"])
    if not (folder / "model.yaml").exists():
        raise DataError(
            f"detector {name}: {folder} holds no model.yaml; give a folder as written by training"
        )
    tensors = load_float32(folder)
    architecture = yaml.safe_load((folder / "model.yaml").read_text())
    side = spec["input_size"] or architecture["input_size"]
    network = build({**architecture, "input_size": side})
    try:
        network.load_state_dict({name: torch.from_numpy(array) for name, array in tensors.items()})
    except RuntimeError as error:
        raise DataError(
            f"detector {name}: {folder} does not fit its model.yaml ({str(error).splitlines()[1]})"
        ) from None
    return CascadeRcnn(network.eval(), match_classes(architecture["names"], classes, name), spec)

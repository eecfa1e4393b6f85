"""RT-DETR of ultralytics (AGPL-3.0), for the published rtdetr-l.pt that paper 1 used.

The same architecture under Apache-2.0 is in `rtdetr`. The library's own output keeps one class per
row; the decoder's raw scores of all queries are read here instead.

Source: paper 1, appendix C.3: best 300 queries above 0.001, no suppression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelquality.detectors.base import ImageDetections, ProbabilityKind, match_classes
from labelquality.detectors.rtdetr import query_detections
from labelquality.detectors.yolov8 import load_network, own_size, run_network


@dataclass
class RtDetrUltralytics:
    """Adapter; see `load`. `columns` are the data set's classes among the model's own."""

    model: Any
    columns: np.ndarray
    spec: Mapping[str, Any]
    family: str = "rtdetr_ultralytics"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("opencv-python", "torch", "ultralytics")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per query of the model."""
        import cv2

        # Stretched to one square, as in the published training.
        size = (self.spec["input_size"], self.spec["input_size"])
        squares = [cv2.resize(image, size, interpolation=cv2.INTER_LINEAR) for image in images]
        _, (boxes, logits, *_) = run_network(self.model, squares)
        boxes, logits = boxes[-1].cpu().numpy(), logits[-1].sigmoid().cpu().numpy()
        return [
            query_detections(boxes[i], logits[i][:, self.columns], self.spec, image)
            for i, image in enumerate(images)
        ]


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> RtDetrUltralytics:
    """Load an official ``.pt`` file. It is a pickle and runs code: use only those you trust.

    Raises
    ------
    DataError : weights missing, classes unknown to them.
    """
    network, names = load_network(spec["weights"], spec["name"])
    columns = match_classes(names, classes, spec["name"])
    return RtDetrUltralytics(network, columns, {**spec, "input_size": own_size(network, spec)})

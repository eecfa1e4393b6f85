"""RT-DETR of transformers (Apache-2.0).

Each query gives one box and an independent (sigmoid) probability per class. The library's own
post-processing flattens queries and classes and keeps one class per row; here each query keeps its
whole vector.

Source: paper 1, appendix C.3: best 300 queries above 0.001, no suppression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from labelquality.detectors.base import ImageDetections, ProbabilityKind, match_classes
from labelquality.detectors.common import (
    corners,
    detections,
    from_pretrained,
    pixel_values,
)


@dataclass
class RtDetr:
    """Adapter; see `load`. `columns` are the data set's classes among the model's own."""

    model: Any
    processor: Any
    columns: np.ndarray
    spec: Mapping[str, Any]
    family: str = "rtdetr"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("torch", "transformers")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per query of the model."""
        import torch

        # The processor stretches to one square: no padding, so batch-mates cannot matter.
        pixels = torch.cat([pixel_values(self.processor, [image]) for image in images])
        with torch.inference_mode():
            output = self.model(pixels.to(self.model.device))
        probabilities = output.logits.sigmoid().cpu().numpy()[..., self.columns]
        boxes = output.pred_boxes.cpu().numpy()
        return [
            query_detections(boxes[i], probabilities[i], self.spec, image)
            for i, image in enumerate(images)
        ]


def query_detections(
    boxes: np.ndarray, probabilities: np.ndarray, spec: Mapping[str, Any], image: np.ndarray
) -> ImageDetections:
    """Keep the best queries of an image, boxes ``cx cy w h`` in fractions of it (q, 4)."""
    height, width = image.shape[:2]
    return detections(corners(boxes, width, height), probabilities, spec, width, height)


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> RtDetr:
    """Load the detector a spec describes, from a local folder or a cached hub name.

    spec : `input_size` is the side of the square in pixels; None: as the weights' files say.

    Raises
    ------
    DataError : weights missing, damaged or others, classes unknown to them.
    """
    import torch
    from transformers import RTDetrForObjectDetection
    from transformers.models.rt_detr.image_processing_pil_rt_detr import RTDetrImageProcessorPil

    name, weights, side = spec["name"], spec["weights"], spec["input_size"]
    model = from_pretrained(
        RTDetrForObjectDetection, weights, name, dtype=torch.float32, output_loading_info=True
    ).eval()
    size = {} if side is None else {"size": {"height": side, "width": side}}
    names = [model.config.id2label[i] for i in range(model.config.num_labels)]
    return RtDetr(
        model=model,
        processor=from_pretrained(RTDetrImageProcessorPil, weights, name, **size),
        columns=match_classes(names, classes, name),
        spec=spec,
    )

"""OWL-ViT (transformers, Apache-2.0): boxes for text queries, one per image patch.

Geometry: this family's image processor stretches every image to a square, so boxes are relative
to the image itself. (OWLv2 pads to a square instead; reading one as the other shifts every box of
a non-square image.)

Source: paper 1, appendix C.3: "a photo of a {}", all queries above 0.001, no suppression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.base import ImageDetections, ProbabilityKind
from labelquality.detectors.common import (
    corners,
    detections,
    equal_shapes,
    from_pretrained,
    pixel_values,
    queries,
)
from labelquality.errors import DataError

if TYPE_CHECKING:
    import torch


def tokenize(
    tokenizer: Any, texts: Sequence[str], length: int, model: str
) -> tuple[torch.Tensor, torch.Tensor]:
    """Token ids and attention mask, (K, length) each.

    Raises
    ------
    DataError : a text has more than `length` tokens; the model would cut it.
    """
    for text in texts:
        count = len(tokenizer(text)["input_ids"])
        if count > length:
            raise DataError(
                f"detector {model}: query {text!r} has {count} tokens, the model takes {length}; "
                "shorten the prompt or rename the class"
            )
    encoded = tokenizer(list(texts), padding="max_length", max_length=length, return_tensors="pt")
    return encoded["input_ids"], encoded["attention_mask"]


def query_embeddings(model: Any, ids: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Text embeddings (K, D) of unit length; the same for every image, so asked for once."""
    embeddings = model.owlvit.get_text_features(input_ids=ids, attention_mask=mask).pooler_output
    return embeddings / embeddings.norm(dim=-1, keepdim=True)


def forward(
    model: Any, pixels: torch.Tensor, embeddings: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """Logits (b, patches, K) and boxes ``cx cy w h`` in 0-1 (b, patches, 4)."""
    feature_map, _ = model.image_embedder(pixel_values=pixels)
    patches = feature_map.flatten(1, 2)
    logits, _ = model.class_predictor(patches, embeddings.expand(len(pixels), -1, -1))
    return logits, model.box_predictor(patches, feature_map)


@dataclass
class OwlViT:
    """Adapter; see `load`."""

    model: Any
    processor: Any
    embeddings: torch.Tensor
    spec: Mapping[str, Any]
    family: str = "owlvit"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("torch", "transformers", "tokenizers")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per patch of the model."""
        import torch

        results: dict[int, ImageDetections] = {}
        device = self.model.device
        for rows in equal_shapes(images):
            height, width = images[rows[0]].shape[:2]
            pixels = pixel_values(self.processor, [images[i] for i in rows])
            with torch.inference_mode():
                logits, boxes = forward(self.model, pixels.to(device), self.embeddings.to(device))
            probabilities, centres = logits.sigmoid().cpu().numpy(), boxes.cpu().numpy()
            for k, i in enumerate(rows):
                results[i] = detections(
                    corners(centres[k], width, height),
                    probabilities[k],
                    self.spec,
                    width,
                    height,
                )
        return [results[i] for i in range(len(images))]


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> OwlViT:
    """Load the detector a spec describes, from a local folder or a cached hub name.

    spec : beside the common keys, `prompt`, the query per class name ("a photo of a {}" for the
        official weights). `input_size`, if given, must be the weights' own.
    """
    import torch
    from transformers import AutoTokenizer, OwlViTForObjectDetection
    from transformers.models.owlvit.image_processing_pil_owlvit import OwlViTImageProcessorPil

    name, weights = spec["name"], spec["weights"]
    model = from_pretrained(
        OwlViTForObjectDetection, weights, name, dtype=torch.float32, output_loading_info=True
    ).eval()
    size = model.config.vision_config.image_size
    if spec["input_size"] not in (None, size):
        raise DataError(
            f"detector {name}: input_size {spec['input_size']} does not fit {weights}, whose "
            f"patches tile {size} pixels; set input_size to {size}"
        )
    ids, mask = tokenize(
        from_pretrained(AutoTokenizer, weights, name),
        queries(classes, spec["prompt"], name),
        model.config.text_config.max_position_embeddings,
        name,
    )
    with torch.inference_mode():
        embeddings = query_embeddings(model, ids, mask)
    square = {"height": size, "width": size}
    return OwlViT(
        model=model,
        processor=from_pretrained(
            OwlViTImageProcessorPil, weights, name, size=square, do_center_crop=False
        ),
        embeddings=embeddings,
        spec=spec,
    )

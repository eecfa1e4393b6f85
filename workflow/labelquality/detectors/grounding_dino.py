"""Grounding DINO (transformers, Apache-2.0): boxes for the class names of a prompt.

The model scores every *token* of the prompt ``"square . traffic light ."``. A class's probability
is aggregated over the tokens of its name, which are found by character offsets; the library's
phrase matching can join names of several classes and is not used.

Sources: detection benchmark (paper 1, appendix C.3): mean over the tokens, best 300, no
suppression. Label-error detection (paper 1, appendix D.2): maximum over the tokens, normalised
across the classes, suppression at 0.6 by the maximum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from labelquality.detectors.base import (
    ImageDetections,
    ProbabilityKind,
    scores_and_categories,
)
from labelquality.detectors.common import (
    corners,
    detections,
    equal_shapes,
    from_pretrained,
    pixel_values,
    queries,
)
from labelquality.errors import DataError
from labelquality.geometry import pairwise_iou

if TYPE_CHECKING:
    import torch

Aggregation = Literal["mean", "max"]
MERGE_IOU = 0.5


def prompt_of(names: Sequence[str]) -> tuple[str, list[tuple[int, int]]]:
    """Prompt ``"a . b ."`` and each name's character span in it, end exclusive."""
    prompt, spans = "", []
    for name in names:
        spans.append((len(prompt), len(prompt) + len(name)))
        prompt += f"{name} . "
    return prompt.rstrip(" "), spans


def token_map(offsets: np.ndarray, spans: Sequence[tuple[int, int]]) -> np.ndarray:
    """Which tokens belong to which name, (k, T) bool.

    offsets : (T, 2) characters that each token covers, end exclusive; special tokens cover none.
    """
    first, last = np.asarray(spans).T[:, :, None]
    begin, end = np.asarray(offsets).T[:, None, :]
    return (begin < last) & (end > first) & (end > begin)


def class_probabilities(
    tokens: np.ndarray, owners: np.ndarray, aggregation: Aggregation
) -> np.ndarray:
    """Aggregate token probabilities (n, T) over each class's tokens (k, T) to (n, k)."""
    if aggregation == "mean":
        return tokens @ (owners / owners.sum(axis=1, keepdims=True)).T.astype(tokens.dtype)
    return np.stack([tokens[:, own].max(axis=1, initial=0.0) for own in owners], axis=1)


def chunk_lengths(token_counts: Sequence[int], limit: int) -> list[int]:
    """Number of consecutive names per prompt so that none exceeds `limit` tokens.

    token_counts : tokens of each name alone; each is followed by a full stop, and every prompt
        has two more tokens around it. Every count + 3 must be within the limit.
    """
    lengths: list[int] = []
    used = limit
    for count in token_counts:
        if used + count + 1 > limit:
            lengths.append(0)
            used = 2
        lengths[-1] += 1
        used += count + 1
    return lengths


def merge_chunks(
    parts: Sequence[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Join the detections of several prompts on one image into rows with all classes.

    Best row first, each takes from every other prompt the free row of highest IoU >= 0.5 as the
    same object and with it that prompt's class probabilities; without one they stay 0.

    parts : per prompt boxes (n, 4) and probabilities (n, k); returns (m, 4) and (m, K).
    """
    boxes = np.concatenate([b for b, _ in parts])
    source = np.repeat(np.arange(len(parts)), [len(b) for b, _ in parts])
    starts = np.cumsum([0, *(p.shape[1] for _, p in parts)])
    vectors = np.zeros((len(boxes), int(starts[-1])), np.float32)
    for part, (_, probabilities) in enumerate(parts):
        vectors[source == part, starts[part] : starts[part + 1]] = probabilities
    overlap = pairwise_iou(boxes, boxes)
    free = np.ones(len(boxes), bool)
    kept = []
    for row in np.argsort(-vectors.max(axis=1), kind="stable"):
        if not free[row]:
            continue
        free[row] = False
        kept.append(row)
        for part in range(len(parts)):
            others = np.flatnonzero(free & (source == part) & (overlap[row] >= MERGE_IOU))
            if part != source[row] and len(others):
                twin = others[overlap[row, others].argmax()]
                free[twin] = False
                vectors[row, starts[part] : starts[part + 1]] = vectors[
                    twin, starts[part] : starts[part + 1]
                ]
    return boxes[kept], vectors[kept]


def normalised(found: ImageDetections) -> ImageDetections:
    """Class probabilities that sum to 1; scores are the largest of those before.

    Source: paper 1, appendix D.2.
    """
    scores, _ = scores_and_categories(found.probabilities, found.probabilities.shape[1])
    total = found.probabilities.sum(axis=1, keepdims=True, dtype=np.float64)
    shares = (found.probabilities / total).astype(np.float32)
    return replace(found, probabilities=shares, scores=scores)


@dataclass(frozen=True)
class Prompt:
    """Tokens of one prompt (T,) and the owners of its tokens (k, T)."""

    input_ids: torch.Tensor
    owners: np.ndarray


def tokenize(tokenizer: Any, names: Sequence[str], limit: int, model: str) -> list[Prompt]:
    """Prompts that together ask for all names in order, none longer than `limit` tokens.

    The model would cut longer prompts silently.

    Raises
    ------
    DataError : a name alone exceeds the limit or has no token the model knows.
    """
    import torch

    # Full stops and question marks separate names for the model.
    plain = [" ".join(name.replace(".", " ").replace("?", " ").split()) for name in names]
    counts = [len(tokenizer(name, add_special_tokens=False)["input_ids"]) for name in plain]
    for name, count in zip(names, counts, strict=True):
        if count == 0 or count + 3 > limit:
            raise DataError(
                f"detector {model}: class name {name!r} has {count} tokens, the model takes 1 to "
                f"{limit - 3} in a prompt; rename the class"
            )
    prompts, first = [], 0
    for length in chunk_lengths(counts, limit):
        text, spans = prompt_of(plain[first : first + length])
        encoded = tokenizer(text, return_offsets_mapping=True)
        owners = token_map(np.array(encoded["offset_mapping"]), spans)
        prompts.append(Prompt(torch.tensor(encoded["input_ids"]), owners))
        first += length
    return prompts


@dataclass
class GroundingDino:
    """Adapter; see `load`."""

    model: Any
    processor: Any
    prompts: Sequence[Prompt]
    spec: Mapping[str, Any]
    family: str = "grounding_dino"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("torch", "transformers", "tokenizers")

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        """See `labelquality.detectors.base.Detector`; one row per query of the model."""
        results: dict[int, ImageDetections] = {}
        for rows in equal_shapes(images):
            pixels = pixel_values(self.processor, [images[i] for i in rows])
            parts = [self._forward(pixels, prompt) for prompt in self.prompts]
            height, width = images[rows[0]].shape[:2]
            for k, i in enumerate(rows):
                of_image = [
                    (corners(centres[k], width, height), probabilities[k])
                    for centres, probabilities in parts
                ]
                boxes, vectors = of_image[0] if len(of_image) == 1 else merge_chunks(of_image)
                found = detections(boxes, vectors, self.spec, width, height)
                results[i] = normalised(found) if self.spec.get("normalise") else found
        return [results[i] for i in range(len(images))]

    def _forward(self, pixels: torch.Tensor, prompt: Prompt) -> tuple[np.ndarray, np.ndarray]:
        """Boxes (b, Q, 4) and class probabilities (b, Q, k) of one prompt."""
        import torch

        tokens = prompt.input_ids.expand(len(pixels), -1)
        device = self.model.device
        with torch.inference_mode():
            output = self.model(pixel_values=pixels.to(device), input_ids=tokens.to(device))
        scores = output.logits[..., : tokens.shape[1]].sigmoid().cpu().numpy()
        aggregation = self.spec.get("token_aggregation", "mean")
        flat = class_probabilities(scores.reshape(-1, tokens.shape[1]), prompt.owners, aggregation)
        return output.pred_boxes.cpu().numpy(), flat.reshape(*scores.shape[:2], -1)


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> GroundingDino:
    """Load the detector a spec describes, from a local folder or a cached hub name.

    spec : beside the common keys, `prompt` (a template per class name, ``"{}"`` if None),
        `token_aggregation` (mean or max over a name's tokens) and `normalise`. `input_size` is the
        shorter side in pixels, the longer one at most 5/3 of it; None: as the weights' files say.
    """
    import torch
    from transformers import AutoTokenizer, GroundingDinoForObjectDetection
    from transformers.models.grounding_dino.image_processing_pil_grounding_dino import (
        GroundingDinoImageProcessorPil,
    )

    name, weights = spec["name"], spec["weights"]
    if spec.get("token_aggregation", "mean") not in ("mean", "max"):
        raise DataError(f"detector {name}: token_aggregation must be mean or max")
    model = from_pretrained(
        GroundingDinoForObjectDetection,
        weights,
        name,
        dtype=torch.float32,
        output_loading_info=True,
    ).eval()
    size = spec["input_size"]
    resize = {} if size is None else {"size": shorter_side(size)}
    return GroundingDino(
        model=model,
        processor=from_pretrained(GroundingDinoImageProcessorPil, weights, name, **resize),
        prompts=tokenize(
            from_pretrained(AutoTokenizer, weights, name),
            queries(classes, spec["prompt"], name),
            model.config.max_text_len,
            name,
        ),
        spec=spec,
        # What is normalised sums to 1 over the classes, as a softmax does.
        probability_kind="softmax" if spec.get("normalise") else "sigmoid",
    )


def shorter_side(size: int) -> dict[str, int]:
    """Image-processor size: shorter side `size`, longer side at most 5/3 of it (800 -> 1333)."""
    return {"shortest_edge": size, "longest_edge": size * 5 // 3}

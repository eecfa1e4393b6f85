"""What the adapters share around their forward pass.

The model is called directly and its raw outputs are read: the libraries' own post-processing
differs between releases, hides low scores and keeps one label a box.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.base import (
    Candidates,
    ImageDetections,
    best_rows,
    clipped,
    scores_and_categories,
    suppress,
)
from labelquality.detectors.weights import verify_digests
from labelquality.errors import DataError

if TYPE_CHECKING:
    import torch


def equal_shapes(images: Sequence[np.ndarray]) -> Iterator[list[int]]:
    """Indices of images of one shape at a time, so that a batch never needs padding.

    Padding would make an image's result depend on its batch-mates.
    """
    groups: dict[tuple[int, ...], list[int]] = {}
    for i, image in enumerate(images):
        groups.setdefault(image.shape, []).append(i)
    yield from groups.values()


def queries(names: Sequence[str], template: str | None, model: str) -> list[str]:
    """Text asked for each class: the template with ``{}`` replaced by the name in lower case.

    Raises
    ------
    DataError : a template without ``{}``, an empty name, or two names that ask the same.
    """
    template = template or "{}"
    if template.count("{}") != 1:
        raise DataError(f"detector {model}: prompt {template!r} must hold {{}} once, for the class")
    plain = [" ".join(name.lower().split()) for name in names]
    for name in plain:
        if not name or plain.count(name) > 1:
            raise DataError(f"detector {model}: class name {name!r} is empty or listed twice")
    return [template.replace("{}", name) for name in plain]


def corners(centres: np.ndarray, width: float, height: float) -> np.ndarray:
    """Boxes ``cx cy w h`` relative to the image (n, 4) as ``x1 y1 x2 y2`` in its pixels."""
    centres = np.asarray(centres, np.float64)
    middle, half = centres[:, :2], centres[:, 2:] / 2
    return np.concatenate([middle - half, middle + half], axis=1) * [width, height, width, height]


def select(boxes: np.ndarray, probabilities: np.ndarray, spec: Mapping[str, Any]) -> np.ndarray:
    """Rows to keep by the spec's score_threshold, nms_iou (None: no suppression), max_detections.

    boxes : (n, 4); probabilities : (n, K). Ranked by the best class's probability.
    """
    scores = probabilities.max(axis=1).astype(np.float64)
    limit = spec["max_detections"]
    rows = best_rows(scores, spec["score_threshold"], limit if spec["nms_iou"] is None else None)
    if spec["nms_iou"] is None:
        return rows
    categories = probabilities[rows].argmax(axis=1)
    return rows[suppress(boxes[rows], scores[rows], categories, spec["nms_iou"])][:limit]


def candidates(boxes: np.ndarray, probabilities: np.ndarray, spec: Mapping[str, Any]) -> Candidates:
    """What `select` chooses from: all boxes above the spec's score_threshold, best first."""
    scores, categories = scores_and_categories(probabilities, probabilities.shape[1])
    rows = best_rows(scores, spec["score_threshold"], None)
    return Candidates(boxes[rows], scores[rows], categories[rows])


def detections(
    boxes: np.ndarray,
    probabilities: np.ndarray,
    spec: Mapping[str, Any],
    width: float,
    height: float,
) -> ImageDetections:
    """Clip the boxes, then keep the rows that `select` names."""
    found = clipped(boxes, probabilities, width, height)
    rows = select(found.boxes, found.probabilities, spec)
    return ImageDetections(
        found.boxes[rows],
        found.probabilities[rows],
        found.degenerate,
        candidates=candidates(found.boxes, found.probabilities, spec),
    )


def from_pretrained(cls: type, weights: str | Path, model: str, **options: Any) -> Any:
    """Load `cls` (model, tokenizer or image processor) from a folder or a cached hub name.

    Folders are checked against their digests first; model weights must be complete.

    Raises
    ------
    DataError : nothing there, digests that differ, or weights that lack tensors.
    """
    from transformers.utils import logging

    logging.disable_progress_bar()
    if Path(weights).is_dir():
        verify_digests(weights)
    try:
        loaded = cls.from_pretrained(weights, local_files_only=True, **options)  # type: ignore[attr-defined]
    except (OSError, ValueError) as error:
        raise DataError(
            f"detector {model}: {weights} is neither a folder with its files nor in the local "
            f"hub cache ({str(error).splitlines()[0]}); download it once or correct `weights`"
        ) from None
    if not options.get("output_loading_info"):
        return loaded
    network, info = loaded
    lacking = sorted([*info["missing_keys"], *(name for name, *_ in info["mismatched_keys"])])
    if lacking:
        raise DataError(
            f"detector {model}: {weights} lacks {len(lacking)} tensors of the model (first: "
            f"{lacking[0]}); these are other weights"
        )
    return network


def pixel_values(processor: Any, images: Sequence[np.ndarray], **options: Any) -> torch.Tensor:
    """The image processor's input tensor (b, 3, h, w) of images of one shape."""
    return processor(
        list(images), return_tensors="pt", input_data_format="channels_last", **options
    )["pixel_values"]

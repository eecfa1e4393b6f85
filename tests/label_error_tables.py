"""Short ways to write the tables that the label-error tests compare."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from labelquality.tables import Table, make_table

CLASSES = ("a", "b", "c")


def boxes_of(boxes: Sequence[Sequence[float]]) -> np.ndarray:
    return np.asarray(boxes, dtype=np.float64).reshape(-1, 4)


def one_for_all(values: Any, n: int) -> list[Any]:
    return [values] * n if np.isscalar(values) else list(values)


def originals(
    boxes: Sequence[Sequence[float]],
    category: Any = 0,
    image_id: Any = "i",
    *,
    crowd: Any = False,
    region: Any = "",
    classes: Sequence[str] = CLASSES,
) -> Table:
    n = len(boxes)
    return make_table(
        "annotations",
        {
            "image_id": one_for_all(image_id, n),
            "box_id": [f"o{i}" for i in range(n)],
            "category": one_for_all(category, n),
            "crowd": one_for_all(crowd, n),
            "difficult": False,
            "region": one_for_all(region, n),
            "annotator": "",
        },
        classes,
        boxes=boxes_of(boxes),
    )


def one_hot_ish(category: Any, probability: Any, n: int, n_classes: int) -> np.ndarray:
    """Soft labels with `probability` on `category`, the rest evenly on the others."""
    likely = np.asarray(one_for_all(probability, n), dtype=np.float64)
    vectors = np.repeat((1 - likely)[:, None] / n_classes, n_classes + 1, axis=1)
    vectors[np.arange(n), np.asarray(one_for_all(category, n), dtype=int)] = likely
    return vectors


def reannotated(
    boxes: Sequence[Sequence[float]],
    category: Any = 0,
    image_id: Any = "i",
    *,
    probability: Any = 0.9,
    vectors: np.ndarray | None = None,
    image_ids: Sequence[str] | None = None,
    classes: Sequence[str] = CLASSES,
) -> Table:
    """Category len(classes) is can't-solve."""
    n = len(boxes)
    if vectors is None:
        vectors = one_hot_ish(category, probability, n, len(classes))
    return make_table(
        "soft_labels",
        {
            "image_id": one_for_all(image_id, n),
            "box_id": [f"v{i}" for i in range(n)],
            "n_votes": 11,
            "proposed": 0,
        },
        classes,
        boxes=boxes_of(boxes),
        vectors={"soft_label": vectors, "corrected": vectors},
        image_ids=image_ids,
    )


def images(*image_ids: str, width: int = 100, height: int = 100) -> Table:
    return make_table(
        "images",
        {
            "image_id": list(image_ids),
            "file_name": list(image_ids),
            "width": width,
            "height": height,
            "split": "val",
        },
        CLASSES,
    )


def label_errors(
    boxes: Sequence[Sequence[float]],
    kind: Any = "missing",
    image_id: Any = "i",
    *,
    probability: Any = 0.9,
    ioa_dontcare: Any = 0.0,
    image_ids: Sequence[str] | None = None,
) -> Table:
    n = len(boxes)
    array = boxes_of(boxes)
    return make_table(
        "label_errors",
        {
            "image_id": one_for_all(image_id, n),
            "kind": one_for_all(kind, n),
            "category": 0,
            "probability": one_for_all(probability, n),
            "height": array[:, 3] - array[:, 1],
            "max_iou": 0.0,
            "ioa_dontcare": one_for_all(ioa_dontcare, n),
            "original_box_id": "",
            "validated_box_id": "",
        },
        CLASSES,
        boxes=array,
        image_ids=image_ids,
    )


def detected(
    boxes: Any,
    score: Any = 0.5,
    category: Any = 0,
    image_id: Any = "i",
    *,
    classes: Sequence[str] = CLASSES,
    image_ids: Sequence[str] = ("i", "j"),
) -> Table:
    n = len(boxes)
    return make_table(
        "detections",
        {
            "image_id": one_for_all(image_id, n),
            "score": one_for_all(score, n),
            "category": one_for_all(category, n),
        },
        classes,
        boxes=boxes_of(boxes),
        vectors={"probabilities": np.zeros((n, len(classes)), dtype=np.float32)},
        meta={"probability_kind": "sigmoid"},
        image_ids=image_ids,
    )


def proposals(
    boxes: Sequence[Sequence[float]],
    score: Any,
    image_id: Any = "i",
    *,
    method: Any = "score",
) -> Table:
    n = len(boxes)
    return make_table(
        "proposals",
        {
            "image_id": one_for_all(image_id, n),
            "method": one_for_all(method, n),
            "category": 0,
            "score": one_for_all(score, n),
        },
        CLASSES,
        boxes=boxes_of(boxes),
    )


def read_oracle(shared_data: Path, name: str) -> dict[str, Any]:
    with gzip.open(shared_data / "released_oracle" / f"{name}.json.gz") as file:
        return json.load(file)

"""What the tables between stages hold: columns, types, order of the rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pyarrow as pa

BOX = ("x1", "y1", "x2", "y2")
LABEL_ERROR_KINDS = ("missing", "misaligned", "classification", "original_only")
REGIONS = ("", "dontcare", "group")
PROBABILITY_KINDS = ("sigmoid", "softmax", "softmax+background")

_BOX_COLUMNS = dict.fromkeys(BOX, pa.float64())
_IMAGE = {"image_id": pa.string()}
_BOXES = _IMAGE | {"box_id": pa.string()} | _BOX_COLUMNS
_DETECTIONS = _IMAGE | _BOX_COLUMNS | {"score": pa.float64(), "category": pa.int32()}


@dataclass(frozen=True)
class Schema:
    """Scalar columns, vector columns (with their element type) and the order of the rows."""

    columns: Mapping[str, pa.DataType]
    order: tuple[str, ...]
    vectors: Mapping[str, pa.DataType] = field(default_factory=dict)
    descending: tuple[str, ...] = ()


SCHEMAS: dict[str, Schema] = {
    "images": Schema(
        _IMAGE
        | {
            "file_name": pa.string(),
            "width": pa.int32(),
            "height": pa.int32(),
            "split": pa.string(),
        },
        order=("image_id",),
    ),
    "annotations": Schema(
        _BOXES
        | {
            "category": pa.int32(),
            "crowd": pa.bool_(),
            "difficult": pa.bool_(),
            "region": pa.string(),
            "annotator": pa.string(),
        },
        order=("image_id", *BOX, "category", "annotator", "box_id"),
    ),
    "votes": Schema(
        _BOXES | {"proposed": pa.int32(), "source": pa.int32(), "seconds": pa.list_(pa.float64())},
        order=("image_id", *BOX, "box_id", "source"),
        vectors={"frequencies": pa.float64()},
    ),
    "soft_labels": Schema(
        _BOXES | {"n_votes": pa.int32(), "proposed": pa.int32()},
        order=("image_id", *BOX, "box_id"),
        vectors={"soft_label": pa.float64(), "corrected": pa.float64()},
    ),
    "detections": Schema(
        _DETECTIONS,
        order=("image_id", "score", *BOX, "category"),
        vectors={"probabilities": pa.float32()},
        descending=("score",),
    ),
    "candidates": Schema(
        _DETECTIONS, order=("image_id", "score", *BOX, "category"), descending=("score",)
    ),
    "label_losses": Schema(
        _BOXES
        | {
            "category": pa.int32(),
            "classification": pa.list_(pa.float64()),
            "regression": pa.list_(pa.float64()),
        },
        order=("image_id", "box_id", *BOX, "category"),
    ),
    "calibrated": Schema(
        _DETECTIONS | {"calibrated_score": pa.float64(), "fold": pa.int32()},
        order=("image_id", "score", *BOX, "category"),
        vectors={"probabilities": pa.float32()},
        descending=("score",),
    ),
    "label_errors": Schema(
        _IMAGE
        | {"kind": pa.string()}
        | _BOX_COLUMNS
        | {
            "category": pa.int32(),
            "probability": pa.float64(),
            "height": pa.float64(),
            "max_iou": pa.float64(),
            "ioa_dontcare": pa.float64(),
            "original_box_id": pa.string(),
            "validated_box_id": pa.string(),
        },
        order=("image_id", "kind", *BOX, "original_box_id", "validated_box_id"),
    ),
    "proposals": Schema(
        _IMAGE
        | {"method": pa.string()}
        | _BOX_COLUMNS
        | {"category": pa.int32(), "score": pa.float64()},
        order=("method", "image_id", "score", *BOX, "category"),
        descending=("score",),
    ),
}

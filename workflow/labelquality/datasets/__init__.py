"""Adapters: a data set's own files become tables, with an account of what was set aside."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from labelquality.datasets.adapter import Dataset, Repairs
from labelquality.datasets.checks import check_images
from labelquality.datasets.cityscapes import read_cityscapes
from labelquality.datasets.coco import read_coco
from labelquality.datasets.kitti import read_kitti
from labelquality.datasets.soft_labels import Reannotation, read_reannotation
from labelquality.datasets.truth import Truth, read_truth
from labelquality.datasets.voc import read_voc
from labelquality.datasets.yolo import read_yolo
from labelquality.errors import DataError

__all__ = [
    "FORMATS",
    "Dataset",
    "Reannotation",
    "Repairs",
    "Truth",
    "check_images",
    "read_dataset",
    "read_reannotation",
    "read_truth",
]

FORMATS: dict[str, Callable[[Mapping[str, Any], Path], Dataset]] = {
    "coco": read_coco,
    "voc": read_voc,
    "kitti": read_kitti,
    "cityscapes": read_cityscapes,
    "yolo": read_yolo,
}
"""Reader of each format of original annotations."""


def read_dataset(spec: Mapping[str, Any], root: Path) -> Dataset:
    """Read the images and original annotations of the data set that `spec` describes.

    `spec` holds the keys of config/schemas/dataset.schema.yaml; its file paths are below `root`.

    Raises DataError for an unknown format and for anything that the format or the data set's
    `repairs` do not permit.
    """
    if spec["format"] not in FORMATS:
        known = ", ".join(FORMATS)
        raise DataError(
            f"data set {spec['name']}: format {spec['format']} is unknown; use one of {known}"
        )
    return FORMATS[spec["format"]](spec, root)

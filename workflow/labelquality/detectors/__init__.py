"""Detectors: one adapter per family behind one interface.

torch, ultralytics and transformers are imported inside the adapters only, when one is loaded.
A family's module offers ``load(spec, classes) -> Detector``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

from labelquality.detectors.base import limit_side_effects
from labelquality.errors import DataError

if TYPE_CHECKING:
    from labelquality.detectors.base import Detector

FAMILIES: dict[str, str] = {
    "yolov8": "labelquality.detectors.yolov8",
    "rtdetr": "labelquality.detectors.rtdetr",
    "rtdetr_ultralytics": "labelquality.detectors.rtdetr_ultralytics",
    "grounding_dino": "labelquality.detectors.grounding_dino",
    "owlvit": "labelquality.detectors.owlvit",
    "cascade_rcnn": "labelquality.detectors.cascade_rcnn",
    "faster_rcnn": "labelquality.detectors.faster_rcnn",
    "imported": "labelquality.detectors.imported",
}


def load_detector(
    spec: Mapping[str, Any], classes: Sequence[str], threads: int = 1, device: str = "cpu"
) -> Detector:
    """Load the detector that a spec (a file of config/detectors) describes.

    spec : keys name, family, weights, input_size, score_threshold, nms_iou, max_detections,
        batch_size, prompt, ...
    classes : the data set's class names, in order; the columns of the probabilities.
    threads : torch threads; results are bit-equal for the same number only.
    device : torch device to run on.

    Raises
    ------
    DataError : unknown family, and what the family's `load` raises.
    """
    family = spec.get("family")
    if family not in FAMILIES or family == "imported":
        known = ", ".join(sorted(set(FAMILIES) - {"imported"}))
        hint = (
            "; detections of the family imported are read, not run" if family == "imported" else ""
        )
        raise DataError(
            f"detector {spec.get('name')}: unknown family {family!r}, use one of {known}{hint}"
        )
    limit_side_effects()
    detector = import_module(FAMILIES[family]).load(spec, tuple(classes))

    import torch

    # After the build: ultralytics sets its own number when it picks a device.
    torch.set_num_threads(threads)
    detector.model.to(device)
    return detector

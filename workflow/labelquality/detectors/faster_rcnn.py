"""Faster R-CNN of torchvision (BSD): a cascade of one stage, with regression by class.

Each proposal gives the box of its most probable class and its whole vector, as paper 1's text says.
The library itself, and paper 1's code, give one box per class.

Source: paper 1, appendix C.3: class-wise suppression as the library does it (IoU 0.5), best 300.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from pickle import UnpicklingError
from typing import Any

from labelquality.detectors.base import match_classes
from labelquality.detectors.cascade_rcnn import CascadeRcnn
from labelquality.errors import DataError

_COCO_OUTPUTS = 91
_SIDE, _LONGEST = 800, 1333


def load(spec: Mapping[str, Any], classes: Sequence[str]) -> CascadeRcnn:
    """Load a state dict (``.pth``) of torchvision's `fasterrcnn_resnet50_fpn_v2`.

    One with 91 outputs is the official one, which knows COCO's classes; any other must have been
    trained on `classes`, in their order, after the background. Only tensors are read from the file.

    Raises
    ------
    DataError : weights missing or of another network, classes unknown to them.
    """
    import torch
    from torchvision.models.detection import fasterrcnn_resnet50_fpn_v2

    from labelquality.detectors.cascade_network import CascadeNetwork

    name, path, side = spec["name"], Path(spec["weights"]), spec["input_size"] or _SIDE
    if not path.is_file():
        raise DataError(
            f"detector {name}: weights {path} not found; nothing is downloaded at run time, so "
            "fetch the file from the detector's `source` and give its path"
        )
    try:
        tensors = torch.load(path, map_location="cpu", weights_only=True)
        n_outputs = len(tensors["roi_heads.box_predictor.cls_score.bias"])
        network = fasterrcnn_resnet50_fpn_v2(
            weights=None,
            weights_backbone=None,
            num_classes=n_outputs,
            min_size=side,
            max_size=round(side * _LONGEST / _SIDE),
        )
        network.load_state_dict(tensors)
    except (KeyError, TypeError, RuntimeError, UnpicklingError):
        raise DataError(
            f"detector {name}: {path} is no state dict of fasterrcnn_resnet50_fpn_v2, or holds "
            "more than tensors; give another file"
        ) from None
    parts = CascadeNetwork(
        network.transform, network.backbone, network.rpn, [network.roi_heads]
    ).eval()
    names = _names(n_outputs, classes, name)
    return CascadeRcnn(parts, match_classes(names, classes, name), spec, family="faster_rcnn")


def _names(n_outputs: int, classes: Sequence[str], model: str) -> list[str]:
    """What the outputs after the background stand for."""
    from torchvision.models.detection import FasterRCNN_ResNet50_FPN_V2_Weights

    if n_outputs == _COCO_OUTPUTS:
        return FasterRCNN_ResNet50_FPN_V2_Weights.DEFAULT.meta["categories"][1:]
    if n_outputs != len(classes) + 1:
        raise DataError(
            f"detector {model}: the weights have {n_outputs} outputs, which are neither COCO's 91 "
            f"nor the data set's {len(classes)} classes and the background; train them on it"
        )
    return list(classes)

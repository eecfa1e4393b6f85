"""Trains the tiny Cascade R-CNN of the scenes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.cascade_rcnn import CascadeRcnn
from labelquality.detectors.training import common

if TYPE_CHECKING:
    import torch

SPEC: dict[str, Any] = {
    "name": "cascade_rcnn_scenes",
    "family": "cascade_rcnn",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": 0.6,
    "max_detections": 100,
}


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    seed: int = 0,
    steps: int = 900,
    batch_size: int = 16,
    learning_rate: float = 1e-3,
) -> dict[str, float]:
    """Train on the split `train`, write the weights folder, return AP and AP50 on `watch`.

    scenes_folder : holds both splits, as `labelquality.scenes.write_scenes` writes them.
    """
    rng = common.start(seed)
    import torch
    import yaml

    from labelquality.detectors.cascade_network import build
    from labelquality.detectors.training.loop import fit

    data = common.load_split(scenes_folder, "train")
    watched = common.load_split(scenes_folder, "watch")
    architecture = {
        "preset": "tiny",
        "input_size": data.images.shape[1],
        "iou_thresholds": [0.5, 0.6, 0.7],
        "names": list(data.classes),
    }
    model = build(architecture)

    def loss_of(
        images: torch.Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> torch.Tensor:
        targets = [
            {"boxes": torch.from_numpy(box), "labels": torch.from_numpy(label) + 1}
            for box, label in zip(boxes, labels, strict=True)
        ]
        return model(list(images), targets)

    def watch(average: torch.nn.Module) -> dict[str, float]:
        return common.watch(CascadeRcnn(average, np.arange(len(data.classes)), SPEC), watched)

    best = fit(
        model,
        data,
        loss_of,
        watch,
        rng,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
    )
    reached = watch(best)
    record = {
        "seed": seed,
        "steps": steps,
        "batch_size": batch_size,
        "images": len(data),
        "data_sha256": common.fingerprint(data),
        "watch": reached,
        "libraries": common.library_versions("numpy", "torch", "torchvision"),
    }
    common.save_weights(out_folder, best.state_dict(), record)
    (Path(out_folder) / "model.yaml").write_text(yaml.safe_dump(architecture))
    return reached

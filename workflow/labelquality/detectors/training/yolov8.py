"""Trains the tiny YOLOv8 of the demo: the library's network and loss, a plain loop of our own.

The library's trainer looks for fonts, writes folders and sets threads; nothing of it is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.training import common
from labelquality.detectors.yolov8 import YoloV8, build

if TYPE_CHECKING:
    import torch

SPEC: dict[str, Any] = {
    "name": "yolov8_scenes",
    "family": "yolov8",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": 0.6,
    "max_detections": 100,
}
SCALE = {"depth": 0.33, "width": 0.125, "max_channels": 1024}


def train(
    scenes_folder: str | Path,
    out_folder: str | Path,
    *,
    seed: int = 0,
    steps: int = 2400,
    batch_size: int = 16,
    learning_rate: float = 2e-3,
) -> dict[str, float]:
    """Train on the split `train`, write the weights folder, return AP and AP50 on `watch`.

    scenes_folder : holds both splits, as `labelquality.scenes.write_scenes` writes them.
    """
    rng = common.start(seed)
    import yaml
    from ultralytics.utils import DEFAULT_CFG
    from ultralytics.utils.loss import v8DetectionLoss

    from labelquality.detectors.training.loop import fit

    data = common.load_split(scenes_folder, "train")
    watched = common.load_split(scenes_folder, "watch")
    side = data.images.shape[1]
    columns = np.arange(len(data.classes))
    architecture = {**SCALE, "input_size": side, "names": list(data.classes)}
    model = build(architecture)
    # The loss reads its gains from here.
    model.args = DEFAULT_CFG
    criterion = v8DetectionLoss(model)

    def loss_of(
        images: torch.Tensor, boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray]
    ) -> torch.Tensor:
        parts, _ = criterion(model(images), _targets(boxes, labels, side))
        return parts.sum() / len(images)

    def watch(average: torch.nn.Module) -> dict[str, float]:
        return common.watch(YoloV8(average, columns, SPEC | {"input_size": side}), watched)

    best = fit(
        model,
        data,
        loss_of,
        watch,
        rng,
        steps=steps,
        batch_size=batch_size,
        learning_rate=learning_rate,
        weight_decay=0.01,
    )
    reached = watch(best)
    record = {
        "seed": seed,
        "steps": steps,
        "batch_size": batch_size,
        "images": len(data),
        "data_sha256": common.fingerprint(data),
        "watch": reached,
        "libraries": common.library_versions("numpy", "torch", "ultralytics"),
    }
    common.save_weights(out_folder, best.state_dict(), record)
    (Path(out_folder) / "model.yaml").write_text(yaml.safe_dump(architecture))
    return reached


def _targets(
    boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray], side: int
) -> dict[str, torch.Tensor]:
    """One row per object, with the number of its image in the batch."""
    import torch

    counts = [len(label) for label in labels]
    arrays = {
        "batch_idx": np.repeat(np.arange(len(boxes)), counts).astype(np.float32),
        "cls": np.concatenate(labels).astype(np.float32),
        "bboxes": np.concatenate([common.relative_centres(box, side, side) for box in boxes]),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}

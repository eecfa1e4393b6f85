"""Trains the tiny YOLOv8 of the demo: the library's network and loss, a plain loop of our own.

The library's trainer looks for fonts, writes folders and sets threads; nothing of it is needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labelquality.detectors.training import common
from labelquality.detectors.yolov8 import YoloV8, build

if TYPE_CHECKING:
    import torch

STEPS = 4000
BATCH = 16
LEARNING_RATE = 2e-3
SPEC = {
    "name": "yolov8_scenes",
    "input_size": 128,
    "score_threshold": 0.001,
    "nms_iou": 0.6,
    "max_detections": 100,
}
WIDTH = {"depth": 0.33, "width": 0.125, "max_channels": 1024}


def train(
    scenes_folder: str | Path, out_folder: str | Path, *, seed: int, steps: int = STEPS
) -> dict[str, float]:
    """Train on the scenes' train split, write the weights folder, return AP and AP50 on `watch`.

    One process, one thread. Prints the loss and, ten times, the AP on the way.
    """
    rng = common.start(seed)
    import torch
    import yaml
    from ultralytics.utils import DEFAULT_CFG
    from ultralytics.utils.loss import v8DetectionLoss

    torch.set_num_threads(1)
    data, watched = (common.load_split(scenes_folder, s) for s in ("train", "watch"))
    architecture = {**WIDTH, "names": list(data.classes)}
    model = build(architecture).train()
    model.args = DEFAULT_CFG
    average = common.MovingAverage(model)
    optimiser = torch.optim.AdamW(model.parameters(), lr=LEARNING_RATE, weight_decay=5e-4)
    criterion = v8DetectionLoss(model)

    def watch() -> dict[str, float]:
        columns = np.arange(len(data.classes))
        return common.watch(YoloV8(average.model, columns, SPEC), watched)

    for step, indices in common.batches(len(data), BATCH, steps, rng):
        for group in optimiser.param_groups:
            group["lr"] = LEARNING_RATE * common.one_cycle(step, steps)
        images, boxes, labels = common.augmented(data, indices, rng)
        parts, _ = criterion(model(torch.from_numpy(images)), _targets(boxes, labels, images.shape))
        loss = parts.sum()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()
        average.update(model)
        common.report(step, steps, loss.item() / BATCH, watch)
    reached = watch()
    common.save_weights(
        out_folder, average.model.state_dict(), {"seed": seed, "steps": steps, "watch": reached}
    )
    (Path(out_folder) / "model.yaml").write_text(yaml.safe_dump(architecture))
    return reached


def _targets(
    boxes: list[np.ndarray], labels: list[np.ndarray], shape: tuple[int, ...]
) -> dict[str, torch.Tensor]:
    import torch

    counts = [len(label) for label in labels]
    relative = [common.relative_centres(box, shape[3], shape[2]) for box in boxes]
    arrays: dict[str, Any] = {
        "batch_idx": np.repeat(np.arange(len(boxes)), counts).astype(np.float32),
        "cls": np.concatenate(labels).astype(np.float32),
        "bboxes": np.concatenate(relative),
    }
    return {name: torch.from_numpy(array) for name, array in arrays.items()}

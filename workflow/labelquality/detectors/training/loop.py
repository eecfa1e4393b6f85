"""The training loop of the open-vocabulary families."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from labelquality.detectors.training import common

LossOfBatch = Callable[[Tensor, Sequence[np.ndarray], Sequence[np.ndarray]], Tensor]
Watch = Callable[[nn.Module], Mapping[str, float]]


def fit(
    model: nn.Module,
    split: common.Split,
    loss_of: LossOfBatch,
    watch: Watch,
    rng: np.random.Generator,
    *,
    steps: int,
    batch_size: int,
    learning_rate: float,
    weight_decay: float = 0.05,
) -> nn.Module:
    """Train with AdamW over one learning-rate cycle; return the average of the model's weights.

    loss_of : images (b, 3, h, w) in 0-1, pixel boxes and labels per image -> scalar loss.
    watch : averaged model -> figures to print on the way.
    """
    model.train()
    optimiser = torch.optim.AdamW(_groups(model, weight_decay), lr=learning_rate)
    average = common.MovingAverage(model)
    for step, rows in common.batches(len(split), batch_size, steps, rng):
        for group in optimiser.param_groups:
            group["lr"] = learning_rate * common.one_cycle(step, steps)
        images, boxes, labels = common.augmented(split, rows, rng)
        loss = loss_of(torch.from_numpy(images), boxes, labels)
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        average.update(model)
        common.report(step, steps, loss.item(), lambda: watch(average.model))
    return average.model


def _groups(model: nn.Module, weight_decay: float) -> list[dict[str, object]]:
    """Decay matrices and kernels only: shrinking gains and biases regularises nothing."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def normalisation(processor: Any) -> Callable[[Tensor], Tensor]:
    """Return an image processor's scaling of images (b, 3, h, w) that are in 0-1 already."""
    mean = torch.tensor(processor.image_mean)[:, None, None]
    std = torch.tensor(processor.image_std)[:, None, None]
    return lambda images: (images - mean) / std

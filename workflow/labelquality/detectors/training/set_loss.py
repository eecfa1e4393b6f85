"""Set-prediction loss for detectors that score every class per query with a sigmoid.

Hungarian matching (DETR), targets repeated so that each object may take several queries (as in
one-to-many variants), and a varifocal class loss whose positive target is the box's IoU, so that
the score ranks boxes by quality.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torchvision.ops import generalized_box_iou, generalized_box_iou_loss


@dataclass(frozen=True)
class Targets:
    """True objects of one image.

    classes : (m, C) float32 of 0 and 1, one or more columns per object.
    boxes : (m, 4) float32, ``cx cy w h`` in 0-1.
    """

    classes: Tensor
    boxes: Tensor


def targets(
    boxes: Sequence[np.ndarray], labels: Sequence[np.ndarray], side: float, columns: Tensor
) -> list[Targets]:
    """Targets of a batch from pixel corners and class indices.

    columns : (K, C), which logit columns belong to each class.
    """
    made = []
    for box, label in zip(boxes, labels, strict=True):
        corner = torch.from_numpy(box).reshape(-1, 4) / side
        centre = torch.cat([(corner[:, :2] + corner[:, 2:]) / 2, corner[:, 2:] - corner[:, :2]], 1)
        made.append(Targets(columns[torch.from_numpy(label)], centre))
    return made


def set_loss(logits: Tensor, boxes: Tensor, truth: Sequence[Targets], copies: int = 1) -> Tensor:
    """Scalar loss of a batch: varifocal + 5 L1 + 2 GIoU, per object taken.

    logits : (b, Q, C); boxes : (b, Q, 4) ``cx cy w h`` in 0-1.
    copies : queries per object (fewer where the image has not that many queries).
    """
    image, query, objects = _matched(logits, boxes, truth, copies)
    count = max(len(query), 1)
    wanted = torch.cat([t.boxes for t in truth])[objects]
    chosen = boxes[image, query]
    giou_loss = generalized_box_iou_loss(_corners(chosen), _corners(wanted), reduction="none")
    quality = _iou(chosen.detach(), wanted)
    goal = torch.zeros_like(logits)
    goal[image, query] = torch.cat([t.classes for t in truth])[objects] * quality[:, None]
    return (
        _varifocal(logits, goal).sum()
        + 5.0 * functional.l1_loss(chosen, wanted, reduction="sum")
        + 2.0 * giou_loss.sum()
    ) / count


def _varifocal(logits: Tensor, goal: Tensor) -> Tensor:
    """Varifocal loss (Zhang et al. 2021): positives weigh their IoU, easy negatives little."""
    weight = torch.where(goal > 0, goal, 0.75 * logits.detach().sigmoid() ** 2)
    return functional.binary_cross_entropy_with_logits(logits, goal, weight, reduction="none")


@torch.no_grad()
def _matched(
    logits: Tensor, boxes: Tensor, truth: Sequence[Targets], copies: int
) -> tuple[Tensor, Tensor, Tensor]:
    """Image, query and row of the batch's concatenated objects for every matched pair."""
    from scipy.optimize import linear_sum_assignment

    images, queries, objects, first = [], [], [], 0
    probabilities = logits.sigmoid()
    for i, target in enumerate(truth):
        cost = _cost(probabilities[i], boxes[i], target)
        fitting = max(1, min(copies, len(boxes[i]) // max(len(target.boxes), 1)))
        query, column = linear_sum_assignment(np.tile(cost.numpy(), (1, fitting)))
        images.append(np.full(len(query), i))
        queries.append(query)
        objects.append(first + column % max(len(target.boxes), 1))
        first += len(target.boxes)
    image, query, row = (torch.from_numpy(np.concatenate(x)) for x in (images, queries, objects))
    return image, query, row


def _cost(probability: Tensor, boxes: Tensor, target: Targets) -> Tensor:
    """Matching cost (Q, m): focal class cost, L1 and GIoU as in Deformable DETR."""
    negative = 0.75 * probability**2 * -(1 - probability + 1e-8).log()
    positive = 0.25 * (1 - probability) ** 2 * -(probability + 1e-8).log()
    share = target.classes / target.classes.sum(dim=1, keepdim=True)
    return (
        2.0 * (positive - negative) @ share.T
        + 5.0 * torch.cdist(boxes, target.boxes, p=1)
        - 2.0 * generalized_box_iou(_corners(boxes), _corners(target.boxes))
    )


def _corners(boxes: Tensor) -> Tensor:
    middle, half = boxes[..., :2], boxes[..., 2:] / 2
    return torch.cat([middle - half, middle + half], dim=-1)


def _iou(a: Tensor, b: Tensor) -> Tensor:
    """Element-wise IoU of ``cx cy w h`` boxes (n, 4)."""
    a, b = _corners(a), _corners(b)
    sides = (torch.minimum(a[:, 2:], b[:, 2:]) - torch.maximum(a[:, :2], b[:, :2])).clamp(min=0)
    common = sides.prod(dim=1)
    total = (a[:, 2:] - a[:, :2]).prod(dim=1) + (b[:, 2:] - b[:, :2]).prod(dim=1)
    return common / (total - common).clamp(min=1e-9)

"""Losses of a box head for one box, from their definitions (Girshick 2015, section 2.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

Box = Sequence[float]


def cross_entropy(logits: Sequence[float], target: int) -> float:
    return math.log(sum(math.exp(value) for value in logits)) - logits[target]


def binary_cross_entropy(probability: float, *, is_object: bool) -> float:
    return -math.log(probability if is_object else 1 - probability)


def smooth_l1(deltas: Sequence[float], aims: Sequence[float], beta: float = 1 / 9) -> float:
    total = 0.0
    for delta, aim in zip(deltas, aims, strict=True):
        apart = abs(delta - aim)
        total += apart**2 / (2 * beta) if apart < beta else apart - beta / 2
    return total


def code(box: Box, seen_from: Box, weights: Sequence[float]) -> list[float]:
    """What moves `seen_from` onto `box`: centre in its sides, logarithms of the sides' ratios."""
    sides = [(b[2] - b[0], b[3] - b[1]) for b in (box, seen_from)]
    centres = [((b[0] + b[2]) / 2, (b[1] + b[3]) / 2) for b in (box, seen_from)]
    (width, height), (own_width, own_height) = sides
    (x, y), (own_x, own_y) = centres
    moves = [
        (x - own_x) / own_width,
        (y - own_y) / own_height,
        math.log(width / own_width),
        math.log(height / own_height),
    ]
    return [weight * move for weight, move in zip(weights, moves, strict=True)]


def moved(box: Box, deltas: Sequence[float], weights: Sequence[float]) -> list[float]:
    """The inverse of `code`: where `deltas` move `box`."""
    dx, dy, dw, dh = (delta / weight for delta, weight in zip(deltas, weights, strict=True))
    width, height = box[2] - box[0], box[3] - box[1]
    x, y = box[0] + width / 2 + dx * width, box[1] + height / 2 + dy * height
    half_width, half_height = width * math.exp(dw) / 2, height * math.exp(dh) / 2
    return [x - half_width, y - half_height, x + half_width, y + half_height]

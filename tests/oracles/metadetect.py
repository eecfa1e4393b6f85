"""The features of MetaDetect, box by box, as its authors' code makes them.

A box is (x1, y1, x2, y2), a candidate (box, class, score).
"""

from __future__ import annotations

import math

Box = tuple[float, float, float, float]
Candidate = tuple[Box, int, float]


def overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return width * height / (sum(areas) - width * height)


def statistics(values: list[float]) -> list[float]:
    mean = sum(values) / len(values)
    spread = math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
    return [min(values), max(values), mean, spread]


def size(box: Box, *, released: bool) -> float:
    x1, y1, x2, y2 = box
    centre_x, centre_y, half_w, half_h = (x1 + x2) / 2, (y1 + y2) / 2, (x2 - x1) / 2, (y2 - y1) / 2
    if released:
        return (centre_x - half_w) / 2 * (centre_y - half_h) / 2
    return half_w * half_h


def circumference(box: Box) -> float:
    return (box[2] - box[0]) + (box[3] - box[1])


def ratio(box: Box) -> float:
    return (box[2] - box[0]) / 2 * (box[3] - box[1]) / 2 / circumference(box)


def features(
    box: Box,
    category: int,
    score: float,
    probabilities: list[float],
    candidates: list[Candidate],
    *,
    released: bool,
) -> list[float]:
    """All features of one detection, given the candidates of its image."""
    near = [
        (other, s) for other, k, s in candidates if k == category and overlap(box, other) > 0.45
    ]
    found: list[float] = [len(near)]
    for value in (
        lambda b: (b[0] + b[2]) / 2,
        lambda b: (b[1] + b[3]) / 2,
        lambda b: (b[2] - b[0]) / 2,
        lambda b: (b[3] - b[1]) / 2,
        lambda b: size(b, released=released),
        circumference,
        ratio,
    ):
        found += statistics([value(other) for other, _ in near])
    found += statistics([s for _, s in near])
    others = [overlap(box, other) for other, _ in near if overlap(box, other) != 1]
    found += statistics(others) if others else [0.0] * 4
    found += [size(box, released=released), circumference(box), ratio(box)]
    return [*found, *box, score, category, sum(probabilities), *probabilities]

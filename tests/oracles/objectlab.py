"""ObjectLab's scores of one image, box by box, from their definition."""

from __future__ import annotations

import math

Box = tuple[float, float, float, float]
Label = tuple[Box, int]
Prediction = tuple[Box, int, float]


def overlap(a: Box, b: Box) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = [(c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)]
    return width * height / (sum(areas) - width * height)


def similarity(a: Box, b: Box) -> float:
    centres = [((c[0] + c[2]) / 2, (c[1] + c[3]) / 2) for c in (a, b)]
    return 0.9 * overlap(a, b) + 0.1 * math.exp(-0.1 * math.dist(*centres))


def overlooked(prediction: Prediction, labels: list[Label], smallest: float) -> float | None:
    box, category, probability = prediction
    if probability < 0.95 or any(overlap(box, other) > 0 for other, _ in labels):
        return None
    same = [similarity(box, other) for other, k in labels if k == category]
    return max(same, default=smallest * (1 - probability))


def badly_located(label: Label, predictions: list[Prediction]) -> float:
    box, category = label
    candidates = [
        similarity(box, other)
        for other, k, probability in predictions
        if k == category and probability > 0.5 and overlap(box, other) > 0
    ]
    return max(candidates, default=1.0)


def swapped(
    label: Label, labels: list[Label], predictions: list[Prediction], smallest: float
) -> float:
    box, category = label
    if any(k != category and overlap(box, other) >= 0.95 for other, k in labels):
        return smallest
    candidates = [
        similarity(box, other) for other, k, p in predictions if k != category and p > 0.95
    ]
    return max(smallest, 1 - max(candidates)) if candidates else 1.0


def soft_minimum(scores: list[float]) -> float:
    if not scores:
        return 1.0
    weights = [math.exp((1 - score) / 0.1) for score in scores]
    return sum(w * s for w, s in zip(weights, scores, strict=True)) / sum(weights)


def image_score(labels: list[Label], predictions: list[Prediction], smallest: float) -> float:
    found = [overlooked(p, labels, smallest) for p in predictions]
    pooled = [
        soft_minimum([score for score in found if score is not None]),
        soft_minimum([badly_located(label, predictions) for label in labels]),
        soft_minimum([swapped(label, labels, predictions, smallest) for label in labels]),
    ]
    return math.exp(sum(math.log(1e-100 + value) / 3 for value in pooled))

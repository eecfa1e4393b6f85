"""Label errors and their scoring, one box at a time: what the fast versions must equal."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

Box = tuple[float, float, float, float]


def area(box: Box) -> Fraction:
    width, height = (Fraction(box[i + 2]) - Fraction(box[i]) for i in (0, 1))
    return max(width, Fraction(0)) * max(height, Fraction(0))


def shared(a: Box, b: Box) -> Fraction:
    return area((max(a[0], b[0]), max(a[1], b[1]), min(a[2], b[2]), min(a[3], b[3])))


def iou(a: Box, b: Box) -> Fraction:
    union = area(a) + area(b) - shared(a, b)
    return shared(a, b) / union if union else Fraction(0)


def match_from_best_iou(a: list[Box], b: list[Box], threshold: Fraction) -> list[tuple[int, int]]:
    """Take the best pair that is left, again and again."""
    pairs: list[tuple[int, int]] = []
    while True:
        candidates = [
            (-iou(a[i], b[j]), i, j)
            for i in range(len(a))
            for j in range(len(b))
            if iou(a[i], b[j]) >= threshold
            and i not in [p[0] for p in pairs]
            and j not in [p[1] for p in pairs]
        ]
        if not candidates:
            return pairs
        pairs.append(min(candidates)[1:])


def label_errors_of_image(
    original: list[tuple[Box, int]],
    reannotated: list[tuple[Box, int]],
    *,
    released: bool,
) -> list[tuple[str, Box, int, Fraction]]:
    """(kind, box, class, IoU) of one image; class -1 of a re-annotated box is "not validated"."""
    validated = [(box, category) for box, category in reannotated if category >= 0]
    half, tenth, seventh = Fraction(1, 2), Fraction(1, 10), Fraction(7, 10)
    pairs = match_from_best_iou([o[0] for o in original], [v[0] for v in validated], half)
    errors: list[tuple[str, Box, int, Fraction]] = []
    for j, (box, category) in enumerate(validated):
        if j in [p[1] for p in pairs]:
            continue
        overlap = max([iou(o[0], box) for o in original], default=Fraction(0))
        if overlap <= tenth:
            errors.append(("missing", box, category, overlap))
        elif overlap < half or (overlap == half and not released):
            errors.append(("misaligned", box, category, overlap))
        elif not released:
            errors.append(("missing", box, category, overlap))
    for i, j in pairs:
        overlap = iou(original[i][0], validated[j][0])
        close = overlap >= seventh if released else overlap > seventh
        if close and original[i][1] != validated[j][1]:
            errors.append(("classification", *validated[j], overlap))
    for box, category in original:
        overlap = max([iou(box, r[0]) for r in reannotated], default=Fraction(0))
        if overlap <= tenth:
            errors.append(("original_only", box, category, overlap))
    return errors


def precision_recall(
    proposals: list[tuple[str, Box, float]], errors: list[tuple[str, Box]], threshold: Fraction
) -> list[tuple[float, float]]:
    """Points of the curve: proposals (image, box, score), best score first, ties in order."""
    free = list(range(len(errors)))
    hits, points = 0, []
    for rank, (image, box, _) in enumerate(sorted(proposals, key=lambda p: -p[2]), start=1):
        candidates: list[Any] = [
            (-iou(box, errors[j][1]), j) for j in free if errors[j][0] == image
        ]
        if candidates and -min(candidates)[0] >= threshold:
            free.remove(min(candidates)[1])
            hits += 1
        points.append((hits / rank, hits / len(errors)))
    return points

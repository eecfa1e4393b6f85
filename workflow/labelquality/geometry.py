"""Boxes and their overlaps.

Boxes are arrays of shape (..., 4), float64, `x1 y1 x2 y2` in pixels, continuous and 0-based: a box
that covers a whole image of width w and height h is (0, 0, w, h). Overlap functions broadcast over
the leading axes, so `iou(a[:, None], b[None])` is the full matrix and `iou(a, b)` goes row by row.
No pixel is added anywhere. A ratio whose denominator is 0 is 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


def as_boxes(values: ArrayLike) -> Floats:
    """Return `values` as float64 boxes of shape (n, 4); an empty input gives shape (0, 4).

    Raises ValueError when the last axis is not 4 long.
    """
    boxes = np.asarray(values, dtype=np.float64)
    if boxes.size == 0:
        return np.zeros((0, 4))
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"boxes must have shape (n, 4), not {boxes.shape}")
    return boxes


def areas(boxes: Floats) -> Floats:
    """Area of each box in square pixels, 0 for an inverted one; shape (...)."""
    sides = np.maximum(boxes[..., 2:] - boxes[..., :2], 0.0)
    return sides[..., 0] * sides[..., 1]


def heights(boxes: Floats) -> Floats:
    """Height y2 - y1 of each box in pixels; shape (...)."""
    return boxes[..., 3] - boxes[..., 1]


def intersections(a: Floats, b: Floats) -> Floats:
    """Area shared by `a` and `b` in square pixels; shapes broadcast."""
    low = np.maximum(a[..., :2], b[..., :2])
    high = np.minimum(a[..., 2:], b[..., 2:])
    sides = np.maximum(high - low, 0.0)
    return sides[..., 0] * sides[..., 1]


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    result = np.zeros(np.broadcast_shapes(numerator.shape, denominator.shape))
    np.divide(numerator, denominator, out=result, where=denominator > 0)
    return result


def iou(a: Floats, b: Floats) -> Floats:
    """Intersection over union of `a` and `b`, in [0, 1]; shapes broadcast."""
    shared = intersections(a, b)
    return _ratio(shared, areas(a) + areas(b) - shared)


def pairwise_iou(a: Floats, b: Floats) -> Floats:
    """Intersection over union of every box of `a` (n, 4) with every box of `b` (m, 4); (n, m)."""
    return iou(a[:, None, :], b[None, :, :])


def ioa(a: Floats, b: Floats) -> Floats:
    """Share of `a` that lies in `b` (intersection over the area of `a`), in [0, 1]."""
    return _ratio(intersections(a, b), np.broadcast_to(areas(a), intersections(a, b).shape))


def giou(a: Floats, b: Floats) -> Floats:
    """Generalised intersection over union, in [-1, 1]; shapes broadcast.

    Rezatofighi et al., "Generalized Intersection over Union", CVPR 2019: IoU minus the share of the
    smallest enclosing box that neither box covers.
    """
    shared = intersections(a, b)
    union = areas(a) + areas(b) - shared
    low = np.minimum(a[..., :2], b[..., :2])
    high = np.maximum(a[..., 2:], b[..., 2:])
    hull = areas(np.concatenate([low, high], axis=-1))
    return _ratio(shared, union) - _ratio(hull - union, hull)


def clip(boxes: Floats, width: ArrayLike, height: ArrayLike) -> Floats:
    """Boxes cut to [0, width] x [0, height], scalars or of shape (...)."""
    width, height = np.asarray(width, dtype=np.float64), np.asarray(height, dtype=np.float64)
    clipped = np.maximum(boxes, 0.0)
    clipped[..., 0::2] = np.minimum(clipped[..., 0::2], width[..., None])
    clipped[..., 1::2] = np.minimum(clipped[..., 1::2], height[..., None])
    return clipped


def xywh_to_xyxy(boxes: Floats) -> Floats:
    """`x y width height` to `x1 y1 x2 y2`."""
    return np.concatenate([boxes[..., :2], boxes[..., :2] + boxes[..., 2:]], axis=-1)


def xyxy_to_xywh(boxes: Floats) -> Floats:
    """`x1 y1 x2 y2` to `x y width height`."""
    return np.concatenate([boxes[..., :2], boxes[..., 2:] - boxes[..., :2]], axis=-1)

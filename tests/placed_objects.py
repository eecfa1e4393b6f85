"""Pictures with one red rectangle at a known place, for round trips through detectors."""

from __future__ import annotations

import numpy as np

SIZES = [(64, 64), (48, 96), (300, 120), (120, 300), (41, 64)]
PLACES = [(0.25, 0.25, 0.75, 0.5), (0.0, 0.0, 0.5, 0.5), (0.5, 0.6, 1.0, 1.0)]


def picture(size: tuple[int, int], place: tuple[float, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Image of `size` (height, width) and the box of its red rectangle, in whole pixels."""
    height, width = size
    image = np.full((height, width, 3), 200, np.uint8)
    box = np.round(np.array(place) * [width, height, width, height]).astype(int)
    x1, y1, x2, y2 = box
    image[y1:y2, x1:x2] = (255, 0, 0)
    return image, box.astype(float)


def noise(size: tuple[int, int], seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (*size, 3), dtype=np.uint8)

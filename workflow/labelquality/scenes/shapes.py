"""Outlines of the six classes, two pairs of which morph into each other."""

from __future__ import annotations

import numpy as np

CLASSES = ("square", "circle", "triangle", "star", "cross", "diamond")
CANT_SOLVE = "cantsolve"
PAIRS = ((0, 1), (3, 4))
"""Class pairs with a continuum of shapes between them: square-circle and star-cross."""

MAX_TILT = (12.0, 12.0, 180.0, 45.0, 45.0, 12.0)
"""Largest rotation per class in degrees; small where turning would suggest another class."""


def partner(category: int) -> int:
    """The class that people confuse this one with most."""
    for first, second in (*PAIRS, (2, 5)):
        if category in (first, second):
            return first + second - category
    raise ValueError(f"no class {category}; classes are 0 to {len(CLASSES) - 1}")


def rounded_square(morph: float) -> np.ndarray:
    """Square (morph 0) whose corners are rounded until it is a circle (morph 1), (m, 2)."""
    quarter = np.linspace(0.0, np.pi / 2, 13)
    turns = quarter[None, :] + np.arange(4)[:, None] * (np.pi / 2)
    corner = np.sign(np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])) * (1.0 - morph)
    points = corner[:, None, :] + morph * np.stack([np.cos(turns), np.sin(turns)], axis=-1)
    return points.reshape(-1, 2)


def tapered_cross(morph: float) -> np.ndarray:
    """Four-pointed star (morph 0) whose arms widen until it is a plus sign (morph 1), (12, 2)."""
    tip, notch = 0.33 * morph, 0.27 + 0.06 * morph
    arm = np.array([[1.0, -tip], [1.0, tip], [notch, notch]])
    quarter_turn = np.array([[0.0, 1.0], [-1.0, 0.0]])
    return np.concatenate([arm @ np.linalg.matrix_power(quarter_turn, k) for k in range(4)])


def outline(category: int, morph: float = 0.0) -> np.ndarray:
    """Polygon of a class in the square [-1, 1]^2, y down.

    Parameters
    ----------
    category : int
        Index in `CLASSES`.
    morph : float
        0 for the pure class, up to 1 for the other class of its pair; only classes in `PAIRS`.

    Returns
    -------
    (m, 2) float64
    """
    if category in (0, 1):
        return rounded_square(morph if category == 0 else 1.0 - morph)
    if category in (3, 4):
        return tapered_cross(morph if category == 3 else 1.0 - morph)
    if category == 2:
        return np.array([[0.0, -1.0], [1.0, 0.75], [-1.0, 0.75]])
    return np.array([[0.0, -1.0], [0.68, 0.0], [0.0, 1.0], [-0.68, 0.0]])

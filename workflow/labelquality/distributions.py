"""Class distributions: distances, entropy, and the background that a detector leaves unsaid.

A distribution is the last axis of a float64 array; functions broadcast over the leading axes.
Logarithms are natural.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def _x_log_x(x: Floats) -> Floats:
    return x * np.log(np.where(x > 0, x, 1.0))


def entropy(p: Floats) -> Floats:
    """Shannon entropy in nats, in [0, ln K]."""
    return -_x_log_x(p).sum(axis=-1)


def total_variation(p: Floats, q: Floats) -> Floats:
    """Total variation distance, half the L1 distance, in [0, 1]."""
    return 0.5 * np.abs(p - q).sum(axis=-1)


def root_jensen_shannon(p: Floats, q: Floats) -> Floats:
    """Square root of the Jensen-Shannon divergence, in [0, sqrt(ln 2)]; a metric.

    Rounding can take the divergence below 0, where it is set to 0.
    """
    divergence = entropy((p + q) / 2) - (entropy(p) + entropy(q)) / 2
    return np.sqrt(np.clip(divergence, 0.0, np.log(2.0)))


def cosine_similarity(p: Floats, q: Floats) -> Floats:
    """Cosine of the angle between `p` and `q`, in [0, 1]; 0 where one of them is all zero."""
    norms = np.linalg.norm(p, axis=-1) * np.linalg.norm(q, axis=-1)
    return np.divide((p * q).sum(axis=-1), norms, out=np.zeros_like(norms), where=norms > 0)


def with_background(probabilities: Floats) -> Floats:
    """Turn independent class probabilities (n, K) into distributions (n, K + 1).

    The background, last, is the probability that none of the classes is there, prod(1 - p); the
    vector is then divided by its sum (paper 1, section V). A row that sums to 0 cannot occur: all
    p = 0 makes the background 1.
    """
    p = np.asarray(probabilities, dtype=np.float64)
    extended = np.concatenate([p, np.prod(1.0 - p, axis=-1, keepdims=True)], axis=-1)
    return extended / extended.sum(axis=-1, keepdims=True)

"""Total orders, so that no result depends on the order of rows in a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray


def descending(score: NDArray, ties: Sequence[NDArray] = ()) -> NDArray[np.intp]:
    """Indices of `score` (n,) from the largest down; shape (n,).

    Equal scores go by the first of `ties` (arrays (n,), ascending), then the second, and so on;
    what is equal in all of them keeps its order.
    """
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    same = np.append(False, ranked[1:] == ranked[:-1])
    tied = np.flatnonzero(same | np.append(same[1:], False))
    # Scores tie rarely: a sort by all keys of the tied rows alone is several times faster.
    if len(tied) and ties:
        rows = order[tied]
        order[tied] = rows[np.lexsort([*(t[rows] for t in reversed(ties)), -score[rows]])]
    return order

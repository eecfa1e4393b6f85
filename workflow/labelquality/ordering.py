"""Total orders, so that no result depends on the order of rows in a file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.intp]


def descending(score: NDArray, ties: Sequence[NDArray] = ()) -> Ints:
    """Indices of `score` (n,) from the largest down; shape (n,).

    Equal scores go by the first of `ties` (arrays (n,), ascending), then the second, and so on;
    what is equal in all of them keeps its order.
    """
    return _settle(np.argsort(-score, kind="stable"), [-score], ties)


def descending_within(group: NDArray, score: NDArray, ties: Sequence[NDArray] = ()) -> Ints:
    """As `descending`, but one `group` (n,) after the other, ascending."""
    level = (group[1:] == group[:-1]) & (score[1:] <= score[:-1])
    # Stored tables are in this order, and looking costs a fraction of sorting.
    if (level | (group[1:] > group[:-1])).all():
        order = np.arange(len(score))
    else:
        order = np.lexsort([-score, group])
    return _settle(order, [group, -score], ties)


def _settle(order: Ints, keys: Sequence[NDArray], ties: Sequence[NDArray]) -> Ints:
    """Put rows that are equal in all `keys`, by which `order` sorts, in the order of `ties`."""
    ranked = [key[order] for key in keys]
    same = np.append(False, np.logical_and.reduce([key[1:] == key[:-1] for key in ranked]))
    tied = np.flatnonzero(same | np.append(same[1:], False))
    # Scores tie rarely: a sort by all keys of the tied rows alone is several times faster.
    if len(tied) and ties:
        rows = order[tied]
        order[tied] = rows[np.lexsort([key[rows] for key in reversed([*keys, *ties])])]
    return order

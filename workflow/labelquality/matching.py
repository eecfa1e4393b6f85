"""Which box of `a` belongs to which box of `b`.

Every matcher works on candidate pairs, so that a whole data set is matched in one call: `ia` and
`ib` (m,) index the boxes of both sides, `similarity` (m,) is their IoU, and only pairs that reach
`threshold` count. All of them return a one-to-one `Matching`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Matching:
    """Pairs (m, 2) of indices into a and b, and the indices of both sides without a partner."""

    pairs: Ints
    unmatched_a: Ints
    unmatched_b: Ints

    @staticmethod
    def of(pairs: ArrayLike, n_a: int, n_b: int) -> Matching:
        """Collect `pairs` in the order in which they were made."""
        array = np.asarray(pairs, dtype=np.intp).reshape(-1, 2)
        free_a, free_b = np.ones(n_a, dtype=bool), np.ones(n_b, dtype=bool)
        free_a[array[:, 0]] = free_b[array[:, 1]] = False
        return Matching(array, np.flatnonzero(free_a), np.flatnonzero(free_b))

    def partner_of_a(self, n_a: int) -> Ints:
        """Index into b for every box of a, -1 without partner; shape (n_a,)."""
        partner = np.full(n_a, -1, dtype=np.intp)
        partner[self.pairs[:, 0]] = self.pairs[:, 1]
        return partner


def same_image_pairs(image_a: NDArray, image_b: NDArray) -> tuple[Ints, Ints]:
    """All index pairs (i, j) with image_a[i] == image_b[j], ordered by i then j.

    `image_a` (n,) and `image_b` (m,) are image ids or codes of one sortable type.
    """
    order = np.argsort(image_b, kind="stable")
    first = np.searchsorted(image_b[order], image_a, side="left")
    counts = np.searchsorted(image_b[order], image_a, side="right") - first
    ia = np.repeat(np.arange(len(image_a)), counts)
    rank = np.arange(len(ia)) - np.repeat(np.cumsum(counts) - counts, counts)
    return ia, order[np.repeat(first, counts) + rank]


def greedy(
    ia: Ints, ib: Ints, similarity: Floats, n_a: int, n_b: int, threshold: float
) -> Matching:
    """Take pairs from the most similar downwards; ties go by index in a, then in b.

    Used between two annotations of the same image (paper 1, section IV).
    """
    keep = np.flatnonzero(similarity >= threshold)
    order = keep[np.lexsort((ib[keep], ia[keep], -similarity[keep]))]
    free_a, free_b = [True] * n_a, [True] * n_b
    pairs = []
    for a, b in zip(ia[order].tolist(), ib[order].tolist(), strict=True):
        if free_a[a] and free_b[b]:
            free_a[a] = free_b[b] = False
            pairs.append((a, b))
    return Matching.of(pairs, n_a, n_b)


def by_score(
    order: Ints, ia: Ints, ib: Ints, similarity: Floats, n_a: int, n_b: int, threshold: float
) -> Matching:
    """Each prediction of a, in the given order, takes the most similar b that is still free.

    `order` (n_a,) lists the indices of a from the first to choose to the last. Ties of similarity
    go to the first b. This is the rule of detection benchmarks: a taken box leaves second choices.
    """
    turns = _turns(order, ia, ib, similarity, n_a, threshold)
    taken = turns[choose(ia[turns], ib[turns], n_b)]
    return Matching.of(np.column_stack([ia[taken], ib[taken]]), n_a, n_b)


def single_candidate(
    order: Ints, ia: Ints, ib: Ints, similarity: Floats, n_a: int, n_b: int, threshold: float
) -> Matching:
    """As `by_score`, but a prediction knows only its most similar b and gets nothing else.

    The rule of paper 1's released evaluator.
    """
    turns = _turns(order, ia, ib, similarity, n_a, threshold)
    taken = turns[choose(ia[turns], ib[turns], n_b, second_choices=False)]
    return Matching.of(np.column_stack([ia[taken], ib[taken]]), n_a, n_b)


def _turns(order: Ints, ia: Ints, ib: Ints, similarity: Floats, n_a: int, threshold: float) -> Ints:
    """Pairs that reach `threshold` in the order of choosing: by turn, then by preference."""
    rank = np.empty(n_a, dtype=np.intp)
    rank[order] = np.arange(n_a)
    keep = np.flatnonzero(similarity >= threshold)
    return keep[np.lexsort((ib[keep], -similarity[keep], rank[ia[keep]]))]


def choose(ia: Ints, ib: Ints, n_b: int, *, second_choices: bool = True) -> Ints:
    """Indices of the pairs (m,) that choosing in turn matches, one to one, ascending.

    All pairs of one a stand together, best first, and the a stand in the order of their turns. Each
    takes its best b that is still free or, without second choices, its best b or nothing.

    Every a proposes, a b keeps the earliest proposer, and the others propose to their next choice
    until nobody is turned away. As all b prefer the earlier turn, the outcome is that of choosing
    one after the other, in a handful of vectorised rounds.
    """
    n_pairs = len(ia)
    if n_pairs == 0:
        return np.zeros(0, dtype=np.intp)
    starts = np.flatnonzero(np.diff(ia, prepend=-1))
    ends = np.append(starts[1:], n_pairs)
    proposal = starts.copy()
    proposing = np.arange(len(starts))
    holder = np.full(n_b, n_pairs, dtype=np.intp)
    while True:
        np.minimum.at(holder, ib[proposal[proposing]], proposal[proposing])
        turned_away = holder[ib[proposal[proposing]]] != proposal[proposing]
        if not second_choices or not turned_away.any():
            return np.sort(holder[holder < n_pairs])
        proposal[proposing[turned_away]] += 1
        proposing = proposing[proposal[proposing] < ends[proposing]]


def optimal(cost: Floats, maximum: float) -> Matching:
    """One-to-one pairs of least total `cost` (n, m) where leaving a pair apart costs `maximum`.

    Pairs whose cost is not below `maximum` stay apart.
    """
    # A third of a second to import, and nearly every stage imports this module.
    from scipy.optimize import linear_sum_assignment

    capped = np.minimum(cost, maximum)
    rows, columns = linear_sum_assignment(capped)
    good = cost[rows, columns] < maximum
    return Matching.of(
        list(zip(rows[good].tolist(), columns[good].tolist(), strict=True)), *cost.shape
    )

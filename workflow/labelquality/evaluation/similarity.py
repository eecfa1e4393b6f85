"""Similarity of predicted and annotated distributions, and its area over recall."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelquality import distributions

Floats = NDArray[np.float64]
SIMILARITIES = ("tv", "cosine", "js")
# Correctly rounded, so that a recall of exactly 35/100 reaches level 35. Ten levels of COCO's
# linspace lie a rounding error higher, and it would miss them.
RECALL_LEVELS: Floats = np.arange(101) / 100


def similarities(p: Floats, q: Floats, *, log_epsilon: float = 0.0) -> Floats:
    """Similarities of `p` and `q` (n, K + 1), in [0, 1]; shape (3, n), rows as SIMILARITIES.

    1 - total variation distance, cosine, and 1 - root Jensen-Shannon divergence with the natural
    logarithm, whose least value is 1 - sqrt(ln 2) = 0.167 (paper 1, C.1).
    """
    if log_epsilon:
        middle = np.log((p + q) / 2 + log_epsilon)
        divergence = (p * (np.log(p + log_epsilon) - middle)).sum(axis=-1) / 2
        divergence += (q * (np.log(q + log_epsilon) - middle)).sum(axis=-1) / 2
        root_js = np.sqrt(np.maximum(divergence, 0.0))
    else:
        root_js = distributions.root_jensen_shannon(p, q)
    return np.stack(
        [
            1.0 - distributions.total_variation(p, q),
            distributions.cosine_similarity(p, q),
            1.0 - root_js,
        ]
    )


def similarities_to_background(p: Floats, *, log_epsilon: float = 0.0) -> Floats:
    """As `similarities`, with the distribution that is certain of background, the last entry.

    Without `log_epsilon` the divergence needs no logarithm of the other entries: with their sum s
    it is (s ln 2 + b ln b) / 2 - m ln m, where b = 1 - s and m = 1 - s / 2.
    """
    rest, last = p[:, :-1].sum(axis=1), p[:, -1]
    norm = np.sqrt(np.einsum("ij,ij->i", p, p))
    if log_epsilon:
        middle = p / 2
        middle[:, -1] += 0.5
        log_middle = np.log(middle + log_epsilon)
        divergence = (p * (np.log(p + log_epsilon) - log_middle)).sum(axis=1)
        divergence = (divergence + np.log(1.0 + log_epsilon) - log_middle[:, -1]) / 2
        root_js = np.sqrt(np.maximum(divergence, 0.0))
    else:
        # log1p keeps the digits of a prediction that is nearly certain of background.
        log_last = np.log1p(-np.minimum(rest, 1.0), where=rest < 1.0, out=np.zeros(len(p)))
        mean = 1.0 - rest / 2
        divergence = (rest * np.log(2.0) + last * log_last) / 2 - mean * np.log1p(-rest / 2)
        root_js = np.sqrt(np.clip(divergence, 0.0, np.log(2.0)))
    total_variation = (rest + (1.0 - last)) / 2
    return np.stack([1.0 - total_variation, last / norm, 1.0 - root_js])


def area_under_curve(
    similarity: Floats,
    matched: NDArray[np.bool_],
    n_objects: int,
    levels: Floats = RECALL_LEVELS,
    copies: NDArray[np.integer] | None = None,
) -> float:
    """Area under the similarity-recall curve, in [0, 1] (paper 1, equations 2 and 3).

    `similarity` and `matched` (n,) stand in the order in which the curve is walked. After k
    predictions, recall is the share of objects matched and the similarity the mean of the first k.
    At each recall level the largest mean at or beyond that recall counts, 0 where it is never
    reached: the interpolation of COCO's AP. With similarity 1 for right and 0 for wrong predictions
    by descending score this is AP. 0 without predictions, NaN without objects.

    `copies` (n,): how often each prediction is there, as one step of the curve; `n_objects` then
    counts the copies of the objects.
    """
    if n_objects == 0:
        return float("nan")
    if len(similarity) == 0:
        return 0.0
    # Recall only moves where a prediction is matched, so a level is first reached there or, for
    # recall 0, at the first prediction.
    at = np.append(0, np.flatnonzero(matched))
    if copies is None:
        running = np.cumsum(similarity) / np.arange(1, len(similarity) + 1)
        recall = np.arange(len(at)) / n_objects
    else:
        running = np.cumsum(similarity * copies) / np.maximum(np.cumsum(copies), 1)
        recall = np.append(0, np.cumsum(copies[matched])) / n_objects
    first = np.searchsorted(recall, levels, side="left")
    starts = at[first[first < len(at)]]
    if len(starts) == 0:
        return 0.0
    best = np.maximum.reduceat(running, starts)
    # reduceat takes an empty segment for its first element, which the later ones cover.
    best = np.maximum.accumulate(best[::-1])
    return float(best.sum() / len(levels))

"""Votes become soft labels, soft labels become hard labels.

Vectors over classes have K + 1 entries: the K classes of the data set, then can't-solve.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from labelquality.tables import Table, make_table

Floats = NDArray[np.float64]


def soft_label(votes: Floats) -> Floats:
    """Relative vote frequencies, (n, K + 1) -> (n, K + 1), each row summing to 1 (paper 1, III).

    Raises ValueError for a row without votes.
    """
    votes = np.asarray(votes, dtype=np.float64)
    totals = votes.sum(axis=-1, keepdims=True)
    if (totals <= 0).any():
        raise ValueError(f"{int((totals <= 0).sum())} objects have no votes")
    return votes / totals


def hard_label(soft: Floats, threshold: float, *, strict: bool = True) -> NDArray[np.int32]:
    """Class of each soft label (n, K + 1), or -1 where there is none; shape (n,).

    The class is the most likely entry, the first one in case of a tie. An object has no hard label
    when that entry is can't-solve (the last) or when its probability does not exceed `threshold`
    (`strict`) or does not reach it (paper 1, section IV, uses p > 0.5).
    """
    if len(soft) == 0:
        return np.zeros(0, dtype=np.int32)
    best = soft.argmax(axis=1)
    probability = soft[np.arange(len(soft)), best]
    sure = probability > threshold if strict else probability >= threshold
    return np.where(sure & (best < soft.shape[1] - 1), best, -1).astype(np.int32)


def validated_annotations(
    soft_labels: Table, threshold: float, *, column: str = "corrected"
) -> Table:
    """The validated ground truth: objects whose hard label is sure, as a table of annotations.

    `column` names the vectors to use (`corrected`, or `soft_label` as in the released hard
    evaluation); the rule is that of `hard_label`, strictly above `threshold`.
    """
    category = hard_label(soft_labels.vectors[column], threshold)
    kept = category >= 0
    objects = soft_labels.take(kept)
    return make_table(
        "annotations",
        {
            "image_id": objects.frame["image_id"],
            "box_id": objects.frame["box_id"],
            "category": category[kept],
            "crowd": False,
            "difficult": False,
            "region": "",
            "annotator": "validated",
        },
        soft_labels.classes,
        boxes=objects.boxes,
    )

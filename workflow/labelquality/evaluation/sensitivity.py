"""How much average similarity depends on what its definition leaves open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pandas as pd

from labelquality.evaluation.average_similarity import evaluate
from labelquality.evaluation.protocols import ORDERINGS, PROTOCOLS, CantSolve, Matching
from labelquality.evaluation.soft_evaluation import SIZES
from labelquality.tables import Table

MATCHINGS: tuple[Matching, ...] = ("greedy", "single_candidate")
CANT_SOLVE: tuple[CantSolve, ...] = ("drop", "keep")
_CHOICES = ["matching", "cant_solve_objects", "ordering"]


def sensitivity(
    calibrated: Table, soft_labels: Table, image_ids: Sequence[str], *, similarity: str = "tv"
) -> pd.DataFrame:
    """Average similarity of all sizes under every matching rule, treatment and ordering.

    The protocol is `defined` but for the choices that a row names: matching (greedy,
    single_candidate), cant_solve_objects (drop, keep), ordering. AS, recall and mean_similarity are
    means over IoU thresholds. recall_x_similarity is the mean product of the last two, the area
    under a curve that stays at the mean similarity up to the final recall: what AS would be in any
    order that does not sort by similarity. share_explained is this product divided by AS.
    """
    frames = []
    for matching, cant_solve in product(MATCHINGS, CANT_SOLVE):
        protocol = replace(PROTOCOLS["defined"], matching=matching, cant_solve_objects=cant_solve)
        rows = evaluate(
            calibrated,
            soft_labels,
            image_ids,
            protocol,
            sizes={"all": SIZES["all"]},
            orderings=ORDERINGS,
        )
        rows = rows[rows["similarity"] == similarity]
        frames.append(rows.assign(matching=matching, cant_solve_objects=cant_solve))
    rows = pd.concat(frames, ignore_index=True)
    rows["recall_x_similarity"] = rows["recall"] * rows["mean_similarity"]
    measures = ["AS", "recall", "mean_similarity", "recall_x_similarity"]
    table = rows.groupby(_CHOICES, sort=False)[measures].mean().reset_index()
    share = table["recall_x_similarity"] / table["AS"].where(table["AS"] > 0)
    return table.assign(share_explained=share)

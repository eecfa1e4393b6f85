"""How well methods find label errors of the literature's kinds, put into a ground truth.

Methods are mostly judged on errors made up like this; paper 1 (section VI) finds real ones to be
harder.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labelquality.error_detection.registry import propose, reason_off
from labelquality.error_detection.scoring import score, unscored
from labelquality.synthetic_errors import inject
from labelquality.tables import Table


def score_on_synthetic(
    detections: Table,
    truth: Table,
    images: Table,
    methods: Sequence[str],
    rates: Sequence[float],
    *,
    iou_threshold: float,
    seed: int,
    candidates: Table | None = None,
    label_losses: Table | None = None,
) -> pd.DataFrame:
    """Scores of `methods` (names) on synthetic errors at each rate: columns errors, method, ...

    `errors` is `synthetic_` and the rate; the other columns are those of `scoring.score`, the
    measures NaN for a method that is switched off. Spawned boxes are not to be found, as
    original-only boxes are not among real errors. `candidates` are the boxes before suppression,
    `label_losses` those of the labels of all rates.
    """
    evidence = {"candidates": candidates, "label_losses": label_losses, "seed": seed}
    rows = []
    for rate in rates:
        injected = inject(truth, images, rate=rate, seed=seed)
        for method in methods:
            proposals = propose(method, detections, injected.annotations, **evidence)
            if reason_off(proposals):
                summary = unscored(injected.errors)
            else:
                summary = score(proposals, injected.errors, iou_threshold=iou_threshold).summary
            rows.append({"errors": f"synthetic_{rate:g}", "method": method} | summary)
    return pd.DataFrame(rows)


def with_real(synthetic: pd.DataFrame, real: pd.DataFrame, n_objects: int) -> pd.DataFrame:
    """Scores on synthetic errors, then on `real` ones (rows of a benchmark, with variant).

    Adds `error_rate`, the errors to be found for each of the `n_objects` of the ground truth.
    """
    rows = pd.concat([synthetic, real.rename(columns={"variant": "errors"})], ignore_index=True)
    return rows.assign(error_rate=rows["n_errors"] / max(n_objects, 1))

"""All methods of one detector on all variants of the label error ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from labelquality.error_detection.scoring import recall_by_kind, score
from labelquality.label_errors import outside_regions, variant
from labelquality.tables import Table


@dataclass(frozen=True)
class Benchmark:
    """`scores`: a row per variant and method; `curves`: their precision-recall points;
    `injected`: recall of injected errors per method and kind, empty where none are known."""

    scores: pd.DataFrame
    curves: pd.DataFrame
    injected: pd.DataFrame


def score_methods(
    proposals: Sequence[Table],
    methods: Sequence[str],
    legt: Table,
    variants: Mapping[str, Mapping[str, Any]],
    *,
    iou_threshold: float,
    injected: Table | None = None,
) -> Benchmark:
    """Score the `proposals` of `methods`, in that order, on the label errors `legt`.

    `variants` maps names to the limits of `label_errors.variant`. `injected` are the errors known
    to be in the data, but for those in regions: `found` and `recall` count them over all proposals,
    `found_at_best_f1` and `recall_at_best_f1` down to the best threshold of the first variant.
    """
    scores, curves, known = [], [], []
    for method, table in zip(methods, proposals, strict=True):
        thresholds = []
        for name, limits in variants.items():
            result = score(table, variant(legt, **limits), iou_threshold=iou_threshold)
            labels = {"variant": name, "method": method}
            scores.append({**labels, **result.summary})
            curves.append(result.curve.assign(**labels))
            thresholds.append(result.summary["best_threshold"])
        if injected is not None:
            errors = outside_regions(injected)
            found = recall_by_kind(table, errors, iou_threshold=iou_threshold)
            best = recall_by_kind(
                table, errors, iou_threshold=iou_threshold, threshold=thresholds[0]
            )
            at_best = {f"{c}_at_best_f1": best[c] for c in ("found", "recall")}
            known.append(found.assign(method=method, **at_best))
    return Benchmark(
        pd.DataFrame(scores),
        pd.concat(curves, ignore_index=True),
        pd.concat(known, ignore_index=True) if known else pd.DataFrame(columns=["method", "kind"]),
    )

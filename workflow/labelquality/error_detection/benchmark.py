"""All methods of one detector on all variants of the label error ground truth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from labelquality.error_detection import bootstrap
from labelquality.error_detection.registry import reason_off
from labelquality.error_detection.review_effort import review_effort
from labelquality.error_detection.scoring import (
    KINDS,
    Ranked,
    Scores,
    rank,
    recall_by_group,
    recall_by_kind,
    score_ranked,
    turning_points,
    unscored,
)
from labelquality.geometry import areas
from labelquality.label_errors import outside_regions, variant
from labelquality.tables import Table

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Benchmark:
    """Frames with the columns variant and method (and those of the function named, if any).

    `scores`: a row each, with 95 % intervals of AP and best F1 over images; `curves`: the points
    of their precision-recall curves that matter; `groups`: recall by kind and size (column `by`)
    of the errors (`recall_by_group`); `effort`: `review_effort`; `differences`: those of each two
    methods (`bootstrap.differences`); `injected`: recall of injected errors per method and kind,
    without variant, empty where none are known.
    """

    scores: pd.DataFrame
    curves: pd.DataFrame
    groups: pd.DataFrame
    effort: pd.DataFrame
    differences: pd.DataFrame
    injected: pd.DataFrame


def score_methods(
    proposals: Sequence[Table],
    methods: Sequence[str],
    legt: Table,
    variants: Mapping[str, Mapping[str, Any]],
    *,
    iou_threshold: float,
    injected: Table | None = None,
    size_limits: Sequence[float] = (32.0**2, 96.0**2),
    n_draws: int = 1000,
    seed: int = 0,
) -> Benchmark:
    """Score the `proposals` of `methods`, in that order, on the label errors `legt`.

    A method that was switched off has rows without measures in `scores`, which say why in the
    column `switched_off`, and none elsewhere.

    `variants` maps names to the limits of `label_errors.variant`. Small errors have a box area
    below the first of `size_limits` (px²), large ones reach the second. `n_draws` are those of the
    images for the intervals. `injected` are the errors known to be in the data, but for those in
    regions: `found` and `recall` count them over all proposals, `found_at_best_f1` and
    `recall_at_best_f1` down to the best threshold of the first variant.
    """
    frames: dict[str, list[pd.DataFrame]] = {
        name: [] for name in ("scores", "curves", "groups", "effort", "differences")
    }
    draws = bootstrap.draw_images(_images(proposals, legt), n_draws, seed)
    off = {m: why for m, t in zip(methods, proposals, strict=True) if (why := reason_off(t))}
    of_method = {m: t for m, t in zip(methods, proposals, strict=True) if m not in off}
    thresholds: dict[str, float] = {}
    for name, limits in variants.items():
        errors = variant(legt, **limits)
        ranked = {
            method: rank(table, errors, iou_threshold=iou_threshold)
            for method, table in of_method.items()
        }
        results = {method: score_ranked(ranking) for method, ranking in ranked.items()}
        parts = _of_variant(ranked, results, size_limits, draws) if ranked else {}
        for part, frame in parts.items():
            frames[part].append(frame.assign(variant=name))
        missing = [{"method": m, "switched_off": why} | unscored(errors) for m, why in off.items()]
        if missing:
            frames["scores"].append(pd.DataFrame(missing).assign(variant=name))
        thresholds = thresholds or {m: r.summary["best_threshold"] for m, r in results.items()}
    known = pd.DataFrame(columns=["method", "kind"])
    if injected is not None and of_method:
        errors = outside_regions(injected)
        known = pd.concat(
            [
                _of_injected(table, errors, iou_threshold, thresholds[method]).assign(method=method)
                for method, table in of_method.items()
            ],
            ignore_index=True,
        )
    nothing = pd.DataFrame(columns=["method", "variant"])
    joined = {
        part: pd.concat(found, ignore_index=True) if found else nothing
        for part, found in frames.items()
    }
    return Benchmark(**joined, injected=known)


def _images(proposals: Sequence[Table], legt: Table) -> pd.Index:
    """The images that are scored, those without any error or proposal included."""
    if legt.image_ids is not None:
        return pd.Index(legt.image_ids)
    columns = [table.frame["image_id"] for table in (legt, *proposals)]
    return pd.Index(np.unique(np.concatenate(columns).astype(object)))


def _of_variant(
    ranked: Mapping[str, Ranked],
    results: Mapping[str, Scores],
    size_limits: Sequence[float],
    draws: bootstrap.Draws,
) -> dict[str, pd.DataFrame]:
    of_draws = {m: bootstrap.scores_of_draws(ranking, draws) for m, ranking in ranked.items()}
    summaries = {method: result.summary for method, result in results.items()}
    scores = [
        {"method": m, **summary, **bootstrap.intervals(of_draws[m])}
        for m, summary in summaries.items()
    ]
    curves = [turning_points(result.curve).assign(method=m) for m, result in results.items()]
    groups = [_groups(ranking, size_limits).assign(method=m) for m, ranking in ranked.items()]
    return {
        "scores": pd.DataFrame(scores),
        "curves": pd.concat(curves),
        "groups": pd.concat(groups),
        "effort": review_effort(results),
        "differences": bootstrap.differences(summaries, of_draws),
    }


def _groups(ranked: Ranked, size_limits: Sequence[float]) -> pd.DataFrame:
    """Recall by kind and by size of the validated box."""
    kind = ranked.errors.frame["kind"].to_numpy(dtype=object)
    size = np.array(SIZES)[np.digitize(areas(ranked.errors.boxes), size_limits)]
    return pd.concat(
        [
            recall_by_group(ranked, kind, KINDS).assign(by="kind"),
            recall_by_group(ranked, size, SIZES).assign(by="size"),
        ]
    )


def _of_injected(
    proposals: Table, errors: Table, iou_threshold: float, threshold: float
) -> pd.DataFrame:
    found = recall_by_kind(proposals, errors, iou_threshold=iou_threshold)
    best = recall_by_kind(proposals, errors, iou_threshold=iou_threshold, threshold=threshold)
    return found.assign(**{f"{c}_at_best_f1": best[c] for c in ("found", "recall")})

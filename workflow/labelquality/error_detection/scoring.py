"""How well label-error proposals find the label error ground truth (paper 1, section VI and D.3).

Proposals are matched one-to-one with label errors of their image, whatever the class: from the best
score downwards, each takes the most overlapping error that is still free, the first one in case of
a tie. Original-only errors take no part, as in the paper: a detector cannot propose a box for
what is not there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.matching import by_score, same_image_pairs
from labelquality.tables import LABEL_ERROR_KINDS, Table, image_codes

Floats = NDArray[np.float64]
KINDS = tuple(kind for kind in LABEL_ERROR_KINDS if kind != "original_only")


@dataclass(frozen=True)
class Scores:
    """`summary`: one number each; `curve`: a row per rank, of which the naive method has one."""

    summary: dict[str, float]
    curve: pd.DataFrame


@dataclass(frozen=True)
class Ranked:
    """Proposals, most suspicious first, and which of the `errors` they find.

    `scores`, `right` and `image_id` (n,) per proposal; `found_at` (m,) is the rank, from 1, of the
    proposal that finds each error, infinite for an error that none finds.
    """

    scores: Floats
    right: NDArray[np.bool_]
    image_id: NDArray[np.object_]
    errors: Table
    found_at: Floats

    @property
    def is_ordered(self) -> bool:
        """Whether the order means anything; proposals without scores (NaN) have none."""
        return not np.isnan(self.scores).any()


def score(
    proposals: Table,
    errors: Table,
    image_ids: Sequence[str] | None = None,
    *,
    iou_threshold: float = 0.1,
) -> Scores:
    """Precision and recall of the proposals of one method, most suspicious first.

    `image_ids` are the images to score on; None takes those that `errors` covers. A proposal is
    right when its match has an IoU of `iou_threshold` or more. Equal scores keep the order of rows.

    The curve has columns rank, threshold (the score at that rank), precision, recall, f1. Proposals
    without scores (NaN) are one operating point, that of reviewing them all, without an AP.

    The summary has n_proposals, n_errors, AP, best_f1, best_precision, best_recall and
    best_threshold. AP is the area under the enveloped curve: precision made non-increasing, summed
    over the steps of recall from 0, not extended past the last. The best point is the first with
    the largest F1 of the curve as it is. Without proposals AP and the best point are 0 and the
    threshold NaN; without errors everything but the counts is NaN.

    Raises DataError when some proposals have a score and some have not, or when they come from
    several methods.
    """
    return score_ranked(rank(proposals, errors, image_ids, iou_threshold=iou_threshold))


def score_ranked(ranked: Ranked) -> Scores:
    """The same for proposals that are ranked and matched already."""
    n_errors = len(ranked.errors)
    curve = _curve(ranked, n_errors)
    if not ranked.is_ordered:
        curve = curve.tail(1).reset_index(drop=True)
    average = average_precision(curve["precision"].to_numpy(), curve["recall"].to_numpy())
    summary: dict[str, float] = {
        "n_proposals": len(ranked.scores),
        "n_errors": n_errors,
        "AP": average if ranked.is_ordered and n_errors else np.nan,
    }
    return Scores(summary | _best_point(curve, n_errors), curve)


def unscored(errors: Table) -> dict[str, float]:
    """Summary of a method that is switched off: the counts, and NaN for everything else."""
    n_errors = int((errors.frame["kind"] != "original_only").sum())
    measures = ("AP", "best_f1", "best_precision", "best_recall", "best_threshold")
    return {"n_proposals": 0, "n_errors": n_errors} | dict.fromkeys(measures, np.nan)


def recall_by_kind(
    proposals: Table,
    errors: Table,
    image_ids: Sequence[str] | None = None,
    *,
    iou_threshold: float = 0.1,
    threshold: float | None = None,
) -> pd.DataFrame:
    """Share of the errors of each kind that the proposals find: columns kind, n, found, recall.

    Matched as in `score`; `threshold` keeps only the proposals with at least this score, and all of
    a method without scores. The recall of a kind without errors is NaN.
    """
    if threshold is not None:
        scores = proposals.frame["score"].to_numpy(dtype=np.float64)
        proposals = proposals.take((scores >= threshold) | np.isnan(scores))
    ranked = rank(proposals, errors, image_ids, iou_threshold=iou_threshold)
    kind = ranked.errors.frame["kind"].to_numpy()
    table = pd.DataFrame({"kind": KINDS})
    table["n"] = [int((kind == k).sum()) for k in KINDS]
    found = np.isfinite(ranked.found_at)
    table["found"] = [int((found & (kind == k)).sum()) for k in KINDS]
    table["recall"] = table["found"] / table["n"]
    return table


def recall_by_group(ranked: Ranked, group: NDArray, names: Sequence[str]) -> pd.DataFrame:
    """Share of the errors of each group that are found, at all and down to the best F1.

    `group` (m,) holds one of `names` for each error. Columns group, n, found, recall,
    found_at_best_f1, recall_at_best_f1; the recall of a group without errors is NaN.
    """
    curve = score_ranked(ranked).curve
    # Without errors or proposals there is no best point, and nothing is found before rank 0.
    known = not curve.empty and len(ranked.errors) > 0
    best = curve["rank"].iloc[int(np.argmax(curve["f1"].to_numpy()))] if known else 0
    table = pd.DataFrame({"group": list(names)})
    table["n"] = [int((group == name).sum()) for name in names]
    for suffix, last in (("", len(ranked.scores)), ("_at_best_f1", best)):
        found = ranked.found_at <= last
        table[f"found{suffix}"] = [int((found & (group == name)).sum()) for name in names]
        table[f"recall{suffix}"] = table[f"found{suffix}"] / table["n"]
    return table


def turning_points(curve: pd.DataFrame) -> pd.DataFrame:
    """The first and the last row of a curve, every hit and the row before it.

    Between two hits recall stands still and precision falls, so a drawing misses nothing.
    """
    hit = np.diff(curve["recall"].to_numpy(), prepend=0.0) > 0
    keep = hit | np.append(hit[1:], True)[: len(hit)]
    keep[:1] = True
    return curve[keep].reset_index(drop=True)


def average_precision(precision: Floats, recall: Floats) -> float:
    """Area under the envelope of a curve with non-decreasing `recall`, both of shape (n,)."""
    envelope = np.maximum.accumulate(precision[::-1])[::-1]
    return float(np.sum(np.diff(recall, prepend=0.0) * envelope))


def rank(
    proposals: Table,
    errors: Table,
    image_ids: Sequence[str] | None = None,
    *,
    iou_threshold: float = 0.1,
) -> Ranked:
    """Order proposals and match them; parameters and errors as in `score`."""
    _check(proposals)
    errors = errors.take((errors.frame["kind"] != "original_only").to_numpy())
    images = errors.image_ids if image_ids is None else image_ids
    if images is not None:
        proposals, errors = (
            table.take(table.frame["image_id"].isin(images).to_numpy())
            for table in (proposals, errors)
        )
    image_id = proposals.frame["image_id"]
    scores = proposals.frame["score"].to_numpy(dtype=np.float64)
    order = np.argsort(-scores, kind="stable")
    ia, ib = same_image_pairs(*image_codes(image_id, errors.frame["image_id"]))
    overlap = iou(proposals.boxes[ia], errors.boxes[ib])
    matching = by_score(order, ia, ib, overlap, len(proposals), len(errors), iou_threshold)
    a, b = matching.pairs.T
    right = np.zeros(len(proposals), dtype=bool)
    right[a] = True
    place = np.empty(len(order))
    place[order] = np.arange(1, len(order) + 1)
    found_at = np.full(len(errors), np.inf)
    found_at[b] = place[a]
    return Ranked(
        scores[order], right[order], image_id.to_numpy(dtype=object)[order], errors, found_at
    )


def _check(proposals: Table) -> None:
    methods = sorted(proposals.frame["method"].unique())
    if len(methods) > 1:
        raise DataError(f"proposals: come from several methods {methods}; score them one by one")
    unscored = int(proposals.frame["score"].isna().sum())
    if 0 < unscored < len(proposals):
        raise DataError(
            f"proposals of {methods[0]}: {unscored} of {len(proposals)} have no score; give one to"
            " all of them or to none"
        )


def _curve(ranked: Ranked, n_errors: int) -> pd.DataFrame:
    place = np.arange(1, len(ranked.right) + 1)
    hits = np.cumsum(ranked.right)
    precision = hits / place
    recall = hits / n_errors if n_errors else np.full(len(place), np.nan)
    with np.errstate(invalid="ignore"):
        f1 = np.where(hits == 0, 0.0 * recall, 2 * precision * recall / (precision + recall))
    return pd.DataFrame(
        {
            "rank": place,
            "threshold": ranked.scores,
            "precision": precision,
            "recall": recall,
            "f1": f1,
        }
    )


def _best_point(curve: pd.DataFrame, n_errors: int) -> dict[str, float]:
    names = {"best_f1": "f1", "best_precision": "precision", "best_recall": "recall"}
    if n_errors == 0:
        return dict.fromkeys([*names, "best_threshold"], np.nan)
    if curve.empty:
        return dict.fromkeys(names, 0.0) | {"best_threshold": np.nan}
    best = curve.iloc[int(np.argmax(curve["f1"].to_numpy()))]
    return {name: float(best[column]) for name, column in names.items()} | {
        "best_threshold": float(best["threshold"])
    }

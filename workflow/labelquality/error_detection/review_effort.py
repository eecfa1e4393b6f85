"""How many boxes a person reviews until most label errors are found."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from labelquality.error_detection.scoring import Scores

RECALLS = (0.5, 0.8, 0.9)
REFERENCE = "naive"


def review_effort(scores: Mapping[str, Scores]) -> pd.DataFrame:
    """Boxes to review for a share of the label errors, and how that compares with chance.

    `scores` are those of each method on one label error ground truth. Columns method, n_proposals,
    n_errors and, for the recalls 0.5, 0.8 and 0.9 (in percent in their names), `boxes_50`, the
    fewest proposals in order of the ranking that reach it, and `effort_50`, those divided by the
    expected number in random order of all false positives, which are the naive method's proposals.
    For the naive method `boxes` is that number itself, rounded up. NaN where a recall is not
    reached, where there are no errors, and for `effort` without the naive method.
    """
    rows = []
    for method, result in scores.items():
        counts = {name: result.summary[name] for name in ("n_proposals", "n_errors")}
        needed = {r: boxes_to_review(result, r) for r in RECALLS}
        boxes = {f"boxes_{100 * r:.0f}": np.ceil(n) for r, n in needed.items()}
        chance = {r: _in_random_order(scores.get(REFERENCE), r) for r in RECALLS}
        effort = {f"effort_{100 * r:.0f}": n / chance[r] for r, n in needed.items()}
        rows.append({"method": method} | counts | boxes | effort)
    return pd.DataFrame(rows)


def boxes_to_review(result: Scores, recall: float) -> float:
    """Fewest proposals that reach `recall`; expected in random order for unranked ones."""
    if np.isnan(result.summary["AP"]):
        return _in_random_order(result, recall)
    reached = result.curve.loc[_found(result) >= _needed(result, recall), "rank"]
    return float(reached.iloc[0]) if len(reached) and result.summary["n_errors"] else np.nan


def _in_random_order(result: Scores | None, recall: float) -> float:
    """Expected place of the last hit that is needed among N proposals with H hits.

    The k-th of H hits stands on average at k (N + 1) / (H + 1) (negative hypergeometric).
    """
    if result is None or result.curve.empty or not result.summary["n_errors"]:
        return np.nan
    hits, needed = _found(result).iloc[-1], _needed(result, recall)
    return needed * (result.summary["n_proposals"] + 1) / (hits + 1) if hits >= needed else np.nan


def _found(result: Scores) -> pd.Series:
    """Errors found down to each row of the curve."""
    return (result.curve["recall"] * result.summary["n_errors"]).round()


def _needed(result: Scores, recall: float) -> float:
    # Rounded first: 0.9 * 10 is a little above 9.
    return float(np.ceil(np.round(recall * result.summary["n_errors"], 9)))

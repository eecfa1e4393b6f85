"""The tables of human review: false negatives, original-only boxes, duplicates.

`published` holds config/published/human_review.csv, or is None. The values of a data set that is
not in the run are there with the status `data missing`, unless none of the run's data sets has any.
"""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd

from labelquality.human_review.false_negatives import EXTENDED, ORIGINAL, VALIDATED
from labelquality.report.rows import beside, select, with_whole_numbers

CELL = ("published", "deviation", "status")
REVIEWED = ("reviewed_images", "visible_objects")
DECIDED = ("original_only", "accepted", "rejected", "undecided")
ADDED = ("original", "validated", "awaiting_votes", "no_majority", "added", EXTENDED)
GAINS = {"validated": "validated_gain", EXTENDED: f"{EXTENDED}_gain"}
COUNTED = {*REVIEWED, "missing", *DECIDED, *ADDED}


def false_negative_rates(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 3: false negative rate of the original and of the validated ground truth."""
    return _rates(rows, published, (ORIGINAL, VALIDATED))


def false_negative_rates_with_original_only(
    rows: pd.DataFrame, published: pd.DataFrame | None = None
) -> pd.DataFrame:
    """Table 31: false negative rate of the validated ground truth, with and without additions."""
    if len(rows):
        reviewed = rows.loc[rows["ground_truth"] == EXTENDED, "dataset"]
        rows = rows[rows["dataset"].isin(reviewed)]
    return _rates(rows, published, (VALIDATED, EXTENDED))


def _rates(
    rows: pd.DataFrame, published: pd.DataFrame | None, ground_truths: Sequence[str]
) -> pd.DataFrame:
    keys, rate = ("dataset", "ground_truth"), "false_negative_rate"
    columns = (*keys, rate, "low", "high", *CELL)
    if rows.empty:
        return select(rows, columns)
    ours = rows[rows["ground_truth"].isin(ground_truths)].rename(columns={"rate": rate})
    known = _known(published, ours, [rate])
    known = known if known is None else known[known["ground_truth"].isin(ground_truths)]
    return select(beside(ours, known, keys, rate), columns)


def false_negatives(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 20: what was reviewed, what each ground truth lacks, and by how much less.

    From `false_negatives.counts` with dataset.
    """
    keys = ("dataset", "ground_truth", "quantity")
    if rows.empty:
        return select(rows, (*keys, "ours", *CELL))
    rows = rows[rows["ground_truth"] != EXTENDED].rename(
        columns={"images": REVIEWED[0], "objects": REVIEWED[1], "rate": "false_negative_rate"}
    )
    both = rows[rows["ground_truth"] == ORIGINAL].assign(ground_truth="")
    less = rows[rows["ground_truth"] == VALIDATED]
    measures = ["missing", "false_negative_rate"]
    ours = pd.concat(
        [
            _cells(both, keys, REVIEWED),
            _cells(rows, keys, measures),
            _cells(less, keys, ["reduction"]),
        ]
    )
    known = _known(published, ours, [*REVIEWED, *measures, "reduction"])
    if known is not None:
        known = known[known["ground_truth"] != EXTENDED]
    return _table(beside(ours, known, keys, "ours"), (*keys, "ours", *CELL))


def original_only_review(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 29: original-only boxes that people accepted and rejected.

    From `original_only.summary` with dataset and split.
    """
    keys = ("dataset", "split", "quantity")
    columns = (*keys, "ours", "low", "high", *CELL)
    if rows.empty:
        return select(rows, columns)
    rate = rows.rename(columns={"rate": "acceptance_rate"})
    bounds = rate[["dataset", "split", "low", "high"]].assign(quantity="acceptance_rate")
    quantities = [*DECIDED, "acceptance_rate"]
    ours = _cells(rate, keys, quantities).merge(bounds, on=list(keys), how="left")
    return _table(beside(ours, _known(published, ours, quantities), keys, "ours"), columns)


def original_only_added(rows: pd.DataFrame, published: pd.DataFrame | None = None) -> pd.DataFrame:
    """Table 30: objects of the original, the validated, and the validated with what was added."""
    keys = ("dataset", "split", "quantity")
    columns = (*keys, "ours", *CELL)
    if rows.empty:
        return select(rows, columns)
    quantities = [q for name in ADDED for q in (name, GAINS.get(name)) if q]
    ours = _cells(rows, keys, quantities)
    return _table(beside(ours, _known(published, ours, quantities), keys, "ours"), columns)


def duplicate_rates(rows: pd.DataFrame) -> pd.DataFrame:
    """Duplicates among the reviewed pairs by IoU, from `duplicates.rates` with dataset."""
    counts = ("pairs", "reviewed", "duplicates")
    rows = rows.rename(columns={"rate": "duplicate_rate"})
    keys = ("dataset", "classes", "iou_from", "iou_to")
    return select(rows, (*keys, *counts, "duplicate_rate", "low", "high"))


def _cells(rows: pd.DataFrame, keys: Sequence[str], quantities: Sequence[str]) -> pd.DataFrame:
    """One row for each quantity, its value in the column `ours`."""
    return rows.melt([key for key in keys if key in rows], list(quantities), "quantity", "ours")


def _known(
    published: pd.DataFrame | None, ours: pd.DataFrame, quantities: Sequence[str]
) -> pd.DataFrame | None:
    """The published values of these quantities, None where they speak of none of our data sets."""
    if published is None or not published["dataset"].isin(ours["dataset"]).any():
        return None
    return published[published["quantity"].isin(quantities)]


def _table(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """The columns, in which counts are whole numbers though rates stand below them."""
    return select(with_whole_numbers(rows, rows["quantity"].isin(COUNTED)), columns)

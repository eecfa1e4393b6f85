"""Our figures beside those that paper 1 published, for the data sets and detectors that it has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from labelquality.frames import read_csv
from labelquality.report.rows import beside
from labelquality.report.tables import PRECISIONS, RECALLS

KEYS = ("dataset", "detector", "ground_truth", "quantity")
GROUND_TRUTHS = {
    "orig_gt": "original",
    "ours_0.5": "validated_0.5",
    "ours_0.8": "validated_0.8",
}
CALIBRATION_ERRORS = {
    "ECE_raw": "ece_raw",
    "ECE_platt_scaling": "ece_platt",
    "ECE_isotonic_regression": "ece_isotonic",
}
SOFT = {
    "paper_AS": "AS",
    "paper_AS50": "AS_50",
    "paper_AS75": "AS_75",
    "paper_AS_S": "AS_small",
    "paper_AS_M": "AS_medium",
    "paper_AS_L": "AS_large",
    "paper_TVD": "TVD",
    "paper_TVD_TP": "TVD_matched",
    "paper_sqrtJS": "root_JSD",
    "paper_sqrtJS_TP": "root_JSD_matched",
}
# The paper prints one decimal of a per cent.
_DECIMALS = 3


def published_values(folder: Path) -> pd.DataFrame:
    """Columns KEYS, `published`, `decimals`, by our names; only precisions have a `ground_truth`.

    `folder` holds average_precision.csv, calibration_error.csv, average_similarity.csv as they were
    published, and names.csv. What has no name there is left out.
    """
    precision = read_csv(folder / "average_precision.csv")
    precision["ground_truth"] = [
        GROUND_TRUTHS.get(gt.removeprefix(f"{dataset}_"))
        for dataset, gt in zip(precision["dataset"], precision["gt"], strict=True)
    ]
    errors = read_csv(folder / "calibration_error.csv").rename(columns=CALIBRATION_ERRORS)
    soft = read_csv(folder / "average_similarity.csv")
    soft = soft[soft["quantity"].isin(SOFT)].assign(quantity=soft["quantity"].map(SOFT))
    rows = pd.concat(
        [
            _long(precision.rename(columns={"model": "detector"}), [*PRECISIONS, *RECALLS]),
            _long(errors.rename(columns={"model": "detector"}), list(CALIBRATION_ERRORS.values())),
            soft.rename(columns={"model": "detector"}),
        ],
        ignore_index=True,
    ).rename(columns={"value": "published"})
    names = read_csv(folder / "names.csv")
    for kind in ("dataset", "detector"):
        of_kind = names[names["kind"] == kind]
        rows[kind] = rows[kind].map(dict(zip(of_kind["published"], of_kind["name"], strict=True)))
    known = rows.dropna(subset=["dataset", "detector"]).assign(decimals=_DECIMALS)
    columns = [*KEYS, "published", "decimals"]
    return known[columns].drop_duplicates(list(KEYS), ignore_index=True)


def _long(rows: pd.DataFrame, measures: list[str]) -> pd.DataFrame:
    keys = [c for c in ("protocol", "dataset", "detector", "ground_truth") if c in rows]
    return rows.melt(keys, measures, "quantity", "value")


def comparison(leaves: Mapping[str, pd.DataFrame], published: pd.DataFrame) -> pd.DataFrame:
    """Our values with their published counterparts, one row per value of ours that has one.

    `leaves`: the tables average_precision (7), calibration_error (42) and soft_evaluation (8);
    `published` as from `published_values`. Columns protocol (soft evaluation only), KEYS, ours,
    published, deviation, status (see `beside`).
    """
    errors = leaves["calibration_error"]
    parts = [
        _long(leaves["average_precision"], [*PRECISIONS, *RECALLS]),
        _long(errors[errors["binning"] == "equal_width"], list(CALIBRATION_ERRORS.values())),
        _long(leaves["soft_evaluation"], list(SOFT.values())),
    ]
    ours = pd.concat(parts, ignore_index=True).rename(columns={"value": "ours"})
    ours = ours.reindex(columns=["protocol", *KEYS, "ours"])
    both = beside(ours, published, KEYS, "ours")
    return both.dropna(subset=["ours", "published"], ignore_index=True)

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from labelquality.report import tables
from labelquality.report.published import KEYS, comparison, published_values


@pytest.fixture(scope="module")
def published(repository: Path) -> pd.DataFrame:
    return published_values(repository / "config" / "published")


def test_published_values_have_our_names(published: pd.DataFrame) -> None:
    assert set(published["dataset"]) == {"coco", "voc", "kitti", "cityscapes"}
    assert not published.duplicated(list(KEYS)).any()
    assert published["published"].notna().all()
    at = published[(published["dataset"] == "coco") & (published["detector"] == "yolov8l")]
    values = {
        (gt, quantity): value
        for _, _, gt, quantity, value, _ in at.fillna({"ground_truth": ""}).itertuples(index=False)
    }
    assert values["original", "AP"] == pytest.approx(0.5168, abs=5e-5)
    assert values["", "AS"] == 0.4664
    assert values["", "AS_small"] == 0.3032
    assert values["", "TVD_matched"] == 0.3312
    assert len(values) == 3 * 12 + 3 + 10


def test_the_detectors_named_are_shipped(repository: Path, published: pd.DataFrame) -> None:
    shipped = {path.stem for path in (repository / "config" / "detectors").glob("*.yaml")}
    assert set(published["detector"]) <= shipped


def test_only_what_was_published_is_compared(tmp_path: Path, published: pd.DataFrame) -> None:
    who = {"dataset": ["coco", "mine"], "detector": "yolov8l"}
    leaves = {
        "average_precision": pd.DataFrame(
            {**who, "ground_truth": "original"}
            | dict.fromkeys([*tables.PRECISIONS, *tables.RECALLS], 0.5)
        ),
        "calibration_error": pd.DataFrame(
            who | {"binning": "equal_width", "ece_raw": 0.1, "ece_platt": 0.1, "ece_isotonic": 0.1}
        ),
        "soft_evaluation": pd.DataFrame(
            {"protocol": "released", **who}
            | dict.fromkeys([*tables.SIMILARITIES, *tables.DISTANCES], 0.5)
        ),
    }
    rows = comparison(leaves, published)
    assert set(rows["dataset"]) == {"coco"}
    assert len(rows) == 12 + 3 + 10
    row = rows[rows["quantity"] == "AS"].iloc[0]
    assert row["protocol"] == "released"
    assert row["deviation"] == pytest.approx(0.5 - 0.4664, abs=1e-12)
    assert row["status"] == "differs"
    tables.write_leaf("ours/published_comparison", rows, tmp_path / "leaf", title="Ours")
    assert (tmp_path / "leaf.csv").read_text(encoding="utf-8").count("\n") == 1 + len(rows)

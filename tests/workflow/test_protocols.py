"""What the protocols `defined` and `released` are run on."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from labelquality.frames import read_csv
from labelquality.tables import read_table

pytestmark = pytest.mark.workflow


def test_a_detector_whose_released_calibration_was_broken_has_one_for_that_protocol(
    clone: Path, own_data: Path, engine
) -> None:
    settings = yaml.safe_load((clone / "given.yaml").read_text(encoding="utf-8"))
    settings["released_label_shift"] = 1
    (clone / "given.yaml").write_text(yaml.safe_dump(settings), encoding="utf-8")
    results = clone / "results" / "mine"
    of_protocol = {
        "defined": results / "calibration/mine/given",
        "released": results / "calibration/mine/given/released",
    }
    targets = [f"results/mine/evaluation/{name}/mine/given/summary.csv" for name in of_protocol]
    run = engine(clone, *targets, "--cores", "2", "--configfile", "run.yaml")
    assert run.returncode == 0, run.stdout[-5000:]
    detections = read_table(results / "detections/mine/given/detections.parquet", "detections")
    category = detections.frame["category"]
    judged = {"defined": len(category), "released": (category + 1 < len(detections.classes)).sum()}
    assert judged["released"] < judged["defined"]
    believed = {}
    for name, folder in of_protocol.items():
        assert (read_csv(folder / "ece.csv")["n"] == judged[name]).all()
        table = read_table(folder / "calibrated.parquet", "calibrated")
        believed[name] = table.frame["calibrated_score"].mean()
    # Every detection is right, and hardly any is of the class after its own.
    assert believed["defined"] > 0.9
    assert believed["released"] < 0.5

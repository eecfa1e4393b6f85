"""Tables of counts beside the published ones, for data sets that bear the papers' names."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from labelquality.frames import read_csv

pytestmark = pytest.mark.workflow
TABLES = "results/mine/tables"


@pytest.fixture
def parts(clone: Path, own_data: Path) -> Path:
    """A run whose data set is called voc, with a training part of which only labels are read."""
    mine = yaml.safe_load((clone / "mine.yaml").read_text(encoding="utf-8"))
    for name, split in {"voc": "val", "voc_train": "train"}.items():
        spec = mine | {"name": name, "split": split}
        (clone / f"{name}.yaml").write_text(yaml.safe_dump(spec), encoding="utf-8")
    run = {"run": "mine", "datasets": ["voc.yaml"], "labels_only": ["voc_train.yaml"]}
    text = yaml.safe_dump(run | {"detectors": ["given.yaml"]})
    (clone / "run.yaml").write_text(text, encoding="utf-8")
    return clone


def test_counts_stand_beside_the_published_ones(parts: Path, engine) -> None:
    tables = {
        "paper1/table_02_object_counts",
        "paper1/table_04_label_errors",
        "paper1/table_12_objects_by_class_voc",
        "paper1/table_27_label_errors_voc_train",
    }
    targets = [f"{TABLES}/{name}.csv" for name in sorted(tables)]
    run = engine(parts, *targets, "--cores", "1", "--configfile", "run.yaml")
    assert run.returncode == 0, run.stdout[-5000:]
    counts, errors, classes, train = (read_csv(parts / target) for target in targets)

    of_voc = counts[counts["dataset"] == "voc"]
    assert set(of_voc["status"]) == {"differs"}
    sums = of_voc[of_voc["quantity"] == "original"].set_index("split")["ours"]
    assert sums["train+val"] == sums["train"] + sums["val"] == 2 * sums["val"]
    assert set(counts["status"][counts["dataset"] != "voc"]) == {"data missing"}

    assert {"coco", "kitti", "cityscapes"} < set(errors["dataset"])
    assert set(classes["dataset"]) == {"voc"}
    assert classes["status"].isin(["differs", "data missing"]).sum() > 6
    assert set(train["split"]) == {"train"}
    status = train[train["protocol"] != "defined"].set_index("published")["status"].dropna()
    # The demo counts other heights than 40 px.
    assert status.to_dict() == {1835: "differs", 1120: "differs", 29: "differs", 569: "differs"} | {
        597: "data missing"
    }


def test_no_detector_is_run_where_only_labels_are_examined(parts: Path, engine) -> None:
    run = engine(parts, "--summary", "--configfile", "run.yaml")
    made = [line.split("\t")[0] for line in run.stdout.splitlines() if "results/mine" in line]
    of_train = {path.split("/")[2] for path in made if "voc_train" in path}
    assert {"data", "label_errors"} <= of_train
    assert not of_train & {"detections", "calibration", "evaluation", "error_detection"}
    assert not [
        path for path in made if "voc_train/shards" in path or "voc_train/images_in" in path
    ]

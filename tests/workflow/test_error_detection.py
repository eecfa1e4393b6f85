"""Which detectors take part in label error detection, and what is kept for its methods."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from labelquality.frames import read_csv

pytestmark = pytest.mark.workflow
Engine = Callable[..., object]


def outputs(run: object) -> list[str]:
    lines = [line.split() for line in run.stdout.splitlines()]
    return [path.rstrip(",") for words in lines if words[:1] == ["output:"] for path in words[1:]]


@pytest.fixture
def another(clone: Path) -> Path:
    """A detector that is used for label error detection alone."""
    spec = yaml.safe_load((clone / "config/detectors/rtdetr_scenes.yaml").read_text("utf-8"))
    spec |= {"name": "another", "used_for": ["error_detection"]}
    path = clone / "another.yaml"
    path.write_text(yaml.safe_dump(spec), encoding="utf-8")
    return path


def test_a_detector_for_label_errors_is_neither_calibrated_nor_evaluated(
    clone: Path, another: Path, engine: Engine
) -> None:
    run = engine(clone, "leaves", "-n", "--config", "detectors=[yolov8_scenes, another.yaml]")
    assert run.returncode == 0, run.stdout[-3000:]
    of_stage = {
        name: {p.split("/")[2] for p in outputs(run) if f"/{name}" in p}
        for name in ("yolov8_scenes", "another")
    }
    assert of_stage["another"] == {"detections", "error_detection"}
    assert of_stage["yolov8_scenes"] >= {"calibration", "evaluation", "error_detection"}


def test_without_any_detector_to_evaluate_its_tables_and_figures_are_left_out(
    clone: Path, another: Path, engine: Engine
) -> None:
    run = engine(clone, "leaves", "-n", "--config", "detectors=[another.yaml]")
    assert run.returncode == 0, run.stdout[-3000:]
    made = {path.split("/")[-1] for path in outputs(run)}
    assert "table_09_label_error_detection.csv" in made
    assert not made & {"table_07_average_precision.csv", "fig_04_ap_vs_as.svg"}


@pytest.mark.parametrize(("methods", "kept"), [("score", False), ("score,metadetect", True)])
def test_boxes_before_suppression_are_kept_where_a_method_needs_them(
    clone: Path, engine: Engine, methods: str, kept: bool
) -> None:
    options = f"error_detection={{methods: [{methods}]}}"
    run = engine(clone, "leaves", "-n", "--config", "detectors=[yolov8_scenes]", options)
    assert run.returncode == 0, run.stdout[-3000:]
    candidates = [path for path in outputs(run) if "candidates" in path]
    folder = "results/demo/detections/scenes/yolov8_scenes/candidates"
    assert sorted(candidates) == (
        [f"{folder}.parquet", *(f"{folder}/shards/{shard}.parquet" for shard in (0, 1))]
        if kept
        else []
    )


@pytest.mark.parametrize(("methods", "told"), [("score", False), ("score,loss_inspection", True)])
def test_two_stage_detectors_tell_losses_where_a_method_needs_them(
    clone: Path, engine: Engine, methods: str, told: bool
) -> None:
    options = f"error_detection={{methods: [{methods}]}}"
    detectors = "detectors=[yolov8_scenes, cascade_rcnn_scenes]"
    run = engine(clone, "leaves", "-n", "--config", detectors, options)
    assert run.returncode == 0, run.stdout[-3000:]
    folder = "results/demo/detections/scenes/cascade_rcnn_scenes/label_losses"
    assert sorted(path for path in outputs(run) if "losses" in path) == (
        [
            f"{folder}/{labels}/shards/{shard}.parquet"
            for labels in ("original", "synthetic")
            for shard in (0, 1)
        ]
        if told
        else []
    )
    assert any("synthetic_labels" in path for path in outputs(run)) == told


def test_metadetect_orders_better_than_chance(demo: Path) -> None:
    rows = read_csv(demo / "results/demo/tables/paper1/table_09_label_error_detection.csv")
    keys = ["detector", "variant"]
    found = rows[rows["method"] == "metadetect"].set_index(keys)["AP"]
    chance = rows[rows["method"] == "naive"].set_index(keys)["best_precision"]
    assert len(found) == len(chance) >= 8
    assert (found > 2 * chance).all()

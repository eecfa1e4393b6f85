"""What reruns when something changes, on a finished demo (rules/README.md lists the same rows)."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path

import pytest

pytestmark = pytest.mark.workflow
RAW = "results/demo/data/scenes/raw"
INFERENCE = {"shard_images", "detect", "gather_detections"}


@pytest.fixture
def finished(demo: Path, tmp_path: Path) -> Path:
    """A copy of the finished demo, with the times of its files."""
    return Path(shutil.copytree(demo, tmp_path / "finished"))


def planned(engine, folder: Path) -> dict[str, int]:
    """Number of jobs that a run would take, by rule, the target `all` left out."""
    run = engine(folder, "--dry-run", "--quiet", "rules")
    assert run.returncode == 0, run.stdout[-3000:]
    table = run.stdout.partition("Job stats:")[2]
    jobs = {name: int(n) for name, n in re.findall(r"^(\w+) +(\d+)$", table, re.MULTILINE)}
    assert bool(jobs) != ("Nothing to be done" in run.stdout)
    return {name: n for name, n in jobs.items() if name not in ("all", "total")}


def remake_data(engine, folder: Path) -> None:
    """The first of the two phases: the tables of the data sets."""
    run = engine(folder, "data", "--cores", "2")
    assert run.returncode == 0, run.stdout[-3000:]


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def test_nothing_after_files_are_touched_or_checked_out_anew(finished: Path, engine) -> None:
    assert planned(engine, finished) == {}
    for folder in ("config", "envs", "rules", "workflow", "results/demo/data"):
        for path in (finished / folder).rglob("*.*"):
            if path.is_file() and "images" not in path.parts:
                os.utime(path)
    assert planned(engine, finished) == {}


def test_a_changed_soft_label_reruns_neither_inference_nor_calibration(
    finished: Path, engine
) -> None:
    path = finished / RAW / "soft_scenes_val.json"
    number = re.search(r'"bbox":\s*\[\s*(\d+)', path.read_text(encoding="utf-8"))
    assert number
    edit(path, number[0], number[0].replace(number[1], str(int(number[1]) + 1)))
    jobs = planned(engine, finished)
    assert {"read_reannotation", "average_similarity", "build_legt", "report"} <= set(jobs)
    unaffected = {"generate_scenes", "read_dataset", "read_truth", "calibrate", "propose"}
    assert not set(jobs) & (INFERENCE | unaffected)


def test_a_decision_about_duplicates_reruns_what_a_changed_soft_label_does(
    finished: Path, engine
) -> None:
    edit(finished / RAW / "duplicate_decisions_val.csv", "duplicate,", "duplicate ,")
    jobs = planned(engine, finished)
    assert {"merge_duplicates", "correct_soft_labels", "build_legt", "report"} <= set(jobs)
    unaffected = {"generate_scenes", "read_dataset", "read_reannotation", "calibrate", "propose"}
    assert not set(jobs) & (INFERENCE | unaffected)


def test_other_reviews_rerun_their_own_tables(finished: Path, engine) -> None:
    edit(finished / RAW / "original_only_votes_val.csv", "accepted", "rejected")
    jobs = set(planned(engine, finished))
    assert {"review_original_only", "count_false_negatives", "report"} <= jobs
    assert not jobs & {"build_legt", "correct_soft_labels", "read_dataset", *INFERENCE}


def test_a_review_that_is_taken_away_changes_nothing_before_it(finished: Path, engine) -> None:
    edit(finished / "config/datasets/scenes.yaml", "  false_negative_review:", "  #")
    assert set(planned(engine, finished)) == {"report", "run_time"}


def test_a_changed_annotation_reruns_calibration_but_no_inference(finished: Path, engine) -> None:
    path = finished / RAW / "instances_val.json"
    box = re.search(r'"bbox":\s*\[[^]]*?([\d.]+)\]', path.read_text(encoding="utf-8"))
    assert box
    edit(path, box[0], box[0].replace(f"{box[1]}]", f"{float(box[1]) - 0.5}]"))
    remake_data(engine, finished)
    jobs = planned(engine, finished)
    assert {"calibrate", "average_precision", "build_legt", "propose", "report"} <= set(jobs)
    assert not set(jobs) & INFERENCE


def test_a_change_of_metadata_stops_at_the_tables(finished: Path, engine) -> None:
    path = finished / RAW / "instances_val.json"
    edit(path, '"info":', '"remark": "only metadata", "info":')
    assert "detect" in planned(engine, finished)
    remake_data(engine, finished)
    assert planned(engine, finished) == {}


def test_a_threshold_reruns_its_users(finished: Path, engine) -> None:
    edit(finished / "config/config.yaml", "iou_threshold: 0.1", "iou_threshold: 0.2")
    jobs = planned(engine, finished)
    assert {"score_proposals", "write_table_09_label_error_detection", "report"} <= set(jobs)
    assert not set(jobs) & {"propose", "build_legt", "calibrate", "average_precision", *INFERENCE}


def test_a_formula_reruns_the_stages_that_use_it(finished: Path, engine) -> None:
    module = finished / "workflow/labelquality/label_errors.py"
    edit(module, "match_iou: float = 0.5", "match_iou: float = 0.6")
    jobs = planned(engine, finished)
    assert {"build_legt", "compare_legt_with_truth", "score_proposals", "report"} <= set(jobs)
    others = {"calibrate", "average_precision", "average_similarity", "read_dataset"}
    assert not set(jobs) & (others | INFERENCE)


def test_a_comment_reruns_nothing(finished: Path, engine) -> None:
    module = finished / "workflow/labelquality/geometry.py"
    module.write_text(module.read_text(encoding="utf-8") + "# a remark\n", encoding="utf-8")
    assert planned(engine, finished) == {}


def test_a_new_image_is_inferred_alone_with_its_shard(finished: Path, engine) -> None:
    edit(finished / "config/datasets/scenes.yaml", "images: 200", "images: 201")
    remake_data(engine, finished)
    jobs = planned(engine, finished)
    assert jobs["detect"] == jobs["gather_detections"] == 5


def test_new_weights_rerun_their_detector(finished: Path, engine) -> None:
    path = finished / "workflow/resources/detectors/owlvit_scenes/training.json"
    path.write_text(path.read_text(encoding="utf-8") + "\n", encoding="utf-8")
    jobs = planned(engine, finished)
    assert (jobs["detect"], jobs["calibrate"]) == (2, 1)


def test_a_caption_reruns_the_report_alone(finished: Path, engine) -> None:
    caption = finished / "workflow/report/table_07_average_precision.rst"
    caption.write_text(caption.read_text(encoding="utf-8") + "\nA remark.\n", encoding="utf-8")
    assert planned(engine, finished) == {"report": 1}


def test_an_environment_file_counts_only_where_environments_are_deployed(
    finished: Path, engine
) -> None:
    edit(finished / "envs/analysis.yaml", "tqdm==", "tqdm>=")
    assert planned(engine, finished) == {}


def test_the_plan_does_not_depend_on_hash_seeds(
    finished: Path, engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in ("1", "2"):
        monkeypatch.setenv("PYTHONHASHSEED", seed)
        assert planned(engine, finished) == {}

"""The rules as text, and what a user sees who gets something wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from labelquality.frames import read_csv

pytestmark = pytest.mark.workflow
PARTS = ("input", "output", "log", "benchmark", "params", "threads", "resources", "conda")
WITHOUT_INPUT = {"download_file", "generate_scenes", "training_scenes"}


def rules(repository: Path) -> dict[str, str]:
    """Text of every rule, those of loops included, without its indentation."""
    found = {}
    for path in sorted(repository.glob("rules/*.smk")):
        text = path.read_text(encoding="utf-8")
        for indent, name, body in re.findall(
            r"^( *)rule ?(\w*):\n((?:\1[ \t]+.*\n|\n)+)", text, re.MULTILINE
        ):
            found[name or path.stem] = re.sub(f"^{indent}", "", body, flags=re.MULTILINE)
    return found


def test_every_rule_states_all_that_it_needs(repository: Path) -> None:
    for name, body in rules(repository).items():
        assert re.match(r'    """[^"]+"""\n', body), f"{name} has no docstring"
        if not re.search(r"^    (script|shell):", body, re.MULTILINE):
            continue
        parts = set(re.findall(r"^    (\w+):", body, re.MULTILINE))
        missing = set(PARTS) - parts - ({"input"} if name in WITHOUT_INPUT else set())
        assert not missing, f"{name} lacks {sorted(missing)}"


def test_no_rule_starts_an_engine_or_retries_by_itself(repository: Path) -> None:
    for name, body in rules(repository).items():
        assert not re.search(r"^    (run|retries):", body, re.MULTILINE), name


def test_every_job_states_memory_and_time_and_only_inference_a_gpu(repository: Path) -> None:
    for name, body in rules(repository).items():
        if not re.search(r"^    (script|shell):", body, re.MULTILINE):
            continue
        assert re.search(r"^ +mem_mb=\d+,$", body, re.MULTILINE), name
        assert re.search(r"^ +runtime=\d+,$", body, re.MULTILINE), name
        asks = "gpu=" in body
        assert asks == ("detectors.yaml" in body and name != "train_detector"), name


def test_a_wrong_configuration_is_one_line(clone: Path, engine) -> None:
    run = engine(clone, "--dry-run", "--config", "shards=none")
    assert run.returncode == 1
    assert "configuration: shards: 'none' is not of type 'integer'" in run.stdout
    assert "Traceback" not in run.stdout


def planned(output: str, rule: str) -> int:
    """Jobs of a rule in the list of a dry run."""
    return sum(int(n) for n in re.findall(rf"^{rule} +(\d+)$", output, re.MULTILINE)[:1])


def test_what_a_run_of_the_papers_cannot_have_switches_off_only_itself(clone: Path, engine) -> None:
    options = ("--dry-run", "--configfile", "config/papers.yaml")
    run = engine(clone, *options)
    assert run.returncode == 0, run.stdout[-3000:]
    assert (
        "cityscapes is left out of this run: data/cityscapes/gtFine_trainvaltest.zip" in run.stdout
    )
    assert "yolov8l is not run on voc: it does not know aeroplane, motorbike" in run.stdout
    assert planned(run.stdout, "write_table_40_average_precision_kitti") == 1
    assert "table_41_average_precision_cityscapes" not in run.stdout
    assert not re.search(r"detections/voc/yolov8l/", run.stdout)

    for name in ("gtFine/val", "gtFine/train", "leftImg8bit/val", "leftImg8bit/train"):
        (clone / "data/cityscapes" / name).mkdir(parents=True)
    run = engine(clone, *options)
    assert run.returncode == 0, run.stdout[-3000:]
    assert planned(run.stdout, "write_table_41_average_precision_cityscapes") == 1


def test_data_and_detections_of_ones_own_run_to_the_report(
    clone: Path, own_data: Path, engine
) -> None:
    run = engine(clone, "--cores", "2", "--configfile", "run.yaml")
    assert run.returncode == 0, run.stdout[-5000:]
    assert (clone / "results/mine/report.html").is_file()
    assert not (clone / "results/mine/tables/ours/label_errors_against_truth.csv").exists()
    # Imported detections come without the boxes before suppression.
    rows = read_csv(clone / "results/mine/tables/paper1/table_09_label_error_detection.csv")
    off = rows.set_index("method")["switched_off"]
    assert off["metadetect"].str.startswith("needs the boxes before suppression").all()
    assert off["score"].isna().all()
    [log] = (clone / "results/mine/logs/propose").rglob("*.log")
    assert "metadetect: needs the boxes before suppression" in log.read_text("utf-8")


def test_a_detector_that_finds_nothing_runs_to_the_report(
    clone: Path, own_data: Path, engine
) -> None:
    (own_data.parent / "detections.json").write_text("[]", encoding="utf-8")
    run = engine(clone, "--cores", "2", "--configfile", "run.yaml")
    assert run.returncode == 0, run.stdout[-5000:]
    rows = read_csv(clone / "results/mine/tables/paper1/table_07_average_precision.csv")
    assert (rows["AP"] == 0).all()


def test_a_broken_file_is_one_line_with_its_name(clone: Path, own_data: Path, engine) -> None:
    own_data.write_bytes(own_data.read_bytes()[:1000])
    target = "results/mine/data/mine/annotations.parquet"
    run = engine(clone, target, "--cores", "1", "--configfile", "run.yaml")
    assert run.returncode == 1
    lines = [line for line in run.stdout.splitlines() if line.startswith("error: ")]
    assert len(set(lines)) == 1
    assert "instances_val.json" in lines[0]
    assert "Traceback" not in run.stdout
    assert not (clone / target).exists()

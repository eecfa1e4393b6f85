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
    texts = [path.read_text(encoding="utf-8") for path in sorted(repository.glob("rules/*.smk"))]
    found = re.findall(r"^rule (\w+):\n((?:[ \t]+.*\n|\n)+)", "\n".join(texts), re.MULTILINE)
    return dict(found)


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


def test_a_wrong_configuration_is_one_line(clone: Path, engine) -> None:
    run = engine(clone, "--dry-run", "--config", "shards=none")
    assert run.returncode == 1
    assert "configuration: shards: 'none' is not of type 'integer'" in run.stdout
    assert "Traceback" not in run.stdout


def test_data_and_detections_of_ones_own_run_to_the_report(
    clone: Path, own_data: Path, engine
) -> None:
    run = engine(clone, "--cores", "2", "--configfile", "run.yaml")
    assert run.returncode == 0, run.stdout[-5000:]
    assert (clone / "results/mine/report.html").is_file()
    assert not (clone / "results/mine/tables/ours/label_errors_against_truth.csv").exists()


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

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchmarks import bench_reruns
from benchmarks.bench_reruns import Cost


def test_jobs_are_read_from_the_plan() -> None:
    assert (
        bench_reruns.jobs_in("job    count\n-----  -----\nall        1\ntotal     142\n\n") == 142
    )
    assert bench_reruns.jobs_in("Nothing to be done") == 0


def test_a_start_ends_with_the_imports(repository: Path) -> None:
    start = bench_reruns.start_of(repository / "workflow" / "scripts" / "download_file.py")
    assert 0.01 < start.cpu_seconds < start.seconds + 1


def test_a_failing_command_stops_the_measurement(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="of no use"):
        bench_reruns.cost_of(["sh", "-c", "echo of no use; exit 3"], tmp_path)


def test_own_time_is_what_jobs_take_after_their_start(tmp_path: Path) -> None:
    folder = tmp_path / "results" / "demo" / "benchmarks"
    for job, seconds in {"detect/a/0": 10, "detect/a/1": 1, "tables/t": 5, "report": 9}.items():
        path = folder / f"{job}.tsv"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"s\tmax_rss\n{seconds}\t100\n", encoding="utf-8")
        os.utime(path, (1000, 1000))
    starts = {"detect": Cost(2, 2), "write_leaf": Cost(1.5, 1)}
    assert bench_reruns.own_seconds(tmp_path, starts) == 8 + 0 + 3.5


def test_one_box_of_the_re_annotation_moves(tmp_path: Path) -> None:
    path = tmp_path / "results/demo/data/scenes/raw/soft_scenes_val.json"
    path.parent.mkdir(parents=True)
    path.write_text('{"a": [{"bbox": [3, 4, 9, 9]}], "b": [{"bbox": [1, 1, 2, 2]}]}')
    bench_reruns.change_soft_label(tmp_path)
    boxes = [boxes[0]["bbox"] for boxes in json.loads(path.read_text()).values()]
    assert boxes == [[4, 4, 9, 9], [1, 1, 2, 2]]

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from labelquality.report import run_time

HEADER = "s\th:m:s\tmax_rss\tmax_vms\tmax_uss\tmax_pss\tio_in\tio_out\tmean_load\tcpu_time\n"


def write_benchmark(path: Path, *, end: float, seconds: float, memory: str = "120.5") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    row = [f"{seconds}", "0:00:01", memory, "1", "1", "1", "0", "0", "50", "1"]
    path.write_text(HEADER + "\t".join(row) + "\n", encoding="utf-8")
    os.utime(path, (end, end))


@pytest.fixture
def jobs(tmp_path: Path) -> pd.DataFrame:
    """Two stages at once, and a report that was made the next day."""
    write_benchmark(tmp_path / "detect/a/0.tsv", end=1010, seconds=10, memory="900")
    write_benchmark(tmp_path / "detect/a/v1.5.tsv", end=1015, seconds=12.5, memory="1000")
    write_benchmark(tmp_path / "tables/t.tsv", end=1016, seconds=0.5, memory="-")
    write_benchmark(tmp_path / "report.tsv", end=90000, seconds=4)
    return run_time.read_benchmarks(tmp_path)


def test_a_job_began_as_long_before_its_file_as_it_took(jobs: pd.DataFrame) -> None:
    assert jobs["job"].to_list() == ["detect/a/0", "detect/a/v1.5", "tables/t", "report"]
    assert jobs["stage"].to_list() == ["detect", "detect", "tables", "report"]
    assert jobs["start"].to_list() == [1000, 1002.5, 1015.5, 89996]


def test_every_stage_has_a_row_and_all_of_them_one(jobs: pd.DataFrame) -> None:
    rows = run_time.run_time(jobs)
    assert rows["stage"].to_list() == ["detect", "tables", "report", "all"]
    assert rows["jobs"].to_list() == [2, 1, 1, 4]
    assert rows["seconds"].to_list() == [22.5, 0.5, 4, 27]
    assert rows["longest"].to_list() == [12.5, 0.5, 4, 12.5]
    assert rows["peak_mb"].fillna(0).to_list() == [1000, 0, 120.5, 1000]


def test_pauses_are_taken_out_and_short_gaps_stay(jobs: pd.DataFrame) -> None:
    began, pauses = run_time.without_pauses(jobs)
    assert began.tolist() == [0, 2.5, 15.5, 16]
    assert pauses.tolist() == [16]


def test_a_pause_is_longer_than_its_bound() -> None:
    jobs = pd.DataFrame({"start": [0, 10 + run_time.PAUSE], "seconds": [10.0, 1.0]})
    assert run_time.without_pauses(jobs)[0].tolist() == [0, 70]
    jobs["start"] += [0, 0.5]
    assert run_time.without_pauses(jobs)[0].tolist() == [0, 10]


def test_a_long_job_is_no_pause_for_those_beside_it() -> None:
    jobs = pd.DataFrame({"start": [0, 1, 500], "seconds": [600.0, 2.0, 1.0]})
    np.testing.assert_array_equal(run_time.without_pauses(jobs)[0], jobs["start"])


def test_the_timeline_has_a_bar_for_each_job_and_a_row_for_each_stage(jobs: pd.DataFrame) -> None:
    [axes] = run_time.timeline(jobs).axes
    bars = [path.get_extents() for bar in axes.collections for path in bar.get_paths()]
    assert [round(bar.width, 6) for bar in bars] == [10, 12.5, 0.5, 4]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["detect", "tables", "report"]
    assert len(axes.lines) == 1


def test_without_benchmarks_there_are_no_rows(tmp_path: Path) -> None:
    jobs = run_time.read_benchmarks(tmp_path)
    assert run_time.run_time(jobs)["jobs"].to_list() == [0]
    assert run_time.timeline(jobs).texts[0].get_text() == "no job has run"

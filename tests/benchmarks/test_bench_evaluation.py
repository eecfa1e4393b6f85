from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import bench_evaluation


def test_every_benchmark_runs_and_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["bench", "6", "12", "--folder", str(tmp_path)])
    bench_evaluation.main()
    assert {path.stem for path in tmp_path.glob("*.json")} == set(bench_evaluation.BENCHES)
    for path in tmp_path.glob("*.json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        assert [record["size"] for record in records] == [6, 12]
        assert all(record["seconds"] > 0 and record["peak_mb"] > 10 for record in records)

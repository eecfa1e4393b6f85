from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from benchmarks import bench_data, bench_error_detection, bench_evaluation


@pytest.mark.parametrize("bench", [bench_data, bench_evaluation, bench_error_detection])
def test_every_benchmark_runs_and_is_written(bench: ModuleType, tmp_path: Path) -> None:
    # Apart from this process: measurements are forked, and threads of other tests' libraries would
    # be missing in the fork, which then waits for them for ever.
    command = [sys.executable, str(bench.__file__), "6", "12", "--folder", str(tmp_path)]
    paths = [path for path in sys.path if path]
    subprocess.run(command, check=True, env=os.environ | {"PYTHONPATH": os.pathsep.join(paths)})
    assert {path.stem for path in tmp_path.glob("*.json")} == set(bench.BENCHES)
    for path in tmp_path.glob("*.json"):
        records = json.loads(path.read_text(encoding="utf-8"))
        assert [record["size"] for record in records] == [6, 12]
        assert all(record["seconds"] > 0 and record["peak_mb"] > 10 for record in records)

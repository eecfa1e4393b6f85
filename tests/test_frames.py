from __future__ import annotations

import math
from pathlib import Path

import pandas as pd

from labelquality.frames import read_all, read_csv, write_csv


def test_a_frame_reads_back_exactly(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"name": ["NA", "None", "고양이, ü"], "x": [0.1 + 0.2, 1e-300, math.pi], "n": [1, 2, 3]}
    )
    write_csv(frame, tmp_path / "a.csv")
    pd.testing.assert_frame_equal(read_csv(tmp_path / "a.csv"), frame)


def test_only_an_empty_field_is_missing(tmp_path: Path) -> None:
    write_csv(pd.DataFrame({"x": [1.5, None], "name": ["a", "b"]}), tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_bytes() == b"x,name\n1.5,a\n,b\n"
    assert read_csv(tmp_path / "a.csv")["x"].isna().tolist() == [False, True]


def test_files_follow_each_other_and_empty_ones_add_nothing(tmp_path: Path) -> None:
    for i, rows in enumerate(([1, 2], [], [3])):
        write_csv(pd.DataFrame({"x": rows}), tmp_path / f"{i}.csv")
    assert read_all(sorted(tmp_path.iterdir()))["x"].tolist() == [1, 2, 3]
    assert read_all([]).empty

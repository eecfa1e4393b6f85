"""Annotation files spoilt at random give rows that pass every check, or one DataError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from folder_files import ONE_FILE, RULES, WRITERS, spec_of
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table

JUNK = (b"", b"-1", b"0", b"1e308", b"nan", b"1_0", b"9" * 400, b"car", b"<", b"\xff", b" ", b"]")
N_FILES = 200


def spoil(content: bytes, rng: np.random.Generator) -> bytes:
    """Replace, cut, repeat or move a stretch of the file."""
    start, other = (int(i) for i in rng.integers(len(content), size=2))
    end = min(len(content), start + int(rng.integers(1, 12)))
    match int(rng.integers(5)):
        case 0:
            return content[:start] + content[end:]
        case 1:
            return content[:start] + JUNK[rng.integers(len(JUNK))] + content[end:]
        case 2:
            return content[:start] + content[other : other + 40] + content[start:]
        case 3:
            return content[:start] if rng.random() < 0.3 else content[:end] + content[start:]
        case _:
            digits = np.frombuffer(content, np.uint8).copy()
            places = np.flatnonzero((digits >= ord("0")) & (digits <= ord("9")))
            digits[rng.choice(places)] = rng.integers(ord("0"), ord("9") + 1)
            return digits.tobytes()


@pytest.mark.parametrize("format", WRITERS)
def test_rows_or_one_clear_error(format: str, tmp_path: Path) -> None:
    WRITERS[format](tmp_path)
    spec = spec_of(format, **RULES.get(format, {}))
    path = tmp_path / ONE_FILE[format]
    content = path.read_bytes()
    rng = np.random.default_rng(20261130)
    outcomes = {"rows": 0, "error": 0}
    for _ in range(N_FILES):
        path.write_bytes(spoil(content, rng))
        dataset, message = outcome(spec, tmp_path)
        assert (dataset is None) == (path.name in message), message
        assert "\n" not in message
        outcomes["rows" if dataset else "error"] += 1
        if dataset:
            check_table(dataset.images, path.name)
            check_table(dataset.annotations, path.name)
    assert min(outcomes.values()) > 10, outcomes


def outcome(spec: dict[str, Any], root: Path) -> tuple[Dataset | None, str]:
    try:
        return read_dataset(spec, root), ""
    except DataError as error:
        return None, str(error)

"""Files spoilt at random give rows that pass every check, or one DataError; nothing else."""

from __future__ import annotations

import copy
import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataset_files import FILES, dataset_spec, toy_images
from labelquality.datasets import read_dataset, read_reannotation, read_truth
from labelquality.errors import DataError
from labelquality.tables import Table, check_table

JUNK = (None, True, -1, 0, 2**63, 1e308, -0.5, "", "car", "ü", [], [1], {}, {"car": 1}, [[]])


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) of a JSON value."""
    if isinstance(value, dict):
        keys: list[Any] = list(value)
    elif isinstance(value, list):
        keys = list(range(len(value)))
    else:
        return []
    return [(value, k) for k in keys] + [place for k in keys for place in places(value[k])]


def spoil(content: dict[str, Any], rng: np.random.Generator) -> bytes:
    data = copy.deepcopy(content)
    for _ in range(1 + (rng.random() < 0.2)):
        found = places(data)
        container, key = found[rng.integers(len(found))]
        match int(rng.integers(4)):
            case 0:
                del container[key]
            case 1:
                container[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
            case 2:
                other, other_key = found[rng.integers(len(found))]
                container[key] = copy.deepcopy(other[other_key])
            case _ if isinstance(container, list):
                container.append(copy.deepcopy(container[key]))
            case _:
                container[f"{key}_1"] = container.pop(key)
    text = json.dumps(data, ensure_ascii=False).encode()
    return text[: rng.integers(len(text))] if rng.random() < 0.05 else text


def tables_of(name: str, folder: Path) -> list[Table]:
    spec = dataset_spec()
    if name == "instances.json":
        dataset = read_dataset(spec, folder)
        return [dataset.images, dataset.annotations]
    if name == "truth.json":
        truth = read_truth(spec, folder, toy_images())
        return [truth.objects, truth.injected]
    which = "unbiased" if name == "unbiased.json" else "reannotation"
    result = read_reannotation(spec, folder, toy_images(), which=which)
    return [result.votes, result.released]


@pytest.mark.parametrize("name", FILES)
def test_rows_or_one_clear_error(name: str, tmp_path: Path) -> None:
    outcomes = run(name, FILES[name], tmp_path, n_files=150)
    # Both happen, or the mutations are too tame or too wild to show anything.
    assert min(outcomes.values()) > 10


def run(name: str, make: Callable[[], dict], folder: Path, n_files: int) -> dict[str, int]:
    rng = np.random.default_rng(20260921)
    for other, content in FILES.items():
        (folder / other).write_text(json.dumps(content()), encoding="utf-8")
    outcomes = {"rows": 0, "error": 0}
    for _ in range(n_files):
        (folder / name).write_bytes(spoil(make(), rng))
        tables, message = outcome(name, folder)
        assert (tables is None) == (name in message), message
        assert "\n" not in message
        outcomes["rows" if tables else "error"] += 1
        for table in tables or []:
            check_table(table, table.kind)
    return outcomes


def outcome(name: str, folder: Path) -> tuple[list[Table] | None, str]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            return tables_of(name, folder), ""
    except DataError as error:
        return None, str(error)

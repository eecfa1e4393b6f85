"""A disk that is full or must not be written to costs one clear line and no result."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from run_digests import digests

pytestmark = pytest.mark.workflow
OPTIONS = ("data", "--cores", "1", "--configfile", "run.yaml")
FIRST = "results/mine/data/mine/images.parquet"


def mount(*arguments: str) -> None:
    """Mount something, or skip the test where this is not allowed."""
    run = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f"needs a user who may mount a file system: {run.stderr.strip()}")


def fill(path: Path) -> None:
    """Write a file until the disk is full."""
    with suppress(OSError), open(path, "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    assert not shutil.disk_usage(path.parent).free


def errors(output: str) -> set[str]:
    return {line for line in output.splitlines() if line.startswith("error: ")}


@pytest.fixture
def results(clone: Path, own_data: Path) -> Iterator[Path]:
    """The results folder of a run of one's own, on a small disk of its own."""
    folder = clone / "results"
    folder.mkdir(exist_ok=True)
    mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder))
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_one_line_and_the_run_goes_on_when_there_is_room(
    clone: Path, results: Path, engine
) -> None:
    assert engine(clone, FIRST, *OPTIONS[1:]).returncode == 0
    before = digests(results)
    fill(results / "ballast")

    run = engine(clone, *OPTIONS)
    assert run.returncode == 1
    [line] = errors(run.stdout)
    assert line.endswith("cannot be written (No space left on device); free some space")
    assert "Traceback" not in run.stdout
    assert digests(results) == before
    assert not list(results.rglob("*.part"))

    (results / "ballast").unlink()
    run = engine(clone, *OPTIONS)
    assert run.returncode == 0, run.stdout[-3000:]
    after = digests(results)
    assert before.items() <= after.items()
    assert len(after) > len(before)


def test_a_results_folder_that_is_read_only_is_one_line(clone: Path, results: Path, engine) -> None:
    assert engine(clone, FIRST, *OPTIONS[1:]).returncode == 0
    before = digests(results)
    mount("-o", "remount,ro", str(results))
    run = engine(clone, *OPTIONS)
    assert run.returncode == 1
    assert "results/mine: cannot be written; make the folder writable" in run.stdout
    assert "Traceback" not in run.stdout
    assert digests(results) == before
    assert engine(clone, *OPTIONS, "--dry-run").returncode == 0

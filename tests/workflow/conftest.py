from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

Run = subprocess.CompletedProcess[str]
LEFT_BEHIND = (
    ".git",
    ".venv",
    ".snakemake",
    "data",
    "results",
    "*cache*",
    ".hypothesis",
    "*.egg-info",
)


def copy_of(repository: Path, folder: Path) -> Path:
    """The project without anything that it made, as a fresh clone would be."""
    shutil.copytree(repository, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    return folder


def snakemake(folder: Path, *arguments: str) -> Run:
    """Run Snakemake in `folder`; its output, both streams together, is in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
        check=False,
    )


@pytest.fixture(scope="session")
def demo(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished demo run; the folder of a copy of the project."""
    folder = copy_of(repository, tmp_path_factory.mktemp("demo") / "a project, übersichtlich")
    run = snakemake(folder, "--cores", "2")
    assert run.returncode == 0, run.stdout[-5000:]
    return folder


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Path:
    return copy_of(repository, tmp_path / "clone")


@pytest.fixture(scope="session")
def engine() -> Callable[..., Run]:
    return snakemake

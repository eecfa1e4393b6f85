"""The project without anything that it made."""

from __future__ import annotations

import shutil
from pathlib import Path

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
    """Copy the project to `folder` as a fresh clone would be; returns `folder`."""
    shutil.copytree(repository, folder, ignore=shutil.ignore_patterns(*LEFT_BEHIND))
    return folder

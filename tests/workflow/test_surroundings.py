"""What surrounds a run: another one at work in the same folder, a locale without Unicode."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from run_digests import digests

pytestmark = pytest.mark.workflow
TARGETS = ("data", "results/mine/tables/ours/intake.html")
OPTIONS = ("--cores", "1", "--configfile", "run.yaml")


def test_two_runs_at_once_are_kept_apart(clone: Path, own_data: Path, engine) -> None:
    first = subprocess.Popen(
        [sys.executable, "-m", "snakemake", "data", *OPTIONS],
        cwd=clone,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    locks = clone / ".snakemake" / "locks"
    while first.poll() is None and not (locks.is_dir() and any(locks.iterdir())):
        time.sleep(0.02)
    os.killpg(first.pid, signal.SIGSTOP)
    try:
        second = engine(clone, "data", *OPTIONS)
    finally:
        os.killpg(first.pid, signal.SIGCONT)
    assert second.returncode == 1
    assert "LockException" in second.stdout
    assert "--unlock" in second.stdout

    output, _ = first.communicate(timeout=600)
    assert first.returncode == 0, output[-3000:]
    assert "Nothing to be done" in engine(clone, "data", *OPTIONS).stdout


def test_a_locale_without_unicode_changes_nothing(
    clone: Path, own_data: Path, engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = Path(shutil.copytree(clone, clone.parent / "schlicht, übersichtlich"))
    text = (plain / "mine.yaml").read_text(encoding="utf-8")
    for folder, locale in ((clone, "C.UTF-8"), (plain, "C")):
        for variable in ("LANG", "LC_ALL"):
            monkeypatch.setenv(variable, locale)
        (folder / "mine.yaml").write_text(text.replace("Mine", "Größe √2"), encoding="utf-8")
        run = engine(folder, *TARGETS, *OPTIONS)
        assert run.returncode == 0, run.stdout[-3000:]
    made = digests(plain / "results/mine")
    assert made == digests(clone / "results/mine")
    assert len(made) > 8

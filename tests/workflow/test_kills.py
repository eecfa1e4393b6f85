"""A run that is killed again and again ends in the same results as one left alone."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from run_digests import digests

pytestmark = pytest.mark.workflow
KILLS = int(os.environ.get("KILLS", "2"))
COMMAND = (sys.executable, "-m", "snakemake", "leaves", "--configfile", "run.yaml", "--cores", "2")


def run_and_kill(folder: Path, seconds: float) -> bool:
    """Start a run, kill all its processes after a while; whether it was still at work."""
    process = subprocess.Popen(
        COMMAND,
        cwd=folder,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    time.sleep(seconds)
    at_work = process.poll() is None
    if at_work:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    return at_work


def test_a_killed_run_resumes_and_loses_nothing(clone: Path, own_data: Path, engine) -> None:
    undisturbed = Path(shutil.copytree(clone, clone.parent / "undisturbed"))
    start = time.monotonic()
    run = engine(undisturbed, *COMMAND[3:])
    took = time.monotonic() - start
    assert run.returncode == 0, run.stdout[-3000:]

    moments = random.Random(0)
    for _ in range(KILLS):
        assert run_and_kill(clone, moments.uniform(0.1, 0.4) * took)
        refused = engine(clone, *COMMAND[3:])
        assert refused.returncode == 1
        assert "--unlock" in refused.stdout
        assert engine(clone, *COMMAND[3:], "--unlock").returncode == 0
    run = engine(clone, *COMMAND[3:])
    assert run.returncode == 0, run.stdout[-3000:]

    assert digests(clone / "results/mine") == digests(undisturbed / "results/mine")
    assert not list((clone / "results").rglob("*.part"))

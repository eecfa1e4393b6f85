"""The demo through a real Slurm: two nodes, jobs that fail, a run that goes on where it stopped.

With one of its detectors and, but for `make soak`, some of its tables, so as not to take too long.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from run_digests import digests
from slurm_cluster import NODES, NoClusterError, slurm_cluster

pytestmark = pytest.mark.workflow
OPTIONS = (
    *("--profile", "profiles/slurm", "--config", "detectors=[yolov8_scenes]"),
    *("--cores", "2", "--retries", "1", "--latency-wait", "10"),
    *("--slurm-init-seconds-before-status-checks", "1"),
)
TABLES = ("04_label_errors", "08_soft_evaluation", "09_label_error_detection")
SOME = tuple(f"results/demo/tables/paper1/table_{name}.csv" for name in TABLES)
TARGETS = () if "WHOLE_DEMO" in os.environ else SOME
OF_ALL_DETECTORS = ("tables/", "figures/", "configuration.json")
ONCE, ALWAYS = "yolov8_scenes_0", "yolov8_scenes_1"
FAILURES = f"""
from pathlib import Path

name = "_".join([snakemake.wildcards.detector, snakemake.wildcards.shard])
with open("attempts", "a+") as attempts:
    attempts.seek(0)
    before = attempts.read().split()
    print(name, file=attempts)
if name == "{ONCE}" and name not in before:
    raise SystemExit("fails once")
if name == "{ALWAYS}" and Path("broken").exists():
    raise SystemExit("fails until it is mended")
"""
Engine = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """Environment variables under which Slurm's commands speak to a cluster of this test's own."""
    try:
        with slurm_cluster(tmp_path_factory.mktemp("slurm")) as environment:
            yield environment
    except NoClusterError as reason:
        pytest.skip(f"no Slurm here: {reason}")


@pytest.fixture(scope="module")
def python(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that knows the project's packages and, beside them, Slurm's plug-in.

    The plug-in slows every start of Snakemake where a cluster does not answer, so that the
    project's own environment is spared it.
    """
    folder = tmp_path_factory.mktemp("plugin")
    venv.create(folder, symlinks=True)
    packages = next(folder.glob("lib/python*/site-packages"))
    (packages / "project.pth").write_text(sysconfig.get_path("purelib"), encoding="utf-8")
    options = ["--quiet", "--disable-pip-version-check", "--no-deps", "--target", packages]
    requirements = repository / "envs" / "slurm.txt"
    pip = [sys.executable, "-m", "pip", "install", *options, "-r", requirements]
    run = subprocess.run(pip, capture_output=True, text=True, check=False)
    if run.returncode:
        pytest.skip(f"Slurm's plug-in for Snakemake cannot be installed: {run.stderr[-500:]}")
    return folder / "bin" / "python"


@pytest.fixture
def sbatch(cluster: dict[str, str], python: Path, clone: Path) -> Engine:
    """Run Snakemake in the clone, its jobs through the cluster."""
    # The report calls Snakemake by its name.
    path = os.pathsep.join([cluster["PATH"], str(Path(sys.executable).parent)])

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        # It waits for its jobs whatever it is told, were it not killed.
        command = ["timeout", "--kill-after", "10", "1200", python, "-m", "snakemake"]
        return subprocess.run(
            [*command, *arguments, *OPTIONS],
            cwd=clone,
            env=cluster | {"PATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    return run


def test_the_demo_fails_is_mended_and_ends_as_on_one_machine(
    demo: Path, clone: Path, cluster: dict[str, str], sbatch: Engine
) -> None:
    script = clone / "workflow" / "scripts" / "detect.py"
    source = script.read_text(encoding="utf-8")
    assert source.count("\nwith job_log") == 1
    script.write_text(source.replace("\nwith job_log", f"{FAILURES}\nwith job_log"), "utf-8")
    (clone / "broken").touch()

    failed = sbatch(*TARGETS)
    assert failed.returncode == 1
    attempts = (clone / "attempts").read_text(encoding="utf-8").split()
    assert sorted(attempts) == [ONCE, ONCE, ALWAYS, ALWAYS]
    logs = re.findall(rf"\S+/slurm_logs/\S+{ALWAYS}/\d+\.log", failed.stdout)
    assert "fails until it is mended" in Path(logs[-1]).read_text(encoding="utf-8")
    assert "SLURM status is: 'FAILED'" in failed.stdout

    (clone / "broken").unlink()
    resumed = sbatch(*TARGETS)
    assert resumed.returncode == 0, resumed.stdout[-5000:]
    again = (clone / "attempts").read_text(encoding="utf-8").split()[len(attempts) :]
    assert again == [ALWAYS]
    made = digests(clone / "results" / "demo")
    local = digests(demo / "results" / "demo")
    stages = {name for name in made if not name.startswith(OF_ALL_DETECTORS)}
    assert {name: made[name] for name in stages} == {name: local[name] for name in stages}
    assert len(stages) > 40

    squeue = ["squeue", "--noheader", "--states", "all", "--format", "%N"]
    used = subprocess.run(squeue, env=cluster, capture_output=True, text=True, check=True).stdout
    assert set(used.split()) == set(NODES)
    assert "Nothing to be done" in sbatch(*TARGETS, "--dry-run").stdout

"""What the workflow engine costs, and what a rerun costs beside a full run.

    make bench

Runs the demo in a copy of the project and writes {folder}/reruns.json, a list with one record for
each measurement: name, size (jobs; None for a start), seconds (wall clock), cpu_seconds (of all
processes), ratio (explained below), machine. On a busy machine compare the processors' seconds.

    full_run        all jobs on one core; ratio: share of the time outside the package's own work,
                    which is what the jobs took less what importing their script's modules takes
    plan_demo       the dry run when everything is there
    plan_papers     the dry run of config/papers.yaml when nothing is there
    soft_label      after a change of one image's soft label; ratio: of the full run
    start_{script}  the start of a job, to the end of its imports, for the slowest script
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import platform
import re
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from labelquality.report.run_time import read_benchmarks
from project_copy import copy_of

SCRIPT_OF = {
    "tables": "write_leaf",
    "figures": "draw_figure",
    "calibrate_as_released": "calibrate",
    "read_unbiased_votes": "read_reannotation",
    "run_time": "measure_run_time",
}
"""Scripts of the stages that are called otherwise."""


@dataclass(frozen=True)
class Cost:
    """What a command took: seconds by the clock and of the processors, and what it printed."""

    seconds: float
    cpu_seconds: float
    output: str = ""


def cost_of(command: list[str], folder: Path) -> Cost:
    """Run a command in `folder` with the package at hand. Raises SystemExit where it fails."""

    def cpu() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    start, cpu_start = time.perf_counter(), cpu()
    run = subprocess.run(
        command,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(folder / "workflow")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if run.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{run.stdout[-3000:]}")
    return Cost(time.perf_counter() - start, cpu() - cpu_start, run.stdout)


def snakemake(folder: Path, *arguments: str) -> Cost:
    """Run the workflow in `folder`."""
    return cost_of([sys.executable, "-m", "snakemake", *arguments], folder)


def jobs_in(output: str) -> int:
    """Number of jobs that Snakemake announces, its target among them."""
    total = re.search(r"^total +(\d+)$", output, re.MULTILINE)
    return int(total[1]) if total else 0


def start_of(script: Path) -> Cost:
    """What it takes to start Python and import what a script imports at its top."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    imports = [node for node in tree.body if isinstance(node, (ast.Import, ast.ImportFrom))]
    code = "\n".join(map(ast.unparse, imports))
    return cost_of([sys.executable, "-c", code], script.parents[2])


def own_seconds(folder: Path, starts: dict[str, Cost]) -> float:
    """Seconds that the jobs of the demo in `folder` took once their modules were there."""
    jobs = read_benchmarks(folder / "results" / "demo" / "benchmarks")
    own = 0.0
    for stage, seconds in zip(jobs["stage"], jobs["seconds"], strict=True):
        start = starts.get(SCRIPT_OF.get(stage, stage))
        own += max(seconds - start.seconds, 0) if start else 0
    return own


def change_soft_label(folder: Path) -> None:
    """Move one re-annotated box of the demo by a pixel."""
    path = folder / "results" / "demo" / "data" / "scenes" / "raw" / "soft_scenes_val.json"
    text = path.read_text(encoding="utf-8")
    moved = re.sub(
        r'("bbox":\s*\[\s*)(\d+)', lambda match: f"{match[1]}{int(match[2]) + 1}", text, count=1
    )
    path.write_text(moved, encoding="utf-8")


def measure(folder: Path) -> list[dict[str, object]]:
    """All records, measured in `folder`, a fresh copy of the project."""

    def record(name: str, cost: Cost, size: int | None, ratio: float | None = None) -> None:
        records.append(
            {
                "name": name,
                "size": size,
                "seconds": round(cost.seconds, 2),
                "cpu_seconds": round(cost.cpu_seconds, 2),
                "ratio": ratio and round(ratio, 3),
                "machine": f"{platform.machine()}, {os.cpu_count()} cores",
            }
        )
        print(*(f"{key} {value}" for key, value in records[-1].items()), sep="  ", flush=True)

    records: list[dict[str, object]] = []
    scripts = sorted((folder / "workflow" / "scripts").glob("*.py"))
    full = snakemake(folder, "--cores", "1")
    starts = {script.stem: start_of(script) for script in scripts}
    slowest = max(starts, key=lambda name: starts[name].cpu_seconds)
    record(f"start_{slowest}", starts[slowest], None)
    outside = 1 - own_seconds(folder, starts) / full.seconds
    record("full_run", full, jobs_in(full.output), outside)
    plan = snakemake(folder, "--dry-run")
    record("plan_demo", plan, jobs_in(plan.output))
    plan = snakemake(folder, "--dry-run", "--configfile", "config/papers.yaml")
    record("plan_papers", plan, jobs_in(plan.output))
    change_soft_label(folder)
    again = snakemake(folder, "--cores", "1")
    record("soft_label", again, jobs_in(again.output), again.seconds / full.seconds)
    return records


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, default=Path("results/bench"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        records = measure(copy_of(Path(__file__).parents[2], Path(folder) / "project"))
    text = json.dumps(records, indent=1) + "\n"
    (options.folder / "reruns.json").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

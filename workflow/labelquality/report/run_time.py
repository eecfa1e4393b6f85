"""Where the time of a run goes: what its jobs took, and when they ran.

Read from the benchmark files that the workflow engine writes, one for each job. They hold what a
job took but not when; it ended when its file was written.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from labelquality.report import style
from labelquality.report.rows import select

PAUSE = 60.0
"""Seconds without any job after which a run was stopped, and went on later."""

COLUMNS = ("stage", "jobs", "seconds", "longest", "peak_mb")


def read_benchmarks(folder: Path) -> pd.DataFrame:
    """One row per benchmark file below `folder`, by start: job, stage, start, seconds, peak_mb.

    `job` is the file's path below `folder` without suffix, `stage` the first part of it, `start`
    seconds since the epoch, `peak_mb` the largest resident memory in MiB, missing for jobs too
    short to be looked at. Without files there are no rows.
    """
    rows = []
    for path in sorted(folder.rglob("*.tsv")):
        job = path.relative_to(folder).with_suffix("").as_posix()
        last = pd.read_csv(path, sep="\t", na_values=["-", "NA"]).iloc[-1]
        start = path.stat().st_mtime - last["s"]
        rows.append((job, job.split("/")[0], start, last["s"], last["max_rss"]))
    frame = pd.DataFrame(rows, columns=["job", "stage", "start", "seconds", "peak_mb"])
    return frame.sort_values(["start", "job"], ignore_index=True)


def run_time(jobs: pd.DataFrame) -> pd.DataFrame:
    """One row per stage, in the order of their first start, and one of all: number of jobs, their
    seconds together and of the longest, and the largest memory of one in MB.

    `jobs` has the columns of `read_benchmarks`.
    """
    stages = [*jobs.groupby("stage", sort=False), ("all", jobs)]
    rows = [
        (stage, len(of), of["seconds"].sum(), of["seconds"].max(), of["peak_mb"].max())
        for stage, of in stages
    ]
    return select(pd.DataFrame(rows, columns=list(COLUMNS)), COLUMNS)


def without_pauses(jobs: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Starts (N,) in seconds since the first one, pauses taken out, and where a pause was.

    A pause is a time of more than `PAUSE` seconds in which no job ran. `jobs` are sorted by start.
    """
    start = jobs["start"].to_numpy()
    end = np.maximum.accumulate(start + jobs["seconds"].to_numpy())
    idle = np.maximum(start - np.concatenate([start[:1], end[:-1]]), 0)
    paused = np.where(idle > PAUSE, idle, 0)
    began = start - start[:1] - np.cumsum(paused)
    return began, began[paused > 0]


@style.styled
def timeline(jobs: pd.DataFrame) -> Figure:
    """When the jobs of every stage ran: a bar for each job, a row for each stage.

    Jobs that ran at once lie over each other, darker. `jobs` has the columns of `read_benchmarks`.
    """
    if jobs.empty:
        return style.says("no job has run")
    began, pauses = without_pauses(jobs)
    stages = list(dict.fromkeys(jobs["stage"]))
    figure = Figure(figsize=(style.PAGE, 0.6 + 0.17 * len(stages)))
    axes = figure.subplots()
    for row, stage in enumerate(stages):
        of = (jobs["stage"] == stage).to_numpy()
        spans = zip(began[of], jobs["seconds"][of], strict=True)
        axes.broken_barh(list(spans), (row - 0.38, 0.76), color=style.BLUE, alpha=0.55, lw=0)
    for pause in pauses:
        axes.axvline(pause, color=style.MUTED, lw=0.8, ls=":")
    axes.set_yticks(range(len(stages)), [style.display(stage) for stage in stages])
    axes.set(xlim=(0, None), ylim=(len(stages) - 0.4, -0.6), xlabel="seconds, without pauses")
    axes.grid(axis="x")
    axes.tick_params(axis="y", length=0)
    return figure

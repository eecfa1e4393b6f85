"""How benchmarks are measured and written.

Writes {folder}/{name}.json, a list with one record per size: name, size, seconds (wall clock),
cpu_seconds, peak_mb (of the whole process, inputs included), peer, peer_seconds, peer_cpu_seconds,
ratio (ours to the peer's by the clock), machine. On a busy machine compare the processors' seconds.
Every measurement runs in a process of its own, forked when the inputs are there.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import resource
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

Work = Callable[[], object]
Bench = Callable[[Any], tuple[Work, str | None, Work | None]]
"""From the inputs of one size to the work, the name of its peer, and the peer's work."""


def measure(work: Work) -> tuple[float, float, float]:
    """Seconds by the clock and of the processors, and peak MB, of `work` in its own process."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)

    def run() -> None:
        start, cpu_start = time.perf_counter(), time.process_time()
        work()
        seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        sender.send((seconds, cpu_seconds, peak))

    process = context.Process(target=run)
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(f"a measurement failed with status {process.exitcode}")
    return receiver.recv()


def record(name: str, size: int, bench: Bench, given: Any) -> dict[str, object]:
    """Measure one benchmark on the inputs `given` and, where it has one, its peer."""
    work, peer, peer_work = bench(given)
    seconds, cpu_seconds, peak_mb = measure(work)
    peer_seconds, peer_cpu_seconds, _ = measure(peer_work) if peer_work else (None, None, None)
    return {
        "name": name,
        "size": size,
        "seconds": round(seconds, 3),
        "cpu_seconds": round(cpu_seconds, 3),
        "peak_mb": round(peak_mb),
        "peer": peer,
        "peer_seconds": peer_seconds and round(peer_seconds, 3),
        "peer_cpu_seconds": peer_cpu_seconds and round(peer_cpu_seconds, 3),
        "ratio": peer_seconds and round(seconds / peer_seconds, 3),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
    }


def main(description: str, benches: Mapping[str, Bench], inputs: Callable[[int], Any]) -> None:
    """Run the benchmarks that the command line asks for, print and write what they give."""
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=[1000], help="numbers of images")
    parser.add_argument("--only", nargs="+", choices=benches, default=list(benches))
    parser.add_argument("--folder", type=Path, default=Path("results/bench"))
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    records: dict[str, list[dict[str, object]]] = {name: [] for name in options.only}
    for size in options.sizes:
        given = inputs(size)
        for name in options.only:
            row = record(name, size, benches[name], given)
            records[name].append(row)
            print(*(f"{key} {value}" for key, value in row.items()), sep="  ", flush=True)
    for name, rows in records.items():
        text = json.dumps(rows, indent=1) + "\n"
        (options.folder / f"{name}.json").write_text(text, encoding="utf-8")

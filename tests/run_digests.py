"""Digests of what a run made, to tell whether two runs made the same."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digests(results: Path) -> dict[str, str]:
    """Digest of everything a run made, but for times and what carries them."""
    return {
        str(path.relative_to(results)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(results.rglob("*"))
        if path.is_file()
        and path.suffix in {".parquet", ".csv", ".tex", ".html", ".svg", ".pdf", ".json", ".png"}
        and path.name != "report.html"
        and path.parent.name != "run_time"
    }

"""The weights that the demo ships, and their settings."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[1]
CLASSES = ("square", "circle", "triangle", "star", "cross", "diamond")


def shipped(name: str) -> dict[str, Any]:
    """Settings of a shipped detector, its weights folder as an absolute path."""
    spec = yaml.safe_load((ROOT / "config" / "detectors" / f"{name}.yaml").read_text())
    return spec | {"weights": str(ROOT / spec["weights"])}

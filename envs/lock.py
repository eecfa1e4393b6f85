"""Lock the requirements of pyproject.toml, by asking pip what it would install.

Writes analysis.txt, detectors.txt, ultralytics.txt, slurm.txt and dev.txt beside this file and
brings the exact versions in analysis.yaml and detectors.yaml up to date. What torch itself pins
exactly for one platform (CUDA libraries) is left to torch, so that the lock serves every platform.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ENVS = Path(__file__).parent
LEFT_TO_TORCH = re.compile(r"^(nvidia|cuda|triton)")
# Installed without dependencies: it names an OpenCV build that needs a display's libraries.
WITHOUT_DEPENDENCIES = re.compile(r"^ultralytics")


def resolve(requirements: list[str]) -> dict[str, str]:
    """Names and versions of everything that `requirements` bring in."""
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet"]
    report = subprocess.run(
        [*command, "--report", "-", *requirements], check=True, capture_output=True, text=True
    ).stdout
    found = [item["metadata"] for item in json.loads(report)["install"]]
    return {canonical(item["name"]): item["version"] for item in found}


def canonical(name: str) -> str:
    """The one spelling of a distribution's name."""
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(versions: dict[str, str]) -> list[str]:
    """Lines of a requirements file, sorted."""
    return [f"{name}=={version}" for name, version in sorted(versions.items())]


def without(versions: dict[str, str], *others: dict[str, str]) -> dict[str, str]:
    """The entries of `versions` that stand in none of `others`."""
    return {n: v for n, v in versions.items() if not any(n in other for other in others)}


def main() -> None:
    project = tomllib.loads((ENVS.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    base = [*project["dependencies"], *extras["workflow"]]
    everything = resolve([*base, *extras["detectors"], *extras["dev"]])
    locked = pins(everything)
    constraints = ENVS / ".constraints.txt"
    constraints.write_text("\n".join(locked), encoding="utf-8")
    try:
        analysis = resolve([*base, "-c", str(constraints)])
        detectors = resolve([*base, *extras["detectors"], "-c", str(constraints)])
        slurm = resolve([*base, *extras["slurm"], "-c", str(constraints)])
    finally:
        constraints.unlink()
    extra = {n: v for n, v in without(detectors, analysis).items() if not LEFT_TO_TORCH.match(n)}
    extra["opencv-python-headless"] = extra.pop("opencv-python")
    apart = {n: v for n, v in extra.items() if WITHOUT_DEPENDENCIES.match(n)}
    groups = {
        "analysis": analysis,
        "detectors": without(extra, apart),
        "ultralytics": apart,
        "dev": without(everything, detectors),
        "slurm": without(slurm, analysis),
    }
    for name, versions in groups.items():
        lines = ["# Written by `make lock` from pyproject.toml.", *pins(versions)]
        (ENVS / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    for name in ("analysis", "detectors"):
        path = ENVS / f"{name}.yaml"
        text = re.sub(
            r"([A-Za-z0-9_.-]+)==\S+",
            lambda match: f"{match[1]}=={everything[canonical(match[1])]}",
            path.read_text(encoding="utf-8"),
        )
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from labelquality.scenes import write_scenes
from project_copy import copy_of

Run = subprocess.CompletedProcess[str]


def snakemake(folder: Path, *arguments: str) -> Run:
    """Run Snakemake in `folder`; its output, both streams together, is in `stdout`."""
    return subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=1500,
        check=False,
    )


@pytest.fixture(scope="session")
def demo(repository: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished demo run; the folder of a copy of the project."""
    folder = copy_of(repository, tmp_path_factory.mktemp("demo") / "a project, übersichtlich")
    run = snakemake(folder, "--cores", "2")
    assert run.returncode == 0, run.stdout[-5000:]
    return folder


@pytest.fixture
def clone(repository: Path, tmp_path: Path) -> Path:
    return copy_of(repository, tmp_path / "clone")


@pytest.fixture(scope="session")
def engine() -> Callable[..., Run]:
    return snakemake


@pytest.fixture
def own_data(clone: Path) -> Path:
    """A data set and a run of one's own, with detections from a file; returns the COCO file."""
    data = clone / "own data"
    write_scenes(data, split="val", n_images=6, seed=3)
    scenes = yaml.safe_load((clone / "config/datasets/scenes.yaml").read_text(encoding="utf-8"))
    del scenes["generate"], scenes["files"]["truth"], scenes["files"]["unbiased"]
    mine = scenes | {"name": "mine", "title": "Mine", "root": "own data"}
    annotations = data / "instances_val.json"
    imported = {
        "name": "given",
        "family": "imported",
        "weights": "own data/detections.json",
        "format": "coco",
        "annotations": "own data/instances_val.json",
        "licence": "none",
        "source": "test",
    }
    detections = [
        {key: record[key] for key in ("image_id", "category_id", "bbox")} | {"score": 0.5}
        for record in json.loads(annotations.read_bytes())["annotations"]
    ]
    (data / "detections.json").write_text(json.dumps(detections), encoding="utf-8")
    run = {"run": "mine", "datasets": ["mine.yaml"], "detectors": ["given.yaml"]}
    for name, content in {"mine": mine, "given": imported, "run": run}.items():
        (clone / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    return annotations

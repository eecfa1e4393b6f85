"""A data set that is downloaded: what is fetched, when, and what follows from a change."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.workflow
FILES = ("instances_val.json", "soft_scenes_val.json", "images.zip")
TARGETS = ("results/mine/data/mine/annotations.parquet", "results/mine/data/mine/votes.parquet")
OPTIONS = ("--cores", "2", "--configfile", "run.yaml")


def download(source: Path) -> dict:
    return {
        "path": source.name,
        "urls": ["absent/mirror", str(source)],
        "sha256": hashlib.sha256(source.read_bytes()).hexdigest(),
        "licence": "MIT",
        "access": "open",
    } | ({"unpack": {"members": ["images"]}} if source.suffix == ".zip" else {})


@pytest.fixture
def mine(clone: Path) -> Path:
    """A data set of one's own with everything to download; returns its YAML file."""
    from labelquality.scenes import write_scenes

    write_scenes(clone / "published", split="val", n_images=4, seed=3)
    shutil.make_archive(str(clone / "published/images"), "zip", clone / "published", "images")
    scenes = yaml.safe_load((clone / "config/datasets/scenes.yaml").read_text(encoding="utf-8"))
    del scenes["generate"], scenes["files"]["truth"], scenes["files"]["unbiased"]
    downloads = [download(clone / "published" / name) for name in FILES]
    spec = scenes | {"name": "mine", "root": "data/mine", "downloads": downloads}
    run = {"run": "mine", "datasets": ["mine.yaml"], "detectors": ["yolov8_scenes"]}
    (clone / "run.yaml").write_text(yaml.safe_dump(run), encoding="utf-8")
    write(clone / "mine.yaml", spec)
    return clone / "mine.yaml"


def write(path: Path, spec: dict) -> None:
    path.write_text(yaml.safe_dump(spec, allow_unicode=True), encoding="utf-8")


def test_what_a_target_needs_is_fetched_once(clone: Path, mine: Path, engine) -> None:
    data = clone / "data" / "mine"
    run = engine(clone, *TARGETS, *OPTIONS)
    assert run.returncode == 0, run.stdout[-5000:]
    assert sorted(path.name for path in data.iterdir()) == sorted(
        [*FILES[:2], *(f"{name}.lock" for name in FILES[:2])]
    )
    run = engine(clone, "downloads", *OPTIONS)
    assert run.returncode == 0, run.stdout[-5000:]
    assert len(list((data / "images").iterdir())) == 4

    shutil.rmtree(clone / "published")
    (data / "images.zip").unlink()
    spec = yaml.safe_load(mine.read_text(encoding="utf-8"))
    spec["downloads"][0]["urls"].append("https://localhost/another/mirror")
    write(mine, spec)
    run = engine(clone, *TARGETS, "downloads", *OPTIONS)
    assert "Nothing to be done" in run.stdout, run.stdout[-5000:]
    run = engine(clone, *TARGETS, "downloads", *OPTIONS, "--forcerun", "download_file")
    assert run.returncode == 0, run.stdout[-5000:]

    with open(data / "instances_val.json", "a", encoding="utf-8") as file:
        file.write("\n")
    run = engine(clone, *TARGETS, "--dry-run", *OPTIONS)
    assert "rule read_dataset" in run.stdout
    assert "rule download_file" not in run.stdout

    (data / "instances_val.json").unlink()
    run = engine(clone, *TARGETS, "--dry-run", *OPTIONS)
    assert run.returncode == 1
    assert "instances_val.json: was downloaded and is gone; fetch it again with" in run.stdout


def test_a_wrong_file_is_one_line(clone: Path, mine: Path, engine) -> None:
    spec = yaml.safe_load(mine.read_text(encoding="utf-8"))
    spec["downloads"][0]["sha256"] = 64 * "0"
    write(mine, spec)
    run = engine(clone, TARGETS[0], *OPTIONS)
    assert run.returncode == 1
    lines = {line for line in run.stdout.splitlines() if line.startswith("error: ")}
    assert len(lines) == 1
    assert "instances_val.json.bad" in lines.pop()
    assert "Traceback" not in run.stdout
    assert not (clone / TARGETS[0]).exists()

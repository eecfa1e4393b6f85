"""The data set of one's own that README.md and config/README.md describe."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from folder_files import write_image, write_text
from labelquality.config import load_config
from labelquality.datasets import read_dataset, read_reannotation


def block(path: Path, kind: str, start: str) -> str:
    """The fenced block of a `kind` that begins with `start`."""
    blocks = re.findall(rf"```{kind}\n(.*?)```", path.read_text(encoding="utf-8"), re.DOTALL)
    return next(text for text in blocks if text.startswith(start))


def test_it_is_short_and_reads(repository: Path, tmp_path: Path) -> None:
    text = block(repository / "README.md", "yaml", "# mine.yaml")
    assert text.count("\n") < 15
    write_text(tmp_path / "mine.yaml", text)
    run = yaml.safe_load(block(repository / "README.md", "yaml", "# run.yaml"))
    config = load_config(run | {"datasets": [str(tmp_path / "mine.yaml")]}, repository / "config")
    spec = config["datasets"]["mine"]

    write_image(tmp_path / "images/val/street_17.jpg")
    write_text(tmp_path / "labels/val/street_17.txt", "2 0.5 0.5 0.2 0.4\n")
    votes = block(repository / "config" / "README.md", "json", '{"classes"')
    write_text(tmp_path / "soft_labels.json", votes)
    dataset = read_dataset(spec, tmp_path)
    assert dataset.annotations.frame["category"].tolist() == [2]
    released = read_reannotation(spec, tmp_path, dataset.images).released
    assert released.frame["n_votes"].tolist() == [11]

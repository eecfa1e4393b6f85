"""A data set with an annotation file for each image, in a run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml

from folder_files import spec_of, voc_xml, write_image, write_text, write_voc

pytestmark = pytest.mark.workflow
TARGET = "results/mine/data/toy/annotations.parquet"


def test_a_run_follows_what_the_files_hold_not_their_times(clone: Path, engine) -> None:
    write_voc(clone / "data/toy")
    write_image(clone / "data/toy/JPEGImages/2008_000002.jpg")
    spec = spec_of("voc", title="Toy", root="data/toy", bias_correction={"method": "identity"})
    run = {"run": "mine", "datasets": ["toy.yaml"], "detectors": ["yolov8_scenes"]}
    for name, content in {"toy": spec | {"licence": "none", "source": "test"}, "run": run}.items():
        (clone / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    arguments = (TARGET, "--cores", "1", "--configfile", "run.yaml")
    first = engine(clone, *arguments)
    assert first.returncode == 0, first.stdout[-3000:]
    before = (clone / TARGET).read_bytes()

    xml = clone / "data/toy/Annotations/2008_000002.xml"
    os.utime(xml)
    assert "Nothing to be done" in engine(clone, *arguments).stdout

    write_text(xml, voc_xml(""))
    assert engine(clone, *arguments).returncode == 0
    assert (clone / TARGET).read_bytes() != before

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import yaml

from labelquality.config import load_config
from labelquality.errors import DataError


@pytest.fixture
def folder(repository: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(repository / "config", tmp_path / "config"))


def configuration(folder: Path, **changes: object) -> dict:
    content = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    return content | changes


def test_the_demo_configuration_is_valid_and_carries_its_parts(folder: Path) -> None:
    config = load_config(configuration(folder), folder)
    assert list(config["datasets"]) == ["scenes"]
    assert config["datasets"]["scenes"]["classes"][0] == "square"
    assert {d["family"] for d in config["detectors"].values()} == {
        "yolov8",
        "rtdetr",
        "grounding_dino",
        "owlvit",
        "cascade_rcnn",
    }


def test_every_shipped_file_matches_its_schema(folder: Path) -> None:
    names = {
        part: sorted(path.stem for path in (folder / part).glob("*.yaml"))
        for part in ("datasets", "detectors")
    }
    config = load_config(configuration(folder, **names), folder)
    assert list(config["datasets"]) == names["datasets"]
    assert list(config["detectors"]) == names["detectors"]


def test_the_run_of_the_papers_is_valid_over_the_demo(folder: Path) -> None:
    papers = yaml.safe_load((folder / "papers.yaml").read_text(encoding="utf-8"))
    config = load_config(configuration(folder, **papers), folder)
    parts = ["voc_train", "kitti_train", "cityscapes_train"]
    assert list(config["datasets"]) == ["coco", "voc", "kitti", "cityscapes", *parts]
    assert config["labels_only"] == parts
    assert config["label_errors"]["variants"] == {
        "less_restrictive": {"min_probability": 0.5, "min_height": 0},
        "stricter": {"min_probability": 0.8, "min_height": 40},
    }


def test_defaults_of_nested_sections_are_filled_in(folder: Path) -> None:
    minimal = {"run": "mine", "datasets": ["scenes"], "detectors": ["yolov8_scenes"]}
    config = load_config(minimal, folder)
    assert config["calibration"]["folds"] == 5
    assert config["label_errors"]["variants"]["stricter"]["min_height"] == 40


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"datsets": []}, "top level: unknown key datsets; allowed are calibration, "),
        ({"calibration": {"method": "beta"}}, "calibration.method: 'beta' is not one of isotonic"),
        ({"calibration": {"fold": 3}}, "calibration: unknown key fold; allowed are bins, folds"),
        ({"run": "my run"}, "run: 'my run' does not match"),
        ({"shards": 0}, "shards: 0 is less than the minimum of 1"),
        ({"datasets": ["scene"]}, "datasets: scene: there is no "),
        ({"labels_only": ["scenes"]}, "datasets: a name occurs twice in ['scenes', 'scenes']"),
        ({"detectors": []}, "detectors: "),
        ({"protocols": ["defined", "defined"]}, "protocols: "),
    ],
)
def test_a_wrong_key_or_value_is_named(folder: Path, changes: dict, message: str) -> None:
    with pytest.raises(DataError) as raised:
        load_config(configuration(folder, **changes), folder)
    assert message in str(raised.value)
    assert "configuration" in str(raised.value).splitlines()[0]


def test_a_part_of_ones_own_is_given_by_its_path(folder: Path, tmp_path: Path) -> None:
    spec = yaml.safe_load((folder / "datasets" / "scenes.yaml").read_text(encoding="utf-8"))
    own = tmp_path / "mine.yaml"
    own.write_text(yaml.safe_dump(spec | {"name": "mine"}), encoding="utf-8")
    config = load_config(configuration(folder, datasets=[str(own)]), folder)
    assert list(config["datasets"]) == ["mine"]


def test_a_part_must_bear_the_name_of_its_file(folder: Path) -> None:
    path = folder / "datasets" / "other.yaml"
    shutil.copy(folder / "datasets" / "scenes.yaml", path)
    with pytest.raises(DataError, match="must be the file's name, 'other'"):
        load_config(configuration(folder, datasets=["other"]), folder)


def test_broken_yaml_is_one_line(folder: Path) -> None:
    (folder / "datasets" / "broken.yaml").write_text("name: [unclosed", encoding="utf-8")
    with pytest.raises(DataError, match="not valid YAML") as raised:
        load_config(configuration(folder, datasets=["broken"]), folder)
    assert "\n" not in str(raised.value)


def test_an_unknown_key_in_a_part_names_the_file(folder: Path) -> None:
    path = folder / "datasets" / "scenes.yaml"
    path.write_text(path.read_text(encoding="utf-8") + "\nclases: []\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"scenes\.yaml: top level: unknown key clases"):
        load_config(configuration(folder), folder)

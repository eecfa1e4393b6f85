"""COCO JSON by several annotators, as LVIS's doubly annotated subset has it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataset_files import dataset_spec, instances, write_json
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import read_table, write_table


def by_raters() -> dict[str, Any]:
    data = instances()
    for image, raters in zip(data["images"], (["r1", "r2"], ["r1", 3]), strict=True):
        image["rater_list"] = raters
    for annotation, rater in zip(data["annotations"], ("r1", 3, "r1"), strict=True):
        annotation["rater_id"] = rater
    return data


def read(folder: Path, data: dict[str, Any]) -> Dataset:
    write_json(folder, "instances.json", data)
    return read_dataset(dataset_spec(), folder)


def test_annotators_stand_beside_their_boxes(tmp_path: Path) -> None:
    frame = read(tmp_path, by_raters()).annotations.frame
    assert frame["annotator"].tolist() == ["r1", "3", "r1"]


def test_annotators_without_a_box_are_known(tmp_path: Path) -> None:
    table = read(tmp_path, by_raters()).annotations
    write_table(table, tmp_path / "annotations.parquet")
    raters = read_table(tmp_path / "annotations.parquet", "annotations").meta["raters"]
    assert json.loads(raters) == {"a": ["r1", "3"], "b": ["r1", "r2"]}


def test_the_same_box_of_two_annotators_is_no_repeat(tmp_path: Path) -> None:
    data = by_raters()
    data["annotations"].append(data["annotations"][0] | {"id": 8, "rater_id": "r2"})
    assert "repeats another box of the same class" not in read(tmp_path, data).intake["reason"]


def test_a_file_without_annotators(tmp_path: Path) -> None:
    annotations = read(tmp_path, instances()).annotations
    assert set(annotations.frame["annotator"]) == {""}
    assert annotations.meta == {}


@pytest.mark.parametrize(
    ("key", "row", "changes", "message"),
    [
        ("images", 1, {"rater_list": None}, "rater_list is missing, other images have one"),
        ("images", 1, {"rater_list": []}, "rater_list is no list of different annotators"),
        ("images", 1, {"rater_list": [3, 3]}, "rater_list is no list of different annotators"),
        ("images", 1, {"rater_list": [[]]}, "rater_list is no list of different annotators"),
        ("images", 1, {"rater_list": "r1"}, "rater_list is text, should be a list"),
        ("annotations", 2, {"rater_id": "r3"}, "rater_id is not in the rater_list of its image"),
        ("annotations", 2, {"rater_id": None}, "rater_id is not in the rater_list of its image"),
        ("annotations", 2, {"rater_id": 1.5}, "rater_id is a number, should be a whole number or"),
    ],
)
def test_a_spoilt_record_is_named(
    tmp_path: Path, key: str, row: int, changes: dict[str, Any], message: str
) -> None:
    data = by_raters()
    data[key][row] |= changes
    with pytest.raises(DataError, match=rf"instances.json: {key[:-1]} {row} .*: {message}"):
        read(tmp_path, data)


def test_real_annotators(shared_data: Path) -> None:
    folder = shared_data / "lvis_double"
    file = "lvis_v1.0_val_doubly_annos_subset200.json"
    raw = json.loads((folder / file).read_text(encoding="utf-8"))
    names = [category["name"] for category in raw["categories"]]
    table = read_dataset(dataset_spec(classes=names, files={"annotations": file}), folder)
    expected = {str(a["id"]): a["rater_id"] for a in raw["annotations"]}
    frame = table.annotations.frame
    assert dict(zip(frame["box_id"], frame["annotator"], strict=True)) == expected
    raters = json.loads(table.annotations.meta["raters"])
    assert len(raters) == 200
    assert {*map(tuple, raters.values())} == {("r1", "r2")}

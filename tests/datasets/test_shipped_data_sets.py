"""The data sets in config/datasets read files in their makers' layouts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from dataset_files import counts, write_json
from folder_files import (
    VOC_OBJECT,
    cityscapes_json,
    cityscapes_objects,
    voc_xml,
    write_image,
    write_kitti,
    write_text,
)
from labelquality.datasets import Dataset, read_dataset, read_reannotation

SPACED = (
    "traffic light, fire hydrant, stop sign, parking meter, sports ball, baseball bat,"
    " baseball glove, tennis racket, wine glass, hot dog, potted plant, dining table, cell phone,"
    " teddy bear, hair drier"
)
NOT_USED = {12, 26, 29, 30, 45, 66, 68, 69, 71, 83}  # by COCO's 80 categories, of ids 1 to 90


@pytest.fixture
def shipped(repository: Path) -> Any:
    def spec(name: str) -> dict[str, Any]:
        path = repository / "config" / "datasets" / f"{name}.yaml"
        return yaml.safe_load(path.read_text(encoding="utf-8"))

    return spec


def soft_file(spec: dict[str, Any], root: Path, *keys: str) -> None:
    """A re-annotation with one object in each of the images `keys`."""
    n_classes = len(spec["classes"])
    thing = {
        "bbox": [0, 0, 10, 10],
        "proposed_class": spec["classes"][-1],
        "frequencies": {spec["classes"][-1]: 21, "cantsolve": 1},
        "postprocessed_soft_label": [0] * (n_classes - 1) + [1, 0],
    }
    objects = {key: [thing | {"mo_id": key}] for key in keys}
    classes = [*spec["classes"], "cantsolve"]
    write_json(root, spec["files"]["reannotation"], {"classes": classes, "objects": objects})


def read(spec: dict[str, Any], root: Path) -> tuple[Dataset, list[str]]:
    """The data set, and the images that the re-annotation has objects in."""
    dataset = read_dataset(spec, root)
    released = read_reannotation(spec, root, dataset.images).released
    return dataset, released.frame["image_id"].tolist()


def test_coco(shipped: Any, tmp_path: Path) -> None:
    spec = shipped("coco")
    assert len(spec["classes"]) == 80
    spaced = {name.replace(" ", ""): name for name in SPACED.split(", ")}
    names = [spaced.pop(name, name) for name in spec["classes"]]
    assert not spaced
    ids = [i for i in range(1, 91) if i not in NOT_USED]
    (tmp_path / "annotations").mkdir()
    content = {
        "images": [{"id": 139, "file_name": "000000000139.jpg", "width": 640, "height": 426}],
        "categories": [{"id": i, "name": n} for i, n in zip(ids, names, strict=True)],
        "annotations": [
            {"id": i, "image_id": 139, "category_id": i, "bbox": [i, 0, 9, 9], "iscrowd": 0}
            for i in ids
        ],
    }
    write_json(tmp_path, spec["files"]["annotations"], content)
    soft_file(spec, tmp_path, "000000000139.jpg")
    dataset, seen = read(spec, tmp_path)
    assert dataset.annotations.frame["category"].tolist() == list(range(80))
    assert seen == ["000000000139"]


def test_voc(shipped: Any, tmp_path: Path) -> None:
    spec = shipped("voc")
    assert len(spec["classes"]) == 20
    home = tmp_path / "VOCdevkit/VOC2012"
    write_text(home / "ImageSets/Main/val.txt", "2008_000002\n")
    write_text(home / "Annotations/2008_000002.xml", voc_xml(VOC_OBJECT))
    write_text(home / "Annotations/2008_000008.xml", voc_xml("", "2008_000008.jpg"))
    soft_file(spec, tmp_path, "2008_000008.jpg", "2008_000002.jpg")
    dataset, seen = read(spec, tmp_path)
    frame = dataset.annotations.frame
    assert [spec["classes"][i] for i in frame["category"]] == ["car", "person"]
    assert seen == ["2008_000002"]


def test_kitti(shipped: Any, tmp_path: Path) -> None:
    spec = shipped("kitti")
    assert len(spec["classes"]) == 7
    write_kitti(tmp_path)
    for i in range(2, 10):
        write_text(tmp_path / f"training/label_2/{i:06}.txt", "")
        write_image(tmp_path / f"training/image_2/{i:06}.png")
    soft_file(spec, tmp_path, *(f"{i:06}" for i in range(10)))
    dataset, seen = read(spec, tmp_path)
    assert seen == dataset.images.frame["image_id"].tolist()
    assert len(seen) == 2


def test_cityscapes(shipped: Any, tmp_path: Path) -> None:
    spec = shipped("cityscapes")
    assert len(spec["classes"]) == 8
    name = "frankfurt_000001_000538"
    text = cityscapes_json(cityscapes_objects())
    write_text(tmp_path / f"gtFine/val/frankfurt/{name}_gtFine_polygons.json", text)
    soft_file(spec, tmp_path, name)
    dataset, seen = read(spec, tmp_path)
    assert seen == [name]
    labels = ["road", "license plate", "polegroup"]
    dropped = {row for row in counts(dataset.intake) if row[1] == "dropped"}
    assert dropped == {
        ("annotation", "dropped", f"label {label} is not a class of the data set")
        for label in labels
    } | {("annotation", "dropped", "is marked as deleted")}
    assert (dataset.annotations.frame["region"] == "group").sum() == 2


@pytest.mark.parametrize("name", ["voc", "kitti", "cityscapes"])
def test_training_parts_differ_in_their_split_alone(shipped: Any, name: str) -> None:
    val, train = shipped(name), shipped(f"{name}_train")
    assert (train["name"], train["split"]) == (f"{name}_train", "train")
    for key in ("format", "classes", "root", "bias_correction", "repairs", "random_split"):
        assert train.get(key) == val.get(key)
    files = {key: path.replace("val", "train") for key, path in val["files"].items()}
    kept = {"voc": {"reannotation": val["files"]["reannotation"]}}
    assert train["files"] == files | kept.get(name, {})


def test_parts_of_kitti_are_all_of_it(shipped: Any, tmp_path: Path) -> None:
    write_kitti(tmp_path)
    for i in range(2, 10):
        write_text(tmp_path / f"training/label_2/{i:06}.txt", "")
        write_image(tmp_path / f"training/image_2/{i:06}.png")
    parts = [read_dataset(shipped(name), tmp_path).images for name in ("kitti", "kitti_train")]
    ids = [image_id for part in parts for image_id in part.frame["image_id"]]
    assert [len(part) for part in parts] == [2, 8]
    assert sorted(ids) == [f"{i:06}" for i in range(10)]

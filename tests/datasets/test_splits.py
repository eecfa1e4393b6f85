"""Which images belong to a split: a list, a draw, or all of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dataset_files import counts, dataset_spec, instances, soft_labels, toy_images, write_json
from folder_files import WRITERS, spec_of, write_image, write_text
from labelquality.datasets import Dataset, read_dataset, read_reannotation
from labelquality.errors import DataError

SECOND = {
    "voc": "2011_000001",
    "kitti": "000001",
    "cityscapes": "ulm_000001_000019",
    "yolo": "b",
}


def read(format: str, root: Path, list_name: str, **changes: Any) -> Dataset:
    WRITERS[format](root)
    spec = spec_of(format)
    return read_dataset(spec | {"files": spec["files"] | {"image_list": list_name}} | changes, root)


@pytest.mark.parametrize("format", WRITERS)
def test_a_list_chooses_the_images(format: str, tmp_path: Path) -> None:
    name = SECOND[format]
    for line in (name, f"./images/{name}.png", f"\ufeff{name}\r\n\r\n"):
        write_text(tmp_path / "list.txt", line)
        assert read(format, tmp_path, "list.txt").images.frame["image_id"].tolist() == [name]


@pytest.mark.parametrize("format", WRITERS)
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lost\n", "line 1: image lost is not in .*; fetch it, or take it off the list"),
        ("\n{0}\n{0}.png\n", "line 3: image {0} is also at line 2; name it once"),
        ("", "names no image; check files.image_list"),
        ("{0} -1\n", "line 1: image {0} -1 is not in"),
    ],
)
def test_a_list_that_is_wrong(format: str, text: str, message: str, tmp_path: Path) -> None:
    write_text(tmp_path / "list.txt", text.format(SECOND[format]))
    with pytest.raises(DataError, match=rf"list\.txt: {message.format(SECOND[format])}"):
        read(format, tmp_path, "list.txt")


def test_a_list_that_is_absent(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"list\.txt: no such file"):
        read("voc", tmp_path, "list.txt")


def test_the_released_split_files(tmp_path: Path) -> None:
    split = {"train_imgs": ["2011_000001"], "val_imgs": ["2008_000002", "2012_000009"]}
    write_json(tmp_path, "split.json", split)
    images = read("voc", tmp_path, "split.json").images.frame
    assert images["image_id"].tolist() == split["val_imgs"]
    images = read("voc", tmp_path, "split.json", split="train").images.frame
    assert images["image_id"].tolist() == split["train_imgs"]
    with pytest.raises(DataError, match=r"split\.json: key test_imgs is missing"):
        read("voc", tmp_path, "split.json", split="test")
    write_json(tmp_path, "split.json", {"val_imgs": [[]]})
    with pytest.raises(DataError, match="val_imgs 0: is neither a name nor a number"):
        read("voc", tmp_path, "split.json")


@pytest.mark.parametrize("listed", [3, "a", "a.png"])
def test_coco_images_by_id_or_name(listed: object, tmp_path: Path) -> None:
    write_json(tmp_path, "instances.json", instances())
    write_json(tmp_path, "split.json", {"val_imgs": [listed]})
    files = dataset_spec()["files"] | {"image_list": "split.json"}
    dataset = read_dataset(dataset_spec(files=files), tmp_path)
    assert dataset.images.frame["image_id"].tolist() == ["a"]
    assert dataset.annotations.frame["box_id"].tolist() == ["5"]
    assert dataset.annotations.image_ids == ("a",)
    assert counts(dataset.intake) == {
        ("image", "read", ""): 1,
        ("image", "dropped", "is not in the split"): 1,
        ("annotation", "dropped", "image is not in the split"): 2,
        ("annotation", "read", ""): 1,
    }


def test_records_keep_their_place_in_the_file(tmp_path: Path) -> None:
    data = instances()
    data["annotations"][1]["bbox"] = [1, 2]
    write_json(tmp_path, "instances.json", data)
    write_json(tmp_path, "split.json", {"val_imgs": ["a"]})
    files = dataset_spec()["files"] | {"image_list": "split.json"}
    with pytest.raises(DataError, match=r"annotation 1 \(id 5\): bbox has 2 entries"):
        read_dataset(dataset_spec(files=files), tmp_path)


def draw(root: Path, split: str, seed: int = 42) -> list[str]:
    rule = {"train": 0.8, "seed": seed}
    spec = spec_of("kitti", split=split, random_split=rule, excluded_classes=["Misc"])
    return read_dataset(spec, root).images.frame["image_id"].tolist()


def test_a_draw_cuts_all_images_in_two(tmp_path: Path) -> None:
    names = [f"{i:06}" for i in range(11)]
    for name in names:
        write_image(tmp_path / f"training/image_2/{name}.png", 4, 4)
        write_text(tmp_path / f"training/label_2/{name}.txt", "")
    train, val = draw(tmp_path, "train"), draw(tmp_path, "val")
    assert len(train) == 8  # 0.8 of 11, rounded down, as the 5,984 of KITTI's 7,481
    assert sorted(train + val) == names
    assert val == draw(tmp_path, "val") == sorted(val)
    assert val != draw(tmp_path, "val", seed=1)
    with pytest.raises(DataError, match="split is all, random_split makes only train and val"):
        draw(tmp_path, "all")


def test_a_list_and_a_draw_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"has both files.image_list and random_split"):
        read("voc", tmp_path, "list.txt", random_split={"train": 0.8, "seed": 0})


def test_a_reannotation_may_cover_more_than_the_split(tmp_path: Path) -> None:
    data = soft_labels()
    data["objects"]["other"] = [{"bbox": "of no interest"}]
    (tmp_path / "soft.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(DataError, match=r"image other is not .* set repairs.unknown_images"):
        read_reannotation(dataset_spec(), tmp_path, toy_images())
    spec = dataset_spec(repairs={"unknown_images": "drop"})
    result = read_reannotation(spec, tmp_path, toy_images())
    assert len(result.released) == 2
    assert counts(result.intake)["image", "dropped", "is not in the split"] == 1

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataset_files import counts
from folder_files import ONE_FILE, cityscapes_objects, spec_of, write_cityscapes, write_text
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table


def read(root: Path, objects: list[dict[str, Any]] | None = None, **changes: Any) -> Dataset:
    write_cityscapes(root, objects)
    dataset = read_dataset(spec_of("cityscapes", **changes), root)
    check_table(dataset.images, "images")
    check_table(dataset.annotations, "annotations")
    return dataset


def test_images_are_named_as_in_the_other_archive(tmp_path: Path) -> None:
    images = read(tmp_path).images.frame
    assert images["image_id"].tolist() == ["aachen_000000_000019", "ulm_000001_000019"]
    assert images["file_name"].tolist() == [
        "aachen/aachen_000000_000019_leftImg8bit.png",
        "ulm/ulm_000001_000019_leftImg8bit.png",
    ]
    assert images[["width", "height"]].to_numpy().tolist() == [[100, 50], [100, 50]]


def test_boxes_are_extents_inside_the_image(tmp_path: Path) -> None:
    annotations = read(tmp_path).annotations
    assert annotations.boxes.tolist() == [[10, 5, 30, 35], [50, 10, 70, 20], [0, 40, 8, 50]]
    assert annotations.frame["category"].tolist() == [0, 0, 2]


def test_groups_are_regions_of_their_class(tmp_path: Path) -> None:
    frame = read(tmp_path).annotations.frame
    assert frame["region"].tolist() == ["", "group", ""]
    assert frame["crowd"].tolist() == [False, True, False]


def test_everything_left_out_is_counted(tmp_path: Path) -> None:
    labels = ["road", "license plate", "ridergroup", "polegroup"]
    assert counts(read(tmp_path).intake) == {
        ("image", "read", ""): 2,
        ("annotation", "read", ""): 3,
        ("annotation", "dropped", "is marked as deleted"): 1,
        ("annotation", "clipped", "box left its image"): 1,
    } | {
        ("annotation", "dropped", f"label {label} is not a class of the data set"): 1
        for label in labels
    }


def test_any_label_can_be_a_class(tmp_path: Path) -> None:
    dataset = read(tmp_path, classes=["road", "polegroup", "license plate", "car", "person"])
    frame = dataset.annotations.frame
    assert sorted(frame["category"]) == [0, 1, 2, 3, 3, 4]
    assert (frame["region"] == "group").sum() == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"label": "lorry"}, "category lorry is not among the data set's classes"),
        ({"label": "lorrygroup"}, "category lorrygroup is not among"),
        ({"label": 3}, "label is a whole number, should be text"),
        ({"label": None}, "label is null"),
        ({"polygon": None}, "polygon is null, should be a list"),
        ({"polygon": []}, r"polygon is no list of points \[x, y\]"),
        ({"polygon": [[1, 2, 3]]}, "polygon is no list of points"),
        ({"polygon": [[1, True]]}, "polygon is no list of points"),
        ({"polygon": [1, 2]}, "polygon is no list of points"),
        ({"polygon": [[1, 2], [1, 9]]}, "bbox has no area .* set repairs.empty_boxes"),
        ({"polygon": [[200, 1], [300, 9]]}, "bbox has no area inside its image"),
        ({"deleted": "no"}, "deleted is text"),
    ],
)
def test_a_spoilt_object_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    objects = cityscapes_objects()
    objects[1] |= changes
    file = r"aachen_000000_000019_gtFine_polygons\.json"
    with pytest.raises(DataError, match=rf"{file}(:|,) object 1: .*{message}") as caught:
        read(tmp_path, objects)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"imgWidth": 100, "objects": []}', "key imgHeight is missing"),
        ('{"imgWidth": 0, "imgHeight": 50, "objects": []}', "imgWidth is 0, no number of pixels"),
        ('{"imgWidth": 100, "imgHeight": 50}', "key objects is missing"),
        ('{"imgWidth": 100', "not valid JSON"),
    ],
)
def test_a_spoilt_file_is_named(tmp_path: Path, text: str, message: str) -> None:
    write_cityscapes(tmp_path)
    write_text(tmp_path / ONE_FILE["cityscapes"], text)
    with pytest.raises(DataError, match=rf"aachen_.*_gtFine_polygons\.json: .*{message}"):
        read_dataset(spec_of("cityscapes"), tmp_path)


def test_a_folder_one_level_off_names_the_pattern(tmp_path: Path) -> None:
    write_cityscapes(tmp_path)
    files = {"images": "leftImg8bit/val", "annotations": "gtFine"}
    with pytest.raises(DataError, match=r"gtFine/\*/\*_gtFine_polygons\.json: no such files"):
        read_dataset(spec_of("cityscapes", files=files), tmp_path)

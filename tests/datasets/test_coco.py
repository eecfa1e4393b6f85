from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataset_files import counts, dataset_spec, instances, write_json
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table


def read(folder: Path, data: object, **changes: Any) -> Dataset:
    write_json(folder, "instances.json", data)
    dataset = read_dataset(dataset_spec(**changes), folder)
    check_table(dataset.images, "images")
    check_table(dataset.annotations, "annotations")
    return dataset


def test_images_keep_the_stem_of_their_file_as_id(tmp_path: Path) -> None:
    images = read(tmp_path, instances()).images.frame
    assert images["image_id"].tolist() == ["b", "a"]
    assert images["file_name"].tolist() == ["b.jpg", "folder/a.png"]
    assert images[["width", "height"]].to_numpy().tolist() == [[100, 50], [40, 40]]
    assert set(images["split"]) == {"val"}


def test_annotations_are_corners_and_classes_by_name(tmp_path: Path) -> None:
    annotations = read(tmp_path, instances()).annotations
    frame = annotations.frame
    assert frame["image_id"].tolist() == ["b", "a", "b"]
    assert frame["box_id"].tolist() == ["0", "5", "6"]
    assert frame["category"].tolist() == [0, 1, 1]
    assert annotations.boxes.tolist() == [[10, 5, 30.5, 35], [0, 0, 40, 40], [50, 0, 60, 10]]
    assert annotations.image_ids == ("b", "a")


def test_crowds_are_regions(tmp_path: Path) -> None:
    frame = read(tmp_path, instances()).annotations.frame
    assert frame["crowd"].tolist() == [False, True, False]
    assert frame["region"].tolist() == ["", "group", ""]


def test_intake_counts_what_was_read(tmp_path: Path) -> None:
    data = instances()
    data["annotations"].append(data["annotations"][0] | {"id": 8})
    assert counts(read(tmp_path, data).intake) == {
        ("image", "read", ""): 2,
        ("annotation", "read", ""): 4,
        ("annotation", "kept", "repeats another box of the same class"): 1,
    }


def test_images_without_annotations_are_a_data_set(tmp_path: Path) -> None:
    dataset = read(tmp_path, instances() | {"annotations": []})
    assert len(dataset.annotations) == 0
    assert dataset.annotations.image_ids == ("b", "a")


def test_no_images_at_all(tmp_path: Path) -> None:
    assert len(read(tmp_path, instances() | {"images": [], "annotations": []}).images) == 0


def test_other_names_of_classes_are_mapped(tmp_path: Path) -> None:
    data = instances()
    data["categories"][1]["name"] = "automobile"
    with pytest.raises(DataError, match=r"annotation 0 \(id 0\): category automobile is not"):
        read(tmp_path, data)
    frame = read(tmp_path, data, class_names={"automobile": "car"}).annotations.frame
    assert frame["category"].tolist() == [0, 1, 1]


def test_unknown_classes_are_dropped_where_declared(tmp_path: Path) -> None:
    data = instances()
    data["categories"][0]["name"] = "lamp"
    # A box that would be an error does not matter where its class is unknown.
    data["annotations"][1]["bbox"] = [0, 0, -1, 0]
    dataset = read(tmp_path, data, repairs={"unknown_classes": "drop"})
    assert dataset.annotations.frame["box_id"].tolist() == ["0"]
    assert counts(dataset.intake)["annotation", "dropped", "class is not in the data set"] == 2


@pytest.mark.parametrize(
    ("bbox", "repairs", "expected", "note"),
    [
        ([30, 35, -20, -30], {"inverted_boxes": "swap"}, [10, 5, 30, 35], "box was inverted"),
        ([30, 35, -20, 0], {"inverted_boxes": "drop"}, None, "box is inverted"),
        ([10, 5, 0, 30], {"empty_boxes": "drop"}, None, "box has no area inside its image"),
        ([100, 5, 3, 30], {"empty_boxes": "drop"}, None, "box has no area inside its image"),
        ([90, -5, 20, 30], {}, [90, 0, 100, 25], "box left its image"),
    ],
)
def test_declared_repairs(
    tmp_path: Path, bbox: list[float], repairs: dict[str, str], expected: object, note: str
) -> None:
    data = instances()
    data["annotations"] = [data["annotations"][0] | {"bbox": bbox}]
    dataset = read(tmp_path, data, repairs=repairs)
    assert dataset.annotations.boxes.tolist() == ([] if expected is None else [expected])
    assert {reason: count for (_, _, reason), count in counts(dataset.intake).items()}[note] == 1


def test_a_box_on_the_border_is_not_outside(tmp_path: Path) -> None:
    data = instances()
    data["annotations"] = [data["annotations"][0] | {"bbox": [99.9, 0, 0.1 + 1e-9, 50]}]
    dataset = read(tmp_path, data, repairs={"boxes_outside": "error"})
    assert dataset.annotations.boxes.tolist() == [[99.9, 0, 100, 50]]


@pytest.mark.parametrize(
    ("bbox", "rule", "message"),
    [
        ([30, 5, -20, 30], {}, "bbox is inverted; set repairs.inverted_boxes"),
        ([10, 5, 20, 0], {}, "bbox has no area inside its image; set repairs.empty_boxes"),
        ([200, 5, 20, 10], {}, "bbox has no area inside its image"),
        ([90, 5, 20, 9], {"boxes_outside": "error"}, "leaves the image; set repairs.boxes_outside"),
        ([30, 35, -20, 0], {"inverted_boxes": "swap"}, "no area inside its image"),
    ],
)
def test_boxes_that_no_rule_permits(
    tmp_path: Path, bbox: list[float], rule: dict[str, str], message: str
) -> None:
    data = instances()
    data["annotations"][2]["bbox"] = bbox
    with pytest.raises(DataError, match=rf"instances.json: annotation 2 \(id 6\): .*{message}"):
        read(tmp_path, data, repairs=rule)


def spoil(data: dict[str, Any], key: str, row: int, **changes: Any) -> dict[str, Any]:
    data[key][row] = {k: v for k, v in (data[key][row] | changes).items() if v is not KeyError}
    return data


@pytest.mark.parametrize(
    ("key", "row", "changes", "message"),
    [
        ("annotations", 2, {"bbox": [1, 2, 3]}, "bbox has 3 entries, should have 4"),
        ("annotations", 2, {"bbox": [1, 2, "3", 4]}, "bbox holds text, should hold numbers"),
        ("annotations", 2, {"bbox": [1, 2, None, 4]}, "bbox holds null, should hold numbers"),
        ("annotations", 2, {"bbox": [1, 2, True, 4]}, "bbox holds true or false"),
        ("annotations", 2, {"bbox": None}, "bbox is null, should be a list"),
        ("annotations", 2, {"bbox": KeyError}, "bbox is missing; add it or remove the record"),
        ("annotations", 2, {"id": KeyError}, "id is missing"),
        ("annotations", 2, {"id": 5}, r"id 5 is also that of annotation 1 \(id 5\); give each"),
        ("annotations", 2, {"image_id": 4}, "image_id is not among the file's images"),
        ("annotations", 2, {"image_id": 7.0}, "image_id is a number, should be a whole number or"),
        ("annotations", 2, {"category_id": 0}, "category_id is not .* use one of 1, 90"),
        ("annotations", 2, {"iscrowd": 2}, "iscrowd is neither 0 nor 1"),
        ("annotations", 2, {"iscrowd": "1"}, "iscrowd is text, should be a whole number"),
        ("images", 1, {"file_name": "b.png"}, r"b is also that of image 0 \(id 7\)"),
        ("images", 1, {"id": 7}, r"id 7 is also that of image 0 \(id 7\)"),
        ("images", 1, {"width": 0}, "width is no number of pixels"),
        ("images", 1, {"height": 2**40}, "height is no number of pixels"),
        ("images", 1, {"width": 40.5}, "width is a number, should be a whole number"),
        ("images", 1, {"file_name": KeyError}, "file_name is missing"),
        ("categories", 1, {"name": 3}, "name is a whole number, should be text"),
        ("categories", 1, {"id": 1}, r"id 1 is also that of category 0 \(id 1\)"),
    ],
)
def test_a_spoilt_record_is_named(
    tmp_path: Path, key: str, row: int, changes: dict[str, Any], message: str
) -> None:
    item = {"annotations": "annotation", "images": "image", "categories": "category"}[key]
    with pytest.raises(DataError, match=rf"^instances.json: {item} {row}.*: .*{message}") as caught:
        read(tmp_path, spoil(instances(), key, row, **changes))
    assert "\n" not in str(caught.value)


def test_errors_say_how_many_records_they_are_about(tmp_path: Path) -> None:
    data = instances()
    for annotation in data["annotations"]:
        annotation["image_id"] = 99
    with pytest.raises(DataError, match="mend or remove these 3 records"):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "holds a list, should hold an object"),
        ({"annotations": []}, "key images is missing"),
        (instances() | {"images": {}}, "images is an object, should be a list"),
        (instances() | {"annotations": ["x"]}, "annotation 0: is text, should be an object"),
    ],
)
def test_a_file_of_another_kind(tmp_path: Path, data: object, message: str) -> None:
    with pytest.raises(DataError, match=f"instances.json: {message}"):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"images": [{"id": 1, "file_na', "not valid JSON"),
        (b'{"images": [], "annotations": [{"bbox": [NaN, 0, 1, 1]}]}', "NaN is no JSON number"),
        (b"", "not valid JSON"),
        (b'{"images": "\xff"}', "not valid JSON"),
    ],
)
def test_broken_json(tmp_path: Path, text: bytes, message: str) -> None:
    (tmp_path / "instances.json").write_bytes(text)
    with pytest.raises(DataError, match=message):
        read_dataset(dataset_spec(), tmp_path)


def test_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"instances.json: no such file; check .root."):
        read_dataset(dataset_spec(), tmp_path)
    (tmp_path / "instances.json").mkdir()
    with pytest.raises(DataError, match="cannot be read"):
        read_dataset(dataset_spec(), tmp_path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "xml"}, "data set toy: format xml is unknown; use one of coco"),
        ({"files": {}}, "data set toy: files has no annotations"),
        ({"classes": ["person sitting", "Person_sitting"]}, "cannot be told from person sitting"),
        ({"classes": ["car", "Can't solve"]}, "cannot be told from cantsolve"),
        ({"class_names": {"auto": "kar"}}, "auto is mapped to kar, which is not among classes"),
    ],
)
def test_a_data_set_that_is_described_wrongly(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(tmp_path, instances(), **changes)


def test_names_outside_ascii(tmp_path: Path) -> None:
    data = instances()
    data["categories"][1]["name"] = "고양이"
    data["images"][0]["file_name"] = "картина.jpg"
    dataset = read(tmp_path, data, classes=["고양이", "person sitting"])
    assert dataset.images.frame["image_id"][0] == "картина"
    assert dataset.annotations.frame["category"][0] == 0


def test_real_annotations(shared_data: Path) -> None:
    """LVIS keeps its boxes inside the images and names none twice: nothing is set aside."""
    import orjson

    folder = shared_data / "lvis_double"
    file = "lvis_v1.0_val_doubly_annos_subset200.json"
    raw = orjson.loads((folder / file).read_bytes())
    names = [category["name"] for category in raw["categories"]]
    dataset = read_dataset(
        dataset_spec(classes=names, files={"annotations": file}),
        folder,
    )
    assert counts(dataset.intake) == {
        ("image", "read", ""): 200,
        ("annotation", "read", ""): 3521,
    }
    first, box = raw["annotations"][0], dataset.annotations.boxes[0]
    x, y, width, height = first["bbox"]
    assert box.tolist() == [x, y, x + width, y + height]
    named = raw["categories"][dataset.annotations.frame["category"][0]]
    assert named["id"] == first["category_id"]

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from dataset_files import counts
from folder_files import KITTI, spec_of, write_image, write_kitti, write_text
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table

CLASSES = ["car", "van", "truck", "pedestrian", "personsitting", "cyclist", "tram"]


def read(root: Path, text: str | None = None, **changes: Any) -> Dataset:
    write_kitti(root)
    if text is not None:
        write_text(root / "training/label_2/000000.txt", text)
    changes = {"classes": CLASSES, "excluded_classes": ["Misc"]} | changes
    dataset = read_dataset(spec_of("kitti", **changes), root)
    check_table(dataset.images, "images")
    check_table(dataset.annotations, "annotations")
    return dataset


def test_sizes_come_from_the_images(tmp_path: Path) -> None:
    images = read(tmp_path).images.frame
    assert images["image_id"].tolist() == ["000000", "000001"]
    assert images["file_name"].tolist() == ["000000.png", "000001.png"]
    assert images[["width", "height"]].to_numpy().tolist() == [[100, 50], [100, 50]]


def test_lines_are_objects_and_regions_wherever_they_stand(tmp_path: Path) -> None:
    lines = KITTI.splitlines()
    for order in (lines, lines[::-1], [lines[1], "", lines[0], *lines[2:]]):
        annotations = read(tmp_path, "\n".join(order)).annotations
        rows = zip(
            annotations.frame["region"],
            annotations.frame["category"],
            annotations.boxes.tolist(),
            strict=True,
        )
        assert sorted(rows) == [
            ("", 0, [10.63, 18.54, 42.81, 30.12]),
            ("", 4, [1.5, 2, 3, 4.5]),
            ("dontcare", -1, [50.5, 10.25, 70, 20]),
        ]


def test_box_ids_count_all_lines(tmp_path: Path) -> None:
    ids = ["000000_0", "000000_1", "000000_3"]
    assert read(tmp_path).annotations.frame["box_id"].tolist() == ids


def test_excluded_classes_are_counted(tmp_path: Path) -> None:
    assert counts(read(tmp_path).intake) == {
        ("image", "read", ""): 2,
        ("annotation", "dropped", "class Misc is excluded"): 1,
        ("annotation", "read", ""): 3,
    }


def test_a_class_is_excluded_only_where_declared(tmp_path: Path) -> None:
    message = r"label_2: 000000.txt, line 3: category Misc is not among .* excluded_classes"
    with pytest.raises(DataError, match=message):
        read(tmp_path, excluded_classes=[])
    with pytest.raises(DataError, match="excluded_classes: car is also among classes"):
        read(tmp_path, excluded_classes=["car"])


def test_an_empty_file_is_an_image_without_objects(tmp_path: Path) -> None:
    dataset = read(tmp_path, "")
    assert len(dataset.annotations) == 0
    assert dataset.annotations.image_ids == ("000000", "000001")


def test_an_absent_file_is_an_error(tmp_path: Path) -> None:
    write_image(tmp_path / "training/image_2/000007.png")
    message = r"label_2: 1 images have no annotation file: 000007.txt; fetch them"
    with pytest.raises(DataError, match=message):
        read(tmp_path)


def test_without_images_the_pattern_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"image_2/\*\*/\*\{.jpg,.*\}: no such files; check .root"):
        read_dataset(spec_of("kitti"), tmp_path)


LINE = KITTI.splitlines()[1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (LINE.rsplit(maxsplit=1)[0], "line 2: has 14 columns, should have 15, or 16 with a score"),
        (LINE + " 1 2", "line 2: has 17 columns"),
        (LINE.replace("10.63", "10,63"), "line 2: x1 is '10,63', should be a number"),
        (LINE.replace("1.57", "nan"), "line 2: rotation_y is 'nan', should be a number"),
        (LINE.replace("Car", "Lorry"), "line 2: category Lorry is not among"),
        (LINE.replace("10.63", "50"), "line 2: bbox is inverted; set repairs.inverted_boxes"),
        (LINE.replace("42.81", "10.63"), "line 2: bbox has no area inside its image"),
    ],
)
def test_a_spoilt_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"000000\.txt, {message}") as caught:
        read(tmp_path, "\n" + line)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    write_kitti(tmp_path)
    (tmp_path / "training/label_2/000000.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(DataError, match=r"000000\.txt: is not UTF-8 text"):
        read_dataset(spec_of("kitti"), tmp_path)


def test_real_annotations(shared_data: Path, tmp_path: Path) -> None:
    for kind in ("image_2", "label_2"):
        shutil.copytree(shared_data / "kitti5" / kind, tmp_path / "training" / kind)
    files = spec_of("kitti")["files"] | {"image_list": "list.txt"}
    write_text(tmp_path / "list.txt", "000000\n000001\n000002\n")
    dataset = read_dataset(
        spec_of("kitti", classes=CLASSES, excluded_classes=["Misc"], files=files), tmp_path
    )
    assert counts(dataset.intake) == {
        ("image", "read", ""): 3,
        ("annotation", "dropped", "class Misc is excluded"): 1,
        ("annotation", "read", ""): 9,
    }
    assert dataset.images.frame["width"].tolist() == [1224, 1242, 1242]
    frame = dataset.annotations.frame
    assert (frame["region"] == "dontcare").sum() == 4
    assert sorted(frame.loc[frame["region"] == "", "category"]) == [0, 0, 2, 3, 5]
    with pytest.raises(DataError, match=r"1 images have no annotation file: 000008\.txt"):
        read_dataset(spec_of("kitti", classes=CLASSES, excluded_classes=["Misc"]), tmp_path)

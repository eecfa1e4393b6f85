from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from dataset_files import counts
from folder_files import YOLO, spec_of, write_image, write_text, write_yolo
from labelquality.datasets import Dataset, read_dataset
from labelquality.errors import DataError
from labelquality.tables import check_table


def read(root: Path, text: str | None = None, **changes: Any) -> Dataset:
    write_yolo(root)
    if text is not None:
        write_text(root / "labels/val/a.txt", text)
    dataset = read_dataset(spec_of("yolo", **changes), root)
    check_table(dataset.images, "images")
    check_table(dataset.annotations, "annotations")
    return dataset


def test_images_with_and_without_annotation_files(tmp_path: Path) -> None:
    dataset = read(tmp_path)
    assert dataset.images.frame["image_id"].tolist() == ["a", "c", "b"]
    assert dataset.images.frame["file_name"].tolist() == ["a.png", "c.png", "in/b.png"]
    found = counts(dataset.intake)
    assert found["image", "read", ""] == 3
    assert found["image", "kept", "has no annotation file"] == 1


def test_boxes_are_pixels_and_clipped(tmp_path: Path) -> None:
    dataset = read(tmp_path)
    assert dataset.annotations.boxes.ravel() == pytest.approx([40, 15, 60, 35, 93, 22.5, 100, 27.5])
    assert dataset.annotations.frame["category"].tolist() == [0, 2]
    assert counts(dataset.intake)["annotation", "clipped", "box left its image"] == 1


def test_repeated_lines_are_kept_and_counted(tmp_path: Path) -> None:
    dataset = read(tmp_path, YOLO + YOLO)
    assert len(dataset.annotations) == 4
    reason = "repeats another box of the same class"
    assert counts(dataset.intake)["annotation", "kept", reason] == 2


def test_files_without_an_image_are_counted(tmp_path: Path) -> None:
    write_text(tmp_path / "labels/val/classes.txt", "car\nperson\n")
    found = counts(read(tmp_path).intake)
    assert found["annotation file", "dropped", "has no image"] == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("0 0.5 0.5 0.2 0.4 0.9", "has 6 columns, should have 5; leave out the score"),
        ("0 0.1 0.1 0.2 0.1 0.2 0.2", "has 7 columns, should have 5; export boxes"),
        ("0 0.5 0.5 0.2", "has 4 columns, should have 5"),
        ("3 0.5 0.5 0.2 0.4", "class 3 is none of 0 to 2; list its name in classes"),
        ("-1 0.5 0.5 0.2 0.4", "class -1 is none of 0 to 2"),
        ("0.5 0.5 0.5 0.2 0.4", "class 0.5 is none of 0 to 2"),
        ("car 0.5 0.5 0.2 0.4", "class is 'car', should be a number"),
        ("0 0.5 0.5 0.2 inf", "height is 'inf', should be a number"),
        ("0 0.5 0.5 -0.2 0.4", "bbox is inverted"),
        ("0 0.5 0.5 0 0.4", "bbox has no area inside its image"),
        ("0 55 15 20 10", "bbox has no area inside its image"),
    ],
)
def test_a_spoilt_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    with pytest.raises(DataError, match=rf"a\.txt, line 2: {message}"):
        read(tmp_path, "1 0.5 0.5 0.1 0.1\n" + line)


def test_no_files_at_all_names_the_pattern(tmp_path: Path) -> None:
    write_image(tmp_path / "images/val/a.png")
    with pytest.raises(DataError, match=r"labels/val/\*\*/\*\.txt: no such files; check"):
        read_dataset(spec_of("yolo"), tmp_path)


def test_two_images_of_one_name(tmp_path: Path) -> None:
    write_image(tmp_path / "images/val/other/a.jpg")
    with pytest.raises(DataError, match=r"other/a\.jpg: is for image a, as is .*val/a\.png; give"):
        read(tmp_path)


def test_a_file_that_is_no_image(tmp_path: Path) -> None:
    write_text(tmp_path / "images/val/d.png", "<html>")
    with pytest.raises(DataError, match=r"d\.png: not an image that can be read"):
        read(tmp_path)

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from dataset_files import toy_images
from labelquality.datasets import check_images
from labelquality.errors import DataError
from labelquality.tables import make_table


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "folder").mkdir()
    Image.fromarray(np.zeros((50, 100, 3), np.uint8)).save(tmp_path / "b.jpg")
    Image.fromarray(np.zeros((40, 40, 3), np.uint8)).save(tmp_path / "folder" / "a.png")
    return tmp_path


def test_whole_images_of_the_right_size(folder: Path) -> None:
    [note] = check_images(toy_images(), folder).to_dict("records")
    assert (note["item"], note["action"], note["count"]) == ("image", "checked", 2)


def test_each_fault_is_named(folder: Path) -> None:
    (folder / "b.jpg").unlink()
    Image.fromarray(np.zeros((40, 41, 3), np.uint8)).save(folder / "folder" / "a.png")
    with pytest.raises(DataError) as caught:
        check_images(toy_images(), folder)
    assert str(caught.value) == (
        f"{folder}: 2 of 2 images: b.jpg (image not found), folder/a.png (is 41 x 40, should be"
        " 40 x 40); fetch them again"
    )


@pytest.mark.parametrize("keep", [0, 10, 300])
def test_a_cut_file_is_corrupt(folder: Path, keep: int) -> None:
    path = folder / "b.jpg"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(DataError, match=r"1 of 2 images: b.jpg \(.*\); fetch them again"):
        check_images(toy_images(), folder)


def test_only_five_are_listed(tmp_path: Path) -> None:
    names = [f"{i}.png" for i in range(8)]
    images = make_table(
        "images",
        {"image_id": names, "file_name": names, "width": 1, "height": 1, "split": "val"},
        ("car",),
    )
    with pytest.raises(DataError, match=r"8 of 8 images: 0.png .*4.png \(.*\) and 3 more; fetch"):
        check_images(images, tmp_path)

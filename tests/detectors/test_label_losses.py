from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from label_error_tables import CLASSES, boxes_of, images, originals
from labelquality.detectors.base import ImageDetections
from labelquality.detectors.label_losses import BoxLosses, run
from labelquality.errors import DataError
from labelquality.tables import Table, write_table

A, B = (0, 0, 10, 10), (20, 0, 30, 10)


class Teller:
    """Two stages; a label's losses are its category and half of it, a detection's 1 and 2."""

    def __init__(self, seen: int) -> None:
        self.seen = seen

    def losses(self, image: np.ndarray, boxes: np.ndarray, categories: np.ndarray) -> BoxLosses:
        told = np.stack([categories, categories / 2], axis=1).astype(np.float32)
        vectors = np.tile(np.array([0.1, 0.7, 0.1, 0.1], np.float32), (self.seen, 1))
        found = ImageDetections(boxes_of([B] * self.seen), vectors)
        return BoxLosses(told, told + 1, found, np.tile([1.0, 2.0], (self.seen, 1)))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("i", "j"):
        Image.new("RGB", (100, 100)).save(tmp_path / f"{name}.png")
    return tmp_path


def places() -> Table:
    table = images("j", "i")
    return table.with_columns(file_name=table.frame["image_id"] + ".png")


def test_labels_and_detections_have_their_losses_by_stage(folder: Path, tmp_path: Path) -> None:
    labels = originals([A, B, A], category=[2, -1, 1], image_id=["i", "i", "j"])
    told = run(Teller(1), places(), folder, labels, progress=False)
    frame = told.frame
    assert frame["image_id"].tolist() == ["i", "i", "j", "j"]
    assert frame["box_id"].tolist() == ["o0", "", "o2", ""]
    assert frame["category"].tolist() == [2, 1, 1, 1]
    assert told.boxes.tolist() == [list(A), list(B)] * 2
    assert [list(row) for row in frame["classification"]] == [[2, 1], [1, 2], [1, 0.5], [1, 2]]
    assert [list(row) for row in frame["regression"]] == [[3, 2], [0, 0], [2, 1.5], [0, 0]]
    assert told.image_ids == ("i", "j")
    assert told.classes == CLASSES
    write_table(told, tmp_path / "losses.parquet")


def test_images_without_labels_or_detections(folder: Path, tmp_path: Path) -> None:
    told = run(Teller(0), places(), folder, originals([]), progress=False)
    assert len(told) == 0
    assert told.image_ids == ("i", "j")
    write_table(told, tmp_path / "losses.parquet")


def test_an_image_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"j\.png|i\.png"):
        run(Teller(0), places(), tmp_path, originals([]), progress=False)

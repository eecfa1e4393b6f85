from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataset_files import dataset_spec, instances, toy_images, truth, write_json
from labelquality.datasets import Truth, read_truth
from labelquality.errors import DataError
from labelquality.tables import check_table


def read(folder: Path, data: object) -> Truth:
    write_json(folder, "instances.json", instances())
    write_json(folder, "truth.json", data)
    result = read_truth(dataset_spec(), folder, toy_images())
    check_table(result.objects, "objects")
    check_table(result.injected, "injected")
    return result


def test_objects_carry_the_known_probabilities(tmp_path: Path) -> None:
    objects = read(tmp_path, truth()).objects
    assert objects.frame["box_id"].tolist() == ["1", "2"]
    assert objects.frame["image_id"].tolist() == ["b", "b"]
    assert objects.frame["n_votes"].tolist() == [0, 0]
    assert objects.frame["proposed"].tolist() == [-1, -1]
    for name in ("soft_label", "corrected"):
        assert objects.vectors[name].tolist() == [[0.75, 0.25, 0.0], [0.0, 0.9, 0.1]]


def test_errors_point_at_what_they_are_about(tmp_path: Path) -> None:
    injected = read(tmp_path, truth()).injected
    frame = injected.frame
    assert frame["kind"].tolist() == ["missing", "original_only", "classification"]
    assert injected.boxes.tolist() == [[70, 20, 80, 40], [50, 0, 60, 10], [10, 5, 30, 35]]
    assert frame["category"].tolist() == [1, 1, 0]
    assert frame["validated_box_id"].tolist() == ["2", "", "1"]
    assert frame["original_box_id"].tolist() == ["", "6", "0"]
    assert frame["height"].tolist() == [20, 10, 30]
    assert frame["ioa_dontcare"].tolist() == [1, 0, 0]
    np.testing.assert_array_equal(frame["probability"], [0.9, np.nan, 0.75])
    # The original box of the first object is 20.5 wide, the true one 20.
    np.testing.assert_allclose(frame["max_iou"], [0, 0, 20 / 20.5])


def test_classes_of_another_order(tmp_path: Path) -> None:
    data = truth() | {"classes": ["cantsolve", "person_sitting", "car"]}
    with pytest.raises(DataError, match="object 0: category_id is none of the 2 classes"):
        read(tmp_path, data)
    data["classes"] = ["person_sitting", "car", "cantsolve"]
    result = read(tmp_path, data)
    assert result.objects.vectors["corrected"][0].tolist() == [0.25, 0.75, 0]
    assert result.injected.frame["category"].tolist() == [0, 1, 1]


def test_no_errors(tmp_path: Path) -> None:
    assert len(read(tmp_path, truth() | {"errors": []}).injected) == 0
    assert len(read(tmp_path, truth() | {"errors": [], "objects": []}).objects) == 0


@pytest.mark.parametrize(
    ("key", "row", "changes", "message"),
    [
        ("objects", 1, {"object_id": 1}, "object_id 1 is also that of object 0"),
        ("objects", 1, {"image_id": 8}, "image_id refers to nothing"),
        ("objects", 1, {"image_id": None}, "image_id is missing"),
        ("objects", 1, {"bbox": [80, 20, 70, 40]}, "bbox is inverted"),
        ("objects", 1, {"probabilities": [0.5, 0.4, 0.0]}, "probabilities are no distribution"),
        ("objects", 1, {"category_id": 3}, "category_id is none of the 2"),
        ("errors", 0, {"kind": "lost"}, "kind is none of"),
        ("errors", 0, {"object_id": 3}, "object_id refers to nothing"),
        ("errors", 0, {"object_id": None}, "names no box of its kind"),
        ("errors", 1, {"annotation_id": None}, "names no box of its kind"),
        ("errors", 1, {"annotation_id": 5}, "is of another image"),
        ("errors", 0, {"in_region": 1}, "in_region is a whole number, should be true or false"),
        ("images", 0, {"file_name": "c.jpg"}, "file_name is not among the data set's images"),
    ],
)
def test_a_spoilt_record_is_named(
    tmp_path: Path, key: str, row: int, changes: dict[str, Any], message: str
) -> None:
    data = truth()
    data[key][row] |= changes
    with pytest.raises(DataError, match=rf"^truth.json: {key[:-1]} {row}.*: .*{message}"):
        read(tmp_path, data)

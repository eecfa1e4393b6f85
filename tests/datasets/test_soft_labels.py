from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from dataset_files import counts, dataset_spec, soft_labels, toy_images, unbiased, write_json
from labelquality.datasets import Reannotation, read_reannotation
from labelquality.errors import DataError
from labelquality.tables import check_table


def read(
    folder: Path, data: object, *, which: str = "reannotation", **changes: Any
) -> Reannotation:
    write_json(folder, "soft.json" if which == "reannotation" else "unbiased.json", data)
    result = read_reannotation(dataset_spec(**changes), folder, toy_images(), which=which)
    check_table(result.votes, "votes")
    check_table(result.released, "released")
    return result


def test_votes_have_a_row_for_each_source(tmp_path: Path) -> None:
    votes = read(tmp_path, soft_labels()).votes
    frame = votes.frame
    assert frame["box_id"].tolist() == ["one", "two", "two"]
    assert frame["source"].tolist() == [0, 0, 1]
    assert frame["proposed"].tolist() == [0, 0, 1]
    # Our order: car, person sitting, can't-solve.
    assert votes.vectors["frequencies"].tolist() == [[7, 1, 2], [11, 0, 0], [2, 20, 0]]
    assert votes.boxes.tolist() == [[10, 5, 30, 35], [50, 0, 60, 10], [50, 0, 60, 10]]
    assert [list(s) for s in frame["seconds"]] == [[1.5, 2.0, 0.5], [], []]


def test_released_vectors_are_put_into_our_order(tmp_path: Path) -> None:
    released = read(tmp_path, soft_labels()).released
    assert released.vectors["soft_label"].tolist() == [[0.7, 0.1, 0.2], [13 / 33, 20 / 33, 0]]
    assert released.vectors["corrected"].tolist() == [[0.6, 0.2, 0.2], [0.5, 0.5, 0.0]]
    assert released.frame["n_votes"].tolist() == [10, 33]
    assert released.frame["proposed"].tolist() == [0, -1], "the sources of `two` differ"
    assert released.image_ids == ("b", "a")


def test_image_keys_go_with_and_without_suffix(tmp_path: Path) -> None:
    data = soft_labels()
    objects = data["objects"].pop("b")
    for key in ("b", "b.jpg", "b.png"):
        data["objects"] = {key: objects}
        assert set(read(tmp_path, data).votes.frame["image_id"]) == {"b"}


def test_intake(tmp_path: Path) -> None:
    data = soft_labels()
    del data["objects"]["a.png"], data["objects"]["b"][0]["postprocessed_soft_label"]
    data["objects"]["b"][1]["frequencies_1"] = {}
    data["objects"]["b"][1]["proposed_class_2"] = None
    data["objects"]["b"][1]["soft_label"] = [0.5, 0.5, 0.0]
    assert counts(read(tmp_path, data).intake) == {
        ("image", "read", ""): 1,
        ("image", "kept", "has no entry in the file"): 1,
        ("source of votes", "dropped", "has no votes"): 1,
        ("source of votes", "kept", "has no proposed class"): 1,
        ("object", "kept", "soft_label differs from its votes"): 1,
        ("object", "kept", "has no corrected vector: soft_label"): 1,
        ("object", "read", ""): 2,
        ("source of votes", "read", ""): 2,
    }


def test_a_source_without_votes_leaves_the_numbers_of_the_others(tmp_path: Path) -> None:
    data = soft_labels()
    data["objects"]["b"][1]["frequencies_1"] = {}
    votes = read(tmp_path, data).votes.frame
    assert votes[["box_id", "source"]].to_numpy().tolist() == [["one", 0], ["two", 1]]


def test_an_object_without_votes_keeps_its_label(tmp_path: Path) -> None:
    data = soft_labels()
    data["objects"]["b"][0]["frequencies"] = None
    result = read(tmp_path, data)
    assert result.votes.frame["box_id"].tolist() == ["two", "two"]
    assert result.released.frame["n_votes"].tolist() == [0, 33]
    assert result.released.vectors["soft_label"][0].tolist() == [0.7, 0.1, 0.2]
    del data["objects"]["b"][0]["soft_label"]
    with pytest.raises(
        DataError, match=r"object 0 \(mo_id one\): has neither votes nor soft_label"
    ):
        read(tmp_path, data)


def test_votes_make_the_soft_label_where_the_file_has_none(tmp_path: Path) -> None:
    data = soft_labels()
    for thing in data["objects"]["b"]:
        del thing["soft_label"], thing["postprocessed_soft_label"]
    released = read(tmp_path, data).released
    expected = [[0.7, 0.1, 0.2], [13 / 33, 20 / 33, 0]]
    np.testing.assert_allclose(released.vectors["soft_label"], expected, rtol=1e-15)
    del data["objects"]["b"][1]["frequencies"]
    released = read(tmp_path, data).released
    np.testing.assert_allclose(released.vectors["soft_label"], expected, rtol=1e-15)


def test_rounded_vectors_are_normalised_and_counted(tmp_path: Path) -> None:
    data = soft_labels()
    data["objects"]["b"][1]["soft_label"] = [0.606, 0, 0.393]
    result = read(tmp_path, data)
    assert counts(result.intake)["object", "normalised", "soft_label was rounded"] == 1
    assert result.released.vectors["soft_label"][1].sum() == pytest.approx(1, abs=1e-15)


def test_objects_without_id_are_called_as_in_the_released_code(tmp_path: Path) -> None:
    data = soft_labels()
    for thing in data["objects"]["b"]:
        del thing["mo_id"]
    assert read(tmp_path, data).released.frame["box_id"].tolist() == ["b_0", "b_1"]


def test_classes_may_stand_under_categories(tmp_path: Path) -> None:
    data = soft_labels()
    names = data.pop("classes")
    data["categories"] = [{"id": i, "name": name} for i, name in reversed(list(enumerate(names)))]
    votes = read(tmp_path, data).votes
    assert votes.vectors["frequencies"][0].tolist() == [7, 1, 2]


def test_reversed_corners_follow_the_rules_of_the_data_set(tmp_path: Path) -> None:
    data = soft_labels()
    data["objects"]["b"][1]["bbox"] = [60, 10, 50, 0]
    with pytest.raises(DataError, match=r"image b, object 1 \(mo_id two\): bbox is inverted"):
        read(tmp_path, data)
    swapped = read(tmp_path, data, repairs={"inverted_boxes": "swap"})
    assert swapped.votes.boxes[1:].tolist() == [[50, 0, 60, 10]] * 2
    assert counts(swapped.intake)["object", "swapped", "box was inverted"] == 1
    dropped = read(tmp_path, data, repairs={"inverted_boxes": "drop"})
    assert dropped.votes.frame["box_id"].tolist() == ["one"]
    assert dropped.released.frame["box_id"].tolist() == ["one"]


def test_the_sample_without_proposal(tmp_path: Path) -> None:
    result = read(tmp_path, unbiased(), which="unbiased")
    assert result.votes.vectors["frequencies"].tolist() == [[6, 4, 1]]
    assert result.votes.frame["proposed"].tolist() == [-1]
    assert result.released.frame["proposed"].tolist() == [-1]
    assert list(result.votes.frame["seconds"][0]) == [3.5, 4.5]
    reason = ("object", "dropped", "has no votes without proposal")
    assert counts(result.intake)[reason] == 1
    np.testing.assert_allclose(
        result.released.vectors["corrected"], [[6 / 11, 4 / 11, 1 / 11]], rtol=1e-15
    )


def test_a_file_without_objects(tmp_path: Path) -> None:
    result = read(tmp_path, soft_labels() | {"objects": {}})
    assert (len(result.votes), len(result.released)) == (0, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bbox": [1, 2, 3]}, "bbox has 3 entries"),
        ({"bbox": None}, "bbox is null"),
        ({"proposed_class": "lorry"}, "proposed_class lorry is no class of the data set"),
        ({"proposed_class": "cantsolve"}, "proposed_class cantsolve is no class"),
        ({"proposed_class": 3}, "proposed_class is a whole number, should be text"),
        ({"frequencies": {"lorry": 3}}, "frequencies has votes for lorry"),
        ({"frequencies": {"car": 3, "Car": 2}}, "frequencies names a class twice"),
        ({"frequencies": {"Car": -1}}, "a number that is no count of votes"),
        ({"frequencies": {"Car": 1.5}}, "a number that is no count of votes"),
        ({"frequencies": {"Car": "3"}}, "frequencies holds text"),
        ({"frequencies": [1, 2, 3]}, "frequencies is a list, should be an object"),
        ({"soft_label": [0.5, 0.5]}, "soft_label has 2 entries, should have 3"),
        ({"soft_label": [0.5, 0.4, 0.2]}, "soft_label is no distribution"),
        ({"soft_label": [1.2, -0.2, 0.0]}, "soft_label is no distribution"),
        ({"postprocessed_soft_label": [0, 0, 0]}, "postprocessed_soft_label is no distribution"),
        ({"mo_id": "two"}, "mo_id two is also that of image b, object 0"),
        ({"mo_id": [1]}, "mo_id is a list"),
        ({"annotation_info": [3]}, "annotation_info is not a mapping"),
        ({"annotation_info": {"x": [{"time": -1}]}}, "a time that is no number of seconds"),
        ({"annotation_info": {"x": [{"time": "1"}]}}, "a time that is no number of seconds"),
    ],
)
def test_a_spoilt_object_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    data = soft_labels()
    if "mo_id" in changes:
        data["objects"]["b"][0]["mo_id"] = "two"
        changes = {"mo_id": changes["mo_id"]}
    row = 1 if "mo_id" in changes else 0
    data["objects"]["b"][row] |= changes
    with pytest.raises(DataError, match=rf"^soft.json: image b, object {row}.*: .*{message}"):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"classes": ["car", "person sitting"]}, "classes: cantsolve missing"),
        ({"classes": ["car", "car", "person sitting", "cantsolve"]}, "list every class"),
        ({"classes": ["car", "lorry", "cantsolve"]}, "classes: lorry not among"),
        ({"classes": [1, 2, 3]}, "classes: 1, 2, 3 not among"),
        ({"classes": None}, "classes is null, should be a list"),
        ({"objects": []}, "objects is a list, should be an object"),
        ({"objects": {"c": []}}, "image c is not among the data set's 2 images"),
        ({"objects": {"b": [], "b.jpg": []}}, "b and b.jpg are the same image"),
        ({"objects": {"b": {}}}, "image b has an object, should have a list"),
        ({"objects": {"b": [3]}}, "image b, object 0: is a whole number, should be an object"),
    ],
)
def test_a_spoilt_file(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=f"soft.json: .*{message}"):
        read(tmp_path, soft_labels() | changes)


def test_only_two_files_can_be_read() -> None:
    with pytest.raises(ValueError, match="which is truth"):
        read_reannotation(dataset_spec(), Path(), toy_images(), which="truth")

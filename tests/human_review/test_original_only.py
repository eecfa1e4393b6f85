from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from label_error_tables import CLASSES, images, originals, reannotated
from labelquality import label_errors
from labelquality.datasets.adapter import ClassNames
from labelquality.errors import DataError
from labelquality.human_review import original_only
from labelquality.intervals import wilson
from labelquality.tables import Table, check_table

NAMES = ClassNames.of({"name": "t", "classes": CLASSES, "class_names": {"bee": "b"}})
HEADER = "image_id,box_id,decision,vote_1,vote_2,vote_3,vote_4,vote_5"
PLACES = [[20 * i, 0, 20 * i + 10, 10] for i in range(5)]


@pytest.fixture
def original() -> Table:
    """Five boxes, o0 to o4; the fifth is a region."""
    return originals(PLACES, [0, 1, 2, 0, -1], region=["", "", "", "", "dontcare"])


@pytest.fixture
def soft_labels() -> Table:
    """Re-annotated are the place of o3 and another one, whose label is not sure."""
    boxes = [PLACES[3], [0, 50, 10, 60]]
    return reannotated(boxes, [0, 1], probability=[0.9, 0.5], image_ids=["i"])


@pytest.fixture
def listed(original: Table, soft_labels: Table) -> pd.DataFrame:
    return original_only.original_only(label_errors.build(original, soft_labels, images("i")))


def decided(listed: pd.DataFrame, folder: Path, *rows: str) -> pd.DataFrame:
    path = folder / "votes.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return original_only.decide(listed, path, NAMES)


def test_listed_are_original_boxes_that_nothing_overlaps(listed: pd.DataFrame) -> None:
    assert listed["box_id"].tolist() == ["o0", "o1", "o2"]
    assert listed["class"].tolist() == ["a", "b", "c"]
    assert listed[["x1", "x2"]].to_numpy().tolist() == [[0, 10], [20, 30], [40, 50]]
    undecided = original_only.decide(listed, None, NAMES)
    assert (undecided[list(original_only.DECISION)] == "").all(axis=None)


@pytest.mark.parametrize(
    ("votes", "category"),
    [
        ("a,a,a,b,c", 0),
        ("c,c,c,cantsolve,cantsolve", 2),
        ("Bee,B,bee,a,a", 1),  # other spellings
        ("a,a,b,b,c", None),  # two of five are no majority
        ("a,a,cantsolve,cantsolve,cantsolve", None),
        ("can't solve,cantsolve,cantsolve,cantsolve,cantsolve", None),
    ],
)
def test_a_box_joins_with_a_majority_for_a_class(
    votes: str, category: int | None, listed: pd.DataFrame, tmp_path: Path
) -> None:
    review = decided(listed, tmp_path, f"i,o1,accepted,{votes}")
    joined = original_only.added(review, NAMES)
    check_table(joined, "joined")
    assert joined.frame["category"].tolist() == ([] if category is None else [category])
    if category is not None:
        assert joined.frame["box_id"].tolist() == ["o1"]
        assert joined.boxes.tolist() == [PLACES[1]]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("i,o1,perhaps,,,,,", "line 2: decision is perhaps; write accepted or rejected"),
        ("i,o1,rejected,a,a,a,a,a", "line 2: box o1 has votes, but decision is 'rejected'"),
        ("i,o1,,a,a,a,a,a", "line 2: box o1 has votes, but decision is ''"),
        ("i,o1,accepted,a,a,,a,a", "line 2: box o1 does not have all of its 5 votes"),
        ("i,o1,accepted,a,a,a,a,d", "line 2: vote_5 d is no class of the data set; add it to"),
        ("i,o3,rejected,,,,,", "line 2: image i has no original-only box o3"),
        ("i,o4,rejected,,,,,", "line 2: image i has no original-only box o4"),
        ("j,o1,rejected,,,,,", "line 2: image j has no original-only box o1"),
        ("i,o1,rejected,,,,,\ni,o1,accepted,,,,,", "line 3: box o1 of image i stands in line 2"),
    ],
)
def test_decisions_that_make_no_sense_are_one_line(
    row: str, message: str, listed: pd.DataFrame, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as raised:
        decided(listed, tmp_path, row)
    assert str(raised.value).startswith(f"votes.csv: {message}")
    assert "\n" not in str(raised.value)


def test_the_summary_adds_up(
    listed: pd.DataFrame, original: Table, soft_labels: Table, tmp_path: Path
) -> None:
    review = decided(
        listed, tmp_path, "i,o0,accepted,a,a,a,a,a", "i,o1,rejected,,,,,", "i,o2,,,,,,"
    )
    joined = original_only.added(review, NAMES)
    row = original_only.summary(review, joined, original, soft_labels).iloc[0].to_dict()
    low, high = wilson(1, 2)
    assert row == {
        "original_only": 3,
        "accepted": 1,
        "rejected": 1,
        "undecided": 1,
        "rate": 0.5,
        "low": low,
        "high": high,
        "original": 4,
        "validated": 1,
        "validated_gain": -0.75,
        "awaiting_votes": 0,
        "no_majority": 0,
        "added": 1,
        "validated_and_original_only": 2,
        "validated_and_original_only_gain": -0.5,
    }


def test_accepted_boxes_that_do_not_join_are_counted(
    listed: pd.DataFrame, original: Table, soft_labels: Table, tmp_path: Path
) -> None:
    rows = ("i,o0,accepted,,,,,", "i,o1,accepted,a,a,b,b,c")
    review = decided(listed, tmp_path, *rows)
    joined = original_only.added(review, NAMES)
    row = original_only.summary(review, joined, original, soft_labels).iloc[0]
    assert row[["accepted", "awaiting_votes", "no_majority", "added"]].tolist() == [2, 1, 1, 0]


def test_crowds_count_among_the_original_objects_where_the_release_counts_them(
    listed: pd.DataFrame, soft_labels: Table
) -> None:
    original = originals(PLACES[:3], crowd=[False, True, False], region=["", "", "dontcare"])
    review = original_only.decide(listed, None, NAMES)
    joined = original_only.added(review, NAMES)
    for crowds, objects in ((False, 1), (True, 2)):
        row = original_only.summary(
            review, joined, original, soft_labels, crowds_are_objects=crowds
        )
        assert row["original"].tolist() == [objects]


def test_only_images_that_were_re_annotated_count(soft_labels: Table) -> None:
    original = originals([PLACES[0]] * 3, image_id=["i", "j", "j"])
    nothing = original_only.original_only(
        label_errors.build(originals([]), soft_labels, images("i"))
    )
    review = original_only.decide(nothing, None, NAMES)
    row = original_only.summary(review, original_only.added(review, NAMES), original, soft_labels)
    assert row["original"].tolist() == [1]
    assert np.isnan(row["rate"]).all()


@pytest.mark.parametrize(
    ("original_boxes", "validated", "added", "gains"),
    [
        (10_180, 10_383, 209, (1.99, 4.05)),
        (31_589, 49_551, 376, (56.86, 58.05)),
        (8_008, 13_797, 72, (72.29, 73.19)),
        (15_774, 17_029, 524, (7.96, 11.28)),
        (15_787, 17_233, 470, (9.16, 12.14)),
        (36_781, 51_487, 1_553, (39.98, 44.20)),
    ],
)
def test_gains_are_those_of_the_papers_table_30(
    original_boxes: int, validated: int, added: int, gains: tuple[float, float]
) -> None:
    for count, gain in zip((validated, validated + added), gains, strict=True):
        assert 100 * original_only.gain(count, original_boxes) == pytest.approx(gain, abs=0.0051)


def test_the_list_keeps_what_was_decided(listed: pd.DataFrame, tmp_path: Path) -> None:
    review = decided(listed, tmp_path, "i,o0,accepted,a,a,bee,a,a", "i,o1,rejected,,,,,")
    sheet = original_only.review_list(review)
    assert sheet.columns[:8].tolist() == HEADER.split(",")
    sheet.to_csv(tmp_path / "again.csv", index=False)
    again = original_only.decide(listed, tmp_path / "again.csv", NAMES)
    pd.testing.assert_frame_equal(again, review)
    assert again["vote_3"].tolist() == ["b", "", ""]


def test_nothing_to_review_is_reviewed(tmp_path: Path) -> None:
    soft_labels = reannotated([PLACES[0]], image_ids=["i"])
    original = originals([PLACES[0]])
    listed = original_only.original_only(label_errors.build(original, soft_labels, images("i")))
    review = decided(listed, tmp_path)
    row = original_only.summary(review, original_only.added(review, NAMES), original, soft_labels)
    assert row[["original_only", "added", "validated"]].to_numpy().tolist() == [[0, 0, 1]]
    assert len(original_only.review_list(review)) == 0

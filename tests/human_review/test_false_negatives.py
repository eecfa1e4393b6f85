from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from label_error_tables import CLASSES, images, originals, reannotated
from labelquality.datasets.adapter import ClassNames
from labelquality.errors import DataError
from labelquality.human_review import false_negatives
from labelquality.intervals import wilson
from labelquality.tables import Table

NAMES = ClassNames.of({"name": "t", "classes": CLASSES})
HEADER = "image_id,class,original_box_id,validated_box_id"
PLACES = [[20 * i, 0, 20 * i + 10, 10] for i in range(5)]


@pytest.fixture
def original() -> Table:
    """o0 and o1 in image i, o2 is a region there, o3 stands in image j."""
    return originals(
        PLACES[:4],
        [0, 1, -1, 2],
        ["i", "i", "i", "j"],
        region=["", "", "dontcare", ""],
    )


@pytest.fixture
def soft_labels() -> Table:
    """v0 on o0, v1 elsewhere, v2 without a sure label on o1; image k has nothing."""
    return reannotated(
        [PLACES[0], PLACES[4], PLACES[1]],
        [1, 2, 1],
        probability=[0.9, 0.9, 0.5],
        image_ids=["i", "j", "k"],
    )


def read(original: Table, soft_labels: Table, folder: Path, *rows: str) -> pd.DataFrame:
    path = folder / "review.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n", encoding="utf-8")
    return false_negatives.read_review(
        path, original, soft_labels, images("i", "j", "k", "l"), NAMES
    )


def test_the_list_pairs_boxes_of_one_object(original: Table, soft_labels: Table) -> None:
    listed = false_negatives.review_list(original, soft_labels, ["i", "j", "k"])
    assert listed.columns.tolist() == [*HEADER.split(","), "x1", "y1", "x2", "y2"]
    assert listed[HEADER.split(",")].to_numpy().tolist() == [
        ["i", "a", "o0", "v0"],
        ["i", "b", "o1", ""],
        ["i", "c", "", "v1"],
        ["j", "c", "o3", ""],
        ["k", "", "", ""],
    ]
    assert listed["x1"].iloc[:4].tolist() == [0, 20, 80, 60]


def test_a_list_that_nobody_touched_can_be_read_back(
    original: Table, soft_labels: Table, tmp_path: Path
) -> None:
    listed = false_negatives.review_list(original, soft_labels, ["i", "k"])
    listed.to_csv(tmp_path / "list.csv", index=False)
    review = false_negatives.read_review(
        tmp_path / "list.csv", original, soft_labels, images("i", "j", "k"), NAMES
    )
    pd.testing.assert_frame_equal(review, listed[HEADER.split(",")], check_dtype=False)


def test_images_are_drawn_by_the_seed_and_kept_in_order() -> None:
    ids = [f"{i:02}" for i in range(40)]
    drawn = false_negatives.draw_images(ids[::-1], 7, seed=3)
    assert drawn == sorted(set(drawn))
    assert len(drawn) == 7
    assert drawn == false_negatives.draw_images(ids, 7, seed=3)
    assert drawn != false_negatives.draw_images(ids, 7, seed=4)
    assert false_negatives.draw_images(ids, 100, seed=3) == ids


def test_rates_of_every_ground_truth(original: Table, soft_labels: Table, tmp_path: Path) -> None:
    review = read(
        original,
        soft_labels,
        tmp_path,
        "i,a,o0,v0",
        "i,b,o1,v2",  # re-annotated, but without a hard label
        "i,c,,v1",
        "i,c,,",
        "j,c,o3,",
        "k,,,",
    )
    joined = originals([PLACES[3]], 2, "j")
    joined = joined.with_columns(box_id="o3")
    counts = false_negatives.counts(review, soft_labels, joined)
    assert counts["ground_truth"].tolist() == [
        "original",
        "validated",
        "validated_and_original_only",
    ]
    assert counts["images"].tolist() == [3, 3, 3]
    assert counts["objects"].tolist() == [5, 5, 5]
    assert counts["missing"].tolist() == [2, 3, 2]
    assert counts["rate"].tolist() == [0.4, 0.6, 0.4]
    assert counts[["low", "high"]].to_numpy().tolist()[1] == pytest.approx(wilson(3, 5))
    assert counts["reduction"].tolist() == pytest.approx([0, -0.5, 0])
    without = false_negatives.counts(review, soft_labels, None)
    pd.testing.assert_frame_equal(without, counts.iloc[:2])


def test_without_objects_there_is_no_rate(
    original: Table, soft_labels: Table, tmp_path: Path
) -> None:
    counts = false_negatives.counts(
        read(original, soft_labels, tmp_path, "k,,,"), soft_labels, None
    )
    assert counts["objects"].tolist() == [0, 0]
    assert counts[["rate", "low", "high", "reduction"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["l,a,,"], "line 2: image l is not re-annotated"),
        (["i,d,,"], "line 2: class 'd' is no class of the data set; add it to class_names"),
        (["i,cantsolve,,"], "line 2: class 'cantsolve' is no class"),
        (["i,,o0,v0"], "line 2: class '' is no class"),
        (["i,a,o9,"], "line 2: image i has no object original_box_id o9"),
        (["i,a,o2,"], "line 2: image i has no object original_box_id o2"),
        (["j,a,o0,"], "line 2: image j has no object original_box_id o0"),
        (["i,a,,v9"], "line 2: image i has no object validated_box_id v9"),
        (["i,a,o0,v0", "i,a,o0,v1"], "line 3: original_box_id o0 stands in line 2, too"),
        (["i,a,o0,v0", "i,a,,", "i,a,,v0"], "line 4: validated_box_id v0 stands in line 2, too"),
    ],
)
def test_lines_that_make_no_sense_are_errors(
    rows: list[str], message: str, original: Table, soft_labels: Table, tmp_path: Path
) -> None:
    with pytest.raises(DataError) as raised:
        read(original, soft_labels, tmp_path, *rows)
    assert str(raised.value).startswith(f"review.csv: {message}")
    assert "\n" not in str(raised.value)


def test_without_any_annotation_the_list_has_its_images(tmp_path: Path) -> None:
    original, soft_labels = originals([]), reannotated([], image_ids=["i", "j", "k"])
    listed = false_negatives.review_list(original, soft_labels, ["k", "i"])
    assert listed["image_id"].tolist() == ["i", "k"]
    review = read(original, soft_labels, tmp_path, "i,,,", "k,,,")
    assert false_negatives.counts(review, soft_labels, None)["images"].tolist() == [2, 2]

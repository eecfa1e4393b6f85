from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_error_tables import boxes_of, reannotated
from labelquality.errors import DataError
from labelquality.geometry import pairwise_iou
from labelquality.human_review import duplicates
from labelquality.labels import soft_label
from labelquality.tables import Table, check_table, make_table, read_table, write_table

# Each overlaps the next with IoU 1/3, the one after that not at all.
ROW = [[10 * i, 0, 10 * i + 20, 10] for i in range(5)]


def votes_on(objects: Table, frequencies: Sequence[Sequence[int]], source: object = 0) -> Table:
    return make_table(
        "votes",
        {
            "image_id": objects.frame["image_id"],
            "box_id": objects.frame["box_id"],
            "proposed": np.argmax(frequencies, axis=1),
            "source": source,
            "seconds": [[1.0 + i] for i in range(len(objects))],
        },
        objects.classes,
        boxes=objects.boxes,
        vectors={"frequencies": np.asarray(frequencies, dtype=float)},
        image_ids=objects.image_ids,
    )


def decided(objects: Table, folder: Path, *rows: str) -> pd.DataFrame:
    """Pairs with decisions; a row is `first,second,decision,kept`."""
    path = folder / "decisions.csv"
    header = "first_box_id,second_box_id,decision,kept_box_id"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return duplicates.decide(duplicates.candidate_pairs(objects), path)


def test_pairs_go_from_the_largest_overlap_downwards() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 10, 9], [5, 0, 15, 10], [10, 0, 20, 10]]
    objects = reannotated(boxes, [0, 1, 0, 3], image_ids=["i"])
    pairs = duplicates.candidate_pairs(objects)
    assert pairs[["first_box_id", "second_box_id"]].to_numpy().tolist() == [
        ["v0", "v1"],
        ["v0", "v2"],
        ["v2", "v3"],
        ["v1", "v2"],
    ]
    assert pairs["iou"].tolist() == pytest.approx([0.9, 1 / 3, 1 / 3, 45 / 145])
    first = pairs.iloc[0]
    assert (first["first_class"], first["second_class"], first["first_votes"]) == ("a", "b", 11)
    assert first[[f"second_{c}" for c in ("x1", "y1", "x2", "y2")]].tolist() == [0, 0, 10, 9]
    assert pairs["second_class"].tolist() == ["b", "a", "cantsolve", "a"]


def test_boxes_of_other_images_and_touching_ones_are_no_pairs() -> None:
    boxes = [[0, 0, 10, 10], [0, 0, 10, 10], [10, 0, 20, 10]]
    objects = reannotated(boxes, image_id=["i", "j", "i"], image_ids=["i", "j"])
    assert len(duplicates.candidate_pairs(objects)) == 0
    assert len(duplicates.decide(duplicates.candidate_pairs(objects), None)) == 0


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(*[st.integers(0, 6)] * 2, *[st.integers(1, 6)] * 2, st.sampled_from("ij")),
        max_size=8,
    ),
    st.randoms(use_true_random=False),
)
def test_pairs_are_those_of_brute_force_in_any_order_of_rows(rows, random) -> None:
    boxes = [[x, y, x + w, y + h] for x, y, w, h, _ in rows]
    objects = reannotated(boxes, image_id=[r[4] for r in rows], image_ids=["i", "j"])
    pairs = duplicates.candidate_pairs(objects)
    overlap = pairwise_iou(boxes_of(boxes), boxes_of(boxes))
    wanted = {
        (f"v{a}", f"v{b}", overlap[a, b])
        for a in range(len(rows))
        for b in range(a + 1, len(rows))
        if rows[a][4] == rows[b][4] and overlap[a, b] > 0
    }
    assert set(pairs[["first_box_id", "second_box_id", "iou"]].itertuples(index=False)) == wanted
    assert pairs["iou"].is_monotonic_decreasing
    order = list(range(len(rows)))
    random.shuffle(order)
    again = duplicates.candidate_pairs(objects.take(np.array(order, dtype=np.intp)))
    pd.testing.assert_frame_equal(pairs, again)


def test_decisions_may_name_a_pair_either_way_round(tmp_path: Path) -> None:
    objects = reannotated(ROW[:3], image_ids=["i"])
    pairs = decided(objects, tmp_path, "v1,v0,duplicate,v0", "v1,v2,two_objects,")
    assert pairs["decision"].tolist() == ["duplicate", "two_objects"]
    assert pairs["kept_box_id"].tolist() == ["v0", ""]
    undecided = decided(objects, tmp_path, "v1,v0,,", "nobody,knows,,")
    assert (undecided["decision"] == "").all()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["v0,v1,same,v0"], "line 2: decision is same; write duplicate or two_objects"),
        (["v0,v1,duplicate,"], "line 2: kept_box_id '' is none of the two boxes"),
        (["v0,v1,duplicate,v2"], "line 2: kept_box_id 'v2' is none of the two boxes"),
        (["v0,v1,two_objects,v1"], "line 2: two objects are both kept, but kept_box_id is v1"),
        (["v0,v1,,v1"], "line 2: kept_box_id is given without a decision"),
        (
            ["v0,v1,two_objects,", "v1,v0,duplicate,v0"],
            "line 3: the pair v0, v1 stands in line 2, too",
        ),
        (["v0,v2,two_objects,"], "line 2: v0 and v2 are no two re-annotated boxes that overlap"),
        (["v0,v9,two_objects,"], "line 2: v0 and v9 are no two"),
        (["v0,v0,duplicate,v0"], "line 2: v0 and v0 are no two"),
        (
            ["v0,v1,duplicate,v0", "v1,v2,duplicate,v2"],
            "boxes v0, v1, v2 are one object by their duplicates, but v0, v2 are all kept",
        ),
    ],
)
def test_decisions_that_make_no_sense_are_one_line(
    rows: list[str], message: str, tmp_path: Path
) -> None:
    objects = reannotated(ROW, image_ids=["i"])
    with pytest.raises(DataError) as raised:
        decided(objects, tmp_path, *rows)
    assert str(raised.value).startswith("decisions.csv: ")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def crowd(n: int) -> Table:
    """Boxes of which each overlaps every other."""
    return reannotated([[0, 0, 100 + i, 100] for i in range(n)], image_ids=["i"])


def test_a_circle_of_duplicates_keeps_none(tmp_path: Path) -> None:
    rows = ("v0,v1,duplicate,v0", "v1,v2,duplicate,v1", "v0,v2,duplicate,v2")
    with pytest.raises(DataError, match=r"v0, v1, v2 are one object .* none of them is kept"):
        decided(crowd(3), tmp_path, *rows)


def test_two_objects_cannot_be_duplicates_by_way_of_a_third(tmp_path: Path) -> None:
    rows = ("v0,v1,duplicate,v0", "v0,v2,duplicate,v0", "v1,v2,two_objects,")
    with pytest.raises(DataError, match="v1 and v2 are two objects, but by other decisions both"):
        decided(crowd(3), tmp_path, *rows)


def test_duplicates_of_duplicates_end_in_the_box_that_is_never_discarded(tmp_path: Path) -> None:
    rows = ("v2,v3,duplicate,v2", "v1,v2,duplicate,v1", "v0,v4,two_objects,")
    pairs = decided(crowd(5), tmp_path, *rows)
    assert duplicates.survivors(pairs) == {"v2": "v1", "v3": "v1"}


def test_merging_adds_up_votes_and_keeps_the_better_box(tmp_path: Path) -> None:
    objects = reannotated(ROW[:3], [0, 1, 2], image_ids=["i", "empty"])
    frequencies = [[11, 0, 0, 0], [4, 7, 0, 0], [0, 0, 22, 0]]
    votes = votes_on(objects, frequencies)
    pairs = decided(objects, tmp_path, "v0,v1,duplicate,v1")
    merged_votes, merged = duplicates.merge(votes, objects, pairs)
    check_table(merged_votes, "votes")
    check_table(merged, "merged")
    assert merged.frame["box_id"].tolist() == ["v1", "v2"]
    assert merged.boxes.tolist() == [ROW[1], ROW[2]]
    assert merged.frame["n_votes"].tolist() == [22, 11]
    assert merged.frame["proposed"].tolist() == [-1, 0]
    np.testing.assert_array_equal(merged.vectors["soft_label"][0], [15 / 22, 7 / 22, 0, 0])
    expected = objects.vectors["corrected"][:2].mean(axis=0)
    np.testing.assert_allclose(merged.vectors["corrected"][0], expected)
    np.testing.assert_array_equal(merged.vectors["corrected"][1], objects.vectors["corrected"][2])
    assert merged.image_ids == ("i", "empty")

    frame = merged_votes.frame
    of_kept = frame[frame["box_id"] == "v1"].sort_values("source")
    assert of_kept["source"].tolist() == [0, 1]
    assert of_kept["seconds"].tolist() == [[2.0], [1.0]]
    assert of_kept[["x1", "x2"]].to_numpy().tolist() == [[10, 30], [10, 30]]
    assert frame.loc[frame["box_id"] == "v2", "source"].tolist() == [0]


def test_equal_votes_for_two_classes_stay_exactly_at_the_threshold(tmp_path: Path) -> None:
    """11 of 22 votes must not become a majority by rounding."""
    objects = reannotated(ROW[:2], image_ids=["i"])
    for split in range(12):
        votes = votes_on(objects, [[split, 11 - split, 0, 0], [11 - split, split, 0, 0]])
        pairs = decided(objects, tmp_path, "v0,v1,duplicate,v0")
        merged = duplicates.merge(votes, objects, pairs)[1]
        assert merged.vectors["soft_label"][0].tolist() == [0.5, 0.5, 0, 0]


def test_sources_weigh_alike_in_the_corrected_vector(tmp_path: Path) -> None:
    objects = reannotated(ROW[:2], [0, 1], image_ids=["i"])
    sources = objects.take(np.array([0, 1, 1]))
    both = votes_on(sources, [[9, 2, 0, 0], [0, 11, 0, 0], [0, 11, 0, 0]], [0, 0, 3])
    pairs = decided(objects, tmp_path, "v0,v1,duplicate,v0")
    votes, merged = duplicates.merge(both, objects, pairs)
    a, b = objects.vectors["corrected"]
    np.testing.assert_allclose(merged.vectors["corrected"][0], (a + 2 * b) / 3)
    assert votes.frame["source"].tolist() == [0, 1, 2]


def test_without_duplicates_nothing_changes(tmp_path: Path) -> None:
    objects = reannotated(ROW, [0, 1, 2, 0, 3], image_ids=["i"])
    votes = votes_on(objects, [[11, 0, 0, 0]] * 5, source=2)
    pairs = decided(objects, tmp_path, "v0,v1,two_objects,")
    for before, after in zip(
        (votes, objects), duplicates.merge(votes, objects, pairs), strict=True
    ):
        write_table(before, tmp_path / "before.parquet")
        write_table(after, tmp_path / "after.parquet")
        assert (tmp_path / "before.parquet").read_bytes() == (
            tmp_path / "after.parquet"
        ).read_bytes()
        assert len(read_table(tmp_path / "after.parquet", after.kind)) == 5


def test_a_duplicate_without_votes_cannot_be_merged(tmp_path: Path) -> None:
    objects = reannotated(ROW[:2], image_ids=["i"])
    votes = votes_on(objects, [[11, 0, 0, 0]] * 2).take(np.array([0]))
    pairs = decided(objects, tmp_path, "v0,v1,duplicate,v0")
    with pytest.raises(DataError, match="duplicate v1 has none and cannot be merged"):
        duplicates.merge(votes, objects, pairs)


@settings(max_examples=40, deadline=None)
@given(
    rows=st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(1, 9), min_size=4, max_size=4)),
        min_size=1,
        max_size=7,
    )
)
def test_merging_neither_makes_nor_loses_votes(
    rows: list[tuple[int, list[int]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """A row is one box: the object that it is of, and its votes."""
    objects = crowd(len(rows))
    of_object: dict[int, list[int]] = {}
    for i, (number, _) in enumerate(rows):
        of_object.setdefault(number, []).append(i)
    decisions = [
        f"v{boxes[0]},v{i},duplicate,v{boxes[0]}" for boxes in of_object.values() for i in boxes[1:]
    ]
    pairs = decided(objects, tmp_path_factory.mktemp("decisions"), *decisions)
    votes, merged = duplicates.merge(votes_on(objects, [f for _, f in rows]), objects, pairs)
    kept = sorted(of_object.values())
    assert merged.frame["box_id"].tolist() == [f"v{boxes[0]}" for boxes in kept]
    assert not votes.frame.duplicated(["box_id", "source"]).any()
    totals = np.array([np.sum([rows[i][1] for i in boxes], axis=0) for boxes in kept])
    for box, total in zip(merged.frame["box_id"], totals, strict=True):
        of_box = (votes.frame["box_id"] == box).to_numpy()
        np.testing.assert_array_equal(votes.vectors["frequencies"][of_box].sum(axis=0), total)
    grown = np.array([len(boxes) > 1 for boxes in kept])
    np.testing.assert_array_equal(
        merged.vectors["soft_label"][grown], soft_label(totals[grown].astype(float))
    )


def pairs_at(overlaps: Sequence[float], decisions: str, second: str = "") -> pd.DataFrame:
    """Pairs with `d`uplicate, `t`wo objects or `-` undecided; `second` holds classes, else a."""
    names = {"d": duplicates.DUPLICATE, "t": duplicates.TWO_OBJECTS, "-": ""}
    return pd.DataFrame(
        {
            "iou": list(overlaps),
            "decision": [names[letter] for letter in decisions],
            "first_class": "a",
            "second_class": list(second or "a" * len(decisions)),
        }
    )


def test_rates_count_reviewed_pairs_in_bins_closed_below() -> None:
    overlaps = [1.0, 0.9, 0.75, 0.5, 0.3, 0.1]
    rates = duplicates.rates(pairs_at(overlaps, "ddtt--", "aabbab"), 4)
    assert len(rates) == 3 * 5
    of_all = rates[rates["classes"] == "all"]
    assert of_all["iou_from"].tolist() == [0, 0, 0.25, 0.5, 0.75]
    assert of_all["iou_to"].tolist() == [1, 0.25, 0.5, 0.75, 1]
    assert of_all["pairs"].tolist() == [6, 1, 1, 1, 3]
    assert of_all["reviewed"].tolist() == [4, 0, 0, 1, 3]
    assert of_all["duplicates"].tolist() == [2, 0, 0, 0, 2]
    assert of_all["rate"].tolist()[:1] == [0.5]
    assert of_all["rate"].isna().tolist() == [False, True, True, False, False]
    counts = rates.groupby("classes")["pairs"].max()
    assert counts.to_dict() == {"all": 6, "same_class": 3, "other_class": 3}


@pytest.mark.parametrize("n_bins", [2, 3, 7, 10, 20])
def test_every_pair_has_a_bin_and_edges_belong_to_the_upper_one(n_bins: int) -> None:
    edges = np.arange(n_bins + 1) / n_bins
    rates = duplicates.rates(pairs_at(edges, "t" * len(edges)), n_bins)
    of_bins = rates[rates["classes"] == "all"].iloc[1:]
    assert of_bins["pairs"].tolist() == [1] * (n_bins - 1) + [2]


def test_moving_rates_look_back_over_a_full_window() -> None:
    pairs = pairs_at([0.9, 0.8, 0.7, 0.6, 0.5], "dd-td")
    moving = duplicates.moving_rates(pairs, [2, 4, 5])
    assert moving[moving["window"] == 2]["rate"].tolist() == [1, 0.5, 0.5]
    assert moving[moving["window"] == 2]["review"].tolist() == [2, 3, 4]
    assert moving[moving["window"] == 2]["iou"].tolist() == [0.8, 0.6, 0.5]
    assert moving[moving["window"] == 4]["rate"].tolist() == [0.75]
    assert set(moving["window"]) == {2, 4}
    assert duplicates.moving_rates(pairs.iloc[:0], [1]).empty


def test_the_list_holds_decisions_and_can_be_filled_in_further(tmp_path: Path) -> None:
    objects = crowd(3)
    pairs = decided(objects, tmp_path, "v0,v1,duplicate,v0")
    listed = duplicates.review_list(pairs, 0.99)
    assert listed.columns[:5].tolist() == [
        "image_id",
        "first_box_id",
        "second_box_id",
        "decision",
        "kept_box_id",
    ]
    assert len(listed) == 2
    listed.to_csv(tmp_path / "again.csv", index=False)
    again = duplicates.decide(duplicates.candidate_pairs(objects), tmp_path / "again.csv")
    pd.testing.assert_frame_equal(again, pairs)
    only_decided = duplicates.review_list(pairs, 1.0)
    assert only_decided["decision"].tolist() == ["duplicate"]


def test_what_was_merged_is_counted(tmp_path: Path) -> None:
    pairs = decided(crowd(3), tmp_path, "v0,v1,duplicate,v0", "v0,v2,two_objects,")
    notes = duplicates.intake(pairs, "decisions.csv")
    assert notes[["item", "action", "count"]].to_numpy().tolist() == [
        ["pair of boxes", "read", 2],
        ["object", "merged", 1],
    ]


def test_without_pairs_there_is_nothing_to_decide(tmp_path: Path) -> None:
    objects = reannotated(ROW[:1], image_ids=["i"])
    pairs = decided(objects, tmp_path)
    assert len(pairs) == 0
    assert duplicates.rates(pairs, 2)["pairs"].tolist() == [0] * 9
    merged = duplicates.merge(votes_on(objects, [[11, 0, 0, 0]]), objects, pairs)[1]
    assert merged.frame["box_id"].tolist() == ["v0"]

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from label_error_tables import CLASSES, images, label_errors, originals, read_oracle, reannotated
from labelquality import label_error_counts as counts
from labelquality import label_errors as legt
from labelquality.errors import DataError
from labelquality.tables import Table

VARIANTS = {
    "less_restrictive": {"min_probability": 0.5, "min_height": 0},
    "stricter": {"min_probability": 0.8, "min_height": 40},
}


def tall(*heights: float) -> list[tuple[float, float, float, float]]:
    return [(0, 0, 10, height) for height in heights]


def cells(frame: pd.DataFrame, *keys: str) -> dict[Any, int]:
    return frame.set_index(list(keys))["count"].to_dict()


def test_bounds_of_probability_and_height_are_inclusive() -> None:
    errors = label_errors(tall(24.9, 25, 40, 40), probability=[0.9, 0.5, 0.8, 0.79])
    table = counts.by_threshold(
        errors, originals([]), probabilities=[0.5, 0.8], heights=[0, 25, 40]
    )
    missing = table[table["kind"] == "missing"]
    assert cells(missing, "min_probability", "min_height") == {
        (0.5, 0): 4,
        (0.5, 25): 3,
        (0.5, 40): 2,
        (0.8, 0): 2,
        (0.8, 25): 1,
        (0.8, 40): 1,
    }
    assert table.loc[table["kind"] != "missing", "count"].sum() == 0


def test_original_only_boxes_are_counted_by_height_alone() -> None:
    errors = label_errors(tall(10, 50), "original_only", probability=np.nan)
    table = counts.by_threshold(errors, originals([]), probabilities=[0.5, 0.8], heights=[0, 40])
    table = table[table["kind"] == "original_only"]
    assert table["min_probability"].isna().all()
    assert table["count"].tolist() == [2, 1]


def test_half_a_box_in_a_region_is_outside() -> None:
    errors = label_errors(tall(10, 10, 10), ioa_dontcare=[0.0, 0.5, 0.501])
    region = originals([(0, 0, 5, 5)], category=-1, region="dontcare")
    table = counts.by_threshold(errors, region, probabilities=[0.5], heights=[0])
    missing = table[table["kind"] == "missing"]
    assert cells(missing, "region") == {"all": 3, "inside": 1, "outside": 2}


def test_without_regions_there_is_no_inside() -> None:
    table = counts.by_threshold(
        label_errors(tall(10)), originals([]), probabilities=[0.5], heights=[0]
    )
    assert set(table["region"]) == {"all"}


def test_variants_carry_their_bounds() -> None:
    errors = label_errors(tall(10, 40, 50), probability=[0.9, 0.7, 0.8])
    table = counts.of_variants(errors, VARIANTS, legt.counts)
    assert list(table) == ["variant", "min_probability", "min_height", "kind", "count"]
    missing = table[table["kind"] == "missing"]
    assert cells(missing, "variant", "min_probability", "min_height") == {
        ("less_restrictive", 0.5, 0): 3,
        ("stricter", 0.8, 40): 1,
    }


@pytest.fixture
def original() -> Table:
    """Three objects, one of them difficult, and a crowd."""
    table = originals(
        [(0, 0, 10, 10), (20, 0, 60, 40), (60, 60, 90, 90), (0, 50, 50, 100)],
        category=[0, 1, 1, 2],
        crowd=[False, False, False, True],
        region=["", "", "", "group"],
    )
    return table.with_columns(difficult=[False, False, True, False])


@pytest.fixture
def errors(original: Table) -> Table:
    """Missing in the crowd and outside, misaligned on o1, original-only o2."""
    soft_labels = reannotated(
        [(0, 0, 10, 10), (20, 0, 60, 10), (10, 60, 30, 80), (90, 0, 100, 10)],
        category=[0, 1, 2, 2],
    )
    return legt.build(original, soft_labels, images("i"))


def by_group(errors: Table, original: Table, **options: Any) -> pd.DataFrame:
    given = {"class_groups": {"x": ["a", "b"], "y": ["c"]}, "size_limits": (150.0, 1000.0)}
    return counts.by_group(errors, original, **(given | options))


def test_groups_are_those_of_the_error_beside_the_original_objects(
    errors: Table, original: Table
) -> None:
    table = by_group(errors, original)
    found = table[table["count"] > 0]
    assert cells(found, "by", "group", "kind") == {
        ("class", "b", "misaligned"): 1,
        ("class", "b", "original_only"): 1,
        ("class", "c", "missing"): 2,
        ("super-category", "x", "misaligned"): 1,
        ("super-category", "x", "original_only"): 1,
        ("super-category", "y", "missing"): 2,
        ("size", "small", "missing"): 1,
        ("size", "medium", "missing"): 1,
        ("size", "medium", "misaligned"): 1,
        ("size", "medium", "original_only"): 1,
        ("difficult", "no", "misaligned"): 1,
        ("difficult", "yes", "original_only"): 1,
    }
    objects = table.drop_duplicates(["by", "group"]).set_index(["by", "group"])["objects"]
    assert objects.to_dict() == {
        ("class", "a"): 1,
        ("class", "b"): 2,
        ("class", "c"): 0,
        ("super-category", "x"): 3,
        ("super-category", "y"): 0,
        ("size", "small"): 1,
        ("size", "medium"): 1,
        ("size", "large"): 1,
        ("difficult", "no"): 2,
        ("difficult", "yes"): 1,
    }


def test_every_grouping_counts_every_error(errors: Table, original: Table) -> None:
    table = by_group(errors, original)
    for by in ("class", "super-category", "size"):
        of_kind = table[table["by"] == by].groupby("kind")["count"].sum()
        assert of_kind.to_dict() == legt.counts(errors).set_index("kind")["count"].to_dict()


def test_groupings_that_a_data_set_does_not_have_are_left_out(original: Table) -> None:
    plain = original.with_columns(difficult=False)
    table = by_group(label_errors([]), plain, class_groups={})
    assert set(table["by"]) == {"class", "size"}
    assert (table["count"] == 0).all()


def test_sizes_part_at_their_limits() -> None:
    errors = label_errors([(0, 0, 10, 14.9), (0, 0, 10, 15), (0, 0, 10, 99.9), (0, 0, 10, 100)])
    table = by_group(errors, originals([]))
    of_size = table[(table["by"] == "size") & (table["kind"] == "missing")]
    assert cells(of_size, "group") == {"small": 1, "medium": 2, "large": 1}


def test_errors_in_crowds_and_in_crowds_of_their_class(errors: Table, original: Table) -> None:
    table = counts.in_regions(errors, original).set_index("kind")
    columns = ["count", "touching", "inside", "inside_same_class"]
    assert table.loc["missing", columns].tolist() == [2, 1, 1, 1]
    assert table.loc["misaligned", columns].tolist() == [1, 0, 0, 0]
    assert table.loc["missing", "share_inside"] == 0.5
    assert np.isnan(table.loc["classification", "share_inside"])
    assert (table["regions"] == 1).all()
    other = original.with_columns(category=[0, 1, 1, 0])
    assert counts.in_regions(errors, other).set_index("kind").loc["missing", columns].tolist() == [
        *(2, 1, 1, 0)
    ]


def test_half_a_box_in_a_crowd_only_touches_it() -> None:
    original = originals([(0, 0, 5, 10)], crowd=True, region="group")
    errors = legt.build(original, reannotated([(0, 0, 10, 10)]), images("i"))
    table = counts.in_regions(errors, original).set_index("kind")
    assert table.loc["missing", ["touching", "inside", "inside_same_class"]].tolist() == [1, 0, 0]


def test_objects_of_each_class() -> None:
    original = originals(
        [(0, 0, 9, 9)] * 5,
        category=[0, 0, 2, 2, -1],
        crowd=[False, False, False, True, False],
        region=["", "", "", "group", "dontcare"],
    )
    soft_labels = reannotated(
        [(0, 0, 9, 9)] * 4, category=[0, 1, 1, 3], probability=[0.5, 0.51, 0.9, 0.9]
    )
    table = counts.objects_by_class(original, soft_labels, class_groups={"y": ["c"]})
    assert table.to_dict("list") == {
        "super_category": ["", "", "y"],
        "class": list(CLASSES),
        "original": [2, 0, 1],
        "validated": [0, 2, 0],
    }
    table = counts.objects_by_class(original, soft_labels, class_groups={}, crowds_are_objects=True)
    assert table["original"].tolist() == [2, 0, 2]
    assert set(table["super_category"]) == {""}


@pytest.mark.parametrize("name", ["legt_1", "legt_2"])
def test_thresholds_count_what_the_released_code_found(shared_data: Path, name: str) -> None:
    found = [
        (error["type"], error.get("validated_box") or error["original_box"])
        for image in read_oracle(shared_data, name)["outputs"]["legt"].values()
        for error in image["errors"]
    ]
    errors = label_errors(
        [box["bbox"] for _, box in found],
        [kind for kind, _ in found],
        probability=[box.get("prob", np.nan) for _, box in found],
        ioa_dontcare=[box.get("ioa_with_dont_care", 0.0) for _, box in found],
    )
    region = originals([(0, 0, 1, 1)], category=-1, region="dontcare")
    table = counts.by_threshold(errors, region, probabilities=[0.5, 0.8], heights=[0, 25, 40])
    assert len(table) == 3 * (3 * 2 + 1) * 3
    for row in table.itertuples():
        expected = [
            box
            for kind, box in found
            if kind == row.kind
            and (kind == "original_only" or box["prob"] >= row.min_probability)
            and box["bbox_height"] >= row.min_height
            and row.region
            in ("all", "inside" if box.get("ioa_with_dont_care", 0) > 0.5 else "outside")
        ]
        assert row.count == len(expected)


@pytest.mark.parametrize(("crowds", "n_original"), [(False, 3), (True, 4)])
def test_all_counts_by_name(errors: Table, original: Table, crowds: bool, n_original: int) -> None:
    table = counts.every_count(
        errors,
        original,
        variants=VARIANTS,
        probabilities=[0.5],
        heights=[0, 40],
        class_groups={},
        size_limits=(150, 1000),
        crowds_are_objects=crowds,
    )
    assert set(table) == {"variants", "thresholds", "groups", "regions"}
    assert set(table["variants"]["n_original"]) == {n_original}
    for name in ("variants", "groups", "regions"):
        assert list(table[name])[:3] == ["variant", "min_probability", "min_height"]
        assert set(table[name]["variant"]) == set(VARIANTS)
    crowd_class = table["groups"][table["groups"]["group"] == "c"]
    assert set(crowd_class["objects"]) == {int(crowds)}


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"x": ["a", "z"]}, "super_categories: z is no class of the data set; mend"),
        ({"x": ["a"], "y": ["a"]}, "super_categories: a class is in two; mend"),
    ],
)
def test_groups_that_fit_no_classes_are_refused(groups: dict, message: str) -> None:
    with pytest.raises(DataError, match=message):
        counts.objects_by_class(originals([]), reannotated([]), class_groups=groups)

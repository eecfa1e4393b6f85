from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from labelquality.config import load_config
from labelquality.frames import read_csv, write_csv
from labelquality.report import count_tables, tables
from labelquality.report.rows import beside

Cells = dict[Any, Any]


@pytest.fixture(scope="module")
def counted(repository: Path) -> pd.DataFrame:
    return read_csv(repository / "config/published/annotation_counts.csv")


@pytest.fixture(scope="module")
def errors(repository: Path) -> pd.DataFrame:
    return read_csv(repository / "config/published/label_errors.csv")


def classes(dataset: str, split: str, **counts: tuple[str, int, int]) -> pd.DataFrame:
    """Rows of `objects_by_class`: class = super-category, original, validated."""
    rows = [(name, *values) for name, values in counts.items()]
    frame = pd.DataFrame(rows, columns=["class", "super_category", "original", "validated"])
    return frame.assign(dataset=dataset, split=split, images=10)


def cells(table: pd.DataFrame, keys: list[str], value: str) -> Cells:
    return table.set_index(keys)[value].to_dict()


def voc() -> pd.DataFrame:
    return classes("voc", "val", boat=("", 1000, 1171), person=("", 14787, 16062))


def test_a_value_matches_that_rounds_to_the_published_one() -> None:
    ours = pd.DataFrame({"dataset": list("abcdef"), "x": [8.55, 8.651, 8.64999, 3, np.nan, 1]})
    published = pd.DataFrame(
        {"dataset": list("abcdeg"), "published": [8.6, 8.6, 8.6, 3, 1, 9]}
        | {"decimals": [1, 1, 1, 0, 0, 0]}
    )
    table = beside(ours, published, ["dataset"], "x")
    assert cells(table.fillna({"status": ""}), ["dataset"], "status") == {
        **{"a": "match", "b": "differs", "c": "match", "d": "match"},
        **{"e": "data missing", "f": "", "g": "data missing"},
    }
    assert table["deviation"].tolist()[1] == pytest.approx(0.051)
    assert np.isnan(table["published"].tolist()[5])


def test_nothing_published_leaves_ours_alone() -> None:
    table = count_tables.class_counts(voc())
    assert table[["published", "deviation", "status"]].isna().all(axis=None)
    assert cells(table, ["class", "quantity"], "ours") == {
        ("boat", "original"): 1000,
        ("boat", "validated"): 1171,
        ("boat", "change"): pytest.approx(17.1),
        ("person", "original"): 14787,
        ("person", "validated"): 16062,
        ("person", "change"): pytest.approx(8.6224, abs=1e-4),
        ("all", "original"): 15787,
        ("all", "validated"): 17233,
        ("all", "change"): pytest.approx(9.1594, abs=1e-4),
    }


def test_classes_beside_the_published_ones(counted: pd.DataFrame) -> None:
    table = count_tables.class_counts(voc(), counted)
    keys = ["split", "class", "quantity"]
    status = cells(table[table["status"].notna()], keys, "status")
    assert {key: value for key, value in status.items() if key[0] == "val"} == {
        ("val", "boat", "change"): "match",
        ("val", "person", "change"): "differs",
        ("val", "diningtable", "change"): "data missing",
        **{("val", "all", name): "match" for name in ("original", "validated", "change")},
    }
    assert set(table["dataset"]) == {"voc"}
    train = table[table["split"] == "train"]
    assert (train["status"] == "data missing").all()
    assert train["ours"].isna().all()
    assert 15774 in train["published"].tolist()


def test_a_table_of_some_super_categories_has_their_sum(counted: pd.DataFrame) -> None:
    table_15 = counted[(counted["source"] == "Table 15") & (counted["class"] != "all")]
    keys = ["super_category", "class"]
    wide = table_15.pivot_table("published", keys, "quantity", sort=False)
    rows = wide.reset_index().assign(dataset="coco", split="val", images=5000)
    person = classes("coco", "val", person=("person", 11004, 16671))
    table = count_tables.class_counts(
        pd.concat([person, rows]),
        counted,
        super_categories=["outdoor", "accessory", "electronic"],
    )
    assert len(table) == 17 * 3
    assert (table["status"] == "match").all()
    total = table[table["class"] == "all"]
    assert set(total["super_category"]) == {"outdoor+accessory+electronic"}
    assert total["ours"].tolist()[:2] == [4490, 4740]


def test_parts_of_a_data_set_and_their_sum(counted: pd.DataFrame) -> None:
    train = classes("voc_train", "train", boat=("", 15774, 17029))
    table = count_tables.object_counts(pd.concat([voc(), train]), counted)
    of_voc = table[table["dataset"] == "voc"]
    assert cells(of_voc, ["split", "quantity"], "ours") == {
        ("val", "original"): 15787,
        ("val", "validated"): 17233,
        ("val", "change"): pytest.approx(9.16, abs=0.01),
        ("train", "original"): 15774,
        ("train", "validated"): 17029,
        ("train", "change"): pytest.approx(7.96, abs=0.01),
        ("train+val", "original"): 31561,
        ("train+val", "validated"): 34262,
        ("train+val", "change"): pytest.approx(8.56, abs=0.01),
    }
    assert (of_voc["status"] == "match").all()
    others = table[table["dataset"] != "voc"]
    assert set(others["dataset"]) == {"coco", "kitti", "cityscapes"}
    assert (others["status"] == "data missing").all()


def test_one_part_is_not_compared_with_both(counted: pd.DataFrame) -> None:
    table = count_tables.object_counts(voc(), counted)
    both = table[(table["dataset"] == "voc") & (table["split"] == "train+val")]
    assert (both["status"] == "data missing").all()


def test_data_sets_that_no_paper_has_stand_alone(counted: pd.DataFrame) -> None:
    mine = classes("mine", "val", boat=("", 0, 5))
    for build in (count_tables.object_counts, count_tables.data_sets, count_tables.class_counts):
        table = build(mine, counted)
        assert set(table["dataset"]) == {"mine"}
        assert table["status"].isna().all()
    change = count_tables.object_counts(mine, counted).set_index("quantity")["ours"]["change"]
    assert np.isnan(change)


def test_names_that_only_look_like_parts_keep_their_rows_apart() -> None:
    rows = pd.concat(
        [classes("mine", "val", a=("", 1, 1)), classes("mine_val", "val", a=("", 2, 2))]
    )
    assert set(count_tables.object_counts(rows)["dataset"]) == {"mine", "mine_val"}


def test_images_and_classes(counted: pd.DataFrame) -> None:
    table = count_tables.data_sets(voc(), counted)
    of_val = table[(table["dataset"] == "voc") & (table["split"] == "val")]
    assert cells(of_val, ["quantity"], "ours") == {"images": 10, "classes": 2}
    assert cells(of_val, ["quantity"], "published") == {"images": 5823, "classes": 20}
    assert set(table["quantity"]) == {"images", "classes"}


def variants(dataset: str, split: str, counts: list[int]) -> pd.DataFrame:
    kinds = ["missing", "misaligned", "classification", "original_only"]
    rows = pd.DataFrame({"kind": kinds, "count": counts})
    less = rows.assign(variant="less_restrictive", min_probability=0.5, min_height=0)
    return less.assign(protocol="released", dataset=dataset, split=split, n_original=10000)


def test_label_errors_of_variants(errors: pd.DataFrame) -> None:
    rows = pd.concat(
        [
            variants("voc", "val", [1819, 1090, 23, 506]),
            variants("voc_train", "train", [1835, 1120, 29, 570]),
        ]
    )
    table = count_tables.label_errors(rows, errors)
    of_voc = table[table["dataset"] == "voc"]
    assert cells(of_voc, ["split", "kind"], "status") == {
        **{(s, "missing"): "match" for s in ("val", "train", "train+val")},
        **{(s, "misaligned"): "match" for s in ("val", "train", "train+val")},
        **{(s, "classification"): "match" for s in ("val", "train", "train+val")},
        ("val", "original_only"): "match",
        ("train", "original_only"): "differs",
        ("train+val", "original_only"): "differs",
    }
    both = of_voc[of_voc["split"] == "train+val"].set_index("kind")
    assert both.loc["missing", "count"] == 3654
    assert both.loc["missing", "share_of_original"] == 0.1827
    absent = table[table["dataset"] == "coco"].set_index("kind")
    assert absent["published"].to_dict() == {"missing": 16219, "original_only": 3057}
    assert (absent["status"] == "data missing").all()
    assert set(absent["variant"]) == {"less_restrictive"}


def test_variants_with_other_bounds_have_nothing_published(errors: pd.DataFrame) -> None:
    rows = variants("voc", "val", [1819, 1090, 23, 506]).assign(min_probability=0.6)
    table = count_tables.label_errors(rows, errors)
    status = cells(table[table["dataset"] == "voc"], ["split", "kind"], "status")
    assert status["val", "missing"] is None or pd.isna(status["val", "missing"])
    assert status["val", "original_only"] == "match"


def test_label_errors_by_threshold(errors: pd.DataFrame) -> None:
    rows = pd.DataFrame(
        [
            ("all", 0.5, 0, "missing", 17371),
            ("all", 0.5, 25, "missing", 3579),
            ("all", 0.8, 0, "missing", 12000),
            ("outside", 0.5, 0, "missing", 4934),
            ("all", np.nan, 0, "original_only", 711),
        ],
        columns=["region", "min_probability", "min_height", "kind", "count"],
    ).assign(protocol="released", dataset="kitti_train", split="train")
    table = count_tables.label_errors_by_threshold(rows, errors)
    assert table["status"].fillna("").tolist() == [
        *("match", "match", "", "differs", "match"),
        *["data missing"] * 3,
    ]
    assert set(table["dataset"]) == {"kitti"}
    assert set(table["split"]) == {"train"}


def test_shares_of_groups_without_objects_are_missing() -> None:
    rows = pd.DataFrame({"count": [3, 1], "objects": [6, 0]}).assign(
        protocol="defined", dataset="a", variant="v", by="class", group="g", kind="missing"
    )
    share = count_tables.label_errors_by_group(rows)["share_of_original"]
    assert share[0] == 0.5
    assert np.isnan(share[1])


@pytest.mark.parametrize("name", ["counted", "errors"])
def test_published_counts_are_sound(name: str, request: pytest.FixtureRequest) -> None:
    rows = request.getfixturevalue(name)
    keys = [c for c in rows if c not in ("published", "decimals", "source")]
    assert not rows.duplicated(keys).any()
    assert rows[["dataset", "split", "published", "decimals", "source"]].notna().all(axis=None)
    assert (rows["published"].round(6) == rows["published"].round(rows["decimals"].max())).all()


def test_published_classes_are_those_of_the_data_sets(
    repository: Path, counted: pd.DataFrame
) -> None:
    names = sorted({*counted["dataset"]})
    run = {"run": "r", "datasets": names, "detectors": ["yolov8_scenes"]}
    specs = load_config(run, repository / "config")["datasets"]
    for row in counted[counted["class"].notna() & (counted["class"] != "all")].itertuples():
        spec = specs[row.dataset]
        assert row[4] in spec["classes"]
        if pd.notna(row.super_category):
            assert row[4] in spec["super_categories"][row.super_category]
    groups = [name for of in specs["coco"]["super_categories"].values() for name in of]
    assert sorted(groups) == sorted(specs["coco"]["classes"])
    assert len(specs["coco"]["super_categories"]) == 12


def test_leaves_are_written_with_what_was_published(tmp_path: Path, counted: pd.DataFrame) -> None:
    write_csv(voc(), tmp_path / "rows.csv")
    tables.write_leaf(
        "ours/objects_by_class",
        read_csv(tmp_path / "rows.csv"),
        tmp_path / "leaf",
        title="Objects",
        published=counted,
    )
    leaf = read_csv(tmp_path / "leaf.csv")
    assert (leaf["status"] == "match").sum() == 4
    assert "data missing" in (tmp_path / "leaf.html").read_text(encoding="utf-8")

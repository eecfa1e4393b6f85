from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from labelquality.frames import read_csv
from labelquality.human_review.false_negatives import EXTENDED
from labelquality.intervals import share
from labelquality.report import review_tables, tables

PRECISE = 1e-12


@pytest.fixture(scope="module")
def published(repository: Path) -> pd.DataFrame:
    return read_csv(repository / "config" / "published" / "human_review.csv")


def false_negatives(dataset: str, missing: dict[str, int], objects: int) -> pd.DataFrame:
    """Rows of the stage for each ground truth and what it lacks."""
    return pd.DataFrame(
        [
            {
                "dataset": dataset,
                "ground_truth": name,
                "images": 600,
                "objects": objects,
                "missing": count,
                **share(count, objects),
                "reduction": 1 - count / missing["original"],
            }
            for name, count in missing.items()
        ]
    )


COCO = {"original": 131, "validated": 61, EXTENDED: 40}


def test_published_values_fit_together(published: pd.DataFrame) -> None:
    """Table 29 adds up, and Table 30's gains are those of its counts."""
    keys = ["dataset", "split", "ground_truth", "quantity"]
    assert not published.duplicated(keys).any()
    of_split = published[published["split"].notna()]
    wide = of_split.pivot_table("published", "dataset", "quantity")
    assert len(wide) == 6
    assert wide.notna().all(axis=None)
    assert (wide["accepted"] + wide["rejected"] == wide["original_only"]).all()
    assert (wide["accepted"] / wide["original_only"] - wide["acceptance_rate"]).abs().max() < 5.1e-5
    assert (wide["validated"] + wide["added"] == wide[EXTENDED]).all()
    for name in ("validated", EXTENDED):
        gain = wide[name] / wide["original"] - 1
        assert (gain - wide[f"{name}_gain"]).abs().max() < 5.1e-5
    assert (wide["added"] <= wide["accepted"]).all()


def test_the_data_sets_named_are_shipped(repository: Path, published: pd.DataFrame) -> None:
    shipped = {path.stem for path in (repository / "config" / "datasets").glob("*.yaml")}
    assert set(published["dataset"]) <= shipped


def test_false_negative_rates_stand_beside_the_published_ones(published: pd.DataFrame) -> None:
    rows = false_negatives("coco", COCO, 1000)
    table = review_tables.false_negative_rates(rows, published).set_index(
        ["dataset", "ground_truth"]
    )
    assert table.loc[("coco", "original"), "status"] == "match"
    assert table.loc[("coco", "validated"), "published"] == 0.061
    assert ("coco", EXTENDED) not in table.index
    missing = table[table["status"] == "data missing"]
    assert set(missing.index.get_level_values(0)) == {"voc", "kitti", "cityscapes"}
    assert missing["false_negative_rate"].isna().all()

    with_added = review_tables.false_negative_rates_with_original_only(rows, published)
    row = with_added.set_index("ground_truth").loc[EXTENDED]
    assert row["status"] == "differs"
    assert row["deviation"] == pytest.approx(0.004, abs=PRECISE)
    assert row["low"] < 0.04 < row["high"]


def test_data_without_published_values_stand_alone(published: pd.DataFrame) -> None:
    rows = false_negatives("mine", COCO, 1000)
    table = review_tables.false_negative_rates(rows, published)
    assert table["dataset"].tolist() == ["mine", "mine"]
    assert table[["published", "deviation", "status"]].isna().all(axis=None)
    assert review_tables.false_negative_rates(rows).equals(table)


def test_only_data_sets_with_added_boxes_are_in_table_31() -> None:
    both = pd.concat(
        [
            false_negatives("a", COCO, 1000),
            false_negatives("b", {"original": 3, "validated": 1}, 10),
        ]
    )
    table = review_tables.false_negative_rates_with_original_only(both)
    assert table["dataset"].tolist() == ["a", "a"]
    assert table["ground_truth"].tolist() == ["validated", EXTENDED]


def test_counts_of_table_20_are_whole_and_each_stands_once(
    published: pd.DataFrame, tmp_path: Path
) -> None:
    rows = false_negatives("voc", {"original": 386, "validated": 193, EXTENDED: 150}, 2072)
    table = review_tables.false_negatives(rows, published)
    ours = table[table["dataset"] == "voc"]
    assert ours[["quantity", "ours", "status"]].fillna("").to_numpy().tolist() == [
        ["reviewed_images", 600, "match"],
        ["visible_objects", 2072, "match"],
        ["missing", 386, ""],
        ["false_negative_rate", 386 / 2072, "match"],
        ["missing", 193, ""],
        ["false_negative_rate", 193 / 2072, "match"],
        ["reduction", 0.5, "match"],
    ]
    tables.write_leaf(
        "paper1/table_20_false_negatives", rows, tmp_path / "t", title="t", published=published
    )
    text = (tmp_path / "t.csv").read_text(encoding="utf-8")
    assert "voc,,reviewed_images,600,600,0,match\n" in text
    assert "cityscapes,,visible_objects,,11594,,data missing\n" in text
    assert "2,072" in (tmp_path / "t.html").read_text(encoding="utf-8")


def test_review_of_original_only_boxes(published: pd.DataFrame) -> None:
    summary = {
        "dataset": "kitti_train",
        "split": "train",
        "original_only": 711,
        "accepted": 501,
        "rejected": 210,
        "undecided": 0,
        **share(501, 711),
        "original": 31_589,
        "validated": 49_551,
        "validated_gain": 49_551 / 31_589 - 1,
        "awaiting_votes": 0,
        "no_majority": 125,
        "added": 376,
        EXTENDED: 49_927,
        f"{EXTENDED}_gain": 49_927 / 31_589 - 1,
    }
    rows = pd.DataFrame([summary])
    review = review_tables.original_only_review(rows, published)
    ours = review[review["dataset"] == "kitti_train"].set_index("quantity")
    assert ours["status"].fillna("").tolist() == ["match"] * 3 + ["", "match"]
    assert ours["low"].notna().tolist() == [False] * 4 + [True]
    assert len(review[review["status"] == "data missing"]) == 5 * 4
    added = review_tables.original_only_added(rows, published)
    ours = added[added["dataset"] == "kitti_train"].set_index("quantity")
    assert set(ours["status"].dropna()) == {"match"}
    assert ours["status"].isna().sum() == 2
    assert len(added[added["status"] == "data missing"]) == 5 * 6

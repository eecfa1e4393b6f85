"""Duplicates among boxes that people voted on, in the released re-annotation of Cityscapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.typing import NDArray

from labelquality.human_review import duplicates
from labelquality.tables import Table, make_table

FIRST, SECOND = "munster_000162_000019.png_0", "munster_000162_000019.png_3"


@pytest.fixture(scope="module")
def reviewed(shared_data: Path) -> pd.DataFrame:
    """200 boxes with their soft labels and what three experts think of one class of each."""
    return pd.read_csv(shared_data / "expert_review" / "cityscapes.csv")


@pytest.fixture(scope="module")
def objects(reviewed: pd.DataFrame) -> Table:
    soft = [
        {name: float(p) for name, p in (part.split(":") for part in label.split(";"))}
        for label in reviewed["soft_label"]
    ]
    classes = sorted({name for label in soft for name in label} - {"cantsolve"})
    vectors = np.array([[label.get(name, 0) for name in [*classes, "cantsolve"]] for label in soft])
    return make_table(
        "soft_labels",
        {
            "image_id": reviewed["box_id"].str.rsplit("_", n=1).str[0],
            "box_id": reviewed["box_id"],
            "n_votes": 22,
            "proposed": -1,
        },
        classes,
        boxes=reviewed[["x1", "y1", "x2", "y2"]].to_numpy(dtype=float),
        vectors={"soft_label": vectors, "corrected": vectors},
    )


def votes_on(objects: Table) -> Table:
    """One source of 22 votes for each box."""
    columns = {name: objects.frame[name] for name in ("image_id", "box_id", "proposed")}
    return make_table(
        "votes",
        columns | {"source": 0, "seconds": [[]] * len(objects)},
        objects.classes,
        boxes=objects.boxes,
        vectors={"frequencies": np.rint(22 * objects.vectors["soft_label"])},
    )


def bucket(values: NDArray[np.float64]) -> NDArray[np.intp]:
    """Not (0), maybe (1) or clearly (2) the class (paper 1, section IV-E)."""
    return np.digitize(values, [0.25, 0.75])


def agreement(reviewed: pd.DataFrame, objects: Table, into: dict[str, str]) -> int:
    """On how many boxes the soft label is in the bucket of the experts' mean."""
    row = pd.Index(objects.frame["box_id"]).get_indexer(
        [into.get(box, box) for box in reviewed["box_id"]]
    )
    column = [objects.classes.index(name) for name in reviewed["drawn_class"]]
    probability = objects.vectors["soft_label"][row, column]
    experts = reviewed[["reviewer_1", "reviewer_2", "reviewer_3"]].mean(axis=1).to_numpy()
    return int((bucket(probability) == bucket(experts)).sum())


def test_the_first_pair_to_review_is_one_object_under_two_classes(objects: Table) -> None:
    pairs = duplicates.candidate_pairs(objects)
    first, second = pairs.iloc[0], pairs.iloc[1]
    assert (first["first_box_id"], first["second_box_id"]) == (FIRST, SECOND)
    assert first["iou"] == pytest.approx(0.942, abs=5e-4)
    assert (first["first_class"], first["second_class"]) == ("person", "rider")
    assert second["iou"] < 0.1


def test_merging_it_brings_soft_labels_to_the_published_agreement(
    reviewed: pd.DataFrame, objects: Table, tmp_path: Path
) -> None:
    """Table 34 (a) gives 68.0 %; without merging there are two boxes less."""
    (tmp_path / "decisions.csv").write_text(
        "first_box_id,second_box_id,decision,kept_box_id\n"
        f"{SECOND},{FIRST},{duplicates.DUPLICATE},{FIRST}\n",
        encoding="utf-8",
    )
    decided = duplicates.decide(duplicates.candidate_pairs(objects), tmp_path / "decisions.csv")
    merged = duplicates.merge(votes_on(objects), objects, decided)[1]
    assert agreement(reviewed, objects, {}) == 134
    assert agreement(reviewed, merged, duplicates.survivors(decided)) == 136 == 0.68 * 200

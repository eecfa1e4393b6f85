from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluation_tables import ids, random_calibrated, random_tables
from labelquality.evaluation import average_precision, average_similarity
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.frames import read_csv, write_csv
from labelquality.report import evaluation_tables, figures
from labelquality.report.columns import COLUMNS
from labelquality.report.points import own_points, published_points

NOTHING = pd.DataFrame()
WHO = {"dataset": "d", "detector": "a"}


@pytest.fixture(scope="module")
def files(repository: Path) -> dict[str, pd.DataFrame]:
    names = ("average_precision", "average_similarity", "artefacts")
    return {name: read_csv(repository / "config" / "published" / f"{name}.csv") for name in names}


@pytest.fixture(scope="module")
def stated(repository: Path) -> pd.DataFrame:
    return read_csv(repository / "config" / "published" / "correlations.csv")


def test_the_published_points_are_those_of_figure_4(files: dict[str, pd.DataFrame]) -> None:
    points = published_points(**files)
    assert len(points) == 6 * 4
    assert set(points.loc[points["broken"], "dataset"]) == {"pascal", "kitti", "cityscapes"}
    assert set(points.loc[points["broken"], "detector"]) == {"frcnn"}
    row = points[(points["dataset"] == "coco") & (points["detector"] == "gdino")].iloc[0]
    assert row["AP"] == pytest.approx(0.5122, abs=5e-5)
    assert row[["AS", "TVD", "root_JSD"]].tolist() == [0.5508, 0.1198, 0.1636]


def test_published_correlations_come_out_as_stated_but_for_one(
    files: dict[str, pd.DataFrame], stated: pd.DataFrame
) -> None:
    """Of AP and root JSD the paper says -0.02; its own values give -0.04."""
    published = published_points(**files)
    ours = published[["dataset", "detector", "AP", "AS", "TVD", "root_JSD"]]
    rows = evaluation_tables.correlations(
        ours.assign(protocol="released"), published, stated, broken=["frcnn"]
    ).set_index(["points", "x", "y"])
    every = rows.loc["all"].dropna(subset=["stated"])
    assert len(every) == len(stated) == 5
    differs = (every["pearson_published"] - every["stated"]).abs() > 0.005
    assert every.index[differs].tolist() == [("AP", "root_JSD")]
    assert every["pearson_published"]["AP", "root_JSD"] == pytest.approx(-0.0385, abs=5e-5)
    assert (rows["n_published"]["all"] == 24).all()
    assert (rows["n_published"]["sound"] == 21).all()
    assert rows["pearson_published"]["sound", "AS", "AP"] == pytest.approx(0.894, abs=5e-4)
    assert rows["pearson_published"]["sound", "AP", "TVD"] == pytest.approx(-0.144, abs=5e-4)
    # Ours are the same points here, without Faster R-CNN on COCO where only sound ones count.
    assert rows["pearson"]["all"].equals(rows["pearson_published"]["all"])
    assert (rows["n"]["sound"] == 20).all()


def test_open_marks_are_the_broken_points(files: dict[str, pd.DataFrame]) -> None:
    drawn = figures.published_ap_vs_as(**files)
    [axes] = drawn.axes
    of_marks = [line for line in axes.lines if len(line.get_xdata())]
    open_marks = [line for line in of_marks if line.get_markerfacecolor() == "white"]
    points = published_points(**files)
    assert sum(len(line.get_xdata()) for line in of_marks) == len(points)
    assert sorted(y for line in open_marks for y in line.get_ydata()) == sorted(
        points.loc[points["broken"], "AS"]
    )
    assert (
        axes.get_title(loc="right") == "r = 0.78, ρ = 0.73; without open marks r = 0.89, ρ = 0.81"
    )


def test_a_point_stands_in_both_tables() -> None:
    hard = pd.DataFrame(
        {
            "dataset": "d",
            "detector": ["a", "a", "b"],
            "ground_truth": ["validated_0.5", "original", "validated_0.5"],
            "AP": [0.5, 0.1, 0.6],
        }
    )
    soft = pd.DataFrame(
        {"protocol": ["defined", "released"], **WHO, "AS": 0.4, "TVD": 0.2, "root_JSD": 0.3}
    )
    points = own_points(hard, soft)
    assert points["AP"].tolist() == [0.5, 0.5]
    assert points["protocol"].tolist() == ["defined", "released"]
    assert own_points(NOTHING, soft).empty


def test_correlations_without_points_are_a_table_without_rows(
    files: dict[str, pd.DataFrame], stated: pd.DataFrame
) -> None:
    none = own_points(NOTHING, NOTHING)
    table = evaluation_tables.correlations(none, published_points(**files), stated)
    assert table.empty
    assert set(table.columns) <= set(COLUMNS)


def test_tables_by_class_hold_what_the_evaluations_give() -> None:
    found, truth, _ = random_tables(0)
    hard = average_precision.evaluate(found, truth, ids()).per_class()
    table = evaluation_tables.average_precision_per_class(
        hard.assign(**WHO, ground_truth="original")
    )
    assert table["class"].tolist() == list(found.classes)
    assert table["objects"].tolist() == hard["n_objects"].tolist()
    np.testing.assert_array_equal(table["AR_small"], hard["AR_small"])
    soft = average_similarity.evaluate_per_class(
        *random_calibrated(0, "sigmoid"), ids(), PROTOCOLS["defined"]
    )
    table = evaluation_tables.soft_evaluation_per_class(soft.assign(**WHO, protocol="defined"))
    assert table["detections"].tolist() == soft["n_detections"].tolist()
    np.testing.assert_array_equal(table["AS_all"], soft["AS_all"])
    for build in (
        evaluation_tables.average_precision_per_class,
        evaluation_tables.soft_evaluation_per_class,
        evaluation_tables.average_precision_original,
    ):
        assert build(NOTHING).empty
        assert set(build(NOTHING).columns) <= set(COLUMNS)


def test_the_choices_of_both_protocols_stand_side_by_side(tmp_path: Path) -> None:
    rows = pd.DataFrame([{"protocol": name, **WHO, **p.choices} for name, p in PROTOCOLS.items()])
    write_csv(pd.concat([rows, rows.assign(detector="b")]), tmp_path / "rows.csv")
    table = evaluation_tables.soft_evaluation_choices(read_csv(tmp_path / "rows.csv"))
    assert len(table) == 2 * len(PROTOCOLS["defined"].choices)
    chosen = table.set_index(["choice", "protocol"])["chosen"]
    assert chosen["matching"].tolist() == ["greedy", "single_candidate"]
    assert chosen["average_over_sizes"].tolist() == ["True", "False"]
    assert pd.isna(chosen["without_objects", "defined"])
    assert evaluation_tables.soft_evaluation_choices(NOTHING).empty


def test_the_original_ground_truth_alone_is_in_table_49() -> None:
    twelve = dict.fromkeys([*evaluation_tables.PRECISIONS, *evaluation_tables.RECALLS], 0.5)
    rows = pd.DataFrame({**WHO, "ground_truth": ["original", "validated_0.5"], **twelve})
    table = evaluation_tables.average_precision_original(rows.assign(AP=[0.3, 0.4]))
    assert table["AP"].tolist() == [0.3]
    assert table.columns[:2].tolist() == ["detector", "dataset"]

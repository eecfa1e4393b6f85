"""The demo, run once: what it makes, and whether that is right."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from labelquality.frames import read_csv
from run_digests import digests

pytestmark = pytest.mark.workflow
AIMS = {
    "yolov8_scenes": 0.65,
    "rtdetr_scenes": 0.5,
    "grounding_dino_scenes": 0.45,
    "owlvit_scenes": 0.4,
}
TABLES = [
    "ours/average_similarity_sensitivity",
    "ours/injected_error_recall",
    "ours/intake",
    "ours/label_error_recall",
    "ours/label_errors_against_truth",
    "ours/method_differences",
    "ours/review_effort",
    "ours/soft_evaluation_intervals",
    "ours/soft_labels_against_truth",
    "ours/synthetic_against_real",
    "paper1/table_01_annotation_counts",
    "paper1/table_04_label_errors",
    "paper1/table_07_average_precision",
    "paper1/table_08_soft_evaluation",
    "paper1/table_09_label_error_detection",
    "paper1/table_42_calibration_error",
]
FIGURES = [
    "ours/fig_average_similarity_sensitivity",
    "ours/fig_review_effort",
    "ours/fig_soft_label_error",
    "ours/fig_synthetic_against_real",
    "ours/scenes/fig_label_error_gallery",
    "paper1/fig_04_ap_vs_as",
    "paper1/fig_27_reliability",
    "paper1/fig_31_label_error_precision_recall",
]


def table(demo: Path, name: str) -> pd.DataFrame:
    return read_csv(demo / "results" / "demo" / "tables" / f"{name}.csv")


def test_every_table_and_figure_is_there(demo: Path) -> None:
    results = demo / "results" / "demo"
    found = {
        str(path.relative_to(results))
        for kind in ("tables", "figures")
        for path in (results / kind).rglob("*.*")
    }
    wanted = {f"tables/{name}.{suffix}" for name in TABLES for suffix in ("csv", "tex", "html")}
    wanted |= {f"figures/{name}.{suffix}" for name in FIGURES for suffix in ("svg", "pdf")}
    assert found == wanted
    assert all((results / path).stat().st_size > 0 for path in wanted)


def test_a_second_run_has_nothing_to_do(demo: Path, engine) -> None:
    run = engine(demo, "--cores", "2")
    assert run.returncode == 0
    assert "Nothing to be done" in run.stdout


def test_the_report_loads_nothing_from_a_network(demo: Path) -> None:
    page = (demo / "results" / "demo" / "report.html").read_text(encoding="utf-8")
    assert "table_07_average_precision" in page
    assert not re.findall(r"<(?:script|img)[^>]+src=[\"']?https?:", page)
    assert not re.findall(r"<link[^>]+href=[\"']?https?:", page)


@pytest.mark.parametrize("detector", AIMS)
def test_detectors_reach_their_aim_on_the_truth(demo: Path, detector: str) -> None:
    rows = table(demo, "paper1/table_07_average_precision")
    row = rows[(rows["detector"] == detector) & (rows["ground_truth"] == "truth")]
    assert row["AP50"].item() >= AIMS[detector]


def test_detectors_score_better_on_validated_than_on_faulty_labels(demo: Path) -> None:
    rows = table(demo, "paper1/table_07_average_precision").set_index(["detector", "ground_truth"])
    for detector in AIMS:
        ap = rows["AP50"][detector]
        assert ap["validated_0.5"] > ap["original"]


def test_label_errors_that_were_put_in_are_found(demo: Path) -> None:
    rows = table(demo, "ours/label_errors_against_truth").set_index("kind")
    assert (rows["injected"] >= 20).all()
    assert (rows["recall"] >= 0.9).all()
    assert (rows["precision"] >= 0.75).all()


def test_bias_correction_brings_soft_labels_closer_to_the_truth(demo: Path) -> None:
    rows = table(demo, "ours/soft_labels_against_truth").set_index(["label", "subset"])
    assert rows["mean_tvd"]["corrected", "all"] < rows["mean_tvd"]["raw", "all"] < 0.1


def test_calibration_lowers_the_calibration_error(demo: Path) -> None:
    rows = table(demo, "paper1/table_42_calibration_error")
    assert set(rows["binning"]) == {"equal_width", "equal_mass"}
    rows = rows[rows["binning"] == "equal_width"]
    assert len(rows) == len(AIMS)
    assert (rows["ece_isotonic"] < rows["ece_raw"]).all()
    assert (rows["ece_isotonic"] < 0.03).all()


def test_soft_evaluation_covers_both_protocols(demo: Path) -> None:
    rows = table(demo, "paper1/table_08_soft_evaluation")
    assert set(rows["protocol"]) == {"defined", "released"}
    assert rows["AS"].between(0, 1).all()
    assert len(rows) == 2 * len(AIMS)


def test_ranking_by_score_beats_reviewing_every_false_positive(demo: Path) -> None:
    rows = table(demo, "paper1/table_09_label_error_detection")
    keys = ["detector", "variant"]
    naive = rows[rows["method"] == "naive"].set_index(keys)["best_f1"]
    ranked = rows[rows["method"] == "score"].set_index(keys)["best_f1"]
    assert (ranked >= naive).all()


def test_confidence_saves_most_of_the_review(demo: Path) -> None:
    rows = table(demo, "ours/review_effort").set_index("method")
    assert (rows["effort_80"]["naive"] == 1).all()
    assert (rows["effort_80"]["score"] < 0.25).all()


def test_precision_has_an_interval_around_it_and_methods_differ(demo: Path) -> None:
    rows = table(demo, "paper1/table_09_label_error_detection")
    ranked = rows[rows["method"] != "naive"]
    assert (ranked["AP_low"] <= ranked["AP"]).all()
    assert (ranked["AP"] <= ranked["AP_high"]).all()
    pairs = table(demo, "ours/method_differences")
    pairs = pairs[(pairs["measure"] == "AP") & (pairs["variant"] == "less_restrictive")]
    against = pairs[(pairs["method"] == "score") & (pairs["other"] == "objectlab")]
    # As in the paper, image scores make a worse order than confidence alone.
    assert len(against) == len(AIMS)
    assert (against["low"] > 0).all()


def test_errors_found_by_kind_and_by_size_are_all_errors_found(demo: Path) -> None:
    rows = table(demo, "ours/label_error_recall")
    keys = ["detector", "variant", "method"]
    by_kind, by_size = (
        rows[rows["by"] == by].groupby(keys)["found"].sum() for by in ("kind", "size")
    )
    assert by_kind.equals(by_size)


def test_synthetic_errors_stand_beside_the_real_ones(demo: Path) -> None:
    rows = table(demo, "ours/synthetic_against_real")
    for _, of_method in rows.groupby(["detector", "method"]):
        synthetic = of_method[of_method["errors"].str.startswith("synthetic")]
        assert synthetic["error_rate"].is_monotonic_increasing
        assert set(of_method["errors"]) - set(synthetic["errors"]) == {
            "less_restrictive",
            "stricter",
        }


def test_one_core_or_two_and_any_number_of_shards_give_the_same_bytes(
    demo: Path, clone: Path, engine
) -> None:
    run = engine(clone, "leaves", "--cores", "1", "--config", "shards=1")
    assert run.returncode == 0, run.stdout[-5000:]
    first = digests(demo / "results" / "demo")
    second = digests(clone / "results" / "demo")
    shared = [name for name in second if "/shards/" not in name]
    assert {name: second[name] for name in shared} == {name: first[name] for name in shared}
    assert len(shared) > 250

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
    "cascade_rcnn_scenes": 0.65,
}
TABLES = [
    "ours/annotation_counts",
    "ours/average_precision_per_class",
    "ours/average_similarity_sensitivity",
    "ours/correlations",
    "ours/duplicate_rates",
    "ours/injected_error_recall",
    "ours/intake",
    "ours/label_error_recall",
    "ours/label_errors_by_group",
    "ours/label_errors_by_threshold",
    "ours/label_errors_in_regions",
    "ours/objects_by_class",
    "ours/label_errors_against_truth",
    "ours/method_differences",
    "ours/review_effort",
    "ours/soft_evaluation_choices",
    "ours/soft_evaluation_intervals",
    "ours/soft_evaluation_per_class",
    "ours/soft_labels_against_truth",
    "ours/synthetic_against_real",
    "paper1/table_01_data_sets",
    "paper1/table_02_object_counts",
    "paper1/table_03_false_negative_rates",
    "paper1/table_04_label_errors",
    "paper1/table_07_average_precision",
    "paper1/table_08_soft_evaluation",
    "paper1/table_09_label_error_detection",
    "paper1/table_20_false_negatives",
    "paper1/table_29_original_only_review",
    "paper1/table_30_original_only_added",
    "paper1/table_31_false_negative_rates",
    "paper1/table_42_calibration_error",
    "paper1/table_49_average_precision_original",
    "paper1/table_51_label_error_detection",
    "paper1/table_52_label_error_detection",
    "paper1/table_53_label_error_detection",
    "paper1/table_51_label_error_detection",
    "paper1/table_52_label_error_detection",
    "paper1/table_53_label_error_detection",
]
FIGURES = [
    "ours/fig_average_similarity_sensitivity",
    "ours/fig_review_effort",
    "ours/fig_soft_label_error",
    "ours/fig_synthetic_against_real",
    "paper1/scenes/fig_05_label_errors",
    "paper1/scenes/fig_33_missing",
    "paper1/scenes/fig_34_misaligned",
    "paper1/scenes/fig_35_classification",
    "paper1/fig_30_box_areas",
    "paper1/fig_04_ap_vs_as",
    "paper1/fig_10_duplicates",
    "paper1/fig_27_reliability",
    "paper1/fig_31_label_error_precision_recall",
    "paper1/fig_32_label_error_precision_recall_cascade",
    "paper1/fig_32_label_error_precision_recall_cascade",
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


def test_the_report_says_where_the_time_went(demo: Path) -> None:
    results = demo / "results" / "demo"
    rows = read_csv(results / "run_time" / "run_time.csv").set_index("stage")
    files = list((results / "benchmarks").rglob("*.tsv"))
    assert rows["jobs"]["all"] == rows["jobs"].sum() / 2 == len(files) - 2
    assert rows["seconds"]["detect"] > rows["seconds"]["read_dataset"] > 0
    page = (results / "report.html").read_text(encoding="utf-8")
    assert "fig_timeline" in page


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


def test_people_find_every_duplicate_and_nearly_every_missed_object(demo: Path) -> None:
    rates = table(demo, "ours/duplicate_rates")
    rates = rates[(rates["classes"] == "all") & (rates["reviewed"] > 0)]
    assert rates.iloc[0]["duplicates"] >= 20
    assert set(rates["duplicate_rate"].iloc[1:]) == {0, 1}  # nothing between 0.4 and 0.7
    lacking = table(demo, "paper1/table_03_false_negative_rates").set_index("ground_truth")
    assert lacking["high"]["validated"] < 0.05 < lacking["low"]["original"]
    added = table(demo, "paper1/table_31_false_negative_rates").set_index("ground_truth")
    rate = added["false_negative_rate"]
    assert rate["validated_and_original_only"] < rate["validated"]
    review = table(demo, "paper1/table_29_original_only_review").set_index("quantity")["ours"]
    assert review["undecided"] == 0
    found = table(demo, "ours/label_errors_against_truth").set_index("kind")["reported"]
    assert review["original_only"] == found["original_only"]


def test_every_count_of_label_errors_agrees(demo: Path) -> None:
    keys = ["protocol", "kind"]
    variants = table(demo, "paper1/table_04_label_errors")
    all_of_them = variants[variants["variant"] == "less_restrictive"].set_index(keys)["count"]
    rows = table(demo, "ours/label_errors_by_threshold")
    rows = rows[(rows["min_height"] == 0) & (rows["min_probability"] != 0.8)]
    by_region = rows.set_index(["region", *keys])["count"]
    assert by_region["all"].to_dict() == all_of_them.to_dict()
    assert (by_region["inside"] + by_region["outside"]).to_dict() == all_of_them.to_dict()
    groups = table(demo, "ours/label_errors_by_group")
    groups = groups[groups["variant"] == "less_restrictive"]
    for _, of_group in groups.groupby("by"):
        assert of_group.groupby(keys)["count"].sum().to_dict() == all_of_them.to_dict()


def test_missing_objects_in_crowds_are_counted(demo: Path) -> None:
    rows = table(demo, "ours/label_errors_in_regions").set_index(["protocol", "variant", "kind"])
    missing = rows.loc[("defined", "less_restrictive", "missing")]
    assert missing["inside"] == missing["inside_same_class"] > 20
    assert (rows["inside"] <= rows["touching"]).all()


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
    ranked = rows[rows["AP"].notna()]
    assert set(ranked["detector"]) == set(AIMS)
    assert (ranked["AP_low"] <= ranked["AP"]).all()
    assert (ranked["AP"] <= ranked["AP_high"]).all()
    pairs = table(demo, "ours/method_differences")
    pairs = pairs[(pairs["measure"] == "AP") & (pairs["variant"] == "less_restrictive")]
    against = pairs[(pairs["method"] == "score") & (pairs["other"] == "objectlab")]
    # As in the paper, image scores make a worse order than confidence alone.
    assert len(against) == len(AIMS)
    assert (against["low"] > 0).all()


def test_two_stage_detectors_alone_tell_losses_and_the_others_say_why(demo: Path) -> None:
    for name in ("paper1/table_09_label_error_detection", "ours/synthetic_against_real"):
        rows = table(demo, name)
        rows = rows[rows["method"] == "loss_inspection"]
        assert set(rows["detector"]) == set(AIMS)
        assert set(rows["detector"][rows["AP"].notna()]) == {"cascade_rcnn_scenes"}
    rows = table(demo, "paper1/table_09_label_error_detection")
    rows = rows[(rows["method"] == "loss_inspection") & rows["AP"].isna()]
    assert rows["switched_off"].str.contains("losses of a two-stage detector").all()


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

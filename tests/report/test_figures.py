from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from labelquality.error_detection.registry import METHODS
from labelquality.report import figures, style
from labelquality.report.error_figures import _looks
from labelquality.report.panels import thinned
from report_frames import (
    area_rows,
    detection_curves,
    detection_scores,
    distances,
    hard_scores,
    moving_rates,
    reliability_bins,
    review_rates,
    sensitivity_rows,
    soft_scores,
    synthetic_scores,
)

DRAWN: dict[str, Callable[[], Figure]] = {
    "reliability": lambda: figures.reliability(reliability_bins()),
    "label_error_precision_recall": lambda: figures.label_error_precision_recall(
        detection_curves(), detection_scores()
    ),
    "review_effort": lambda: figures.review_effort(detection_curves(), detection_scores()),
    "synthetic_against_real": lambda: figures.synthetic_against_real(synthetic_scores()),
    "ap_vs_as": lambda: figures.ap_vs_as(hard_scores(), soft_scores()),
    "sensitivity": lambda: figures.average_similarity_sensitivity(sensitivity_rows()),
    "soft_label_error": lambda: figures.soft_label_error(distances()),
    "duplicates": lambda: figures.duplicates(moving_rates(), review_rates()),
    "box_areas": lambda: figures.box_areas(area_rows()),
}
NOTHING = pd.DataFrame()


def words(figure: Figure) -> list[str]:
    texts = figure.findobj(mpl.text.Text)
    return [text.get_text() for text in texts if text.get_text()]


@pytest.mark.parametrize("name", DRAWN)
def test_two_runs_give_the_same_bytes_without_a_date(name: str, tmp_path: Path) -> None:
    style.save(DRAWN[name](), tmp_path / "fig.v0.5")
    with mpl.rc_context({"lines.linewidth": 9, "font.family": "serif", "svg.hashsalt": None}):
        style.save(DRAWN[name](), tmp_path / "again")
    for suffix in ("svg", "pdf"):
        one, two = ((tmp_path / f"{n}.{suffix}").read_bytes() for n in ("fig.v0.5", "again"))
        assert one == two
        assert b"<dc:date>" not in one
        assert b"CreationDate" not in one
    ElementTree.fromstring((tmp_path / "again.svg").read_text(encoding="utf-8"))
    assert len(list(tmp_path.iterdir())) == 4


def test_a_figure_of_words_can_be_saved(tmp_path: Path) -> None:
    style.save(figures.reliability(NOTHING), tmp_path / "fig")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fig.pdf", "fig.svg"]


def test_a_failing_save_leaves_nothing(tmp_path: Path) -> None:
    class Unwilling(Figure):
        def savefig(self, fname: object, **kwargs: object) -> None:
            Path(str(fname)).write_text("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        style.save(Unwilling(), tmp_path / "fig")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("figure", "says"),
    [
        (lambda: figures.reliability(NOTHING), "No detections"),
        (lambda: figures.average_similarity_sensitivity(NOTHING), "No detector"),
        (lambda: figures.reliability(reliability_bins().assign(n=0)), "No detections"),
        (lambda: figures.label_error_precision_recall(NOTHING, NOTHING), "No label errors"),
        (
            lambda: figures.label_error_precision_recall(
                detection_curves(), detection_scores().assign(best_recall=np.nan)
            ),
            "No label errors",
        ),
        (lambda: figures.review_effort(NOTHING, NOTHING), "No label errors"),
        (lambda: figures.synthetic_against_real(NOTHING), "No method"),
        (lambda: figures.ap_vs_as(NOTHING, NOTHING), "No detector"),
        (lambda: figures.ap_vs_as(hard_scores().assign(AP=np.nan), soft_scores()), "No detector"),
        (lambda: figures.soft_label_error(NOTHING), "No re-annotated"),
        (lambda: figures.box_areas(NOTHING), "No detectors"),
        (lambda: figures.soft_label_error(distances().assign(tvd=np.nan)), "No re-annotated"),
    ],
)
def test_nothing_to_draw_is_said_in_words(figure: Callable[[], Figure], says: str) -> None:
    drawn = figure()
    assert [text for text in words(drawn) if says in text]
    assert drawn.axes == []


def test_reliability_leaves_out_empty_bins_and_writes_the_error_of_its_bins() -> None:
    drawn = figures.reliability(reliability_bins())
    curve = next(line for line in drawn.axes[0].lines if len(line.get_xdata()) > 2)
    assert len(curve.get_xdata()) == 9
    assert 0.75 not in np.round(curve.get_xdata(), 2)
    raw = reliability_bins().query("detector == 'yolov8_scenes' and stage == 'raw' and n > 0")
    error = np.average(raw["mean_score"] - raw["precision"], weights=raw["n"])
    assert f"raw  ECE {error:.3f}" in words(drawn)
    assert "isotonic  ECE 0.000" in words(drawn)
    assert not [text for text in words(drawn) if text.startswith("platt")]


def test_precision_recall_draws_curves_of_ranked_methods_and_points_of_all() -> None:
    drawn = figures.label_error_precision_recall(detection_curves(), detection_scores())
    assert len(drawn.axes) == 2
    recalls = [line.get_xdata().tolist() for line in drawn.axes[0].lines]
    assert [0.25, 0.5, 0.6] in recalls
    assert [0.9] in recalls
    assert "naive (one operating point)" in [t.get_text() for t in drawn.legends[0].get_texts()]


def test_review_effort_draws_rankings_as_steps_and_random_order_as_a_line_to_its_point() -> None:
    drawn = figures.review_effort(detection_curves(), detection_scores())
    assert len(drawn.axes) == 2
    lines = [line.get_xydata().tolist() for line in drawn.axes[0].lines]
    assert [[1, 0.25], [2, 0.5], [5, 0.6], [40, 0.6]] in lines
    assert [[40, 0.9]] in lines
    random_order = next(line for line in lines if len(line) > 10)
    assert np.allclose([y / x for x, y in random_order], 0.9 / 40)
    assert "naive (random order)" in [t.get_text() for t in drawn.legends[0].get_texts()]


@pytest.mark.parametrize("figure", [figures.label_error_precision_recall, figures.review_effort])
def test_a_method_without_proposals_leaves_the_others_drawn(figure) -> None:
    silent = detection_scores().assign(method="silent", AP=0.0, n_proposals=0, best_recall=0.0)
    summary = pd.concat([silent, detection_scores()], ignore_index=True)
    drawn = figure(detection_curves(), summary)
    assert len(drawn.axes[0].lines) >= len(
        figure(detection_curves(), detection_scores()).axes[0].lines
    )


def test_synthetic_errors_are_a_line_and_real_ones_a_marker() -> None:
    drawn = figures.synthetic_against_real(synthetic_scores())
    lines = [line.get_xydata().tolist() for line in drawn.axes[0].lines]
    assert lines == [[[0.1, 0.8], [0.2, 0.85]], [[0.15, 0.5]]]
    names = [t.get_text() for t in drawn.legends[0].get_texts()]
    assert names == ["score", "synthetic", "real, stricter"]


def test_precision_recall_shows_the_protocols_that_have_curves() -> None:
    released = detection_scores().assign(protocol="released")
    summary = pd.concat([detection_scores(), released], ignore_index=True)
    assert len(figures.label_error_precision_recall(detection_curves(), summary).axes) == 2


def test_panels_of_one_variant_stand_together() -> None:
    stricter = {"variant": "stricter"}
    summary = pd.concat([detection_scores(), detection_scores().assign(**stricter)])
    summary = summary.sort_values(["detector", "variant"])
    curves = pd.concat([detection_curves(), detection_curves().assign(**stricter)])
    drawn = figures.label_error_precision_recall(curves, summary)
    assert [axes.get_title(loc="left") for axes in drawn.axes] == [
        "less restrictive\nowlvit scenes",
        "less restrictive\nyolov8 scenes",
        "stricter\nowlvit scenes",
        "stricter\nyolov8 scenes",
    ]


def test_thinning_keeps_both_ends_and_the_shape() -> None:
    x = pd.Series(np.linspace(0, 1, 50_001))
    thin_x, thin_y = thinned(x, x**2)
    assert (thin_x[0], thin_x[-1]) == (0.0, 1.0)
    assert len(thin_x) < 2000
    assert np.abs(np.interp(x, thin_x, thin_y) - x**2).max() < 1e-3


def test_correlation_is_written_from_three_points_on() -> None:
    hard, soft = hard_scores(), soft_scores()
    r = np.corrcoef([0.2, 0.4, 0.7], [0.3, 0.5, 0.8])[0, 1]
    assert words(figures.ap_vs_as(hard, soft)).count(f"r = {r:.2f}, ρ = 1.00") == 2
    two = figures.ap_vs_as(hard[hard["detector"] != "c"], soft)
    assert not [text for text in words(two) if "r = " in text]
    assert "a" in words(two)
    assert "c" not in words(two)


def test_ap_is_that_on_the_ground_truth_asked_for() -> None:
    hard = hard_scores()
    hard.loc[hard["ground_truth"] == "original", "AP"] = 0.9
    drawn = figures.ap_vs_as(hard, soft_scores(), ground_truth="original")
    assert {0.9} == {float(x) for line in drawn.axes[0].lines for x in line.get_xdata()}


def test_many_points_get_a_wide_panel_and_names_that_do_not_overlap() -> None:
    rng = np.random.default_rng(0)
    names = [f"detector_{k}" for k in range(14)]
    hard = pd.DataFrame(
        {"dataset": "d", "detector": names, "ground_truth": "validated_0.5", "AP": rng.random(14)}
    )
    soft = pd.DataFrame(
        {"protocol": "defined", "dataset": "d", "detector": names, "AS": rng.random(14)}
    )
    drawn = figures.ap_vs_as(hard, soft)
    drawn.draw_without_rendering()
    boxes = [t.get_window_extent() for t in drawn.axes[0].texts]
    assert len(boxes) == 14
    assert not [1 for k, a in enumerate(boxes) for b in boxes[:k] if a.overlaps(b)]


def test_cumulative_shares_end_at_one_and_name_the_median() -> None:
    drawn = figures.soft_label_error(distances())
    assert [axes.get_title(loc="left") for axes in drawn.axes] == [
        "clear objects (n = 2)",
        "ambiguous objects (n = 1)",
    ]
    assert drawn.axes[0].lines[0].get_ydata().tolist() == [0, 0.5, 1, 1]
    assert "raw  median 0.200, mean 0.200" in words(drawn)


def test_several_data_sets_are_named_in_the_titles() -> None:
    bins = pd.concat([reliability_bins(), reliability_bins().assign(dataset="coco")])
    titles = [axes.get_title(loc="left") for axes in figures.reliability(bins).axes]
    assert "coco\nowlvit scenes" in titles
    assert "scenes\nyolov8 scenes" in titles


def test_duplicates_are_drawn_for_every_data_set_reviewed() -> None:
    figure = figures.duplicates(moving_rates(), review_rates())
    assert len(figure.axes) == 6
    assert [axes.get_title(loc="left") for axes in figure.axes[::3]] == ["a", "b"]
    lines = [axes.get_lines() for axes in figure.axes[::3]]
    assert [len(drawn) for drawn in lines] == [2, 1]
    np.testing.assert_array_equal(lines[0][0].get_xdata(), [2, 3, 4])
    np.testing.assert_array_equal(lines[0][0].get_ydata(), [1, 0.5, 0])
    assert lines[0][1].get_label() == "last 4"


def test_without_reviewed_pairs_there_are_words() -> None:
    rates = review_rates().assign(reviewed=0, duplicates=0)
    assert "No pair of boxes" in words(figures.duplicates(NOTHING, rates))[0]
    assert "No pair of boxes" in words(figures.duplicates(NOTHING, NOTHING))[0]
    reviewed_too_few = figures.duplicates(NOTHING, review_rates())
    assert "fewer reviews than a window" in words(reviewed_too_few)


def test_box_areas_fill_the_validated_ones_once_and_draw_shares() -> None:
    drawn = figures.box_areas(area_rows())
    [axes] = drawn.axes
    filled = [patch for patch in axes.patches if patch.get_fill()]
    assert len(filled) == 1
    assert [len(axes.patches) - 1, axes.get_xscale()] == [2, "log"]
    for patch in axes.patches:
        values, edges, _ = patch.get_data()
        assert values.sum() == pytest.approx(1)
        assert edges[[0, -1]] == pytest.approx([4, 32])


def test_methods_beyond_the_colours_are_told_apart_by_their_lines() -> None:
    looks = _looks(METHODS)
    assert len({(look["color"], str(look["linestyle"])) for look in looks.values()}) == len(METHODS)
    assert _looks(list(METHODS)[3:5]) == {name: looks[name] for name in list(METHODS)[3:5]}

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pandas as pd
import pytest

from label_error_tables import detected, label_errors, originals, proposals
from labelquality.error_detection import propose
from labelquality.error_detection.benchmark import Benchmark, score_methods
from labelquality.error_detection.scoring import score, turning_points
from labelquality.tables import Table

# Areas 100, 400 and 2500; the last one is of no interest to the stricter variant.
BOXES = [(0, 0, 10, 10), (20, 0, 40, 20), (50, 0, 100, 50)]
FAR = (0, 80, 10, 90)
VARIANTS = {
    "all": {"min_probability": 0.5, "min_height": 0},
    "sure": {"min_probability": 0.8, "min_height": 0},
}


def scored(errors: Table, injected: Table | None = None) -> Benchmark:
    ranked = proposals(
        [BOXES[0], FAR, BOXES[1], FAR, FAR, BOXES[2]], [0.9, 0.8, 0.7, 0.6, 0.5, 0.1]
    )
    naive = ranked.with_columns(score=np.nan, method="naive")
    return score_methods(
        [naive, ranked], ["naive", "score"], errors, VARIANTS,
        iou_threshold=0.1, injected=injected, size_limits=(200, 2000), n_draws=20,
    )  # fmt: skip


def three_errors() -> Table:
    kinds = ["missing", "misaligned", "missing"]
    errors = label_errors(BOXES, kinds, probability=[0.9, 0.9, 0.6])
    return errors.with_columns(image_id="i")


def test_recall_by_kind_and_size_down_to_the_best_f1_adds_up_to_its_recall() -> None:
    result = scored(three_errors())
    groups = result.groups.query("variant == 'all' and method == 'score'").set_index(
        ["by", "group"]
    )
    assert groups["n"]["kind"].tolist() == [2, 1, 0]
    assert groups["n"]["size"].tolist() == [1, 1, 1]
    assert groups["found"]["size"].tolist() == [1, 1, 1]
    # The best F1 is at rank 3: two of three errors found by three proposals.
    assert groups["found_at_best_f1"]["size"].tolist() == [1, 1, 0]
    assert groups["found_at_best_f1"]["kind"].tolist() == [1, 1, 0]
    assert np.isnan(groups["recall"]["kind"].iloc[2])
    best = result.scores.query("variant == 'all' and method == 'score'")["best_recall"].item()
    assert groups["found_at_best_f1"]["kind"].sum() == pytest.approx(3 * best)


def off() -> Table:
    return propose("metadetect", detected(BOXES), originals(BOXES), candidates=None)


def test_a_method_that_was_switched_off_has_rows_that_say_so_and_no_figures() -> None:
    ranked = proposals([BOXES[0], FAR], [0.9, 0.8])
    errors = three_errors()
    both, alone = (
        score_methods(tables, methods, errors, VARIANTS, iou_threshold=0.1, injected=errors)
        for tables, methods in (
            ([ranked, off()], ["score", "metadetect"]),
            ([ranked], ["score"]),
        )
    )
    missing = both.scores[both.scores["method"] == "metadetect"]
    assert missing["variant"].tolist() == ["all", "sure"]
    assert missing["n_proposals"].tolist() == [0, 0]
    assert missing["n_errors"].tolist() == [3, 2]
    assert missing[["AP", "AP_low", "best_f1", "best_recall"]].isna().all(axis=None)
    assert missing["switched_off"].str.startswith("needs the boxes").all()
    others = both.scores[both.scores["method"] == "score"].drop(columns="switched_off")
    assert others.reset_index(drop=True).equals(alone.scores)
    for name in ("curves", "groups", "effort", "differences", "injected"):
        assert getattr(both, name).equals(getattr(alone, name)), name


def test_where_every_method_is_off_the_frames_are_empty_but_for_that() -> None:
    errors = three_errors()
    result = score_methods(
        [off()], ["metadetect"], errors, VARIANTS, iou_threshold=0.1, injected=errors
    )
    assert len(result.scores) == len(VARIANTS)
    for name in ("curves", "groups", "effort", "differences", "injected"):
        assert len(getattr(result, name)) == 0


def test_every_frame_names_its_variant_and_method() -> None:
    result = scored(three_errors(), three_errors())
    for field in fields(Benchmark):
        frame = getattr(result, field.name)
        assert set(frame["method"]) <= {"naive", "score"}, field.name
        if field.name != "injected":
            assert set(frame["variant"]) == set(VARIANTS), field.name
    assert result.scores["n_errors"].tolist() == [3, 3, 2, 2]
    assert (result.scores["best_f1_low"] <= result.scores["best_f1_high"]).all()


def test_no_errors_at_all() -> None:
    result = scored(label_errors([]))
    assert result.groups["n"].sum() == 0
    assert result.groups["found_at_best_f1"].sum() == 0
    assert result.differences.empty
    assert result.effort["boxes_50"].isna().all()


def test_turning_points_draw_the_same_curve() -> None:
    right = [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]
    errors = [(20 * i, 0, 20 * i + 10, 10) for i in range(4)]
    boxes = iter(errors)
    found = proposals([next(boxes) if hit else FAR for hit in right], -np.arange(10))
    curve = score(found, label_errors(errors)).curve
    kept = turning_points(curve)
    assert kept["rank"].tolist() == [1, 2, 3, 4, 7, 8, 10]
    height = np.interp(curve["rank"], kept["rank"], kept["recall"])
    hit = np.array(right) > 0
    assert height[hit] == pytest.approx(curve["recall"][hit].to_numpy())
    assert turning_points(curve.iloc[:0]).empty
    pd.testing.assert_frame_equal(turning_points(curve.iloc[:1]), curve.iloc[:1])


def test_no_images_at_all() -> None:
    nothing = label_errors([], image_ids=[])
    result = score_methods(
        [proposals([], [])], ["score"], nothing, VARIANTS, iou_threshold=0.1, n_draws=3
    )
    assert result.scores["n_errors"].tolist() == [0, 0]
    assert result.scores["AP_low"].isna().all()
    assert result.curves.empty

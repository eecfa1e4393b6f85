from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation_tables import N_IMAGES, ids, random_tables, shuffled
from labelquality.evaluation import average_similarity
from labelquality.evaluation.bootstrap import QUANTITIES, draw_copies, figures_of_draws
from labelquality.evaluation.protocols import PROTOCOLS
from labelquality.evaluation.similarity import area_under_curve
from labelquality.tables import Table


def calibrated_table(seed: int = 3) -> tuple[Table, Table]:
    detections, _, soft = random_tables(seed, n_objects=30, n_detections=60)
    score = np.random.default_rng(seed).permutation(60) / 60
    frame = detections.frame.assign(fold=0, calibrated_score=score, score=score)
    return replace(detections, kind="calibrated", frame=frame), soft


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("seed", range(3))
def test_images_that_are_not_drawn_are_as_good_as_absent(name: str, seed: int) -> None:
    calibrated, soft = calibrated_table(seed)
    protocol = replace(PROTOCOLS[name], distances_over="all")
    drawn = np.random.default_rng(seed).random((4, N_IMAGES)) < 0.6
    drawn[:, 0] = True
    predictions, objects = average_similarity._arrays(
        calibrated, soft, ids(), protocol, "corrected"
    )
    values = figures_of_draws(predictions, objects, protocol, drawn.astype(np.int64))
    for i, mask in enumerate(drawn):
        images = [image for image, is_in in zip(ids(), mask, strict=True) if is_in]
        rows = average_similarity.evaluate(calibrated, soft, images, protocol)
        expected = average_similarity.summarize(rows, protocol)
        for quantity in QUANTITIES:
            assert values[quantity][i] == pytest.approx(expected[quantity], abs=1e-9), quantity


def test_the_value_is_that_of_the_summary_and_lies_inside_its_interval() -> None:
    calibrated, soft = calibrated_table()
    protocol = PROTOCOLS["defined"]
    rows = average_similarity.evaluate_intervals(calibrated, soft, ids(), protocol, seed=1)
    whole = average_similarity.evaluate(calibrated, soft, ids(), protocol)
    summary = average_similarity.summarize(whole, protocol)
    assert rows["quantity"].tolist() == list(QUANTITIES)
    for row in rows.to_dict("records"):
        assert row["value"] == pytest.approx(summary[row["quantity"]], abs=1e-9)
        assert row["low"] < row["value"] < row["high"]
    again = average_similarity.evaluate_intervals(
        shuffled(calibrated, 1), shuffled(soft, 2), ids(), protocol, seed=1
    )
    np.testing.assert_allclose(again[["low", "high"]], rows[["low", "high"]], atol=1e-9)
    other = average_similarity.evaluate_intervals(calibrated, soft, ids(), protocol, seed=2)
    assert (other["low"] != rows["low"]).any()


def test_as_many_images_are_drawn_as_take_part() -> None:
    copies = draw_copies(np.array([True, False, True, True]), 50, 0)
    assert (copies.sum(axis=1) == 3).all()
    assert (copies[:, 1] == 0).all()
    assert draw_copies(np.zeros(2, dtype=bool), 3, 0).tolist() == [[0, 0]] * 3


def test_copies_are_one_step_of_the_curve() -> None:
    similarity, matched = np.array([0.2, 1.0, 0.6]), np.array([False, True, True])
    area = area_under_curve(similarity, matched, 5, copies=np.array([0, 2, 1]))
    means = {2 / 5: 1.0, 3 / 5: 2.6 / 3}
    levels = np.arange(101) / 100
    expected = np.mean([max((m for r, m in means.items() if r >= x), default=0) for x in levels])
    assert area == pytest.approx(expected, abs=1e-12)
    once = area_under_curve(similarity, matched, 2, copies=np.ones(3, dtype=int))
    assert once == area_under_curve(similarity, matched, 2)


def test_nothing_at_all_gives_no_interval() -> None:
    calibrated, soft = calibrated_table()
    nothing = np.zeros(0, dtype=int)
    rows = average_similarity.evaluate_intervals(
        calibrated.take(nothing), soft.take(nothing), ids(), PROTOCOLS["released"], n_draws=5
    )
    distances = rows[rows["quantity"] != "AS_all"]
    assert distances[["value", "low", "high"]].isna().all(axis=None)

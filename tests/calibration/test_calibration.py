from __future__ import annotations

import gzip
import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evaluation_tables import ids, random_tables, shuffled
from labelquality.calibration.calibrate import calibrate
from labelquality.calibration.correctness import correct_detections
from labelquality.calibration.curves import METHODS, PiecewiseLinear, fit
from labelquality.calibration.folds import (
    fit_folds,
    from_frame,
    map_probabilities,
    map_scores,
)
from labelquality.calibration.image_folds import assign_folds
from labelquality.calibration.reliability import expected_calibration_error, reliability
from labelquality.errors import DataError
from labelquality.evaluation import average_precision
from labelquality.frames import read_csv, write_csv
from labelquality.geometry import xywh_to_xyxy
from labelquality.tables import check_table


@pytest.mark.parametrize("case", [1, 2])
def test_released_calibration(shared_data: Path, case: int) -> None:
    path = shared_data / "released_oracle" / f"calibration_{case}.json.gz"
    record = json.loads(gzip.decompress(path.read_bytes()))
    given, expected = record["inputs"], record["outputs"]
    files = given["predictions"]
    image = np.repeat([f["image_id"] for f in files], [len(f["scores"]) for f in files])
    boxes, score, label, probabilities = (
        np.array([x for f in files for x in f[name]])
        for name in ("boxes", "scores", "labels", "probs")
    )
    truth = given["original"]["annotations"]
    # The released code never sees detections of a class that the ground truth does not know.
    seen = np.isin(label, [c["id"] for c in given["original"]["categories"]])
    correct, judged = correct_detections(
        (image * 100 + label)[seen],
        boxes[seen],
        score[seen],
        np.array([a["image_id"] * 100 + a["category_id"] for a in truth]),
        xywh_to_xyxy(np.array([a["bbox"] for a in truth], dtype=np.float64)),
        np.array([a["iscrowd"] for a in truth], dtype=bool),
    )
    assert judged.all()
    pool = expected["detections"]
    assert Counter(zip(image[seen], score[seen], correct, strict=True)) == Counter(
        zip(pool["image_id"], pool["score"], pool["correct"], strict=True)
    )

    fold_of = {i: number for number, images in enumerate(expected["folds"]) for i in images}
    fold = np.array([fold_of[i] for i in image])
    curves = {m: fit_folds(score[seen], correct, fold[seen], 5, m) for m in METHODS}
    for part, knots in zip(curves["isotonic"], expected["isotonic"], strict=True):
        curve = part.pooled
        np.testing.assert_allclose(curve.scores, knots["X_thresholds"], atol=1e-12)
        np.testing.assert_allclose(curve.calibrated, knots["y_thresholds"], atol=1e-12)
    for part, line in zip(curves["platt"], expected["platt"], strict=True):
        assert part.pooled.slope == pytest.approx(line["coef"], abs=1e-4)
        assert part.pooled.intercept == pytest.approx(line["intercept"], abs=1e-4)
    vectors = [v for f in files for v in expected["calibrated_probs_ir"][str(f["image_id"])]]
    calibrated = map_probabilities(curves["isotonic"], probabilities, fold)
    np.testing.assert_allclose(calibrated, vectors, atol=1e-12)

    names = {"isotonic": "isotonic_regression", "platt": "platt_scaling"}
    errors = {"raw": score[seen]}
    errors |= {
        names[m]: map_scores(curves[m], score[seen], label[seen], fold[seen]) for m in METHODS
    }
    assert (score < 1).all()  # there, a score of 1 falls in no bin
    for name, values in errors.items():
        error = expected_calibration_error(reliability(values, correct))
        near = 1e-4 if name == "platt_scaling" else 1e-12
        assert error == pytest.approx(expected["ece"][f"ECE_{name}"], abs=near)


@pytest.mark.parametrize("seed", range(6))
def test_correct_is_what_coco_matches(seed: int) -> None:
    """Without crowds, precision over correctness at IoU 0.5 is COCO's AP50."""
    detections, annotations, _ = random_tables(seed)
    rng = np.random.default_rng(seed)
    score = rng.permutation(len(detections)) / len(detections)
    detections = detections.with_columns(
        score=score, x1=detections.frame["x1"] - rng.random(len(detections))
    )
    plain = annotations.with_columns(crowd=False, difficult=False, region="")
    plain = plain.take((plain.frame["category"] >= 0).to_numpy())
    expected = average_precision.evaluate(
        detections, plain, ids(), backend="pycocotools"
    ).per_class()
    pool = _pool(detections, plain)
    for k in range(2):
        here = pool[pool["category"] == k].sort_values("score", ascending=False)
        hits = here["correct"].cumsum().to_numpy()
        recall = hits / (plain.frame["category"] == k).sum()
        precision = hits / np.arange(1, len(hits) + 1)
        levels = [precision[recall >= x].max(initial=0) for x in np.linspace(0, 1, 101)]
        assert np.mean(levels) == pytest.approx(expected["AP50"][k], abs=1e-12)


def _pool(detections: object, annotations: object) -> pd.DataFrame:
    found, truth = detections.frame, annotations.frame  # type: ignore[attr-defined]
    number = {name: i for i, name in enumerate(ids())}
    correct, _ = correct_detections(
        (found["image_id"].map(number) * 10 + found["category"]).to_numpy(),
        detections.boxes,  # type: ignore[attr-defined]
        found["score"].to_numpy(),
        (truth["image_id"].map(number) * 10 + truth["category"]).to_numpy(),
        annotations.boxes,  # type: ignore[attr-defined]
        truth["crowd"].to_numpy(),
    )
    return found.assign(correct=correct)


def test_a_crowd_makes_every_detection_inside_correct() -> None:
    crowd_box = np.array([[0.0, 0, 100, 100]])
    boxes = np.array([[10.0, 10, 20, 20], [50, 50, 60, 60], [95, 0, 105, 10], [96, 0, 106, 10]])
    group = np.zeros(4, dtype=int)
    correct, _ = correct_detections(
        group, boxes, np.array([0.9, 0.8, 0.7, 0.6]), np.zeros(1, int), crowd_box, np.ones(1, bool)
    )
    assert correct.tolist() == [True, True, True, False]


def test_only_the_best_of_an_image_and_class_are_judged() -> None:
    boxes = np.tile([0.0, 0, 10, 10], (5, 1))
    group = np.array([0, 0, 0, 1, 0])
    score = np.array([0.1, 0.9, 0.5, 0.2, 0.5])
    correct, judged = correct_detections(
        group, boxes, score, np.zeros(1, int), boxes[:1], np.zeros(1, bool), max_detections=2
    )
    assert judged.tolist() == [False, True, True, True, False]
    assert correct.tolist() == [False, True, False, False, False]


def test_bins_hold_scores_of_0_and_1_and_their_lower_ends() -> None:
    scores = np.array([0.0, 0.1, 0.3, 0.7, 1.0, 1.0])
    bins = reliability(scores, np.array([0, 0, 1, 1, 1, 0], dtype=bool))
    assert bins["n"].tolist() == [1, 1, 0, 1, 0, 0, 0, 1, 0, 2]
    assert np.isnan(bins["precision"][2])
    assert bins["precision"][9] == 0.5
    expected = (0.0 + 0.1 + 0.7 + 0.3 + 2 * 0.5) / 6
    assert expected_calibration_error(bins) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(expected_calibration_error(reliability(np.zeros(0), np.zeros(0, bool))))


def test_isotonic_pools_ties_and_violators() -> None:
    scores = np.array([0.2, 0.2, 0.2, 0.4, 0.6])
    curve = fit(scores, np.array([0, 0, 1, 0, 1], dtype=bool), "isotonic")
    np.testing.assert_allclose(curve(np.array([0.2, 0.4, 0.6])), [0.25, 0.25, 1.0])
    np.testing.assert_allclose(curve(np.array([0.0, 0.5, 1.0])), [0.25, 0.625, 1.0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("value", [True, False])
def test_one_outcome_gives_a_constant_curve(method: str, value: bool) -> None:
    curve = fit(np.array([0.1, 0.9]), np.full(2, value), method)  # type: ignore[arg-type]
    assert curve(np.array([0.0, 0.5, 1.0])).tolist() == [float(value)] * 3


def test_folds_part_all_images_evenly() -> None:
    fold = assign_folds(13, 5, seed=3)
    assert sorted(np.bincount(fold)) == [2, 2, 3, 3, 3]
    assert (fold == assign_folds(13, 5, seed=3)).all()
    assert (fold != assign_folds(13, 5, seed=4)).any()


@pytest.mark.parametrize("method", METHODS)
def test_calibrated_table(method: str) -> None:
    detections, annotations, _ = random_tables(0)
    before = detections.vectors["probabilities"].copy()
    result = calibrate(detections, annotations, method=method, seed=1)  # type: ignore[arg-type]
    table = result.table
    check_table(table, "calibrated")
    assert (detections.vectors["probabilities"] == before).all()
    assert table.image_ids == detections.image_ids
    assert table.meta["probability_kind"] == "sigmoid"
    of_image = dict(zip(sorted(ids()), assign_folds(len(ids()), 5, 1), strict=True))
    assert table.frame["fold"].tolist() == [of_image[i] for i in table.frame["image_id"]]
    for number, knots in result.curves.groupby("fold"):
        rows = (table.frame["fold"] == number).to_numpy()
        for raw, mapped in (
            (detections.frame["score"][rows], table.frame["calibrated_score"][rows]),
            (before[rows], table.vectors["probabilities"][rows]),
        ):
            near = 1e-6 if method == "isotonic" else 1e-4
            drawn = np.interp(raw, knots["score"], knots["calibrated"])
            np.testing.assert_allclose(mapped, drawn, atol=near)
    errors = result.ece.set_index(["stage", "binning"])
    assert list(errors.index) == [
        (stage, binning)
        for stage in ("raw", "isotonic", "platt")
        for binning in ("equal_width", "equal_mass")
    ]
    assert (errors["n"] == len(detections)).all()
    for key, bins in result.reliability.groupby(["stage", "binning"]):
        assert expected_calibration_error(bins) == errors["ece"][key]
        assert errors["n_bins"][key] == len(bins)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("per", ["dataset", "class"])
def test_curves_that_were_written_map_as_before(tmp_path: Path, method: str, per: str) -> None:
    detections, annotations, _ = random_tables(0)
    options = {"method": method, "per": per, "min_count": 20}
    result = calibrate(detections, annotations, **options)  # type: ignore[arg-type]
    write_csv(result.curves, tmp_path / "curves.csv")
    curves = from_frame(read_csv(tmp_path / "curves.csv"), detections.classes, 5)
    frame = result.table.frame
    fold = frame["fold"].to_numpy()
    scores = map_scores(curves, frame["score"].to_numpy(), frame["category"].to_numpy(), fold)
    assert (scores == frame["calibrated_score"]).all()
    probabilities = map_probabilities(curves, detections.vectors["probabilities"], fold)
    assert (probabilities == result.table.vectors["probabilities"]).all()
    assert result.curves["category"].notna().any() == (per == "class")


def test_a_class_with_enough_detections_has_its_own_curve() -> None:
    n = 200
    rng = np.random.default_rng(5)
    score = rng.random(n)
    category = np.repeat([0, 0, 1, 2], n // 4)
    correct = rng.random(n) < np.where(category == 0, 0.9, 0.1)
    correct[category == 2] = False
    fold = rng.integers(0, 2, n)
    options = {"category": category, "min_count": 40}
    for part in fit_folds(score, correct, fold, 2, "isotonic", **options):
        assert part is not None
        assert list(part.of_class) == [0]
    curves = fit_folds(score, correct, fold, 2, "isotonic", category=category, min_count=10)
    assert [list(part.of_class) for part in curves if part] == [[0, 1], [0, 1]]
    own, pooled = curves[0].of_class[0], curves[0].pooled
    others = (fold != 0) & (category == 0)
    np.testing.assert_array_equal(
        own.calibrated, fit(score[others], correct[others], "isotonic").calibrated
    )
    values = np.full((n, 4), 0.5, dtype=np.float32)
    mapped = map_probabilities(curves, values, fold)[fold == 0]
    expected = [own, curves[0].of_class[1], pooled, pooled]
    for k, curve in enumerate(expected):
        assert (mapped[:, k] == np.float32(curve(np.array([0.5])))).all()


def test_a_table_of_cells_maps_as_a_search_does() -> None:
    rng = np.random.default_rng(0)
    knots = np.unique(np.concatenate([rng.beta(0.5, 8, 300), [1e-12, 1.0]]))
    curve = PiecewiseLinear(knots, np.sort(rng.random(len(knots))))
    scores = np.concatenate(
        [rng.beta(0.1, 5, 60_000), knots, [0.0, -0.0, 1e-45, 1.0]], dtype=np.float32
    )
    expected = np.interp(scores, curve.scores, curve.calibrated)
    assert (curve(scores) == expected).all()
    short = PiecewiseLinear(np.array([0.25]), np.array([0.5]))
    assert (short(scores) == 0.5).all()
    outside = np.append(scores, np.float32(-1))
    assert (curve(outside) == np.append(expected, curve.calibrated[0])).all()


@pytest.mark.parametrize("seed", range(3))
def test_curves_are_those_of_scikit_learn(seed: int) -> None:
    linear_model = pytest.importorskip("sklearn.linear_model")
    isotonic = pytest.importorskip("sklearn.isotonic")
    rng = np.random.default_rng(seed)
    score = np.round(rng.random(300), 2)
    correct = rng.random(300) < score**2
    theirs = isotonic.IsotonicRegression(out_of_bounds="clip").fit(score, correct)
    ours = fit(score, correct, "isotonic")
    np.testing.assert_allclose(ours.scores, theirs.X_thresholds_, atol=1e-12)
    np.testing.assert_allclose(ours.calibrated, theirs.y_thresholds_, atol=1e-12)
    logistic = linear_model.LogisticRegression().fit(score[:, None], correct)
    line = fit(score, correct, "platt")
    assert line.slope == pytest.approx(logistic.coef_[0, 0], abs=1e-6)
    assert line.intercept == pytest.approx(logistic.intercept_[0], abs=1e-6)


def test_bins_of_equal_mass_keep_equal_scores_together() -> None:
    scores = np.array([0.0, 0.0, 0.0, 0.2, 0.3, 0.4, 0.4, 0.9, 1.0, 1.0])
    bins = reliability(scores, scores > 0.35, n_bins=5, binning="equal_mass")
    assert bins["low"].tolist() == [0.0, 0.3, 0.4]
    assert bins["n"].tolist() == [4, 1, 5]
    assert bins["precision"].tolist() == [0.0, 0.0, 1.0]
    spread = np.arange(100) / 100
    even = reliability(spread, spread > 0.5, n_bins=4, binning="equal_mass")
    assert even["n"].tolist() == [25, 25, 25, 25]
    one = reliability(np.full(3, 0.7), np.ones(3, bool), n_bins=4, binning="equal_mass")
    assert one["n"].tolist() == [3]
    none = reliability(np.zeros(0), np.zeros(0, bool), binning="equal_mass")
    assert none["n"].tolist() == [0]


def test_the_held_out_fold_has_no_say() -> None:
    detections, annotations, _ = random_tables(1)
    first = calibrate(detections, annotations)
    held_out = first.table.frame["fold"] == 2
    other = detections.with_columns(score=detections.frame["score"].where(~held_out, 0.33))
    second = calibrate(other, annotations)
    one, other_one = (r.curves[r.curves["fold"] == 2] for r in (first, second))
    pd.testing.assert_frame_equal(one.reset_index(drop=True), other_one.reset_index(drop=True))
    assert not first.curves.equals(second.curves)


def test_the_order_of_rows_changes_nothing() -> None:
    detections, annotations, _ = random_tables(2)
    first = calibrate(detections, annotations)
    second = calibrate(shuffled(detections, 1), shuffled(annotations, 2))
    pd.testing.assert_frame_equal(first.curves, second.curves)
    pd.testing.assert_frame_equal(first.reliability, second.reliability)


def test_no_detections_give_empty_results() -> None:
    detections, annotations, _ = random_tables(0)
    result = calibrate(detections.take(np.zeros(0, dtype=int)), annotations)
    check_table(result.table, "calibrated")
    assert len(result.table) == len(result.curves) == 0
    assert result.ece["ece"].isna().all()
    assert (result.reliability["n"] == 0).all()


def test_images_without_detections_take_part_in_the_folds() -> None:
    detections, annotations, _ = random_tables(0)
    only = detections.take((detections.frame["image_id"] == "image_0").to_numpy())
    with pytest.raises(DataError, match=r"all \d+ detections lie in images of fold \d"):
        calibrate(only, annotations)


def test_what_is_refused() -> None:
    detections, annotations, _ = random_tables(0)
    with pytest.raises(DataError, match="9 folds for 8 images"):
        calibrate(detections, annotations, folds=9)
    with pytest.raises(DataError, match="method 'beta' is unknown"):
        calibrate(detections, annotations, method="beta")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="per 'image' is unknown"):
        calibrate(detections, annotations, per="image")  # type: ignore[arg-type]
    with pytest.raises(DataError, match="classes"):
        calibrate(detections, replace(annotations, classes=("x", "y", "z")))
    with pytest.raises(DataError, match="category is no class"):
        calibrate(detections.with_columns(category=-1), annotations)

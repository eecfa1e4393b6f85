from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_error_tables import CLASSES, detected, images, originals
from labelquality.calibration.image_folds import assign_folds
from labelquality.error_detection import metadetect
from labelquality.error_detection.metadetect import (
    NAMES,
    Protocol,
    features,
    probability_right,
    propose,
    propose_released,
)
from labelquality.error_detection.synthetic import score_on_synthetic
from labelquality.errors import DataError
from labelquality.tables import Table, check_table, concatenate, read_table, write_table
from oracles import metadetect as oracle

A = (0, 0, 10, 10)


def candidate_table(detections: Table) -> Table:
    return Table("candidates", detections.frame, detections.classes, image_ids=detections.image_ids)


def candidates(boxes: Any, score: Any = 0.5, category: Any = 0, image_id: Any = "i") -> Table:
    return candidate_table(detected(boxes, score, category, image_id))


def told(table: np.ndarray, row: int = 0) -> dict[str, float]:
    return dict(zip(NAMES, table[row].tolist(), strict=False))


def test_candidates_are_the_boxes_of_image_and_class_above_the_overlap() -> None:
    near, at_the_limit = (0, 0, 10, 9), (0, 0, 10, 4.5)
    found = features(
        detected([A], 0.9),
        candidates(
            [A, near, at_the_limit, near, near],
            score=[0.9, 0.4, 0.8, 0.3, 0.2],
            category=[0, 0, 0, 1, 0],
            image_id=["i", "i", "i", "i", "j"],
        ),
    )
    values = told(found)
    assert values["candidates"] == 2
    assert [values[f"score_{s}"] for s in ("min", "max", "mean", "std")] == pytest.approx(
        [0.4, 0.9, 0.65, 0.25]
    )
    assert [values[f"y_{s}"] for s in ("min", "max", "mean", "std")] == [4.5, 5, 4.75, 0.25]


def test_its_own_overlap_is_none_to_tell_of() -> None:
    alone = told(features(detected([A]), candidates([A, A])))
    assert alone["candidates"] == 2
    assert [alone[f"iou_{s}"] for s in ("min", "max", "mean", "std")] == [0, 0, 0, 0]
    two = told(features(detected([A]), candidates([A, (0, 0, 10, 9), (0, 0, 10, 5)])))
    assert [two[f"iou_{s}"] for s in ("min", "max", "mean", "std")] == pytest.approx(
        [0.5, 0.9, 0.7, 0.2]
    )


@pytest.mark.parametrize(("protocol", "size"), [("defined", 0.25 * 6 * 4), ("released", 0.25 * 15)])
def test_the_released_size_is_none(protocol: Protocol, size: float) -> None:
    box = [(3, 5, 9, 9)]
    values = told(features(detected(box), candidates(box), protocol))
    assert values["own_size"] == values["size_mean"] == size
    assert values["own_circumference"] == 10
    assert values["own_ratio"] == pytest.approx(0.6)


def test_boxes_that_are_nobody_s_candidates_tell_nothing() -> None:
    found = features(detected([A]), candidates([(50, 50, 60, 60)]))
    values = told(found)
    assert values["candidates"] == 0
    assert np.isnan(values["score_mean"])
    assert values["own_circumference"] == 20


def random_tables(seed: int, n: int) -> tuple[Table, Table]:
    rng = np.random.default_rng(seed)
    corner, side = rng.integers(0, 12, (n, 2)), rng.integers(4, 9, (n, 2))
    table = detected(
        np.hstack([corner, corner + side]),
        rng.choice([0.1, 0.3, 0.5, 0.9], n),
        rng.integers(0, 2, n),
        [str(i) for i in rng.integers(0, 3, n)],
        image_ids=("0", "1", "2"),
    )
    vectors = rng.random((n, len(CLASSES))).astype(np.float32)
    table = Table(**{**vars(table), "vectors": {"probabilities": vectors}})
    return table.take(np.sort(rng.choice(n, n // 2, replace=False))), candidate_table(table)


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 40), st.sampled_from(["defined", "released"]))
def test_features_are_those_of_the_literal_version(seed: int, n: int, protocol: Protocol) -> None:
    detections, every = random_tables(seed, n)
    rows = [
        (i, tuple(b), k, s)
        for i, b, k, s in zip(
            every.frame["image_id"],
            every.boxes.tolist(),
            every.frame["category"],
            every.frame["score"],
            strict=True,
        )
    ]
    expected = [
        oracle.features(
            tuple(box),
            category,
            score,
            probabilities,
            [(b, k, s) for i, b, k, s in rows if i == image],
            released=protocol == "released",
        )
        for image, box, category, score, probabilities in zip(
            detections.frame["image_id"],
            detections.boxes.tolist(),
            detections.frame["category"],
            detections.frame["score"],
            detections.vectors["probabilities"].astype(float).tolist(),
            strict=True,
        )
    ]
    found = features(detections, every, protocol)
    assert found.shape == (len(detections), len(NAMES) + len(CLASSES))
    np.testing.assert_allclose(found, np.array(expected).reshape(found.shape), rtol=0, atol=1e-9)


def test_blocks_of_pairs_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    detections, every = random_tables(3, 60)
    whole = features(detections, every)
    monkeypatch.setattr(metadetect, "_PAIRS_AT_ONCE", 7)
    assert features(detections, every).tobytes() == whole.tobytes()


def test_what_is_learnt_comes_from_other_folds() -> None:
    """In every fold, the feature tells right from wrong the other way round."""
    n = 400
    fold = np.arange(n) % 2
    value = np.arange(n) // 2 % 2
    right = value == fold
    found = probability_right(value[:, None].astype(float), right, fold, np.ones(n, bool), 0)
    assert (found[right] < 0.01).all()
    assert (found[~right] > 0.99).all()


def test_of_one_outcome_and_of_constant_features_nothing_can_be_learnt() -> None:
    fold, asked = np.arange(100) % 5, np.ones(100, bool)
    constant = np.ones((100, 3))
    for outcome in (0.0, 1.0):
        right = np.full(100, bool(outcome))
        assert probability_right(constant, right, fold, asked, 0).tolist() == [outcome] * 100
    mixed = probability_right(constant, np.arange(100) % 4 == 0, fold, asked, 0)
    assert mixed == pytest.approx(np.full(100, 0.25))


def test_a_fold_that_holds_everything_is_named() -> None:
    all_in_one = np.full(4, 2)
    with pytest.raises(DataError, match="all 4 detections lie in images of fold 2"):
        probability_right(np.ones((4, 1)), np.ones(4, bool), all_in_one, np.ones(4, bool), 0)


def scenes(n_images: int, seed: int = 0) -> tuple[Table, Table, Table]:
    """Detections, candidates and labels: of the right ones, most boxes were suppressed."""
    rng = np.random.default_rng(seed)
    names = [f"i{k:02}" for k in range(n_images)]
    parts, labels = [], []
    for name in names:
        for place, suppressed in ((0, 6), (100, 6), (200, 0), (300, 1)):
            box = np.array([place, place, place + 20, place + 20]) + rng.random(4)
            jitter = rng.random((suppressed, 4))
            labels += [(name, box)] if suppressed > 1 and (place or name != names[0]) else []
            parts.append(detected([box], rng.random(), image_id=name, image_ids=names))
            parts.append(detected(box + jitter, 0.1, image_id=name, image_ids=names))
    every = concatenate(parts)
    detections = concatenate(parts[::2])
    detections = Table(**{**vars(detections), "image_ids": tuple(names)})
    annotations = originals([b for _, b in labels], image_id=[name for name, _ in labels])
    return detections, candidate_table(every), annotations


@pytest.mark.parametrize("method", [propose, propose_released])
def test_a_false_positive_that_looks_right_is_proposed_first(method: Any, tmp_path: Path) -> None:
    detections, every, annotations = scenes(20)
    found = method(detections, annotations, candidates=every)
    assert len(found) == 2 * 20 + 1
    write_table(found, tmp_path / "p.parquet")
    found = read_table(tmp_path / "p.parquet", "proposals")
    best = found.frame.sort_values("score", ascending=False).iloc[0]
    # The object of the first image that lost its label.
    assert best["image_id"] == "i00"
    assert best["x1"] < 2
    assert best["score"] > 0.9
    assert found.frame["score"].nlargest(2).iloc[1] < 0.1


def test_neither_order_of_rows_nor_another_run_changes_a_score() -> None:
    detections, every, annotations = scenes(10)
    once = propose(detections, annotations, candidates=every, seed=1)
    again = propose(detections, annotations, candidates=every, seed=1)
    assert once.frame.equals(again.frame)
    turned = propose(
        detections,
        annotations,
        candidates=every.take(np.arange(len(every))[::-1]),
        seed=1,
    )
    np.testing.assert_allclose(turned.frame["score"], once.frame["score"], rtol=1e-6)


def test_folds_are_those_of_calibration(monkeypatch: pytest.MonkeyPatch) -> None:
    detections, every, annotations = scenes(10)
    seen = {}

    def spy(*arguments: Any) -> np.ndarray:
        seen["fold"] = arguments[2]
        return probability_right(*arguments)

    monkeypatch.setattr(metadetect, "probability_right", spy)
    propose(detections, annotations, candidates=every, seed=7)
    image = detections.frame["image_id"].str[1:].astype(int).to_numpy()
    assert seen["fold"].tolist() == assign_folds(10, 5, 7)[image].tolist()


def test_fewer_images_than_folds_are_one_clear_error() -> None:
    detections, every, annotations = scenes(4)
    with pytest.raises(DataError, match="5 folds for 4 images"):
        propose(detections, annotations, candidates=every)
    assert len(propose(detections, annotations, candidates=every, folds=4)) == 2 * 4 + 1


def test_nothing_to_judge_asks_for_no_folds() -> None:
    assert len(propose(detected([]), originals([A]), candidates=candidates([]))) == 0


def test_on_synthetic_errors_it_runs_with_candidates_and_is_off_without() -> None:
    detections, every, annotations = scenes(10)
    truth = annotations
    table = images(*(detections.image_ids or ()), width=400, height=400)
    with_and_without = [
        score_on_synthetic(
            detections, truth, table, ["metadetect"], [0.5], iou_threshold=0.1, seed=0,
            candidates=given,
        ).iloc[0]
        for given in (every, None)
    ]  # fmt: skip
    assert [row["n_proposals"] > 0 for row in with_and_without] == [True, False]
    assert with_and_without[0]["AP"] > 0
    assert np.isnan(with_and_without[1]["AP"])
    assert with_and_without[0]["n_errors"] == with_and_without[1]["n_errors"]


def test_a_table_of_candidates_is_checked_like_any_other() -> None:
    check_table(candidates([A, A], score=[0.5, 0.7]), "candidates")
    with pytest.raises(DataError, match=r"score: is outside \[0, 1\]"):
        check_table(candidates([A], score=1.5), "candidates")

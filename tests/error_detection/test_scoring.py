from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from label_error_tables import label_errors, proposals, read_oracle
from labelquality.error_detection.scoring import average_precision, recall_by_kind, score
from labelquality.errors import DataError
from labelquality.tables import Table
from oracles_label_errors import precision_recall

A, B, C = (0, 0, 10, 10), (20, 0, 30, 10), (40, 0, 50, 10)
FAR = (80, 80, 90, 90)


def test_a_curve_by_hand() -> None:
    result = score(proposals([FAR, A, C, B], [0.5, 0.9, 0.6, 0.7]), label_errors([A, B]))
    assert result.curve["rank"].tolist() == [1, 2, 3, 4]
    assert result.curve["threshold"].tolist() == [0.9, 0.7, 0.6, 0.5]
    assert result.curve["precision"].tolist() == [1, 1, 2 / 3, 0.5]
    assert result.curve["recall"].tolist() == [0.5, 1, 1, 1]
    assert result.summary == {
        "n_proposals": 4,
        "n_errors": 2,
        "AP": 1.0,
        "best_f1": 1.0,
        "best_precision": 1.0,
        "best_recall": 1.0,
        "best_threshold": 0.7,
    }


def test_the_first_best_f1_counts() -> None:
    # F1 is 2/3 at rank 1 and again at rank 4.
    result = score(proposals([A, FAR, FAR, B], [4, 3, 2, 1]), label_errors([A, B]))
    assert result.curve["f1"].tolist() == pytest.approx([2 / 3, 0.5, 0.4, 2 / 3])
    assert result.summary["best_threshold"] == 4


def test_average_precision_uses_the_envelope_and_stops_at_the_last_recall() -> None:
    # 0.25 * max(0.5, 0.6) + 0.25 * 0.6, nothing for the other half of the errors.
    precision, recall = np.array([0.5, 0.4, 0.6]), np.array([0.25, 0.25, 0.5])
    assert average_precision(precision, recall) == pytest.approx(0.3)


@pytest.mark.parametrize(("height", "found"), [(1, 1), (0.999, 0)])
def test_an_iou_of_exactly_a_tenth_counts(height: float, found: int) -> None:
    table = recall_by_kind(proposals([(0, 0, 10, height)], 0.5), label_errors([A]))
    assert table.loc[0, "found"] == found


def test_a_proposal_takes_the_most_overlapping_free_error_and_each_only_once() -> None:
    errors = label_errors([(0, 0, 10, 10), (0, 0, 10, 8)])
    same = proposals([(0, 0, 10, 8), (0, 0, 10, 8), (0, 0, 10, 8)], [0.9, 0.8, 0.7])
    assert score(same, errors).curve["recall"].tolist() == [0.5, 1, 1]
    assert score(same, errors).curve["precision"].tolist() == [1, 1, 2 / 3]


def test_equal_scores_keep_the_order_of_rows() -> None:
    boxes = [A] + [FAR] * 40 + [B]
    right = score(proposals(boxes, 0.5), label_errors([A, B])).curve["recall"].tolist()
    assert right == [0.5] * 41 + [1]


def test_classes_play_no_part_and_images_do() -> None:
    errors = label_errors([A, A], image_id=["i", "j"])
    other_class = proposals([A, A], [0.9, 0.8], image_id=["i", "k"]).with_columns(category=2)
    assert score(other_class, errors).curve["recall"].tolist() == [0.5, 0.5]


def test_original_only_errors_take_no_part() -> None:
    errors = label_errors([A, B], kind=["original_only", "missing"])
    result = score(proposals([A, B], [0.9, 0.8]), errors)
    assert result.summary["n_errors"] == 1
    assert result.curve["precision"].tolist() == [0, 0.5]


def test_images_to_score_on() -> None:
    found = proposals([A, A, A], [0.9, 0.8, 0.7], image_id=["i", "j", "k"])
    errors = label_errors([A, A], image_id=["i", "k"], image_ids=["i", "k"])
    # Image j was never compared with a re-annotation: a proposal there is neither right nor wrong.
    assert score(found, errors).curve["precision"].tolist() == [1, 1]
    assert score(found, errors, ["k"]).summary["n_errors"] == 1
    assert score(found, errors, ["i", "j"]).curve["precision"].tolist() == [1, 0.5]


def test_proposals_without_scores_are_one_point_without_ap() -> None:
    result = score(proposals([A, FAR, FAR, B], np.nan, method="naive"), label_errors([A, B, C]))
    assert result.curve[["rank", "precision", "recall"]].to_numpy().tolist() == [[4, 0.5, 2 / 3]]
    assert np.isnan(result.summary["AP"])
    assert np.isnan(result.summary["best_threshold"])
    assert result.summary["best_f1"] == pytest.approx(4 / 7)
    assert result.summary["n_proposals"] == 4


def test_no_proposals() -> None:
    result = score(proposals([], []), label_errors([A]))
    assert result.curve.empty
    threshold = result.summary.pop("best_threshold")
    assert np.isnan(threshold)
    assert result.summary == {
        "n_proposals": 0,
        "n_errors": 1,
        "AP": 0,
        "best_f1": 0,
        "best_precision": 0,
        "best_recall": 0,
    }


@pytest.mark.parametrize("scores", [[], [0.9], np.array([np.nan])])
def test_no_errors(scores: Any) -> None:
    boxes = [A] * len(scores)
    summary = score(proposals(boxes, scores), label_errors([])).summary
    assert (summary.pop("n_proposals"), summary.pop("n_errors")) == (len(scores), 0)
    assert all(np.isnan(value) for value in summary.values())


def test_nothing_right_is_the_first_point() -> None:
    summary = score(proposals([FAR, FAR], [0.9, 0.8]), label_errors([A])).summary
    assert (summary["AP"], summary["best_f1"], summary["best_threshold"]) == (0, 0, 0.9)


def test_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(DataError, match="score: 1 of 2 have no score"):
        score(proposals([A, B], [0.9, np.nan]), label_errors([A]))
    with pytest.raises(DataError, match=r"\['naive', 'score'\]"):
        score(proposals([A, B], 0.9, method=["naive", "score"]), label_errors([A]))


def test_recall_by_kind_and_threshold() -> None:
    errors = label_errors(
        [A, B, C, FAR], kind=["missing", "missing", "misaligned", "original_only"]
    )
    found = proposals([A, B, FAR], [0.9, 0.4, 0.8])
    table = recall_by_kind(found, errors)
    assert table[["kind", "n", "found"]].to_numpy().tolist() == [
        ["missing", 2, 2],
        ["misaligned", 1, 0],
        ["classification", 0, 0],
    ]
    assert table["recall"].tolist()[:2] == [1, 0]
    assert np.isnan(table["recall"][2])
    assert recall_by_kind(found, errors, threshold=0.8)["found"].tolist() == [1, 0, 0]
    naive = proposals([A, B], np.nan, method="naive")
    assert recall_by_kind(naive, errors, threshold=np.nan)["found"].tolist() == [2, 0, 0]


random_box = st.tuples(*[st.integers(0, 12)] * 2, *[st.integers(1, 10)] * 2).map(
    lambda b: (b[0], b[1], b[0] + b[2], b[1] + b[3])
)
random_errors = st.lists(st.tuples(st.sampled_from("ij"), random_box), min_size=1, max_size=12)
random_proposals = st.lists(
    st.tuples(st.sampled_from("ij"), random_box, st.integers(0, 10).map(lambda s: s / 10)),
    max_size=20,
)


@settings(max_examples=40, deadline=None)
@given(random_proposals, random_errors)
def test_equals_the_literal_version(found: list, errors: list) -> None:
    result = score(
        proposals([p[1] for p in found], [p[2] for p in found], [p[0] for p in found]),
        label_errors([e[1] for e in errors], image_id=[e[0] for e in errors]),
    )
    expected = precision_recall(found, errors, Fraction(1, 10))
    ours = result.curve[["precision", "recall"]].to_numpy()
    assert ours == pytest.approx(np.array(expected).reshape(-1, 2))
    assert result.curve["recall"].is_monotonic_increasing
    # Enveloping only raises precision.
    steps = np.diff(result.curve["recall"], prepend=0)
    assert result.summary["AP"] >= np.sum(steps * result.curve["precision"]) - 1e-12


@settings(max_examples=20, deadline=None)
@given(random_proposals, random_errors, st.integers(0, 2**32 - 1))
def test_the_order_of_rows_is_irrelevant_without_ties(found: list, errors: list, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.permutation(len(found)) / max(len(found), 1)
    # Fractions of a pixel, each its own, so that no two overlaps are equal.
    shifted = [np.add(p[1], rng.uniform(0, 0.3, 4)) for p in found]
    a = proposals(shifted, scores, [p[0] for p in found])
    b = label_errors(
        [np.add(e[1], rng.uniform(0, 0.3, 4)) for e in errors], image_id=[e[0] for e in errors]
    )
    shuffled = score(a.take(rng.permutation(len(a))), b.take(rng.permutation(len(b))))
    assert score(a, b).curve.equals(shuffled.curve)


def oracle_tables(case: dict[str, Any], variant: str) -> tuple[Table, Table, Table]:
    """Label errors of a variant, the ranked proposals, the naive ones; in file order."""
    annotations = case["inputs"]["label_errors"]["less_restrictive"]
    annotations = annotations["annotations"] if isinstance(annotations, dict) else annotations
    if variant == "stricter":
        strict = set(case["inputs"]["label_errors"]["stricter_annotation_ids"])
        annotations = [a for a in annotations if a["id"] in strict]
    errors = label_errors(
        [corners(a["bbox"]) for a in annotations],
        image_id=[str(a["image_id"]) for a in annotations],
    )
    found = case["inputs"]["proposals"]
    table = proposals(
        [corners(p["bbox"]) for p in found],
        [p.get("score", np.nan) for p in found],
        [str(p["image_id"]) for p in found],
    )
    scores = table.frame["score"].to_numpy()
    naive = table.take(np.isnan(scores) | (scores >= 0.3)).with_columns(score=np.nan)
    return errors, table.take(~np.isnan(scores)), naive


def corners(bbox: list[float]) -> tuple[float, float, float, float]:
    x, y, width, height = bbox
    return x, y, x + width, y + height


@pytest.mark.parametrize("variant", ["less_restrictive", "stricter"])
@pytest.mark.parametrize("name", ["error_detection_1", "error_detection_2"])
def test_equals_the_released_code(shared_data: Path, name: str, variant: str) -> None:
    case = read_oracle(shared_data, name)
    errors, ranked, naive = oracle_tables(case, variant)
    expected = case["outputs"][variant]["score"]
    result = score(ranked, errors)
    for column, theirs in (("precision", "precision"), ("recall", "recall")):
        assert result.curve[column].to_numpy() == pytest.approx(expected[theirs], abs=1e-9)
    assert result.curve["threshold"].tolist() == expected["scores"]
    for ours, theirs in (
        ("AP", "ap"),
        ("best_f1", "best_f1"),
        ("best_precision", "best_precision"),
        ("best_recall", "best_recall"),
        ("best_threshold", "best_threshold"),
        ("n_errors", "num_gt"),
    ):
        assert result.summary[ours] == pytest.approx(expected[theirs], abs=1e-9)
    point, theirs = score(naive, errors), case["outputs"][variant]["naive"]
    assert point.summary["n_proposals"] == theirs["num_predictions"]
    for column in ("precision", "recall", "f1"):
        assert point.curve[column].item() == pytest.approx(theirs[column], abs=1e-9)

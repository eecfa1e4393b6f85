from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation_tables import by_image, ids, one_image, random_calibrated, shuffled
from labelquality.errors import DataError
from labelquality.evaluation import average_similarity
from labelquality.evaluation.per_class import evaluate_classes
from labelquality.evaluation.protocols import PROTOCOLS, Protocol
from labelquality.evaluation.soft_evaluation import SIZES
from labelquality.tables import Table
from oracles import soft_evaluation as oracle

VARIANTS = {
    "defined": PROTOCOLS["defined"],
    "released": replace(PROTOCOLS["released"], chunk=2),
    "kept": replace(PROTOCOLS["defined"], cant_solve_objects="keep"),
}
TOGETHER = replace(PROTOCOLS["released"], distances_over="all")
BIG = [0.0, 0.0, 100.0, 100.0]
AWAY = [500.0, 500.0, 600.0, 600.0]


@pytest.mark.parametrize("kind", ["sigmoid", "softmax+background"])
@pytest.mark.parametrize("protocol", VARIANTS.values(), ids=VARIANTS)
def test_against_the_literal_version(kind: str, protocol: Protocol) -> None:
    calibrated, soft = random_calibrated(len(kind), kind)
    given = average_similarity._arrays(calibrated, soft, ids(), protocol, "corrected")
    sizes = {size: SIZES[size] for size in ("all", "medium")}
    frame = evaluate_classes(*given, len(ids()), protocol, ious=(0.5, 0.75), sizes=sizes)
    predictions, objects = by_image(calibrated, soft)
    literal = replace(protocol, without_objects=np.nan)
    assert len(frame) == 3 * 2 * 2 * 3
    for (category, size, iou), group in frame.groupby(["category", "size", "iou"]):
        expected = oracle.evaluate(
            ids(),
            predictions,
            objects,
            kind,
            literal,
            iou,
            sizes[size],
            protocol.ordering,
            category,
        )
        row = group[group["similarity"] == "tv"].iloc[0]
        for name in ("n_objects", "n_predictions", "recall", "TVD", "TVD_matched"):
            assert row[name] == pytest.approx(expected[name], abs=1e-12, nan_ok=True), name
        for name, column in (("AS", "AS_tv"), ("mean_similarity", "mean_tv")):
            assert row[name] == pytest.approx(expected[column], abs=1e-12, nan_ok=True), name


def classes_of(tables: tuple[Table, Table], protocol: Protocol = PROTOCOLS["defined"]) -> dict:
    rows = average_similarity.evaluate_per_class(*tables, ["a"], protocol)
    return rows.set_index("category").to_dict("index")


@pytest.mark.parametrize("kind", ["sigmoid", "softmax"])
def test_every_object_and_every_prediction_belongs_to_one_class(kind: str) -> None:
    calibrated, soft = random_calibrated(3, kind)
    options = {"ious": (0.5, 0.8)}
    given = average_similarity._arrays(calibrated, soft, ids(), TOGETHER, "corrected")
    rows = evaluate_classes(*given, len(ids()), TOGETHER, **options)
    whole = average_similarity.evaluate(calibrated, soft, ids(), TOGETHER, **options)
    keys = ["size", "iou", "similarity"]
    whole = whole.set_index(keys).sort_index()
    for name in ("n_objects", "n_predictions", "n_matched"):
        assert rows.groupby(keys)[name].sum().equals(whole[name]), name
    for name, weight in (
        ("mean_similarity", "n_predictions"),
        ("TVD", "n_predictions"),
        ("root_JSD_matched", "n_matched"),
        ("recall", "n_objects"),
    ):
        total = (rows[name] * rows[weight]).groupby([rows[key] for key in keys]).sum()
        np.testing.assert_allclose(total / whole[weight], whole[name], atol=1e-12)


def test_one_class_alone_is_the_whole() -> None:
    cat = [0.75, 0.0, 0.25]
    tables = one_image([BIG, AWAY], [cat, cat], [0.9, 0.8], [BIG], [[1.0, 0.0, 0.0]])
    rows = classes_of(tables)
    protocol = PROTOCOLS["defined"]
    whole = average_similarity.evaluate(*tables, ["a"], protocol)
    summary = average_similarity.summarize(whole, protocol)
    assert rows["cat"] == pytest.approx(
        {
            "n_objects": 1,
            "n_detections": 2,
            **{name: np.nan if value is None else value for name, value in summary.items()},
        },
        nan_ok=True,
    )


@pytest.mark.parametrize("protocol", PROTOCOLS.values(), ids=PROTOCOLS)
def test_a_class_without_objects_has_no_average_similarity(protocol: Protocol) -> None:
    tables = one_image([BIG], [[1.0, 0.0, 0.0]], [0.9], [BIG], [[1.0, 0.0, 0.0]])
    rows = classes_of(tables, protocol)
    assert rows["cat"]["AS"] == 1.0
    assert rows["dog"]["n_objects"] == rows["dog"]["n_detections"] == 0
    assert all(np.isnan(v) for name, v in rows["dog"].items() if not name.startswith("n_"))


def test_a_match_counts_for_the_class_of_the_object_and_a_miss_for_the_class_named() -> None:
    """A dog called a cat is found, at no similarity; a cat where nothing is speaks against cats."""
    cat = [1.0, 0.0, 0.0]
    calibrated, soft = one_image([BIG, AWAY], [cat, cat], [0.9, 0.8], [BIG], [[0.0, 1.0, 0.0]])
    rows = classes_of((calibrated, soft))
    assert rows["dog"]["recall"] == 1.0
    assert rows["dog"]["AS"] == rows["dog"]["mean_similarity"] == 0.0
    assert rows["dog"]["n_detections"] == 0
    assert rows["cat"]["TVD"] == 1.0
    assert np.isnan(rows["cat"]["AS"])
    named = classes_of((calibrated.with_columns(category=1), soft))
    assert named["dog"]["mean_similarity"] == 0.0
    assert np.isnan(named["cat"]["TVD"])


def test_the_order_of_rows_images_and_classes_changes_nothing() -> None:
    calibrated, soft = random_calibrated(7, "sigmoid")
    rows = average_similarity.evaluate_per_class(calibrated, soft, ids(), TOGETHER)
    other = np.array([2, 0, 1])
    classes = tuple(calibrated.classes[k] for k in other)
    place = np.argsort(other)[calibrated.frame["category"]]
    again = average_similarity.evaluate_per_class(
        shuffled(
            replace(
                calibrated.with_columns(category=place),
                classes=classes,
                vectors={"probabilities": calibrated.vectors["probabilities"][:, other]},
            ),
            1,
        ),
        shuffled(
            replace(
                soft,
                classes=classes,
                vectors={"corrected": soft.vectors["corrected"][:, [*other, 3]]},
            ),
            2,
        ),
        ids()[::-1],
        TOGETHER,
    )
    again = again.set_index("category").loc[list(calibrated.classes)].reset_index()
    numbers = rows.select_dtypes("number").columns
    np.testing.assert_allclose(rows[numbers], again[numbers], atol=1e-8)


def test_a_detection_without_a_class_is_refused() -> None:
    calibrated, soft = random_calibrated(0, "sigmoid")
    lost = calibrated.with_columns(category=-1)
    with pytest.raises(DataError, match=r"calibrated: image image_\d, category is no class"):
        average_similarity.evaluate_per_class(lost, soft, ids(), TOGETHER)

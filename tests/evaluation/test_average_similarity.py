from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from evaluation_tables import (
    by_image,
    ids,
    one_image,
    random_calibrated,
    random_tables,
    shuffled,
)
from labelquality.errors import DataError
from labelquality.evaluation import average_precision, average_similarity
from labelquality.evaluation.protocols import ORDERINGS, PROTOCOLS, Protocol
from labelquality.evaluation.similarity import area_under_curve
from labelquality.evaluation.soft_evaluation import (
    IOUS,
    SIZES,
    Objects,
    Predictions,
    Walk,
    outcomes,
)
from labelquality.ordering import descending
from oracles import soft_evaluation as oracle

VARIANTS = {
    "defined": PROTOCOLS["defined"],
    "released": replace(PROTOCOLS["released"], chunk=2),
    "kept": replace(PROTOCOLS["defined"], cant_solve_objects="keep"),
    "second_choices_in_chunks": replace(
        PROTOCOLS["defined"], distances_over="last_of_chunk", chunk=3
    ),
}


@pytest.mark.parametrize("kind", ["sigmoid", "softmax", "softmax+background"])
@pytest.mark.parametrize("protocol", VARIANTS.values(), ids=VARIANTS)
@pytest.mark.parametrize("ordering", ORDERINGS)
def test_against_the_literal_version(kind: str, protocol: Protocol, ordering: str) -> None:
    seed = len(kind) + 10 * ORDERINGS.index(ordering)
    calibrated, soft = random_calibrated(seed, kind)
    sizes = {size: SIZES[size] for size in ("all", "medium")}
    frame = average_similarity.evaluate(
        calibrated, soft, ids(), protocol, ious=(0.5, 0.75), sizes=sizes, orderings=[ordering]
    )
    predictions, objects = by_image(calibrated, soft)
    for (size, iou), group in frame.groupby(["size", "iou"]):
        expected = oracle.evaluate(
            ids(), predictions, objects, kind, protocol, iou, sizes[size], ordering
        )
        ours = group.iloc[0]
        by_name = group.set_index("similarity")
        for name in ("n_objects", "n_predictions", "recall", "TVD", "TVD_matched"):
            assert ours[name] == pytest.approx(expected[name], abs=1e-12, nan_ok=True), name
        for name in ("tv", "cosine", "js"):
            # A rounding error of 1e-17 in the divergence is 3e-9 in its root.
            near = 1e-8 if name == "js" else 1e-12
            for ours_column, column in (("AS", f"AS_{name}"), ("mean_similarity", f"mean_{name}")):
                assert by_name[ours_column][name] == pytest.approx(
                    expected[column], abs=near, nan_ok=True
                ), column
        for name in ("root_JSD", "root_JSD_matched"):
            assert ours[name] == pytest.approx(expected[name], abs=1e-8, nan_ok=True), name


@pytest.mark.parametrize("seed", range(4))
def test_hard_labels_by_confidence_give_average_precision(seed: int) -> None:
    detections, annotations, _ = random_tables(seed, n_classes=1, n_detections=60)
    plain = annotations.with_columns(crowd=False, difficult=False, region="", category=0)
    score = np.random.default_rng(seed).permutation(60) / 60
    rng = np.random.default_rng(seed)
    detections = detections.with_columns(score=score, x1=detections.frame["x1"] + rng.random(60))
    image = {name: i for i, name in enumerate(ids())}
    predictions = Predictions(
        detections.frame["image_id"].map(image).to_numpy(),
        detections.boxes,
        score,
        np.zeros(60, dtype=int),
        lambda rows: np.ones((60, 1))[rows],
    )
    objects = Objects(
        plain.frame["image_id"].map(image).to_numpy(), plain.boxes, np.ones((len(plain), 1))
    )
    result = average_precision.evaluate(detections, plain, ids(), backend="pycocotools")
    walk = Walk.along(descending(score), np.zeros((3, 60)), np.ones(60, dtype=bool))
    for size, iou, outcome in outcomes(predictions, objects, PROTOCOLS["defined"], IOUS, SIZES):
        matched = walk.apply(outcome).matched
        expected = result.precision[IOUS.index(iou), :, 0, list(SIZES).index(size), 2].mean()
        levels = np.linspace(0, 1, 101)  # COCO's own
        area = area_under_curve(matched.astype(np.float64), matched, outcome.n_objects, levels)
        assert (area if outcome.n_objects else -1) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_order_of_rows_images_and_classes_changes_nothing(name: str) -> None:
    calibrated, soft = random_calibrated(7, "sigmoid")
    protocol = replace(PROTOCOLS[name], distances_over="all")
    frame = average_similarity.evaluate(
        calibrated, soft, ids(), protocol, ious=(0.5, 0.8), orderings=ORDERINGS
    )
    other = np.array([2, 0, 1])
    classes = tuple(calibrated.classes[k] for k in other)
    label = {"corrected": soft.vectors["corrected"][:, [*other, 3]]}
    probabilities = {"probabilities": calibrated.vectors["probabilities"][:, other]}
    again = average_similarity.evaluate(
        shuffled(replace(calibrated, classes=classes, vectors=probabilities), 1),
        shuffled(replace(soft, classes=classes, vectors=label), 2),
        ids()[::-1],
        protocol,
        ious=(0.5, 0.8),
        orderings=ORDERINGS,
    )
    numbers = frame.select_dtypes("number").columns
    np.testing.assert_allclose(frame[numbers], again[numbers], atol=1e-8)
    assert frame["AS"].dropna().between(0, 1).all()


BIG = [0.0, 0.0, 100.0, 100.0]


def summary(tables: tuple, name: str = "defined", images: tuple = ("a",)) -> dict:
    protocol = PROTOCOLS[name]
    frame = average_similarity.evaluate(*tables, images, protocol)
    return average_similarity.summarize(frame, protocol)


def test_a_perfect_prediction() -> None:
    tables = one_image([BIG], [[0.75, 0.25, 0]], [0.9], [BIG], [[0.75, 0.25, 0]])
    numbers = summary(tables)
    assert numbers["AS"] == numbers["AS_large"] == numbers["recall"] == 1.0
    assert numbers["TVD"] == numbers["root_JSD"] == 0.0
    assert numbers["AS_small"] is None
    assert summary(tables, "released")["AS_small"] == 0.0


def test_disjoint_distributions() -> None:
    numbers = summary(one_image([BIG], [[1, 0, 0]], [0.9], [BIG], [[0, 1, 0]]))
    assert numbers["AS"] == 0.0
    assert numbers["TVD_matched"] == 1.0
    assert numbers["root_JSD_matched"] == pytest.approx(np.sqrt(np.log(2)), abs=1e-12)


def test_certain_background_where_nothing_is() -> None:
    numbers = summary(one_image([BIG], [[0, 0, 1]], [0.1], [], []))
    assert numbers["AS"] is None
    assert numbers["TVD"] == numbers["root_JSD"] == 0.0
    assert numbers["TVD_matched"] is None


def test_an_image_without_predictions_counts_only_as_defined() -> None:
    calibrated, soft = one_image([BIG], [[1, 0, 0]], [0.9], [BIG, BIG], [[1, 0, 0]] * 2)
    soft = soft.with_columns(image_id=["a", "b"])
    assert summary((calibrated, soft), "defined", ("a", "b"))["recall"] == 0.5
    assert summary((calibrated, soft), "released", ("a", "b"))["recall"] == 1.0


def test_the_second_choice_is_taken_only_as_defined() -> None:
    objects = [BIG, [0.0, 0.0, 100.0, 80.0]]
    tables = one_image(
        [BIG, [0.0, 0.0, 100.0, 98.0]], [[1, 0, 0]] * 2, [0.9, 0.8], objects, [[1, 0, 0]] * 2
    )
    rows = {
        name: average_similarity.evaluate(*tables, ["a"], PROTOCOLS[name], ious=[0.5])
        for name in PROTOCOLS
    }
    assert rows["defined"]["n_matched"][0] == 2
    assert rows["released"]["n_matched"][0] == 1


def test_objects_that_nobody_can_solve_are_no_objects() -> None:
    tables = one_image([BIG], [[1, 0, 0]], [0.9], [BIG], [[0.2, 0.2, 0.6]])
    for protocol in (PROTOCOLS["defined"], PROTOCOLS["released"]):
        frame = average_similarity.evaluate(*tables, ["a"], protocol)
        assert (frame["n_objects"] == 0).all()
    kept = replace(PROTOCOLS["defined"], cant_solve_objects="keep")
    assert average_similarity.evaluate(*tables, ["a"], kept)["n_objects"][0] == 1


@pytest.mark.parametrize(
    ("side", "sizes"), [(32.0, {"small", "medium"}), (96.0, {"medium", "large"})]
)
def test_an_area_on_a_limit_belongs_to_both_sizes(side: float, sizes: set) -> None:
    box = [0.0, 0.0, side, side]
    frame = average_similarity.evaluate(
        *one_image([box], [[1, 0, 0]], [0.9], [box], [[1, 0, 0]]), ["a"], PROTOCOLS["defined"]
    )
    assert set(frame["size"][frame["n_objects"] == 1]) == sizes | {"all"}


def test_an_iou_on_the_threshold_matches() -> None:
    half = [0.0, 0.0, 100.0, 50.0]
    tables = one_image([half], [[1, 0, 0]], [0.9], [BIG], [[1, 0, 0]])
    frame = average_similarity.evaluate(*tables, ["a"], PROTOCOLS["released"], ious=[0.5])
    assert frame["n_matched"][0] == 1


def test_defined_averages_over_the_sizes_that_have_objects() -> None:
    small = [200.0, 200.0, 210.0, 210.0]
    tables = one_image([BIG], [[1, 0, 0]], [0.9], [BIG, small], [[1, 0, 0]] * 2)
    numbers = summary(tables)
    assert (numbers["AS_small"], numbers["AS_medium"], numbers["AS_large"]) == (0.0, None, 1.0)
    assert numbers["AS"] == 0.5
    assert numbers["AS_all"] == pytest.approx(51 / 101, abs=1e-12)
    assert summary(tables, "released")["AS"] == numbers["AS_all"]


def test_no_predictions_at_all() -> None:
    numbers = summary(one_image([], [], [], [BIG], [[1, 0, 0]]))
    assert numbers["AS"] == numbers["recall"] == 0.0
    assert numbers["TVD"] is None
    assert summary(one_image([], [], [], [BIG], [[1, 0, 0]]), "released")["AS"] == 0.0


def test_the_background_of_a_softmax() -> None:
    p = np.array([[0.5, 0.25], [0.0, 0.0]])
    zero = average_similarity.as_distributions(p, "softmax", PROTOCOLS["defined"])
    np.testing.assert_allclose(zero, [[2 / 3, 1 / 3, 0], [0, 0, 1]])
    product = average_similarity.as_distributions(p, "softmax", PROTOCOLS["released"])
    np.testing.assert_allclose(product, np.array([[4, 2, 3], [0, 0, 9]]) / 9)


def test_what_is_refused() -> None:
    calibrated, soft = random_calibrated(1, "sigmoid")
    protocol = PROTOCOLS["defined"]
    with pytest.raises(DataError, match="1 of 9 images were not processed"):
        average_similarity.evaluate(calibrated, soft, [*ids(), "image_9"], protocol)
    with pytest.raises(DataError, match="classes"):
        average_similarity.evaluate(calibrated, replace(soft, classes=("a",)), ids(), protocol)
    with pytest.raises(DataError, match="probability_kind is ''"):
        average_similarity.evaluate(replace(calibrated, meta={}), soft, ids(), protocol)

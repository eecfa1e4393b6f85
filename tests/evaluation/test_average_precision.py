from __future__ import annotations

import gzip
import json
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from evaluation_tables import ids, random_tables, shuffled
from labelquality.errors import DataError
from labelquality.evaluation import average_precision
from labelquality.geometry import xywh_to_xyxy
from labelquality.labels import validated_annotations
from labelquality.tables import Table, make_table

BACKENDS = (
    "hotcoco",
    "pycocotools",
    pytest.param(
        "faster_coco_eval",
        marks=pytest.mark.skipif(
            find_spec("faster_coco_eval") is None, reason="faster-coco-eval is optional"
        ),
    ),
)

TWELVE = (
    *("AP", "AP50", "AP75", "AP_small", "AP_medium", "AP_large"),
    *("AR_1", "AR_10", "AR_100", "AR_small", "AR_medium", "AR_large"),
)


def detections(
    boxes: list, scores: list | np.ndarray, categories: list, images: list, n_classes: int
) -> Table:
    return make_table(
        "detections",
        {
            "image_id": images,
            "score": np.array(scores, dtype=np.float64),
            "category": np.array(categories, dtype=np.int32),
        },
        [f"class_{k}" for k in range(n_classes)],
        boxes=np.array(boxes, dtype=np.float64).reshape(-1, 4),
        vectors={"probabilities": np.zeros((len(scores), n_classes), dtype=np.float32)},
        meta={"probability_kind": "sigmoid"},
    )


def annotations(
    boxes: list, categories: list, images: list, n_classes: int, **columns: object
) -> Table:
    default = {"crowd": False, "difficult": False, "region": "", "annotator": "original"}
    return make_table(
        "annotations",
        {
            "image_id": images,
            "box_id": [str(i) for i in range(len(boxes))],
            "category": np.array(categories, dtype=np.int32),
            **default,
            **columns,
        },
        [f"class_{k}" for k in range(n_classes)],
        boxes=np.array(boxes, dtype=np.float64).reshape(-1, 4),
    )


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("backend", BACKENDS)
def test_backends_agree_with_crowds_ties_empty_images_and_absent_classes(
    backend: str, seed: int
) -> None:
    found, truth, _ = random_tables(seed)
    limits = average_precision.SIZE_LIMITS if seed % 2 else (500.0, 4000.0)
    ours, reference = (
        average_precision.evaluate(found, truth, ids(), backend=name, size_limits=limits)
        for name in (backend, "pycocotools")
    )
    assert ours.summary() == pytest.approx(reference.summary(), abs=1e-12)
    one, other = (result.per_class().drop(columns="category") for result in (ours, reference))
    np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.parametrize("case", [1, 2])
@pytest.mark.parametrize("backend", BACKENDS)
def test_released_hard_evaluation(shared_data: Path, case: int, backend: str) -> None:
    path = shared_data / "released_oracle" / f"hard_eval_{case}.json.gz"
    record = json.loads(gzip.decompress(path.read_bytes()))
    given = record["inputs"]
    n_classes = len(given["original"]["categories"])
    shift = 1 if record["model"] == "frcnn" else 0
    image_ids = [f"{image['id']:020d}" for image in given["original"]["images"]]
    predictions = [
        (f"{p['image_id']:020d}", box, score, label - shift)
        for p in sorted(given["predictions"], key=lambda p: p["image_id"])
        for box, score, label in zip(p["boxes"], p["scores"], p["labels"], strict=True)
    ]
    names, boxes, scores, labels = (list(c) for c in zip(*predictions, strict=True))
    # There, equal scores go by image and row: a billionth a row says so and reorders nothing else.
    ranked = np.array(scores) + 1e-9 * np.arange(len(scores))[::-1]
    found = detections(boxes, ranked, labels, names, n_classes)
    originals = given["original"]["annotations"]
    truth = {
        "orig_gt": annotations(
            xywh_to_xyxy(np.array([a["bbox"] for a in originals], dtype=np.float64)).tolist(),
            [a["category_id"] for a in originals],
            [f"{a['image_id']:020d}" for a in originals],
            n_classes,
        )
    }
    truth |= {
        f"ours_{p}": validated_annotations(_soft(given["soft"], found), p, column="soft_label")
        for p in (0.5, 0.8)
    }
    for row in record["outputs"]["rows"]:
        table = truth[row["gt"].removeprefix(f"{record['dataset']}_")]
        numbers = average_precision.evaluate(found, table, image_ids, backend=backend).summary()
        for name, value in numbers.items():
            assert (-1 if value is None else value) == pytest.approx(row[name], abs=1e-12), name


def _soft(soft: dict, like: Table) -> Table:
    image_id = {i["file_name"].split(".")[0]: f"{i['id']:020d}" for i in soft["images"]}
    rows = [(image_id[key.split(".")[0]], o) for key, os in soft["objects"].items() for o in os]
    return make_table(
        "soft_labels",
        {
            "image_id": [name for name, _ in rows],
            "box_id": [str(i) for i in range(len(rows))],
            "n_votes": 11,
            "proposed": -1,
        },
        like.classes,
        boxes=np.array([o["bbox"] for _, o in rows], dtype=np.float64),
        vectors={
            name: np.array([o["soft_label"] for _, o in rows])
            for name in ("soft_label", "corrected")
        },
    )


@pytest.mark.parametrize("backend", BACKENDS)
def test_perfect_detections_have_precision_1_whatever_the_ids(backend: str) -> None:
    boxes = [[0, 0, 10, 10], [20, 20, 40, 40], [0, 0, 120, 120]]
    truth = annotations(boxes, [0, 1, 0], ["a", "a", "b"], 3, box_id=["0", "0", "0"])
    found = detections(boxes, [0.5, 0.5, 0.5], [0, 1, 0], ["a", "a", "b"], 3)
    numbers = average_precision.evaluate(found, truth, ["a", "b", "c"], backend=backend).summary()
    assert numbers["AP"] == pytest.approx(1.0, abs=1e-12)
    assert numbers["AP_medium"] is None


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_detections_give_0_and_no_objects_give_none(backend: str) -> None:
    found, truth, _ = random_tables(0)
    nothing = np.zeros(0, dtype=int)
    empty = average_precision.evaluate(found.take(nothing), truth, ids(), backend=backend).summary()
    assert set(empty.values()) == {0.0}
    absent = average_precision.evaluate(
        found, truth.take(nothing), ids(), backend=backend
    ).summary()
    assert set(absent.values()) == {None}


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_region_without_class_excuses_detections_of_every_class(backend: str) -> None:
    boxes = [[0, 0, 50, 50], [100, 100, 150, 150], [200, 0, 400, 200]]
    images = ["a"] * 3
    with_region = annotations(boxes, [0, 1, -1], images, 2, region=["", "", "dontcare"])
    without = annotations(boxes[:2], [0, 1], images[:2], 2)
    inside = [[210, 10, 250, 60], [300, 30, 380, 90]]
    found = detections(inside + boxes[:2], [0.9, 0.8, 0.7, 0.6], [0, 1, 0, 1], ["a"] * 4, 2)
    excused = average_precision.evaluate(found, with_region, ["a"], backend=backend).summary()
    counted = average_precision.evaluate(found, without, ["a"], backend=backend).summary()
    assert excused["AP"] == pytest.approx(1.0, abs=1e-12)
    assert counted["AP"] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_difficult_object_counts_neither_way_and_excuses_one_match(backend: str) -> None:
    boxes = [[0, 0, 50, 50], [100, 100, 150, 150]]
    truth = annotations(boxes, [0, 0], ["a", "a"], 1, difficult=[False, True])
    missed = detections(boxes[:1], [0.9], [0], ["a"], 1)
    found = detections(boxes, [0.5, 0.9], [0, 0], ["a", "a"], 1)
    twice = detections([*boxes, boxes[1]], [0.5, 0.9, 0.8], [0, 0, 0], ["a"] * 3, 1)
    for table, expected in ((missed, 1.0), (found, 1.0), (twice, 0.5)):
        numbers = average_precision.evaluate(table, truth, ["a"], backend=backend).summary()
        assert numbers["AP"] == pytest.approx(expected, abs=1e-12)
    assert average_precision.evaluate(found, truth, ["a"]).per_class()["n_objects"].tolist() == [1]


@pytest.mark.parametrize("seed", range(5))
def test_the_order_of_rows_and_images_changes_nothing(seed: int) -> None:
    found, truth, _ = random_tables(seed)
    numbers = average_precision.evaluate(found, truth, ids()).summary()
    again = average_precision.evaluate(shuffled(found, 1), shuffled(truth, 2), ids()[::-1])
    assert numbers == again.summary()


def test_inputs_are_left_alone() -> None:
    found, truth, _ = random_tables(1)
    frames = [found.frame.copy(), truth.frame.copy()]
    for backend in ("hotcoco", "pycocotools"):
        average_precision.evaluate(found, truth, ids(), backend=backend)
    assert frames[0].equals(found.frame)
    assert frames[1].equals(truth.frame)


def test_per_class_names_the_class_without_objects() -> None:
    found, truth, _ = random_tables(0)
    table = average_precision.evaluate(found, truth, ids()).per_class()
    counted = truth.frame[~truth.frame["crowd"] & ~truth.frame["difficult"]]
    counted = counted[counted["region"] == ""]
    assert table["category"].tolist() == list(found.classes)
    assert table["n_objects"].tolist() == [(counted["category"] == k).sum() for k in range(3)]
    assert table["n_detections"].tolist() == [
        (found.frame["category"] == k).sum() for k in (0, 1, 2)
    ]
    assert table.loc[2, list(TWELVE)].isna().all()
    assert not (table == -1).any(axis=None)
    both = average_precision.evaluate(found, truth, ids()).summary()
    assert tuple(both) == TWELVE
    assert table[list(TWELVE)].mean().to_dict() == pytest.approx(both, abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_a_class_has_the_numbers_that_it_has_alone(seed: int) -> None:
    found, truth, _ = random_tables(seed)
    truth = truth.take((truth.frame["category"] >= 0).to_numpy())
    table = average_precision.evaluate(found, truth, ids()).per_class()
    for k, row in table.iterrows():
        alone = average_precision.evaluate(
            found.take((found.frame["category"] == k).to_numpy()),
            truth.take((truth.frame["category"] == k).to_numpy()),
            ids(),
            backend="pycocotools",
        ).summary()
        for name in TWELVE:
            expected = np.nan if alone[name] is None else alone[name]
            assert row[name] == pytest.approx(expected, abs=1e-12, nan_ok=True), name


def test_a_backend_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "faster_coco_eval", None)
    found, truth, _ = random_tables(0)
    with pytest.raises(DataError, match="'faster_coco_eval' is not installed; pip install"):
        average_precision.evaluate(found, truth, ids(), backend="faster_coco_eval")


def test_what_is_refused() -> None:
    found, truth, _ = random_tables(2)
    with pytest.raises(DataError, match=r"1 of 9 images were not processed \(image_99\)"):
        average_precision.evaluate(found, truth, [*ids(), "image_99"])
    with pytest.raises(DataError, match="listed twice"):
        average_precision.evaluate(found, truth, [*ids(), "image_1"])
    spoilt = found.with_columns(score=found.frame["score"].where(found.frame.index != 3, np.nan))
    with pytest.raises(DataError, match=r"detections: image image_\d, box or score is not finite"):
        average_precision.evaluate(spoilt, truth, ids())
    with pytest.raises(DataError, match="object has no class"):
        average_precision.evaluate(found, truth.with_columns(category=-1), ids())
    with pytest.raises(DataError, match="category is no class"):
        average_precision.evaluate(found.with_columns(category=3), truth, ids())
    with pytest.raises(DataError, match="classes"):
        average_precision.evaluate(found, replace(truth, classes=("x", "y", "z")), ids())
    with pytest.raises(DataError, match="backend 'other' is unknown"):
        average_precision.evaluate(found, truth, ids(), backend="other")  # type: ignore[arg-type]

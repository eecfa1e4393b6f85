from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from label_error_tables import CLASSES, detected, images, originals, reannotated
from labelquality.error_detection.synthetic import score_on_synthetic, with_real
from labelquality.errors import DataError
from labelquality.geometry import iou
from labelquality.synthetic_errors import (
    KINDS,
    SHIFTED_IOU,
    inject,
    labels_of_all_rates,
    sound_labels,
)
from labelquality.tables import Table, make_table, write_table

N_IMAGES = 10


def places() -> Table:
    """Ten images of different sizes."""
    return make_table(
        "images",
        {
            "image_id": [f"{i}" for i in range(N_IMAGES)],
            "file_name": "f",
            "width": [100 + 10 * i for i in range(N_IMAGES)],
            "height": 100,
            "split": "val",
        },
        CLASSES,
    )


def objects(n: int = 400) -> Table:
    rng = np.random.default_rng(0)
    corner, side = rng.uniform(0, 60, (n, 2)), rng.uniform(5, 40, (n, 2))
    image = [str(i) for i in rng.integers(0, N_IMAGES, n)]
    return originals(np.hstack([corner, corner + side]), rng.integers(0, 3, n), image)


def by_id(table: Table) -> dict[str, int]:
    return {name: i for i, name in enumerate(table.frame["box_id"])}


def test_every_error_is_what_it_says(tmp_path: Path) -> None:
    truth = objects()
    injected = inject(truth, places(), rate=0.2, seed=1)
    errors, noisy = injected.errors, injected.annotations
    assert errors.frame["kind"].value_counts().to_dict() == dict.fromkeys(KINDS.values(), 20)
    assert len(noisy) == 400
    true_row, row = by_id(truth), by_id(noisy)
    touched = set()
    for error, box in zip(errors.frame.to_dict("records"), errors.boxes, strict=True):
        old, new = true_row.get(error["validated_box_id"]), row.get(error["original_box_id"])
        touched |= {error["validated_box_id"], error["original_box_id"]}
        if error["kind"] == "original_only":
            source = true_row[error["original_box_id"].removesuffix("_spawned")]
            assert noisy.frame["image_id"][new] == error["image_id"]
            assert error["image_id"] != truth.frame["image_id"][source]
            assert noisy.boxes[new].tolist() == box.tolist()
            continue
        assert truth.boxes[old].tolist() == box.tolist()
        if error["kind"] == "missing":
            assert error["validated_box_id"] not in row
        elif error["kind"] == "classification":
            assert noisy.frame["category"][new] != truth.frame["category"][old]
            assert noisy.boxes[new].tolist() == box.tolist()
        else:
            overlap = iou(noisy.boxes[new], box)
            assert SHIFTED_IOU[0] <= overlap < SHIFTED_IOU[1]
            assert overlap == pytest.approx(error["max_iou"])
            assert noisy.frame["category"][new] == truth.frame["category"][old]
    for name in set(row) - touched:
        assert noisy.boxes[row[name]].tolist() == truth.boxes[true_row[name]].tolist()
    write_table(errors, tmp_path / "errors")
    write_table(noisy, tmp_path / "annotations")


def test_errors_of_lower_rates_are_among_those_of_higher_ones() -> None:
    def rows(rate: float, seed: int = 5) -> set[tuple]:
        frame = inject(objects(), places(), rate=rate, seed=seed).errors.frame
        return set(frame.fillna(-1.0).itertuples(index=False, name=None))

    assert rows(0) == set()
    assert rows(0.05) < rows(0.1) < rows(1)
    assert len(rows(1)) == 400
    assert rows(0.1) == rows(0.1)
    assert rows(0.1) != rows(0.1, seed=6)


def test_boxes_stay_in_their_image() -> None:
    injected = inject(objects(), places(), rate=1, seed=0)
    width = injected.annotations.frame["image_id"].astype(int) * 10 + 100
    assert (injected.annotations.boxes >= 0).all()
    assert (injected.annotations.boxes[:, 2] <= width + 1e-9).all()
    assert (injected.annotations.boxes[:, 3] <= 100 + 1e-9).all()


def test_what_cannot_be_moved_into_the_range_is_shrunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labelquality.synthetic_errors._TRIES", 0)
    shifted = inject(objects(), places(), rate=1, seed=0).errors
    overlap = shifted.frame.loc[shifted.frame["kind"] == "misaligned", "max_iou"]
    assert overlap.to_numpy() == pytest.approx(0.55)


def test_one_image_or_one_class_leaves_out_what_needs_two() -> None:
    one = originals([(0, 0, 10, 10)] * 8)
    kinds = set(inject(one, images("i"), rate=1, seed=0).errors.frame["kind"])
    assert kinds == {"missing", "classification", "misaligned"}
    one = originals([(0, 0, 10, 10)] * 9, classes=("a",))
    kinds = set(inject(one, images("i", "j"), rate=1, seed=0).errors.frame["kind"])
    assert kinds == {"missing", "original_only", "misaligned"}


def test_nothing_to_spoil_and_wrong_input() -> None:
    nothing = inject(originals([]), images("i", "j"), rate=0.5, seed=0)
    assert (len(nothing.annotations), len(nothing.errors)) == (0, 0)
    assert nothing.errors.image_ids == ("i", "j")
    assert len(inject(originals([]), images(), rate=0.5, seed=0).errors) == 0
    with pytest.raises(DataError, match=r"rate 1.5 is outside \[0, 1\]"):
        inject(objects(), places(), rate=1.5, seed=0)
    with pytest.raises(DataError, match="image k is not among the images"):
        inject(originals([(0, 0, 1, 1)], image_id="k"), images("i"), rate=0.5, seed=0)


def test_a_perfect_detector_finds_what_overlaps_its_false_positives() -> None:
    truth = objects()
    perfect = detected(
        truth.boxes,
        0.9,
        truth.frame["category"],
        truth.frame["image_id"],
        image_ids=places().frame["image_id"],
    )
    rows = score_on_synthetic(
        perfect, truth, places(), ["naive", "score"], [0.1, 0.2], iou_threshold=0.1, seed=0
    )
    assert rows["errors"].tolist() == ["synthetic_0.1"] * 2 + ["synthetic_0.2"] * 2
    assert rows["n_errors"].tolist() == [30, 30, 60, 60]
    # Each false positive stands on an error; shifts with an IoU of 0.5 or more cause none.
    assert (rows["best_precision"] > 0.9).all()
    assert rows["best_recall"].between(2 / 3, 1, inclusive="left").all()
    real = rows.iloc[:1].assign(variant="stricter").drop(columns="errors")
    both = with_real(rows, real, len(truth))
    assert both["errors"].tolist()[-1] == "stricter"
    assert both["error_rate"].tolist() == [0.075, 0.075, 0.15, 0.15, 0.075]


def test_labels_of_all_rates_are_those_of_each_rate_once() -> None:
    truth, rates = objects(40), (0.1, 0.5)
    together = labels_of_all_rates(truth, places(), rates=rates, seed=0)
    assert not together.frame.duplicated().any()
    made = [inject(truth, places(), rate=rate, seed=0).annotations.frame for rate in rates]
    rows = {tuple(row) for frame in made for row in frame.itertuples(index=False)}
    assert {tuple(row) for row in together.frame.itertuples(index=False)} == rows


def test_only_what_was_annotated_anew_is_sound() -> None:
    boxes = [(0, 0, 10, 10), (0, 0, 20, 20)]
    votes = reannotated(boxes, probability=[0.9, 0.5], image_ids=["i", "j"])
    truth, seen = sound_labels(votes, images("i", "j", "k"))
    assert truth.boxes.tolist() == [list(boxes[0])]
    assert seen.frame["image_id"].tolist() == ["i", "j"]
    assert len(sound_labels(reannotated(boxes), images("i", "k"))[1]) == 2

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from labelquality.detectors import FAMILIES, load_detector
from labelquality.detectors.base import (
    Candidates,
    ImageDetections,
    ProbabilityKind,
    best_rows,
    clipped,
    gather,
    match_classes,
    run,
    scores_and_categories,
    suppress,
)
from labelquality.errors import DataError
from labelquality.geometry import pairwise_iou
from labelquality.tables import Table, concatenate, make_table, read_table, write_table

CLASSES = ("cat", "dog")


def test_the_first_of_equal_probabilities_is_the_category() -> None:
    scores, categories = scores_and_categories(np.array([[0.2, 0.7, 0.7], [0.5, 0.5, 0.1]]), 3)
    assert scores.tolist() == [0.7, 0.5]
    assert categories.tolist() == [1, 0]


def test_the_background_is_never_a_category() -> None:
    scores, categories = scores_and_categories(np.array([[0.1, 0.2, 0.7]]), 2)
    assert (scores[0], categories[0]) == (0.2, 1)


def test_best_rows_exceed_the_threshold_and_keep_row_order_at_ties() -> None:
    scores = np.array([0.3, 0.9, 0.1, 0.9, 0.3])
    assert best_rows(scores, 0.1, None).tolist() == [1, 3, 0, 4]
    assert best_rows(scores, 0.1, 3).tolist() == [1, 3, 0]


def test_suppression_keeps_the_better_box_of_a_class() -> None:
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 9], [0, 0, 10, 10], [50, 50, 60, 60]], float)
    scores, categories = np.array([0.6, 0.8, 0.5, 0.1]), np.array([0, 0, 1, 0])
    assert suppress(boxes, scores, categories, 0.5).tolist() == [1, 2, 3]


def test_suppression_spares_a_box_at_exactly_the_threshold() -> None:
    boxes = np.array([[0, 0, 10, 10], [0, 0, 10, 5]], float)
    both = np.zeros(2, int)
    assert suppress(boxes, np.array([0.9, 0.8]), both, 0.5).tolist() == [0, 1]
    assert suppress(boxes, np.array([0.9, 0.8]), both, 0.49).tolist() == [0]


def test_of_equal_scores_the_lower_row_survives() -> None:
    boxes = np.tile(np.array([[0.0, 0, 10, 10]]), (300, 1))
    assert suppress(boxes, np.full(300, 0.5), np.zeros(300, int), 0.5).tolist() == [0]


def plain_suppression(
    boxes: np.ndarray, scores: np.ndarray, categories: np.ndarray, threshold: float
) -> list[int]:
    overlap = pairwise_iou(boxes, boxes)
    kept: list[int] = []
    for row in sorted(range(len(boxes)), key=lambda r: (-scores[r], categories[r], r)):
        if not any(categories[k] == categories[row] and overlap[k, row] > threshold for k in kept):
            kept.append(row)
    return kept


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(0, 60), st.sampled_from([0.3, 0.5, 0.7]))
def test_suppression_agrees_with_the_definition(seed: int, n: int, threshold: float) -> None:
    rng = np.random.default_rng(seed)
    corner = rng.integers(0, 20, (n, 2)).astype(float)
    boxes = np.concatenate([corner, corner + rng.integers(1, 12, (n, 2))], axis=1)
    scores, categories = rng.integers(0, 5, n) / 5, rng.integers(0, 3, n)
    expected = plain_suppression(boxes, scores, categories, threshold)
    assert suppress(boxes, scores, categories, threshold).tolist() == expected


def test_boxes_are_cut_to_the_image_and_what_is_left_of_none_is_counted() -> None:
    boxes = np.array([[-5, -5, 10, 10], [20, 0, 30, 5], [3, 3, 3, 9], [np.nan, 0, 1, 1]])
    found = clipped(boxes, np.arange(8).reshape(4, 2) / 10, width=20, height=8)
    assert found.boxes.tolist() == [[0, 0, 10, 8]]
    assert np.allclose(found.probabilities, [[0.0, 0.1]])
    assert found.degenerate == 3


def test_class_names_match_whatever_their_spacing() -> None:
    own = ["person", "traffic light", "Dining-Table"]
    assert match_classes(own, ["dining table", "Traffic_Light"], "m").tolist() == [2, 1]


def test_a_class_that_a_model_does_not_know_is_named() -> None:
    with pytest.raises(DataError, match=r"does not know the classes zebra; its own are cat, dog"):
        match_classes(CLASSES, ["dog", "zebra"], "m")


def test_an_unknown_family_is_named_with_the_known_ones() -> None:
    with pytest.raises(DataError, match=r"unknown family 'yolo9', use one of .*grounding_dino"):
        load_detector({"name": "x", "family": "yolo9"}, CLASSES)
    assert "imported" in FAMILIES


@dataclass
class Brightness:
    """One box per bright image, at the image's own size, and one that lies outside."""

    model: None = None
    family: str = "brightness"
    probability_kind: ProbabilityKind = "sigmoid"
    libraries: tuple[str, ...] = ("numpy",)

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        results = []
        for image in images:
            height, width = image.shape[:2]
            boxes = np.array([[0, 0, width, height], [-9, -9, -1, -1]] if image.mean() > 0 else [])
            vectors = np.tile([image.mean() / 255, 0.25], (len(boxes), 1))
            results.append(clipped(boxes, vectors.reshape(-1, 2), width, height))
        return results


def image_table(folder: Path, values: Sequence[int]) -> Table:
    names = [f"{k}.png" for k in range(len(values))]
    for k, value in enumerate(values):
        Image.fromarray(np.full((10, 12 + k, 3), value, np.uint8)).save(folder / names[k])
    return make_table(
        "images",
        {
            "image_id": [f"i{k}" for k in range(len(values))],
            "file_name": names,
            "width": [12 + k for k in range(len(values))],
            "height": 10,
            "split": "val",
        },
        CLASSES,
    )


def test_a_run_lists_every_image_and_counts_what_it_dropped(tmp_path: Path) -> None:
    images = image_table(tmp_path, [255, 0, 51])
    found = run(Brightness(), images, tmp_path, CLASSES, 2, progress=False)
    table = found.detections
    assert table.image_ids == ("i0", "i1", "i2")
    assert table.frame["image_id"].tolist() == ["i0", "i2"]
    assert table.boxes.tolist() == [[0, 0, 12, 10], [0, 0, 14, 10]]
    assert table.frame["score"].tolist() == [1.0, 0.25]
    assert table.frame["category"].tolist() == [0, 1]
    assert table.meta["degenerate_boxes"] == "2"
    assert "numpy" in table.meta["versions"]
    write_table(table, tmp_path / "d.parquet")
    assert read_table(tmp_path / "d.parquet", "detections").image_ids == ("i0", "i1", "i2")


def test_neither_batch_size_nor_row_order_changes_a_run(tmp_path: Path) -> None:
    images = image_table(tmp_path, [9, 0, 51, 80, 3])
    shuffled = images.take(np.array([3, 1, 4, 0, 2]))
    files = []
    for table, batch_size in ((images, 1), (images, 5), (shuffled, 2)):
        path = tmp_path / f"{len(files)}.parquet"
        found = run(Brightness(), table, tmp_path, CLASSES, batch_size, progress=False)
        write_table(found.detections, path)
        files.append(path.read_bytes())
    assert files[0] == files[1] == files[2]


def test_shards_together_are_the_whole_run(tmp_path: Path) -> None:
    images = image_table(tmp_path, [9, 0, 51, 80, 3])
    parts = [images.take(np.array(rows)) for rows in ([4, 0], [1], [2, 3])]
    shards = [
        run(Brightness(), part, tmp_path, CLASSES, 2, progress=False).detections for part in parts
    ]
    write_table(gather(shards), tmp_path / "gathered.parquet")
    whole = run(Brightness(), images, tmp_path, CLASSES, 2, progress=False).detections
    write_table(whole, tmp_path / "whole.parquet")
    assert whole.meta["degenerate_boxes"] == "4"
    gathered = (tmp_path / "gathered.parquet").read_bytes()
    assert gathered == (tmp_path / "whole.parquet").read_bytes()


def test_a_run_without_any_detection_is_a_table_all_the_same(tmp_path: Path) -> None:
    images = image_table(tmp_path, [0, 0])
    table = run(Brightness(), images, tmp_path, CLASSES, 4, progress=False).detections
    write_table(table, tmp_path / "d.parquet")
    assert len(table) == 0
    assert table.vectors["probabilities"].shape == (0, 2)


class Suppressing(Brightness):
    """Tells of a second box in every bright image, which it suppressed."""

    def detect(self, images: Sequence[np.ndarray]) -> list[ImageDetections]:
        return [
            replace(
                found,
                candidates=Candidates(
                    np.vstack([found.boxes, found.boxes / 2]),
                    np.linspace(0.6, 0.5, 2 * len(found)),
                    np.zeros(2 * len(found), np.int32),
                ),
            )
            for found in super().detect(images)
        ]


def test_candidates_are_a_table_of_their_own_whatever_the_shards(tmp_path: Path) -> None:
    images = image_table(tmp_path, [9, 0, 51])
    whole = run(Suppressing(), images, tmp_path, CLASSES, 2, progress=False)
    plain = run(Brightness(), images, tmp_path, CLASSES, 2, progress=False)
    assert whole.detections.frame.equals(plain.detections.frame)
    assert whole.candidates.frame["image_id"].tolist() == ["i0", "i0", "i2", "i2"]
    assert whole.candidates.boxes[:2].tolist() == [[0, 0, 12, 10], [0, 0, 6, 5]]
    assert whole.candidates.image_ids == ("i0", "i1", "i2")
    shards = [
        run(Suppressing(), images.take(np.array(rows)), tmp_path, CLASSES, 1, progress=False)
        for rows in ([2], [0, 1])
    ]
    write_table(whole.candidates, tmp_path / "whole.parquet")
    write_table(concatenate([shard.candidates for shard in shards]), tmp_path / "shards.parquet")
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "shards.parquet").read_bytes()


def test_candidates_of_an_adapter_that_cannot_tell_them_speak_of_no_image(tmp_path: Path) -> None:
    images = image_table(tmp_path, [9, 0])
    found = run(Brightness(), images, tmp_path, CLASSES, 1, progress=False).candidates
    assert (len(found), found.image_ids) == (0, ())
    write_table(found, tmp_path / "none.parquet")
    assert read_table(tmp_path / "none.parquet", "candidates").image_ids == ()


def test_all_images_that_cannot_be_used_are_named_at_once(tmp_path: Path) -> None:
    images = image_table(tmp_path, [9, 9, 9, 9])
    (tmp_path / "1.png").write_bytes((tmp_path / "1.png").read_bytes()[:50])
    Image.fromarray(np.zeros((10, 99, 3), np.uint8)).save(tmp_path / "2.png")
    (tmp_path / "3.png").unlink()
    with pytest.raises(DataError, match="3 of 4 images cannot be used") as raised:
        run(Brightness(), images, tmp_path, CLASSES, 1, progress=False)
    assert "1.png: " in str(raised.value)
    assert "2.png: is 99x10 pixels, the images table says 14x10" in str(raised.value)
    assert "3.png: image not found" in str(raised.value)

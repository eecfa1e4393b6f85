from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from labelquality.detectors.imported import read_detections
from labelquality.errors import DataError
from labelquality.tables import Table, make_table, read_table, write_table

CLASSES = ("cat", "dog", "potted plant")
VOC = (
    *("aeroplane", "bicycle", "bird", "boat", "bottle", "bus", "car", "cat", "chair", "cow"),
    *("diningtable", "dog", "horse", "motorbike", "person", "pottedplant", "sheep", "sofa"),
    *("train", "tvmonitor"),
)


def image_table(ids: tuple[str, ...] = ("000007", "b"), classes: Any = CLASSES) -> Table:
    return make_table(
        "images",
        {
            "image_id": ids,
            "file_name": [f"{i}.jpg" for i in ids],
            "width": 100,
            "height": 50,
            "split": "val",
        },
        classes,
    )


def spec(path: Path, file_format: str, **more: Any) -> dict[str, Any]:
    return {
        "name": "own",
        "weights": str(path),
        "format": file_format,
        "probability_kind": None,
    } | more


def record(**changes: Any) -> dict[str, Any]:
    return {"image_id": "b", "category_id": 2, "bbox": [10, 5, 20, 10], "score": 0.75} | changes


def read_coco(folder: Path, records: Any, **more: Any) -> Table:
    path = folder / "results.json"
    path.write_text(json.dumps(records))
    return read_detections(spec(path, "coco", **more), image_table(), CLASSES)


def test_coco_results_become_corners_with_the_score_at_the_category(tmp_path: Path) -> None:
    table = read_coco(tmp_path, [record()])
    assert table.boxes.tolist() == [[10, 5, 30, 15]]
    assert table.vectors["probabilities"].tolist() == [[0, 0.75, 0]]
    assert table.frame[["image_id", "category", "score"]].values.tolist() == [["b", 1, 0.75]]
    assert table.image_ids == ("000007", "b")
    assert table.meta["images_without_records"] == "1"


@pytest.mark.parametrize("key", ["000007", "000007.jpg", 7])
def test_an_image_is_known_by_id_file_name_or_number(tmp_path: Path, key: Any) -> None:
    table = read_coco(tmp_path, [record(image_id=key)])
    assert table.frame["image_id"].tolist() == ["000007"]


def test_full_vectors_are_kept(tmp_path: Path) -> None:
    vector = [0.25, 0.75, 0.5]
    table = read_coco(tmp_path, [record(probabilities=vector), record(probs=vector)])
    assert table.vectors["probabilities"].tolist() == [vector, vector]
    assert table.meta["full_vectors"] == "yes"


def test_a_background_is_the_last_entry_and_rounded_distributions_sum_to_one(
    tmp_path: Path,
) -> None:
    vector = [0.1, 0.3333, 0.1, 0.4666]
    table = read_coco(
        tmp_path,
        [record(probabilities=vector, score=0.3333)],
        probability_kind="softmax+background",
    )
    assert table.frame["category"].tolist() == [1]
    write_table(table, tmp_path / "d.parquet")
    assert read_table(tmp_path / "d.parquet", "detections").vectors["probabilities"].shape == (1, 4)


def test_ids_are_those_of_the_instances_file_that_the_spec_names(tmp_path: Path) -> None:
    instances = {
        "images": [{"id": 1, "file_name": "folder/b.jpg"}],
        "categories": [
            {"id": 90, "name": "cat"},
            {"id": 3, "name": "pottedplant"},
            {"id": 5, "name": "dog"},
            {"id": 1, "name": "not wanted"},
        ],
    }
    path = tmp_path / "instances.json"
    path.write_text(json.dumps(instances))
    images = [record(image_id=1, category_id=i) for i in (90, 5, 3)]
    with pytest.raises(DataError, match=r"folder/b\.jpg"):
        read_coco(tmp_path, images, annotations=str(path))
    instances["images"] = [{"id": 1, "file_name": "b.jpg"}]
    path.write_text(json.dumps(instances))
    table = read_coco(tmp_path, images, annotations=str(path))
    assert table.frame["category"].tolist() == [0, 1, 2]
    assert set(table.frame["image_id"]) == {"b"}


def test_boxes_are_cut_to_the_image_and_those_outside_are_counted(tmp_path: Path) -> None:
    boxes = ([90, 40, 20, 20], [200, 0, 5, 5], [5, 5, 0, 3])
    table = read_coco(tmp_path, [record(bbox=b) for b in boxes])
    assert table.boxes.tolist() == [[90, 40, 100, 50]]
    assert table.meta["degenerate_boxes"] == "2"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"category_id": 0}, r"category_id 0 are none of the data set's ids 1, 2, 3.*80 indices"),
        ({"image_id": 12}, r"1 images are not in the data set \(neither id nor file name\): 12"),
        ({"score": 1.5}, r"record 1: score is outside \[0, 1\]"),
        ({"score": "high"}, r"record 1: score should be 1 numbers, is \['high'\]"),
        ({"bbox": [1, 2, 3]}, r"record 1: bbox should be 4 numbers, is \[1, 2, 3\]"),
        ({"bbox": [1, 2, None, 3]}, r"record 1: a number is not finite"),
        ({"probabilities": [0, 1]}, r"record 0: has no probabilities, though others have"),
    ],
)
def test_a_bad_record_is_named(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_coco(tmp_path, [record(), record(**changes)])


@pytest.mark.parametrize(
    ("vector", "kind", "message"),
    [
        ([0.1, 0.75], None, "2 probabilities for 3 classes"),
        ([0.1, 0.75, 0.1, 0.05], None, "4 probabilities, but sigmoid with 3 classes has 3"),
        ([0.1, 0.75, 0.1], "softmax", "do not sum to 1, as softmax must"),
        ([0.8, 0.75, 0.1], None, "its category is not its most probable class"),
        ([0.1, 0.70, 0.1], None, "score is not the largest probability"),
        ([0.1, 0.75, -0.1], None, r"a probability is outside \[0, 1\]"),
    ],
)
def test_a_bad_vector_is_named(
    tmp_path: Path, vector: list[float], kind: str | None, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read_coco(tmp_path, [record(probabilities=vector)], probability_kind=kind)


def test_a_field_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="record 0: has no score"):
        read_coco(tmp_path, [{"image_id": "b", "category_id": 1, "bbox": [1, 1, 2, 2]}])


def test_an_annotation_file_and_a_cut_file_are_told_apart(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="did you give the annotation file"):
        read_coco(tmp_path, {"images": [], "annotations": []})
    path = tmp_path / "cut.json"
    path.write_text(json.dumps([record()])[:-5])
    with pytest.raises(DataError, match=r"cut\.json: not valid JSON .* is the file cut short"):
        read_detections(spec(path, "coco"), image_table(), CLASSES)


def test_no_detections_at_all_are_an_empty_table(tmp_path: Path) -> None:
    table = read_coco(tmp_path, [])
    assert len(table) == 0
    assert table.image_ids == ("000007", "b")


@pytest.mark.parametrize(
    ("text_format", "box"),
    [("pascal_xywh", [10, 5, 20, 10]), ("pascal_xyxy", [10, 5, 30, 15])],
)
def test_text_lines_name_classes_or_count_them(
    tmp_path: Path, text_format: str, box: list[int]
) -> None:
    numbers = " ".join(map(str, box))
    (tmp_path / "b.txt").write_text(f"potted plant 0.5 {numbers}\n\n0 0.25 {numbers}\n")
    table = read_detections(spec(tmp_path, text_format), image_table(), CLASSES)
    assert table.frame["category"].tolist() == [2, 0]
    assert table.boxes.tolist() == [[10, 5, 30, 15]] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("bird 0.5 1 2 3 4", "line 2: class 'bird' is neither a name of the data set"),
        ("3 0.5 1 2 3 4", "line 2: class '3' is neither .* nor an index 0 to 2"),
        ("0 0.5 1 2 3", "line 2: expected a class, a score and four numbers"),
        ("0 0.5 1 2 3 x", "line 2: score or box should be 5 numbers"),
        ("0 nan 1 2 3 4", "line 2: a number is not finite"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "b.txt").write_text(f"0 0.5 1 2 3 4\n{line}\n")
    with pytest.raises(DataError, match=message):
        read_detections(spec(tmp_path, "pascal_xywh"), image_table(), CLASSES)


def test_our_own_table_comes_back_if_it_fits_the_data_set(tmp_path: Path) -> None:
    path = tmp_path / "d.parquet"
    write_table(read_coco(tmp_path, [record()]), path)
    table = read_detections(spec(path, "parquet"), image_table(), CLASSES)
    assert table.boxes.tolist() == [[10, 5, 30, 15]]
    with pytest.raises(DataError, match="made for the classes cat, dog, potted plant"):
        read_detections(spec(path, "parquet"), image_table(), CLASSES[:2])
    with pytest.raises(DataError, match="lacks images, 1 in all: c"):
        read_detections(spec(path, "parquet"), image_table(("000007", "b", "c")), CLASSES)
    with pytest.raises(DataError, match="covers unknown images, 1 in all: 000007"):
        read_detections(spec(path, "parquet"), image_table(("b",)), CLASSES)


def test_an_unknown_format_and_a_missing_file_are_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="format 'yolo' is none of coco, pascal_xywh"):
        read_detections(spec(tmp_path, "yolo"), image_table(), CLASSES)
    with pytest.raises(DataError, match="not found; correct `weights` of detector own"):
        read_detections(spec(tmp_path / "x", "coco"), image_table(), CLASSES)


def test_a_real_detector_output_on_pascal_voc(shared_data: Path) -> None:
    folder = shared_data / "voc100"
    files = sorted((folder / "JPEGImages").glob("*.jpg"))
    sizes = np.array([Image.open(f).size for f in files])
    images = make_table(
        "images",
        {
            "image_id": [f.stem for f in files],
            "file_name": [f.name for f in files],
            "width": sizes[:, 0],
            "height": sizes[:, 1],
            "split": "val",
        },
        VOC,
    )
    table = read_detections(spec(folder / "detections", "pascal_xywh"), images, VOC)
    lines = [f.read_text().split() for f in (folder / "detections").glob("*.txt")]
    assert len(table) == sum(len(words) for words in lines) // 6 == 452
    assert table.meta["images_without_records"] == "2"
    first = table.frame.iloc[0]
    assert VOC[first["category"]] == "person"
    assert first[["image_id", "x1", "y1", "x2", "y2"]].tolist() == [
        "2007_000027",
        162,
        96,
        351,
        341,
    ]

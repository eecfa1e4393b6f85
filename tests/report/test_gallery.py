from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.figure import Figure
from PIL import Image

from labelquality.errors import DataError
from labelquality.report import style
from labelquality.report.gallery import (
    PIXELS,
    choose_examples,
    crop_window,
    label_error_gallery,
    resize,
)
from labelquality.tables import Table, make_table

CLASSES = ("square", "circle")
OBJECT, SHIFTED, ELSEWHERE = [10, 10, 30, 30], [20, 10, 40, 30], [60, 60, 80, 80]


def label_errors(rows: list[dict]) -> Table:
    defaults = {
        "image_id": "a", "kind": "missing", "box": OBJECT, "category": 0, "probability": 0.9,
        "height": 20.0, "max_iou": 0.0, "ioa_dontcare": 0.0, "original_box_id": "",
        "validated_box_id": "v0",
    }  # fmt: skip
    filled = [defaults | row for row in rows]
    boxes = np.array([row.pop("box") for row in filled], dtype=float).reshape(-1, 4)
    columns = {key: [row[key] for row in filled] for key in defaults if key != "box"}
    return make_table("label_errors", columns, CLASSES, boxes=boxes)


@pytest.fixture
def scene(tmp_path: Path) -> dict[str, object]:
    pixels = np.random.default_rng(0).integers(0, 255, (96, 96, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(tmp_path / "a.png")
    images = {"image_id": ["a"], "file_name": ["a.png"], "width": 96, "height": 96, "split": "val"}
    original = {
        "image_id": "a", "box_id": ["o0", "o1"], "category": [1, 0], "crowd": False,
        "difficult": False, "region": "", "annotator": "",
    }  # fmt: skip
    vectors = np.array([[1.0, 0, 0]])
    return {
        "original": make_table(
            "annotations", original, CLASSES, boxes=np.array([SHIFTED, ELSEWHERE], dtype=float)
        ),
        "soft_labels": make_table(
            "soft_labels",
            {"image_id": "a", "box_id": ["v0"], "n_votes": 11, "proposed": 0},
            CLASSES,
            boxes=np.array([OBJECT], dtype=float),
            vectors={"soft_label": vectors, "corrected": vectors},
        ),
        "images": make_table("images", images, CLASSES),
        "image_folder": tmp_path,
    }


def every_kind() -> Table:
    return label_errors(
        [
            {"kind": "missing"},
            {"kind": "misaligned", "original_box_id": "o0"},
            {"kind": "classification", "original_box_id": "o0"},
            {
                "kind": "original_only",
                "original_box_id": "o1",
                "validated_box_id": "",
                "box": ELSEWHERE,
                "probability": np.nan,
            },
        ]
    )


def captions(figure: Figure) -> list[str]:
    return [axes.get_xlabel() for axes in figure.axes if axes.get_xlabel()]


def rectangles(figure: Figure, panel: int) -> list[list[float]]:
    patches = figure.axes[panel].patches
    return [[p.get_x(), p.get_y(), p.get_width(), p.get_height()] for p in patches]


def test_captions_say_classes_probability_and_overlap(scene: dict) -> None:
    figure = label_error_gallery(every_kind(), **scene)
    assert captions(figure) == [
        "square, p = 0.90",
        "square, p = 0.90, IoU 0.33",
        "circle → square, p = 0.90",
        "labelled square",
    ]


def test_boxes_of_both_sides_stand_on_the_crop(scene: dict) -> None:
    figure = label_error_gallery(every_kind(), **scene)
    missing, misaligned, _, original_only = (rectangles(figure, k) for k in range(0, 16, 4))
    assert [10.0, 10.0, 20.0, 20.0] in missing
    assert misaligned[-2:] == [[10.0, 10.0, 20.0, 20.0], [20.0, 10.0, 20.0, 20.0]]
    assert original_only[-1] == [60.0, 60.0, 20.0, 20.0]
    assert [10.0, 10.0, 20.0, 20.0] not in original_only


def test_gallery_has_the_same_bytes_twice_and_fewer_rows_for_fewer_kinds(
    scene: dict, tmp_path: Path
) -> None:
    for name in ("one", "two"):
        style.save(label_error_gallery(every_kind(), **scene), tmp_path / name)
    for suffix in ("svg", "pdf"):
        one, two = ((tmp_path / f"{n}.{suffix}").read_bytes() for n in ("one", "two"))
        assert one == two
    few = label_error_gallery(label_errors([{"kind": "missing"}]), **scene)
    assert few.get_figheight() < label_error_gallery(every_kind(), **scene).get_figheight() / 2


def test_a_single_kind_fills_rows_up_to_the_number_of_examples(scene: dict) -> None:
    errors = label_errors([{"kind": "missing"}] * 7)
    figure = label_error_gallery(errors, kinds=["missing"], examples=6, **scene)
    assert [axes.axison for axes in figure.axes] == [True] * 6 + [False] * 2
    others = label_error_gallery(errors, kinds=["misaligned"], **scene)
    assert others.axes == []


def test_no_errors_are_said_in_words(scene: dict) -> None:
    figure = label_error_gallery(label_errors([]), **scene)
    assert figure.axes == []
    assert [t for t in figure.findobj(mpl.text.Text) if "No label errors" in t.get_text()]


def test_a_missing_image_is_named(scene: dict) -> None:
    (scene["image_folder"] / "a.png").unlink()
    with pytest.raises(DataError, match=r"a\.png"):
        label_error_gallery(every_kind(), **scene)


def test_examples_are_the_most_probable_from_different_images_then_by_id() -> None:
    errors = label_errors(
        [
            {"image_id": "b", "probability": 1.0, "validated_box_id": "2"},
            {"image_id": "b", "probability": 1.0, "validated_box_id": "1"},
            {"image_id": "a", "probability": 0.9},
            {"image_id": "c", "probability": 0.95},
            {"image_id": "d", "probability": 1.0, "ioa_dontcare": 0.51},
        ]
    )
    assert choose_examples(errors, 2) == {"missing": pytest.approx([1, 3])}
    assert choose_examples(errors, 9)["missing"].tolist() == [1, 3, 2, 0, 4]
    shuffled = errors.take(np.array([4, 2, 0, 3, 1]))
    chosen = choose_examples(shuffled, 9)["missing"]
    assert shuffled.frame["image_id"].iloc[chosen].tolist() == ["b", "c", "a", "b", "d"]


def test_errors_without_probability_go_by_image() -> None:
    spurious = {"kind": "original_only", "probability": np.nan}
    errors = label_errors([{"image_id": "b"} | spurious, {"image_id": "a"} | spurious])
    assert choose_examples(errors, 1)["original_only"].tolist() == [1]


@pytest.mark.parametrize(
    ("box", "window"),
    [
        ([50, 50, 60, 60], [35, 35, 75, 75]),
        ([0, 0, 10, 10], [0, 0, 40, 40]),
        ([90, 90, 100, 100], [60, 60, 100, 100]),
        ([10, 10, 90, 50], [0, 0, 100, 100]),
    ],
)
def test_the_window_is_square_and_inside_the_image(box: list[float], window: list[int]) -> None:
    assert crop_window(np.array([box], dtype=float), 100, 100).tolist() == window


def test_the_window_is_cut_where_the_image_ends() -> None:
    assert crop_window(np.array([[5.0, 5.0, 30.0, 15.0]]), 200, 20).tolist() == [0, 0, 60, 20]


def test_small_crops_repeat_pixels_and_large_ones_keep_their_shape() -> None:
    crop = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    large = resize(crop)
    assert large.shape == (PIXELS, PIXELS, 3)
    assert np.array_equal(large[:: PIXELS // 2, :: PIXELS // 2], crop)
    assert resize(np.zeros((2 * PIXELS, PIXELS, 3), dtype=np.uint8)).shape[:2] == (
        PIXELS,
        PIXELS // 2,
    )

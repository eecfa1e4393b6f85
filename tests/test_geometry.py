from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from labelquality import geometry

SIDE = 8
corners = st.tuples(*[st.integers(0, SIDE)] * 4)
boxes = corners.map(lambda c: [min(c[0], c[2]), min(c[1], c[3]), max(c[0], c[2]), max(c[1], c[3])])
pairs = st.lists(st.tuples(boxes, boxes), min_size=1, max_size=6)
COMMON = settings(max_examples=60, deadline=None)


def cells(box: list[int]) -> np.ndarray:
    """Mask of the unit cells that a box with whole corners covers."""
    mask = np.zeros((SIDE, SIDE), dtype=bool)
    mask[box[1] : box[3], box[0] : box[2]] = True
    return mask


def split(given_pairs: list) -> tuple[np.ndarray, np.ndarray]:
    return tuple(geometry.as_boxes(side) for side in zip(*given_pairs, strict=True))  # type: ignore[return-value]


@given(pairs)
@COMMON
def test_overlaps_count_cells(given_pairs: list) -> None:
    a, b = split(given_pairs)
    for i, (one, other) in enumerate(given_pairs):
        x, y = cells(one), cells(other)
        both, either = (x & y).sum(), (x | y).sum()
        assert geometry.areas(a)[i] == x.sum()
        assert geometry.intersections(a, b)[i] == both
        assert geometry.iou(a, b)[i] == (both / either if either else 0)
        assert geometry.ioa(a, b)[i] == (both / x.sum() if x.sum() else 0)
        hull = [*np.minimum(one, other)[:2], *np.maximum(one, other)[2:]]
        hull_area = cells(hull).sum()
        if hull_area:
            missing = (hull_area - either) / hull_area
            assert geometry.giou(a, b)[i] == pytest.approx(
                (both / either if either else 0) - missing, abs=1e-12
            )


@given(pairs)
@COMMON
def test_symmetry_and_ranges(given_pairs: list) -> None:
    a, b = split(given_pairs)
    iou, giou = geometry.iou(a, b), geometry.giou(a, b)
    assert (iou == geometry.iou(b, a)).all()
    assert (giou == geometry.giou(b, a)).all()
    assert ((iou >= 0) & (iou <= 1)).all()
    assert ((giou >= -1) & (giou <= iou + 1e-12)).all()
    some = geometry.areas(a) > 0
    assert (geometry.iou(a, a)[some] == 1).all()
    assert (geometry.giou(a, a)[some] == 1).all()


@given(pairs)
@COMMON
def test_the_matrix_holds_the_rows(given_pairs: list) -> None:
    a, b = split(given_pairs)
    matrix = geometry.pairwise_iou(a, b)
    assert matrix.shape == (len(a), len(b))
    assert (np.diag(matrix) == geometry.iou(a, b)).all()


@given(pairs)
@COMMON
def test_clipped_boxes_lie_in_the_image_and_inside_is_left_alone(given_pairs: list) -> None:
    a, _ = split(given_pairs)
    before = a.copy()
    clipped = geometry.clip(a - 2, 5, 4)
    assert (a == before).all()
    window = geometry.as_boxes([[0, 0, 5, 4]])
    assert (clipped[:, [0, 2]] >= 0).all()
    assert (clipped[:, [0, 2]] <= 5).all()
    assert (clipped[:, [1, 3]] <= 4).all()
    assert (geometry.areas(clipped) == geometry.intersections(a - 2, window)).all()
    assert (geometry.clip(a, np.full(len(a), SIDE), np.full(len(a), SIDE)) == a).all()


@given(pairs)
@COMMON
def test_formats_go_there_and_back(given_pairs: list) -> None:
    a, _ = split(given_pairs)
    flat = geometry.xyxy_to_xywh(a)
    assert (geometry.xywh_to_xyxy(flat) == a).all()
    assert (flat[:, 2] * flat[:, 3] == geometry.areas(a)).all()
    assert (geometry.heights(a) == flat[:, 3]).all()


def test_touching_and_far_boxes() -> None:
    a, touching, far = geometry.as_boxes([[0, 0, 1, 1], [1, 0, 2, 1], [9, 0, 10, 1]])
    assert geometry.iou(a, touching) == 0
    assert geometry.giou(a, touching) == 0
    assert geometry.giou(a, far) == pytest.approx(-0.8)


def test_an_inverted_box_has_no_area() -> None:
    assert geometry.areas(geometry.as_boxes([[5, 5, 1, 9]])).tolist() == [0]


def test_as_boxes() -> None:
    assert geometry.as_boxes([]).shape == (0, 4)
    assert geometry.as_boxes([[1, 2, 3, 4]]).dtype == np.float64
    with pytest.raises(ValueError, match=r"shape \(n, 4\), not \(4,\)"):
        geometry.as_boxes([1, 2, 3, 4])

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from labelquality.errors import DataError
from labelquality.tables import (
    SCHEMAS,
    Table,
    check_table,
    concatenate,
    image_codes,
    make_table,
    read_table,
    write_atomically,
    write_table,
)

CLASSES = ("car", "高い")
BOXES = np.array([[4.0, 0, 5, 1], [0, 0, 1.25, 1], [0, 0, 1.25, 1]])
SUMS_TO_ONE = np.array([[0.5, 0.25, 0.25], [0, 1, 0], [1, 0, 0]])
COLUMNS: dict[str, dict[str, Any]] = {
    "images": {
        "image_id": ["b", "a", "c"],
        "file_name": ["b.jpg", "a.jpg", "c.jpg"],
        "width": [10, 20, 30],
        "height": 9,
        "split": "val",
    },
    "annotations": {
        "category": [0, 1, -1],
        "crowd": [True, False, False],
        "difficult": False,
        "region": ["group", "", "dontcare"],
        "annotator": "",
    },
    "votes": {"proposed": [0, 1, -1], "source": [0, 0, 1], "seconds": [[1.5, 2], [], [0.25]]},
    "soft_labels": {"n_votes": [11, 22, 0], "proposed": [0, 1, -1]},
    "detections": {"score": [0.5, 0.25, 1.0], "category": [0, 1, 1]},
    "candidates": {"score": [0.5, 0.25, 1.0], "category": [0, 1, 1]},
    "label_losses": {
        "category": [0, 1, 1],
        "classification": [[1.5, 2], [0.5, 0.25], [0, 3]],
        "regression": [[0.5, 0], [0.125, 1], [2, 2]],
    },
    "calibrated": {
        "score": [0.5, 0.25, 1.0],
        "category": [0, 1, 1],
        "calibrated_score": [0.0, 1.0, 0.5],
        "fold": [0, 1, 0],
    },
    "label_errors": {
        "kind": ["missing", "misaligned", "original_only"],
        "category": [0, 1, -1],
        "probability": [0.5, 1.0, np.nan],
        "height": [1.0, 1.0, 1.0],
        "max_iou": [0.0, 0.5, 0.1],
        "ioa_dontcare": 0.0,
        "original_box_id": ["", "2", "3"],
        "validated_box_id": ["1", "2", ""],
    },
    "proposals": {"method": ["m", "m", "n"], "category": [0, 1, 1], "score": [0.5, -3.0, np.nan]},
}
VECTORS = {
    "votes": {"frequencies": np.array([[7.0, 3, 1], [0, 22, 0], [1, 0, 0]])},
    "soft_labels": {"soft_label": SUMS_TO_ONE, "corrected": SUMS_TO_ONE[::-1]},
    "detections": {"probabilities": np.array([[0.5, 0.25], [0, 0.25], [1, 1]], np.float32)},
    "calibrated": {"probabilities": np.array([[0.5, 0.25], [0, 0.25], [1, 1]], np.float32)},
}


def example(kind: str) -> Table:
    columns = {"image_id": ["b", "a", "a"]} | COLUMNS[kind]
    if "box_id" in SCHEMAS[kind].columns:
        columns["box_id"] = ["9", "10", "11"]
    return make_table(
        kind,
        columns,
        CLASSES,
        boxes=BOXES if "x1" in SCHEMAS[kind].columns else None,
        vectors=VECTORS.get(kind),
        meta={"probability_kind": "sigmoid"} if "probabilities" in SCHEMAS[kind].vectors else None,
        image_ids=["c", "b", "a"] if kind == "detections" else None,
    )


every_kind = pytest.mark.parametrize("kind", SCHEMAS)


def plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | list):
        return [float(v) for v in value]
    return "nan" if isinstance(value, float) and np.isnan(value) else value


def rows(table: Table) -> list[list[Any]]:
    """Rows as plain values, NaN as text, vectors at the end."""
    values = [[plain(value) for value in row] for row in table.frame.itertuples(index=False)]
    return [
        row + [vector[i].tolist() for _, vector in sorted(table.vectors.items())]
        for i, row in enumerate(values)
    ]


@every_kind
def test_a_table_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    table = example(kind)
    write_table(table, tmp_path / "new" / "t.parquet")
    back = read_table(tmp_path / "new" / "t.parquet", kind)
    assert sorted(map(str, rows(back))) == sorted(map(str, rows(table)))
    assert back.classes == CLASSES
    assert back.meta == table.meta
    assert back.image_ids == (("a", "b", "c") if kind == "detections" else None)
    assert back.frame.dtypes.tolist() == table.frame.dtypes.tolist()


@every_kind
def test_the_order_of_rows_leaves_no_trace(kind: str, tmp_path: Path) -> None:
    table = example(kind)
    write_table(table, tmp_path / "first.parquet")
    first = (tmp_path / "first.parquet").read_bytes()
    for order in ([2, 1, 0], [1, 0, 2], [0, 1, 2]):
        write_table(table.take(np.array(order)), tmp_path / "again.parquet")
        assert (tmp_path / "again.parquet").read_bytes() == first
    write_table(read_table(tmp_path / "first.parquet", kind), tmp_path / "again.parquet")
    assert (tmp_path / "again.parquet").read_bytes() == first


def test_rows_that_differ_in_their_vectors_alone_have_an_order(tmp_path: Path) -> None:
    table = example("detections")
    twins = table.take(np.array([0, 0]))
    twins = replace(twins, vectors={"probabilities": np.array([[0.5, 0.1], [0.5, 0.2]])})
    write_table(twins, tmp_path / "a.parquet")
    write_table(twins.take(np.array([1, 0])), tmp_path / "b.parquet")
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


@every_kind
def test_a_table_without_rows(kind: str, tmp_path: Path) -> None:
    empty = example(kind).take(np.zeros(3, dtype=bool))
    write_table(empty, tmp_path / "t.parquet")
    back = read_table(tmp_path / "t.parquet", kind)
    assert len(back) == 0
    assert back.frame.dtypes.tolist() == example(kind).frame.dtypes.tolist()
    assert {k: v.shape for k, v in back.vectors.items()} == {
        k: (0, v.shape[1]) for k, v in empty.vectors.items()
    }


def test_rows_go_by_image_then_box_and_detections_by_score(tmp_path: Path) -> None:
    for kind, expected in (("annotations", ["11", "10", "9"]), ("images", None)):
        write_table(example(kind), tmp_path / "t.parquet")
        frame = read_table(tmp_path / "t.parquet", kind).frame
        assert frame["image_id"].is_monotonic_increasing
        assert expected is None or frame["box_id"].tolist() == expected
    write_table(example("detections"), tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet", "detections").frame["score"].tolist() == [
        1,
        0.25,
        0.5,
    ]


# Rules: column or vector, value of row 1, message.
BROKEN = [
    ("images", "image_id", "b", "image_id: stands in another row, too"),
    ("images", "image_id", None, "image_id: is not text"),
    ("images", "file_name", 3, "file_name: is not text"),
    ("images", "width", 0, "width: is not above 0"),
    ("images", "height", -1, "height: is not above 0"),
    ("annotations", "x1", np.nan, "x1: is not a finite number"),
    ("annotations", "y2", np.inf, "y2: is not a finite number"),
    ("annotations", "x1", 1.25, "box: x2 > x1 and y2 > y1 fails"),
    ("annotations", "y1", 2.0, "box: x2 > x1 and y2 > y1 fails"),
    ("annotations", "category", 2, "category: is no class index (-1 to 1)"),
    ("annotations", "category", -2, "category: is no class index (-1 to 1)"),
    ("annotations", "region", "crowd", "region: is none of ('', 'dontcare', 'group')"),
    ("votes", "proposed", 2, "proposed: is no class index"),
    ("votes", "source", -1, "source: is below 0"),
    ("votes", "frequencies", [1, -1, 0], "frequencies: holds a negative number of votes"),
    ("votes", "frequencies", [1, np.nan, 0], "frequencies: holds a number that is not finite"),
    ("soft_labels", "n_votes", -1, "n_votes: is below 0"),
    ("soft_labels", "soft_label", [0.5, 0.5, 1e-4], "soft_label: does not sum to 1"),
    ("soft_labels", "corrected", [0.5, 0.6, -0.1], "corrected: leaves [0, 1]"),
    ("soft_labels", "corrected", [np.nan, 0, 0], "corrected: holds a number that is not finite"),
    ("detections", "score", 1.5, "score: is outside [0, 1]"),
    ("detections", "score", np.nan, "score: is not a finite number"),
    ("detections", "probabilities", [0.5, 1.5], "probabilities: leaves [0, 1]"),
    ("detections", "image_id", "d", "image_id: is not among the images that this table covers"),
    ("calibrated", "calibrated_score", -0.1, "calibrated_score: is outside [0, 1]"),
    ("calibrated", "fold", -1, "fold: is below 0"),
    ("label_errors", "kind", "lost", "kind: is none of ('missing', 'misaligned',"),
    ("label_errors", "probability", 1.1, "probability: is outside [0, 1]"),
    ("label_errors", "max_iou", np.nan, "max_iou: is not a finite number"),
    ("label_errors", "height", 0.0, "height: is not above 0"),
    ("proposals", "score", np.inf, "score: is not a finite number"),
]


@pytest.mark.parametrize(("kind", "column", "value", "message"), BROKEN)
def test_a_broken_rule_is_named(
    kind: str, column: str, value: Any, message: str, tmp_path: Path
) -> None:
    table = example(kind)
    check_table(table, "t")
    if column in table.vectors:
        vector = table.vectors[column].copy()
        vector[1] = value
        table = replace(table, vectors={**table.vectors, column: vector})
    else:
        values = table.frame[column].tolist()
        values[1] = value
        table = table.with_columns(**{column: pd.Series(values, dtype=object).infer_objects()})
    with pytest.raises(DataError) as caught:
        write_table(table, tmp_path / "t.parquet")
    assert str(caught.value).startswith("t.parquet: image ")
    assert f", row 1, {message}" in str(caught.value)
    assert "(1 of 3 rows)" in str(caught.value)
    assert not list(tmp_path.iterdir()), "nothing is written"


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("images", {"meta": {}, "frame": pd.DataFrame({"image_id": ["a"]})}, "columns are"),
        ("votes", {"vectors": {}}, r"vector columns are \[\], should be \['frequencies'\]"),
        ("votes", {"vectors": {"frequencies": np.ones((3, 2))}}, r"shape \(3, 2\), should be"),
        ("votes", {"vectors": {"frequencies": np.ones((2, 3))}}, r"shape \(2, 3\), should be"),
        ("detections", {"meta": {}}, "probability_kind is '', none of"),
        ("detections", {"meta": {"probability_kind": "softmax+background"}}, "should be .3, 3"),
        ("detections", {"meta": {"probability_kind": "softmax"}}, "does not sum to 1"),
    ],
)
def test_a_table_of_another_shape(kind: str, change: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        check_table(replace(example(kind), **change), "t")


def test_softmax_sums_to_one_with_and_without_background() -> None:
    table = example("detections")
    for kind, vector in (
        ("softmax", np.array([[0.5, 0.5], [0, 1], [1, 0]], np.float32)),
        ("softmax+background", SUMS_TO_ONE.astype(np.float32)),
    ):
        meta = {"probability_kind": kind}
        check_table(replace(table, meta=meta, vectors={"probabilities": vector}), "t")


def test_calibrated_softmax_need_not_sum_to_one() -> None:
    table = replace(example("calibrated"), meta={"probability_kind": "softmax"})
    check_table(table, "t")


def test_a_failing_writer_leaves_nothing_and_keeps_what_was_there(tmp_path: Path) -> None:
    def half(part: Path) -> None:
        part.write_text("half")
        raise OSError("disk full")

    target = tmp_path / "t.txt"
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, half)
    assert list(tmp_path.iterdir()) == []
    write_atomically(target, lambda part: part.write_text("whole"))
    with pytest.raises(OSError, match="disk full"):
        write_atomically(target, half)
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]
    assert target.read_text() == "whole"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.99])
def test_a_cut_file(share: float, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(example("votes"), path)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match=r"t\.parquet: not a readable Parquet file"):
        read_table(path, "votes")


def test_a_file_that_is_absent_or_of_another_kind(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    with pytest.raises(DataError, match=r"t\.parquet: no such file; run the stage that makes it"):
        read_table(path, "votes")
    write_table(example("images"), path)
    with pytest.raises(DataError, match="holds images, expected votes"):
        read_table(path, "votes")
    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(DataError, match="holds no known table, expected votes"):
        read_table(path, "votes")


def rewritten(path: Path, table: pa.Table) -> Path:
    pq.write_table(table, path)
    return path


def test_a_file_with_other_columns_or_another_version(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(example("votes"), path)
    stored = pq.read_table(path)
    older = stored.replace_schema_metadata({**stored.schema.metadata, b"version": b"0"})
    with pytest.raises(DataError, match="table version 0, expected 1; remake it"):
        read_table(rewritten(path, older), "votes")
    with pytest.raises(DataError, match="column source is missing"):
        read_table(rewritten(path, stored.drop_columns("source")), "votes")
    with pytest.raises(DataError, match="column frequencies is missing"):
        read_table(rewritten(path, stored.drop_columns("frequencies")), "votes")
    position = stored.column_names.index("source")
    as_text = stored.set_column(position, "source", stored["source"].cast(pa.string()))
    with pytest.raises(DataError, match="column source is string, should be int32"):
        read_table(rewritten(path, as_text), "votes")
    position = stored.column_names.index("frequencies")
    ragged = stored["frequencies"].cast(pa.list_(pa.float64()))
    with pytest.raises(DataError, match="column frequencies is no list of fixed length"):
        read_table(
            rewritten(path, stored.set_column(position, "frequencies", ragged)),
            "votes",
        )


def test_values_are_checked_when_read(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write_table(example("annotations"), path)
    stored = pq.read_table(path)
    position = stored.column_names.index("x2")
    spoilt = stored.set_column(position, stored.schema.field("x2"), pa.array([-1.0, 2.0, 3.0]))
    with pytest.raises(DataError, match=r"t\.parquet: image a, row 0, box: x2 > x1"):
        read_table(rewritten(path, spoilt), "annotations")


def test_make_table_takes_rows_by_position_not_by_their_index() -> None:
    columns = {k: pd.Series(v, index=[7, 5, 6]) for k, v in COLUMNS["images"].items()}
    table = make_table("images", columns, CLASSES)
    assert table.frame["image_id"].tolist() == ["b", "a", "c"]


def test_make_table_refuses_unknown_and_absent_columns() -> None:
    with pytest.raises(TypeError, match="has no column colour"):
        make_table("images", COLUMNS["images"] | {"colour": "red"}, CLASSES)
    with pytest.raises(KeyError, match="split"):
        make_table("images", {k: v for k, v in COLUMNS["images"].items() if k != "split"}, CLASSES)


def test_take_by_mask_and_by_index() -> None:
    table = example("votes")
    for selection in (np.array([True, False, True]), np.array([0, 2])):
        taken = table.take(selection)
        assert taken.frame["box_id"].tolist() == ["9", "11"]
        assert taken.frame.index.tolist() == [0, 1]
        assert taken.vectors["frequencies"].tolist() == [[7, 3, 1], [1, 0, 0]]
    assert len(table) == 3


def test_concatenate() -> None:
    table = example("detections")
    both = concatenate([table.take(np.array([0])), table.take(np.array([1, 2]))])
    assert rows(both) == rows(table)
    with pytest.raises(DataError, match="tables of detections differ in classes or metadata"):
        concatenate([table, replace(table, classes=("car", "van"))])


def test_image_codes_are_shared_and_ordered_like_the_ids() -> None:
    first, second = image_codes(["b", "a", "b"], pd.Series(["c", "a"], dtype=object))
    assert (first.tolist(), second.tolist()) == ([1, 0, 1], [2, 0])
    none, other = image_codes([], ["z"])
    assert (none.tolist(), other.tolist()) == ([], [0])

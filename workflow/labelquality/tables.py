"""The tables that pass between stages: what they hold, how they are checked, read and written.

A table is one Parquet file (zstd) with an explicit schema. Class names, the table's kind and its
version stand in the file's metadata. Rows are sorted, so the same content gives the same bytes.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from labelquality.errors import REMEDIES, DataError, of_disk
from labelquality.table_schemas import (
    BOX,
    LABEL_ERROR_KINDS,
    PROBABILITY_KINDS,
    REGIONS,
    SCHEMAS,
)

VERSION = "1"
# NaN in these columns means "not applicable" and is allowed.
_MAY_BE_NAN = {("label_errors", "probability"), ("proposals", "score")}
_WITHIN_0_1 = {"score", "calibrated_score", "probability", "max_iou", "ioa_dontcare"}
_POSITIVE = {"width", "height"}
_NOT_NEGATIVE = {"n_votes", "source", "fold"}
_CHOICES = {("annotations", "region"): REGIONS, ("label_errors", "kind"): LABEL_ERROR_KINDS}


@dataclass(frozen=True)
class Table:
    """Rows of one kind: scalar columns in `frame`, one (n, width) array per vector column.

    `classes` are the K classes of the data set; vectors of K + 1 entries end in can't-solve (votes)
    or background (detections). `image_ids` lists every image that the table speaks of, those
    without rows included; None where the rows alone say it.
    """

    kind: str
    frame: pd.DataFrame
    classes: tuple[str, ...]
    vectors: Mapping[str, NDArray] = field(default_factory=dict)
    meta: Mapping[str, str] = field(default_factory=dict)
    image_ids: tuple[str, ...] | None = None

    def __len__(self) -> int:
        return len(self.frame)

    @property
    def boxes(self) -> NDArray[np.float64]:
        """Boxes (n, 4), `x1 y1 x2 y2` in pixels."""
        return self.frame[list(BOX)].to_numpy(dtype=np.float64)

    def take(self, rows: NDArray) -> Table:
        """The rows that a mask or an index array selects, in that order."""
        frame = self.frame.iloc[np.flatnonzero(rows) if rows.dtype == bool else rows]
        vectors = {name: values[rows] for name, values in self.vectors.items()}
        return replace(self, frame=frame.reset_index(drop=True), vectors=vectors)

    def with_columns(self, **columns: object) -> Table:
        """A copy whose frame has the given columns added or replaced."""
        return replace(self, frame=self.frame.assign(**columns))


def make_table(
    kind: str,
    columns: Mapping[str, Any],
    classes: Sequence[str],
    *,
    boxes: NDArray[np.float64] | None = None,
    vectors: Mapping[str, NDArray] | None = None,
    meta: Mapping[str, str] | None = None,
    image_ids: Sequence[str] | None = None,
) -> Table:
    """Build a table of `kind` with its columns in schema order and of the schema's types.

    `boxes` (n, 4) fills the four box columns; a scalar column value is repeated in every row.
    """
    columns = dict(columns)
    if boxes is not None:
        columns |= {name: boxes[:, i] for i, name in enumerate(BOX)}
    schema = SCHEMAS[kind]
    n_rows = max((len(c) for c in columns.values() if _is_column(c)), default=0)
    index = pd.RangeIndex(n_rows)
    series = {}
    for name, kind_of_value in schema.columns.items():
        value = columns.pop(name)
        if isinstance(value, pd.Series):
            # A series would be aligned by its own index, and come out as NaN.
            value = value.to_numpy()
        if pa.types.is_list(kind_of_value):
            value = pd.Series(list(value), dtype=object)
        series[name] = pd.Series(value, index=index, dtype=_numpy_type(kind_of_value))
    if columns:
        raise TypeError(f"a table of {kind} has no column {sorted(columns)[0]}")
    return Table(
        kind,
        pd.DataFrame(series, index=index),
        tuple(classes),
        dict(vectors or {}),
        dict(meta or {}),
        None if image_ids is None else tuple(image_ids),
    )


def _is_column(value: object) -> bool:
    return isinstance(
        value, (list, tuple, np.ndarray, pd.Series, pd.Index, pd.api.extensions.ExtensionArray)
    )


def _numpy_type(arrow: pa.DataType) -> object:
    is_object = pa.types.is_string(arrow) or pa.types.is_list(arrow)
    return object if is_object else arrow.to_pandas_dtype()


def check_table(table: Table, name: str) -> None:
    """Raise DataError, with `name` (the file), the image and the broken rule, unless all is well.

    Rules: the schema's columns and no others; text that is text; finite numbers; x2 > x1 and
    y2 > y1; positive sizes, no negative counts; categories and kinds that exist; probabilities and
    scores in [0, 1]; soft labels and softmax rows that sum to 1 within 1e-5; one row for each
    image; every row's image listed where the images are listed.
    """
    schema = SCHEMAS[table.kind]
    expected = list(schema.columns)
    if list(table.frame.columns) != expected:
        raise DataError(f"{name}: columns are {list(table.frame.columns)}, should be {expected}")
    if set(table.vectors) != set(schema.vectors):
        raise DataError(
            f"{name}: vector columns are {list(table.vectors)}, should be {list(schema.vectors)}"
        )
    for column, bad, rule in _violations(table, name):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            image = table.frame["image_id"].iloc[row]
            raise DataError(
                f"{name}: image {image}, row {row}, {column}: {rule}"
                f" ({int(bad.sum())} of {len(table)} rows); mend or leave out these rows"
            )


def _violations(table: Table, name: str) -> list[tuple[str, NDArray, str]]:
    frame, kind, n_classes = table.frame, table.kind, len(table.classes)
    found: list[tuple[str, NDArray, str]] = []
    for column, arrow in SCHEMAS[kind].columns.items():
        if pa.types.is_string(arrow):
            found.append((column, _not_text(frame[column]), "is not text"))
        if (kind, column) in _CHOICES:
            choices = _CHOICES[kind, column]
            found.append((column, ~frame[column].isin(choices), f"is none of {choices}"))
        if column in _POSITIVE:
            found.append((column, frame[column] <= 0, "is not above 0"))
        if column in _NOT_NEGATIVE:
            found.append((column, frame[column] < 0, "is below 0"))
        if pa.types.is_floating(arrow):
            values = frame[column].to_numpy(dtype=np.float64)
            allowed = (
                np.isnan(values) if (kind, column) in _MAY_BE_NAN else np.zeros(len(values), bool)
            )
            found.append((column, ~np.isfinite(values) & ~allowed, "is not a finite number"))
            if column in _WITHIN_0_1 and kind != "proposals":
                with np.errstate(invalid="ignore"):
                    found.append((column, (values < 0) | (values > 1), "is outside [0, 1]"))
        if column in ("category", "proposed"):
            values = frame[column].to_numpy()
            bad = (values < -1) | (values >= n_classes)
            found.append((column, bad, f"is no class index (-1 to {n_classes - 1})"))
    if kind == "images":
        found.append(("image_id", frame["image_id"].duplicated(), "stands in another row, too"))
    if "x1" in frame:
        boxes = table.boxes
        found.append(
            ("box", np.any(boxes[:, 2:] <= boxes[:, :2], axis=1), "x2 > x1 and y2 > y1 fails")
        )
    for column, vector in table.vectors.items():
        found += _vector_violations(table, name, column, vector)
    if table.image_ids is not None:
        unknown = ~frame["image_id"].isin(table.image_ids).to_numpy()
        found.append(("image_id", unknown, "is not among the images that this table covers"))
    return found


def _not_text(values: pd.Series) -> NDArray[np.bool_]:
    plain = values.to_numpy(dtype=object)
    if pd.api.types.infer_dtype(plain, skipna=False) in ("string", "empty"):
        return np.zeros(len(values), dtype=bool)
    return np.array([not isinstance(value, str) for value in plain], dtype=bool)


def _vector_violations(
    table: Table, name: str, column: str, vector: NDArray
) -> list[tuple[str, NDArray, str]]:
    n_classes, n_rows = len(table.classes), len(table)
    kind = table.meta.get("probability_kind", "")
    plain = column == "probabilities" and kind != "softmax+background"
    width = n_classes if plain else n_classes + 1
    if vector.ndim != 2 or vector.shape != (n_rows, width):
        raise DataError(f"{name}: {column} has shape {vector.shape}, should be ({n_rows}, {width})")
    if column == "probabilities" and kind not in PROBABILITY_KINDS:
        raise DataError(f"{name}: probability_kind is {kind!r}, none of {PROBABILITY_KINDS}")
    infinite = np.any(~np.isfinite(vector), axis=1)
    found: list[tuple[str, NDArray, str]] = [
        (column, infinite, "holds a number that is not finite")
    ]
    if column == "frequencies":
        return [*found, (column, np.any(vector < 0, axis=1), "holds a negative number of votes")]
    found.append((column, np.any((vector < 0) | (vector > 1), axis=1), "leaves [0, 1]"))
    sums_to_one = column in ("soft_label", "corrected") or (
        table.kind == "detections" and kind.startswith("softmax")
    )
    if sums_to_one:
        off = np.abs(vector.sum(axis=1, dtype=np.float64) - 1) > 1e-5
        found.append((column, off, "does not sum to 1"))
    return found


def sort_rows(table: Table) -> Table:
    """Rows in the order of their schema; rows equal in all of its keys go by their vectors."""
    schema = SCHEMAS[table.kind]
    keys = []
    for column in schema.order:
        values = table.frame[column]
        is_text = pa.types.is_string(schema.columns[column])
        key = pd.factorize(values, sort=True)[0] if is_text else values.to_numpy()
        keys.append(-key if column in schema.descending else key)
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    if len(order) > 1 and np.logical_and.reduce([k[1:] == k[:-1] for k in sorted_keys]).any():
        keys += [column for vector in table.vectors.values() for column in vector.T]
        order = np.lexsort(keys[::-1])
    return table.take(order)


def write_table(table: Table, path: str | os.PathLike[str]) -> None:
    """Check, sort and write `table`; the file appears at `path` only when it is complete."""
    path = Path(path)
    check_table(table, path.name)
    table = sort_rows(table)
    arrow = _to_arrow(table)
    write_atomically(path, lambda part: pq.write_table(arrow, part, compression="zstd"))


def write_atomically(path: str | os.PathLike[str], write: Callable[[Path], object]) -> None:
    """Call `write(temporary path)` and rename the result to `path`, creating its folder.

    Raises DataError where the disk is full or must not be written to.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            write(part)
            os.replace(part, path)
        finally:
            part.unlink(missing_ok=True)
    except OSError as error:
        if error.errno in REMEDIES:
            raise of_disk(error, path) from error
        raise


def _to_arrow(table: Table) -> pa.Table:
    schema = SCHEMAS[table.kind]
    fields, arrays = [], []
    for column, arrow in schema.columns.items():
        fields.append(pa.field(column, arrow, nullable=False))
        arrays.append(pa.array(table.frame[column], type=arrow, from_pandas=False))
    for column, arrow in schema.vectors.items():
        vector = np.ascontiguousarray(table.vectors[column], dtype=arrow.to_pandas_dtype())
        of_width = pa.list_(arrow, vector.shape[1])
        fields.append(pa.field(column, of_width, nullable=False))
        arrays.append(pa.FixedSizeListArray.from_arrays(vector.ravel(), vector.shape[1]))
    meta = {f"labelquality.{key}": value for key, value in sorted(table.meta.items())}
    meta |= {"kind": table.kind, "version": VERSION, "classes": json.dumps(table.classes)}
    if table.image_ids is not None:
        meta["image_ids"] = json.dumps(sorted(table.image_ids))
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields, metadata=meta))


def read_table(path: str | os.PathLike[str], kind: str) -> Table:
    """Read and check the table of `kind` at `path`.

    Raises DataError when the file is no such table or breaks a rule of `check_table`.
    """
    path = Path(path)
    try:
        with pq.ParquetFile(path) as file:
            arrow = file.read()
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; run the stage that makes it") from None
    except (pa.ArrowException, OSError) as error:
        raise DataError(f"{path}: not a readable Parquet file ({_first_line(error)})") from None
    meta = {k.decode(): v.decode() for k, v in (arrow.schema.metadata or {}).items()}
    if meta.get("kind") != kind:
        raise DataError(f"{path}: holds {meta.get('kind', 'no known table')}, expected {kind}")
    if meta.get("version") != VERSION:
        raise DataError(
            f"{path}: table version {meta.get('version')}, expected {VERSION}; remake it"
        )
    schema = SCHEMAS[kind]
    missing = [c for c in [*schema.columns, *schema.vectors] if c not in arrow.column_names]
    if missing:
        raise DataError(f"{path}: column {missing[0]} is missing; remake the table")
    for column, wanted in schema.columns.items():
        if arrow.schema.field(column).type != wanted:
            found = arrow.schema.field(column).type
            raise DataError(f"{path}: column {column} is {found}, should be {wanted}; remake it")
    frame = pd.DataFrame(
        {
            c: pd.Series(
                arrow.column(c).to_numpy(), dtype=object if pa.types.is_string(t) else None
            )
            for c, t in schema.columns.items()
        }
    )
    vectors = {}
    for column in schema.vectors:
        chunks = arrow.column(column).combine_chunks()
        if not pa.types.is_fixed_size_list(chunks.type):
            raise DataError(f"{path}: column {column} is no list of fixed length; remake the table")
        width = chunks.type.list_size
        vectors[column] = chunks.flatten().to_numpy(zero_copy_only=False).reshape(-1, width)
    image_ids = tuple(json.loads(meta["image_ids"])) if "image_ids" in meta else None
    prefix = "labelquality."
    table = Table(
        kind,
        frame,
        tuple(json.loads(meta["classes"])),
        vectors,
        {k.removeprefix(prefix): v for k, v in meta.items() if k.startswith(prefix)},
        image_ids,
    )
    check_table(table, str(path))
    return table


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def concatenate(tables: Sequence[Table]) -> Table:
    """One table of the rows of all `tables`, which must agree in kind, classes and metadata."""
    first = tables[0]
    for other in tables[1:]:
        same = (other.kind, other.classes, other.meta) == (first.kind, first.classes, first.meta)
        if not same:
            raise DataError(f"tables of {first.kind} differ in classes or metadata; remake them")
    listed = [t.image_ids for t in tables if t.image_ids is not None]
    return Table(
        first.kind,
        pd.concat([t.frame for t in tables], ignore_index=True),
        first.classes,
        {c: np.concatenate([t.vectors[c] for t in tables]) for c in first.vectors},
        first.meta,
        tuple(i for ids in listed for i in ids) if listed else None,
    )


def image_codes(*columns: Sequence[str] | pd.Series) -> list[NDArray[np.intp]]:
    """Integer codes of image ids, shared by all `columns` and ordered like the ids."""
    lengths = np.cumsum([0, *map(len, columns)])
    everything = np.concatenate([np.asarray(c, dtype=object) for c in columns])
    codes = pd.factorize(everything, sort=True)[0]
    return [codes[a:b] for a, b in pairwise(lengths)]

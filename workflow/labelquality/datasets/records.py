"""JSON read with care: every mistake in a file becomes one DataError that says where it is."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import orjson
from numpy.typing import NDArray

from labelquality.errors import DataError

Floats = NDArray[np.float64]
INTEGER, NUMBER, NAME = (int,), (int, float), (str,)
IDENTIFIER = (int, str)
_REQUIRED = object()
_TYPE_NAMES = {
    int: "a whole number",
    float: "a number",
    str: "text",
    list: "a list",
    dict: "an object",
    bool: "true or false",
    type(None): "null",
}


def load_json(path: Path) -> dict[str, Any]:
    """The JSON object that a file holds.

    Raises DataError when the file is absent, cut short, no JSON (NaN and Infinity are none) or
    holds something else than an object.
    """
    try:
        data = orjson.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check `root` and `files` of the data set") from None
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); check it") from None
    except orjson.JSONDecodeError as error:
        raise DataError(
            f"{path}: not valid JSON ({error}); fetch it again, or mend it (NaN is no JSON number)"
        ) from None
    if not isinstance(data, dict):
        raise DataError(
            f"{path}: holds {type_name(data)}, should hold an object; check that it is the right"
            " file"
        )
    return data


@contextmanager
def garbage_collection_paused() -> Iterator[None]:
    """Leave the search for reference cycles until the end; for readers of large files.

    JSON values form no cycles, and searching millions of them over and over takes longer than
    reading them.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def type_name(value: object) -> str:
    """What a JSON value is, in words."""
    return _TYPE_NAMES[type(value)]


def member(data: dict[str, Any], key: str, wanted: type, file: str) -> Any:
    """`data[key]`, which must be there and of the `wanted` type, else DataError."""
    if key not in data:
        raise DataError(f"{file}: key {key} is missing; check that it is the right file")
    if type(data[key]) is not wanted:
        raise DataError(
            f"{file}: {key} is {type_name(data[key])}, should be {_TYPE_NAMES[wanted]};"
            " check that it is the right file"
        )
    return data[key]


@dataclass(frozen=True)
class Records:
    """JSON objects of one file, read field by field.

    `describe(row)` names a record the way a person finds it in the file.
    """

    file: str
    rows: Sequence[dict[str, Any]]
    describe: Callable[[int], str]

    @classmethod
    def of(cls, data: dict[str, Any], key: str, item: str, file: str) -> Records:
        """The list of objects at `data[key]`; `item` names one of them."""
        rows = member(data, key, list, file)

        def describe(row: int) -> str:
            own_id = rows[row].get("id") if isinstance(rows[row], dict) else None
            return f"{item} {row}" + (f" (id {own_id})" if type(own_id) in IDENTIFIER else "")

        records = cls(file, rows, describe)
        records.check_objects()
        return records

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, kept: NDArray[np.intp]) -> Records:
        """Only the records `kept`, still named by where they stand in the file."""
        rows = [self.rows[row] for row in kept]
        return Records(self.file, rows, lambda row: self.describe(int(kept[row])))

    def error(self, row: int, problem: str, remedy: str = "mend or remove it") -> DataError:
        """The error that says what is wrong with one record and what to do about it."""
        return DataError(f"{self.file}: {self.describe(row)}: {problem}; {remedy}")

    def check_objects(self) -> None:
        """Raise DataError unless every record is a JSON object."""
        for row, record in enumerate(self.rows):
            if type(record) is not dict:
                raise self.error(row, f"is {type_name(record)}, should be an object")

    def column(self, field: str, types: tuple[type, ...], default: object = _REQUIRED) -> list[Any]:
        """The field of every record, of one of the `types`; `default` where it is absent or null.

        Without a default, absence is an error.
        """
        if default is _REQUIRED:
            values = [record.get(field, _REQUIRED) for record in self.rows]
        else:
            values = [record.get(field, default) for record in self.rows]
            if default is not None and None in values:
                values = [default if value is None else value for value in values]
            types = (*types, type(default))
        if not set(map(type, values)) <= set(types):
            row = next(i for i, value in enumerate(values) if type(value) not in types)
            raise self._type_error(row, field, values[row], types)
        return values

    def numbers(
        self, field: str, width: int, *, optional: bool = False
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Lists of `width` finite numbers as an array (n, width), and which records have one (n,).

        A record without the field is an error, or with `optional` a row of zeros.
        """
        lists = self.column(field, (list,), *((None,) if optional else ()))
        present = np.array([values is not None for values in lists], dtype=bool)
        rows = np.flatnonzero(present)
        given = [values for values in lists if values is not None]
        if not set(map(len, given)) <= {width}:
            bad = next(i for i, values in enumerate(given) if len(values) != width)
            raise self.error(
                int(rows[bad]), f"{field} has {len(given[bad])} entries, should have {width}"
            )
        flat = list(chain.from_iterable(given))
        if not set(map(type, flat)) <= set(NUMBER):
            bad = next(i for i, value in enumerate(flat) if type(value) not in NUMBER)
            raise self.error(
                int(rows[bad // width]),
                f"{field} holds {type_name(flat[bad])}, should hold numbers",
            )
        result = np.zeros((len(lists), width))
        result[rows] = np.array(flat, dtype=np.float64).reshape(-1, width)
        self.refuse(
            np.any(~np.isfinite(result), axis=1), f"{field} holds a number that is not finite"
        )
        return result, present

    def refuse(self, bad: NDArray[np.bool_], problem: str, remedy: str = "mend or remove") -> None:
        """Raise DataError for the first record that `bad` (n,) marks, saying how many there are."""
        if bad.any():
            count = int(bad.sum())
            those = "it" if count == 1 else f"these {count} records"
            raise self.error(int(np.flatnonzero(bad)[0]), problem, f"{remedy} {those}")

    def unique(self, values: Sequence[object], field: str) -> None:
        """Raise DataError, naming both records, where a value stands twice."""
        if len(set(values)) == len(values):
            return
        first: dict[object, int] = {}
        for row, value in enumerate(values):
            if value in first:
                raise self.error(
                    row,
                    f"{field} {value} is also that of {self.describe(first[value])}",
                    "give each its own",
                )
            first[value] = row

    def _type_error(
        self, row: int, field: str, value: object, types: tuple[type, ...]
    ) -> DataError:
        if value is _REQUIRED:
            return self.error(row, f"{field} is missing", "add it or remove the record")
        wanted = " or ".join(_TYPE_NAMES[t] for t in types if t is not type(None))
        return self.error(row, f"{field} is {type_name(value)}, should be {wanted}")

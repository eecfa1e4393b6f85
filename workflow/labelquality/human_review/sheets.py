"""Review sheets: CSV lists that people fill in, read with care."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from labelquality.errors import DataError


@dataclass(frozen=True)
class Sheet:
    """A filled-in review sheet: text fields in `frame`, and the `lines` (n,) they stand in."""

    file: str
    frame: pd.DataFrame
    lines: NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.frame)

    def take(self, rows: NDArray) -> Sheet:
        """The rows that a mask or an index array selects."""
        rows = np.flatnonzero(rows) if rows.dtype == bool else rows
        return Sheet(self.file, self.frame.iloc[rows].reset_index(drop=True), self.lines[rows])

    def error(self, row: int, problem: str, remedy: str = "mend or remove the line") -> DataError:
        """The error that says what is wrong in which line and what to do about it."""
        return DataError(f"{self.file}: line {self.lines[row]}: {problem}; {remedy}")

    def refuse(self, bad: ArrayLike, problem: str, remedy: str = "mend or remove the line") -> None:
        """Raise DataError for the first row that `bad` (n,) marks.

        `problem` may name columns in braces, which stand for the row's fields.
        """
        rows = np.flatnonzero(bad)
        if len(rows):
            fields = self.frame.iloc[rows[0]].to_dict()
            raise self.error(int(rows[0]), problem.format(**fields), remedy)

    def unique(self, columns: Sequence[str], name: str) -> None:
        """Raise DataError, naming both lines, where the fields of `columns` stand twice."""
        again = self.frame.duplicated(list(columns)).to_numpy()
        if again.any():
            row = int(np.flatnonzero(again)[0])
            same = (self.frame[list(columns)] == self.frame[list(columns)].iloc[row]).all(axis=1)
            first = self.lines[int(np.flatnonzero(same)[0])]
            problem = name.format(**self.frame.iloc[row].to_dict())
            raise self.error(row, f"{problem} stands in line {first}, too", "keep one of them")

    def choices(self, column: str, allowed: Sequence[str]) -> None:
        """Raise DataError where a field is neither empty nor among those `allowed`."""
        bad = ~self.frame[column].isin(["", *allowed])
        self.refuse(bad, f"{column} is {{{column}}}", f"write {' or '.join(allowed)}")


def read_sheet(path: Path, columns: Iterable[str]) -> Sheet:
    """Read a filled-in sheet that has at least the given `columns`; blanks around fields go.

    Raises DataError for a file that is absent, no UTF-8 or no CSV, lacks a column, names one twice,
    or has a line with more or fewer fields than columns.
    """
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            rows = [(reader.line_num, fields) for fields in reader if any(map(str.strip, fields))]
    except FileNotFoundError:
        raise DataError(f"{path}: no such file; check `root` and `files` of the data set") from None
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: not readable as CSV ({error}); save it as UTF-8 CSV") from None
    header = [name.strip() for name in rows[0][1]] if rows else []
    missing = [name for name in columns if name not in header]
    if missing:
        found = ", ".join(header) or "nothing"
        raise DataError(
            f"{path}: column {missing[0]} is missing, the first line has {found}; save it as CSV"
            " with commas and the columns of the review list"
        )
    if len(set(header)) < len(header):
        raise DataError(f"{path}: a column stands twice in {', '.join(header)}; remove one")
    for line, fields in rows[1:]:
        if len(fields) != len(header):
            raise DataError(
                f"{path}: line {line}: has {len(fields)} fields for {len(header)} columns; mend it"
            )
    cells = [[field.strip() for field in fields] for _, fields in rows[1:]]
    lines = np.array([line for line, _ in rows[1:]], dtype=np.intp)
    return Sheet(Path(path).name, pd.DataFrame(cells, columns=header, dtype=object), lines)

"""Rows of stages as rows of tables: the columns wanted, what belongs together side by side."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile

import numpy as np
import pandas as pd

from labelquality.errors import DataError
from labelquality.report.columns import INTEGER, describe


def grouped(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Rows that share `keys` together, each key's values in the order in which they first occur."""
    if not keys or rows.empty:
        return rows
    ranks = [pd.factorize(rows[key], use_na_sentinel=False)[0] for key in reversed(keys)]
    return rows.iloc[np.lexsort(ranks)].reset_index(drop=True)


def select(
    rows: pd.DataFrame, columns: Sequence[str], *, optional: Sequence[str] = ()
) -> pd.DataFrame:
    """The given columns in order, counts as integers; an `optional` one may be absent (missing).

    Rows are grouped by the leading columns of text, less the last; groups come as they first occur.

    Raises DataError naming a column that the rows lack.
    """
    absent = [c for c in columns if c not in rows.columns and c not in optional]
    if absent and len(rows):
        raise DataError(
            f"report: the rows have no column {absent[0]}, only {', '.join(rows.columns)};"
            " remake the stage that writes them"
        )
    frame = rows.reindex(columns=list(columns)).reset_index(drop=True)
    frame = grouped(frame, list(takewhile(lambda c: not describe(c).unit, columns))[:-1])
    counts = [c for c in columns if describe(c).unit == INTEGER]
    return frame.astype(dict.fromkeys(counts, "Int64"))


def beside(
    ours: pd.DataFrame, published: pd.DataFrame | None, keys: Sequence[str], value: str
) -> pd.DataFrame:
    """`ours` with the published counterpart of its column `value`, matched by the columns `keys`.

    `published` holds the keys, `published` and `decimals`, the places that a value was rounded to.
    Added are published, deviation (ours less the published value) and status: `match` where ours
    rounds to the published value, `differs` where not, none where nothing was published. Published
    values without a row of ours follow at the end, with the status `data missing`.
    """
    keys, values = list(keys), ["published", "decimals"]
    known = pd.DataFrame(columns=[*keys, *values]) if published is None else published
    ours, known = _with_text(ours, keys), _with_text(known[[*keys, *values]], keys)
    known = known.astype(dict.fromkeys(values, float))
    found = ours.merge(known, on=keys, how="left", validate="many_to_one")
    deviation = found[value] - found["published"]
    close = deviation.abs() <= 0.5 * 10.0 ** -found["decimals"] + 1e-9
    cases = [found["published"].isna(), found[value].isna(), close]
    found["status"] = np.select(cases, ["", "data missing", "match"], "differs")
    both = known.merge(ours[keys].drop_duplicates(), on=keys, how="left", indicator="side")
    absent = both[both["side"] == "left_only"].drop(columns="side")
    rows = pd.concat(
        [found.assign(deviation=deviation), absent.assign(status="data missing")],
        ignore_index=True,
    )
    texts = {key: rows[key].replace("", None) for key in [*_texts(keys), "status"]}
    return rows.assign(**texts).drop(columns="decimals")


def with_whole_numbers(rows: pd.DataFrame, whole: pd.Series) -> pd.DataFrame:
    """Rows of `beside` whose numbers are integers where `whole` says so.

    Counts and shares in one column would all be written as fractions otherwise.
    """
    numbers = {
        name: pd.Series(
            [
                int(value) if count and pd.notna(value) else value
                for count, value in zip(whole, rows[name], strict=True)
            ],
            index=rows.index,
            dtype=object,
        )
        for name in ("ours", "published", "deviation")
        if name in rows
    }
    return rows.assign(**numbers)


def _texts(columns: Sequence[str]) -> list[str]:
    return [column for column in columns if not describe(column).unit]


def _with_text(rows: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """A missing text is as good as an empty one, whatever type a column without any has."""
    texts = {key: rows[key].astype(object).fillna("") for key in _texts(keys)}
    return rows.assign(**texts)

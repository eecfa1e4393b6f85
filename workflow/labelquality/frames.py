"""Small frames of results between stages: CSV that reads back exactly."""

from __future__ import annotations

import os
from collections.abc import Iterable

import pandas as pd

from labelquality.tables import write_atomically


def write_csv(frame: pd.DataFrame, path: str | os.PathLike[str]) -> None:
    """Write `frame` without its index: UTF-8, LF, floats in their shortest exact form."""
    write_atomically(path, lambda part: frame.to_csv(part, index=False, lineterminator="\n"))


def read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read what `write_csv` wrote: only an empty field is missing, so a class may be called NA."""
    return pd.read_csv(path, keep_default_na=False, na_values=[""])


def read_all(paths: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """One frame of the rows of several files, in the order given; no files give no rows."""
    frames = [frame for frame in map(read_csv, paths) if len(frame)]
    return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame()

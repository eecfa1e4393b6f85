"""A digest of a folder's files, so that a stage reruns when one changes, not when it is touched.

The workflow engine sees the time of a folder, which a change inside a file does not move.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path

SUFFIXES = (".xml", ".txt", ".json")
"""Endings of the files that hold annotations."""


def folder_digest(folder: str | Path, suffixes: Sequence[str]) -> str:
    """Hexadecimal digest (16 characters) of the files below `folder` that end in one of `suffixes`.

    Names, places below the folder and contents enter; times do not. Raises FileNotFoundError for a
    folder that does not exist.
    """
    folder = Path(folder)
    if not folder.exists():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(folder))
    total = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.suffix in suffixes and path.is_file():
            total.update(path.relative_to(folder).as_posix().encode() + b"\0")
            total.update(hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()[:16]


def content_digest(path: Path, suffixes: Sequence[str]) -> str:
    """As `folder_digest` for a folder; for a file the digest of its content alone.

    Raises FileNotFoundError where there is neither.
    """
    if path.is_dir():
        return folder_digest(path, suffixes)
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


class Contents(str):
    """The path of a file or folder of annotations that shows itself as the digest of what it holds.

    The workflow engine records a job's parameters as they show themselves once the job has ended,
    when files are there that were still to be made or fetched when the run was planned. Until then
    an absent file shows itself as empty text.
    """

    __slots__ = ()

    def __repr__(self) -> str:
        path = Path(self)
        return repr(content_digest(path, SUFFIXES) if path.exists() else "")

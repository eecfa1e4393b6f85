"""Zip and tar archives, unpacked without trusting them."""

from __future__ import annotations

import gzip
import lzma
import shutil
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from labelquality.errors import DataError

BLOCK = 1 << 20
BROKEN = (
    zipfile.BadZipFile,
    tarfile.TarError,
    gzip.BadGzipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
)


class _Entry(NamedTuple):
    name: str
    kind: str
    open: Callable[[], IO[bytes]]


def unpack(archive: Path, into: Path, members: Sequence[str]) -> None:
    """Unpack `members`, files or folders with all they hold, from `archive` to `into`.

    Every member appears as a whole, under its name in the archive, or not at all; one that is
    there is replaced. Archives are zip, or tar in any compression that Python knows.

    Raises DataError for a broken archive, a member that it lacks, and any entry, wanted or not,
    that would leave the folder or is neither file nor folder: links, devices, pipes.
    """
    into.mkdir(parents=True, exist_ok=True)
    work = into / f".{archive.name}.unpacking"
    _remove(work)
    try:
        _extract(archive, work / "new", members)
        for member in members:
            _put(work / "new" / member, into / member, work / "old")
    except BROKEN as error:
        raise DataError(
            f"{archive}: the archive is broken ({error}); delete it to fetch it again"
        ) from None
    finally:
        _remove(work)


def _extract(archive: Path, folder: Path, members: Sequence[str]) -> None:
    missing = set(members)
    for entry in _entries(archive):
        name = _safe_name(entry.name, archive)
        if entry.kind not in ("file", "folder"):
            raise DataError(
                f"{archive}: {entry.name} is a link or a device; only files and folders are"
                " unpacked: unpack it by hand if you trust it"
            )
        found = next((m for m in members if name == m or name.startswith(f"{m}/")), None)
        if found is None:
            continue
        missing.discard(found)
        target = folder / name
        if entry.kind == "folder":
            target.mkdir(parents=True, exist_ok=True)
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        with open(target, "wb") as copy, entry.open() as source:
            shutil.copyfileobj(source, copy, BLOCK)
    if missing:
        raise DataError(
            f"{archive}: has no {', '.join(sorted(missing))}; correct unpack.members of the"
            " download"
        )


def _put(new: Path, target: Path, old: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if target.exists():
        _remove(old)
        target.replace(old)
    new.replace(target)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _safe_name(name: str, archive: Path) -> str:
    """`name` without needless dots and slashes; refused where it is not below its folder."""
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts or set("\\:\0") & set(name):
        raise DataError(
            f"{archive}: {name!r} would be unpacked outside its folder; do not trust this archive"
        )
    return path.as_posix()


def _entries(archive: Path) -> Iterator[_Entry]:
    if zipfile.is_zipfile(archive):
        return _zip_entries(archive)
    if tarfile.is_tarfile(archive):
        return _tar_entries(archive)
    raise DataError(
        f"{archive}: is neither a zip nor a tar archive, or is cut off; delete it to fetch it again"
    )


def _zip_entries(archive: Path) -> Iterator[_Entry]:
    with zipfile.ZipFile(archive) as file:
        for info in file.infolist():
            if info.flag_bits & 1:
                raise DataError(f"{archive}: {info.filename} is encrypted; unpack it by hand")
            mode = stat.S_IFMT(info.external_attr >> 16)
            if mode in (0, stat.S_IFREG, stat.S_IFDIR):
                kind = "folder" if info.is_dir() else "file"
            else:
                kind = "special"
            yield _Entry(info.filename, kind, partial(file.open, info))


def _tar_entries(archive: Path) -> Iterator[_Entry]:
    with tarfile.open(archive) as file:
        for info in file:
            kind = "folder" if info.isdir() else "file" if info.isreg() else "special"
            content = cast(Callable[[], IO[bytes]], partial(file.extractfile, info))
            yield _Entry(info.name, kind, content)
        # The checksum of a compressed archive stands at its end, after all that a reader needs.
        while file.fileobj and file.fileobj.read(BLOCK):
            pass

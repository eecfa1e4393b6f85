"""Downloads: the files that a data set's `downloads` names, fetched, verified and unpacked.

pooch would serve for hashes and DOIs, but it starts a broken transfer anew, does not heed
Retry-After, knows one address per file and fetches a wrong file on every run; what it would save
is less than what would have to be built around it. So this is the standard library alone.

Beside a file `x` may lie:
    x.lock            size and hash as they were seen, and what was unpacked
    x.part(.json)     an unfinished transfer, gone on with by the next run
    x.bad             a file that is not the expected one
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

from labelquality.download.accounts import account, fetch_with_account, how_to_get
from labelquality.download.archives import unpack
from labelquality.download.sources import SourceError, resolve
from labelquality.download.transfer import fetch, finish, forget, get_json
from labelquality.errors import DataError

__all__ = ["Stored", "bringing", "ensure", "out_of_reach", "unpack"]

Sleep = Callable[[float], None]


@dataclass(frozen=True)
class Stored:
    """A download as it lies on disk: bytes, hash, and the members unpacked from it.

    Size and hash are None for members that someone unpacked who did not leave the archive.
    """

    size: int | None
    sha256: str | None
    members: tuple[str, ...] = ()


def bringing(downloads: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """Paths of those `downloads` that bring the file or folder `name`, or a part of it."""
    return [d["path"] for d in downloads if any(_related(name, own) for own in _brought(d))]


def out_of_reach(downloads: Sequence[Mapping[str, Any]], root: Path) -> list[str]:
    """What to do for each of the `downloads` that needs a login and is not there, in one line.

    A file is there when it, what is unpacked from it, or its rejected version lies below `root`.
    None are out of reach where the environment holds the account.
    """
    return [
        how_to_get(download, root / download["path"])
        for download in downloads
        if download["access"] == "login"
        and account(download) is None
        and not _is_there(download, root)
    ]


def _is_there(download: Mapping[str, Any], root: Path) -> bool:
    members = _members(download)
    unpacked = bool(members) and all((root / member).exists() for member in members)
    path = download["path"]
    return unpacked or any((root / name).exists() for name in (path, f"{path}.bad"))


def ensure(download: Mapping[str, Any], root: Path, *, sleep: Sleep = time.sleep) -> Stored:
    """Have one entry of a data set's `downloads` below `root`, verified and unpacked.

    What is there and right is not fetched: nothing is sent then. A file whose hash is not given
    is trusted when first seen, and held to that hash from then on. Members that lie where they
    belong are enough; only those that this function unpacked are ever replaced.

    Raises DataError for a file that is not the expected one, now and in later runs, until it is
    deleted or its entry corrected; where no source gives the file; where a login is needed and the
    environment holds no account.
    """
    path = root / download["path"]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _alone(path.parent):
            return _ensure(download, root, path, sleep)
    except OSError as error:
        raise DataError(
            f"{error.filename or path}: {error.strerror or error}; mend it and run again"
        ) from None


def _ensure(download: Mapping[str, Any], root: Path, path: Path, sleep: Sleep) -> Stored:
    seen = _read_lock(path)
    pinned = download.get("sha256")
    members = _members(download)
    absent = [member for member in members if not (root / member).exists()]
    if path.is_file():
        found = _measured(path)
        if problem := _problem(found, download, seen):
            raise DataError(f"{path}: {problem}{_remedy(path, download)}, or delete the file")
    elif members and not absent and seen is None:
        print(f"{path}: {', '.join(members)} lie in place already and are used unverified")
        return Stored(None, None)
    elif members and not absent and seen and pinned in (None, seen.sha256):
        return seen
    else:
        found = _fetched(download, path, seen, sleep)
    if pinned is None:
        print(f"{path}: no sha256 is pinned; taken as it is: {found.sha256}")
    wanted = _to_unpack(path, members, absent, found, seen)
    if wanted:
        into = _into(download)
        inside = [PurePosixPath(m).relative_to(into).as_posix() for m in wanted]
        unpack(path, root / into, inside)
    kept = () if seen is None or seen.sha256 != found.sha256 else seen.members
    stored = Stored(found.size, found.sha256, tuple(sorted({*kept, *wanted})))
    if stored != seen:
        _write_lock(path, stored)
    return stored


def _to_unpack(
    path: Path, members: list[str], absent: list[str], found: Stored, seen: Stored | None
) -> list[str]:
    """Members that are not there, or that were unpacked from another version of the archive."""
    if seen is None or seen.sha256 == found.sha256:
        return absent
    foreign = [m for m in members if m not in absent and m not in seen.members]
    if foreign:
        raise DataError(
            f"{path}: is another version than before, and {', '.join(foreign)} may come from the"
            " old one; delete them to have them unpacked"
        )
    return members


def _fetched(download: Mapping[str, Any], path: Path, seen: Stored | None, sleep: Sleep) -> Stored:
    bad = path.with_name(path.name + ".bad")
    if bad.is_file():
        found = _measured(bad)
        if problem := _problem(found, download, seen):
            raise DataError(f"{bad}: {problem}{_remedy(path, download)}, or delete {bad.name}")
        bad.replace(path)
        return found
    if download.get("access") == "login":
        downloader = account(download)
        if downloader is None:
            raise DataError(how_to_get(download, path))
        fetch_with_account(downloader, path)
        return _accepted(download, path, seen, downloader.program)
    failures = []
    for source in download["urls"]:
        try:
            url = resolve(source, partial(get_json, sleep=sleep))
            return _fetched_from(url, download, path, seen, sleep)
        except SourceError as error:
            failures.append(str(error))
            print(error)
    raise DataError(
        f"{path}: no source gives it; put it there by hand, or correct urls. {'; '.join(failures)}"
    )


def _fetched_from(
    url: str, download: Mapping[str, Any], path: Path, seen: Stored | None, sleep: Sleep
) -> Stored:
    pinned = bool(download.get("sha256") or seen)
    resumed = fetch(url, path, pinned=pinned, sleep=sleep)
    found = _measured(path.with_name(path.name + ".part"))
    problem = _problem(found, download, seen)
    if problem and resumed:
        # Halves of two versions make neither of them.
        print(f"{url}: {problem} after it was resumed; fetching it anew")
        forget(path)
        fetch(url, path, pinned=pinned, sleep=sleep)
    return _accepted(download, path, seen, url)


def _accepted(download: Mapping[str, Any], path: Path, seen: Stored | None, source: str) -> Stored:
    """Give what was fetched into `path.part` its name, or keep it aside where it is wrong."""
    found = _measured(path.with_name(path.name + ".part"))
    if problem := _problem(found, download, seen):
        bad = path.with_name(path.name + ".bad")
        finish(path, bad)
        raise DataError(
            f"{path}: from {source}: {problem}; it is kept as {bad.name}{_remedy(path, download)},"
            f" or delete {bad.name} to fetch it again"
        )
    finish(path, path)
    return found


def _problem(found: Stored, download: Mapping[str, Any], seen: Stored | None) -> str:
    """What is wrong with a file; empty if nothing is."""
    pinned = download.get("sha256")
    size, sha256 = download.get("size"), pinned
    if pinned is None and seen is not None:
        size, sha256 = seen.size, seen.sha256
    if sha256 in (None, found.sha256) and size in (None, found.size):
        return ""
    return (
        f"sha256 is {found.sha256}, expected {sha256 or 'any'}; size is {found.size}, expected"
        f" {size or 'any'}"
    )


def _remedy(path: Path, download: Mapping[str, Any]) -> str:
    if download.get("sha256") or download.get("size"):
        return "; if it is the right one, correct the download's sha256 and size"
    return f"; if it may have changed, delete {path.name}.lock"


def _measured(path: Path) -> Stored:
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return Stored(os.fstat(file.fileno()).st_size, digest)


def _into(download: Mapping[str, Any]) -> str:
    return str(download.get("unpack", {}).get("into", "."))


def _members(download: Mapping[str, Any]) -> list[str]:
    """Members to unpack, relative to the data set's root."""
    names = download.get("unpack", {}).get("members", [])
    return [(PurePosixPath(_into(download)) / name).as_posix() for name in names]


def _brought(download: Mapping[str, Any]) -> list[str]:
    return [download["path"], *_members(download)]


def _related(a: str, b: str) -> bool:
    one, other = PurePosixPath(a), PurePosixPath(b)
    return one.is_relative_to(other) or other.is_relative_to(one)


def _lock(path: Path) -> Path:
    return path.with_name(path.name + ".lock")


def _read_lock(path: Path) -> Stored | None:
    lock = _lock(path)
    if not lock.is_file():
        return None
    try:
        content = json.loads(lock.read_text(encoding="utf-8"))
        return Stored(int(content["size"]), str(content["sha256"]), tuple(content["members"]))
    except (ValueError, KeyError, TypeError):
        raise DataError(f"{lock}: cannot be read; delete it to trust {path.name} anew") from None


def _write_lock(path: Path, stored: Stored) -> None:
    text = json.dumps(asdict(stored), indent=1) + "\n"
    unfinished = path.with_name(path.name + ".lock.part")
    try:
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(_lock(path))
    except OSError as error:
        # A folder of files that are right may well be read-only.
        print(f"{_lock(path)}: not written ({error.strerror})")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let no other process of this user's work on downloads in `folder` meanwhile."""
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            print(f"{folder}: cannot be locked; let only one run download into it")
        yield
    finally:
        os.close(handle)

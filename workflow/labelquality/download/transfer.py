"""One file from one address: resumed where it stopped, retried where that may help."""

from __future__ import annotations

import json
import shutil
import ssl
import time
from collections.abc import Callable, Iterator
from email.message import Message
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, InvalidURL
from pathlib import Path
from typing import Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, url2pathname, urlopen

from labelquality import __version__
from labelquality.download.sources import SourceError

HEADERS = {"User-Agent": f"labelquality/{__version__}", "Accept-Encoding": "identity"}
T = TypeVar("T")
BLOCK = 1 << 20
HEAD = 1024
REPORT = 1 << 28
TIMEOUT = 60.0
ATTEMPTS = 5
LONGEST_WAIT = 600.0
TEMPORARY = {408, 425, 429, 500, 502, 503, 504}
PAGES = {".html", ".htm", ".xml", ".svg"}


class _InterruptionError(Exception):
    """A transfer that may succeed when tried again, after `wait` seconds if the server says so."""

    def __init__(self, reason: object, wait: float | None = None) -> None:
        super().__init__(str(reason) or type(reason).__name__)
        self.wait = wait


def fetch(url: str, path: Path, *, pinned: bool, sleep: Callable[[float], None]) -> bool:
    """Fetch `url` into `{path}.part`; returns whether bytes of an earlier request are in it.

    `pinned` says that the file's hash is known. A part is gone on with if the server confirms, by
    ETag or date, that it still has the same file; or, with a hash to tell in the end, on trust.
    Five attempts in a row that gain nothing are the last; between attempts `sleep` is called with
    the seconds that the server asks for, or else 1, 2, 4 and 8.

    Raises SourceError where the address does not give the file.
    """
    local = _local_path(url)
    if local is not None:
        _copy(local, url, path)
        return False
    return _persist(
        url, lambda: _transfer(url, path, pinned), sleep, progress=lambda: _size(_part(path))
    )


def get_json(url: str, *, sleep: Callable[[float], None]) -> Any:
    """What `url` answers, parsed. Raises SourceError as `fetch` does, and for what is not JSON."""

    def attempt() -> Any:
        with _open(url, {"Accept": "application/json"}) as response:
            return json.loads(b"".join(_blocks(response)))

    try:
        return _persist(url, attempt, sleep)
    except ValueError:
        raise SourceError(f"{url}: the answer is not JSON") from None


def _persist(
    url: str,
    attempt: Callable[[], T],
    sleep: Callable[[float], None],
    progress: Callable[[], int] = lambda: 0,
) -> T:
    """What `attempt` returns, in time; only attempts without progress are counted."""
    furthest, fruitless = progress(), 0
    while True:
        try:
            return attempt()
        except _InterruptionError as error:
            reached = progress()
            fruitless = 1 if reached > furthest else fruitless + 1
            furthest = max(furthest, reached)
            if fruitless == ATTEMPTS:
                raise SourceError(f"{url}: {error}; given up after {ATTEMPTS} attempts") from None
            wait = 2.0 ** (fruitless - 1) if error.wait is None else error.wait
            print(f"{url}: {error}; trying again in {wait:.0f} s")
            sleep(wait)


def forget(path: Path) -> None:
    """Remove what is left of an unfinished transfer to `path`."""
    _part(path).unlink(missing_ok=True)
    _note(path).unlink(missing_ok=True)


def finish(path: Path, name: Path) -> None:
    """Give the finished transfer to `path` the name `name`."""
    _part(path).replace(name)
    _note(path).unlink(missing_ok=True)


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _note(path: Path) -> Path:
    """Where the part comes from: its url, and the validator that If-Range needs."""
    return path.with_name(path.name + ".part.json")


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0


def _local_path(url: str) -> Path | None:
    address = urlsplit(url)
    if address.scheme in ("http", "https"):
        return None
    if address.scheme == "file" and address.netloc in ("", "localhost"):
        return Path(url2pathname(address.path))
    if address.scheme:
        raise SourceError(f"{url}: must be an http, https or file URL, or a local path")
    return Path(url).expanduser()


def _copy(source: Path, url: str, path: Path) -> None:
    forget(path)
    if not source.is_file():
        raise SourceError(f"{url}: there is no such file")
    shutil.copyfile(source, _part(path))


def _transfer(url: str, path: Path, pinned: bool) -> bool:
    offset, validator = _progress(url, path, pinned)
    headers = {"Range": f"bytes={offset}-"} if offset else {}
    if validator:
        headers["If-Range"] = validator
    with _open(url, headers, ranged=offset > 0) as response:
        start, total = _extent(response)
        if response.status == 416 and total == offset:
            return True
        if start not in (0, offset):
            forget(path)
            raise _InterruptionError(f"asked for the bytes from {offset}, the server sent others")
        size = "of unknown size" if total is None else f"of {total} bytes"
        print(f"{url}: {size}, from byte {start}")
        blocks = _checked(response, path) if start == 0 else _blocks(response)
        note = json.dumps({"url": url, "validator": _validator(response.headers)})
        _append(blocks, path, start, note)
    reached = _size(_part(path))
    if total is not None and reached < total:
        raise _InterruptionError(f"the connection ended after {reached} of {total} bytes")
    return start > 0


def _progress(url: str, path: Path, pinned: bool) -> tuple[int, str | None]:
    """Where to go on, 0 for a fresh start, and the validator of the part."""
    offset = _size(_part(path))
    try:
        note = json.loads(_note(path).read_text(encoding="utf-8"))
        validator = note["validator"] if note["url"] == url else None
    except (OSError, ValueError, KeyError, TypeError):
        validator = None
    return (offset, validator) if offset and (validator or pinned) else (0, None)


def _open(url: str, headers: dict[str, str], ranged: bool = False) -> HTTPResponse:
    """The server's answer; one of status 416 only to a `ranged` request."""
    try:
        response: HTTPResponse = urlopen(Request(url, headers=HEADERS | headers), timeout=TIMEOUT)
    except HTTPError as error:
        if error.code == 416 and ranged:
            return error  # type: ignore[return-value]
        error.close()
        raise _refusal(url, error) from None
    except URLError as error:
        if isinstance(error.reason, ssl.SSLCertVerificationError):
            raise SourceError(
                f"{url}: the server's certificate is not valid; use another mirror, or http with"
                " a sha256"
            ) from None
        raise _InterruptionError(error.reason) from None
    except (ValueError, InvalidURL) as error:
        raise SourceError(f"{url}: {error}") from None
    except (OSError, HTTPException) as error:
        raise _InterruptionError(error) from None
    return response


def _refusal(url: str, error: HTTPError) -> Exception:
    wait = _retry_after(error.headers)
    reason = f"HTTP status {error.code} {error.reason}".strip()
    if error.code not in TEMPORARY and not (error.code == 403 and wait is not None):
        return SourceError(f"{url}: {reason}")
    if wait is not None and wait > LONGEST_WAIT:
        return SourceError(f"{url}: {reason}, and asks to wait {wait:.0f} s; run again later")
    return _InterruptionError(reason, wait)


def _retry_after(headers: Message) -> float | None:
    """Seconds to wait, from a number or a date."""
    value = headers.get("Retry-After", "").strip()
    if value.isdecimal():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return None


def _extent(response: HTTPResponse) -> tuple[int, int | None]:
    """First byte of an answer, -1 where it is none of a file's, and the size of the whole file."""
    if response.status == 200:
        length = response.headers.get("Content-Length", "")
        return 0, int(length) if length.isdecimal() else None
    unit, _, extent = response.headers.get("Content-Range", "").partition(" ")
    span, _, size = extent.partition("/")
    first = span.partition("-")[0]
    total = int(size) if size.isdecimal() else None
    found = response.status == 206 and unit == "bytes" and first.isdecimal()
    return (int(first) if found else -1), total


def _validator(headers: Message) -> str | None:
    """What If-Range can name the file's version by: a strong ETag, or else its date."""
    tag = headers.get("ETag")
    return tag if tag and not tag.startswith("W/") else headers.get("Last-Modified")


def _append(blocks: Iterator[bytes], path: Path, start: int, note: str) -> None:
    first = next(blocks, b"")
    _note(path).write_text(note, encoding="utf-8")
    with open(_part(path), "r+b" if start else "wb") as target:
        target.seek(start)
        target.write(first)
        for block in blocks:
            target.write(block)
            reached = target.tell()
            if reached % REPORT < len(block):
                print(f"{path.name}: {reached} bytes so far")
        target.truncate()


def _checked(response: HTTPResponse, path: Path) -> Iterator[bytes]:
    """The blocks of a whole file, unless it is not the file but something about it."""
    encoding = response.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise SourceError(f"{response.url}: sent as {encoding}, which was not asked for")
    blocks = _blocks(response)
    start = b""
    for block in blocks:
        start += block
        if len(start) >= HEAD:
            break
    if path.suffix.lower() not in PAGES and is_page(start):
        raise SourceError(
            f"{response.url}: sent a web page instead of {path.name}; it may ask for a login, or"
            " the file may have moved"
        )
    yield start
    yield from blocks


def _blocks(response: HTTPResponse) -> Iterator[bytes]:
    while True:
        try:
            block = response.read1(BLOCK)
        except (OSError, HTTPException) as error:
            raise _InterruptionError(error) from None
        if not block:
            return
        yield block


def is_page(start: bytes) -> bool:
    """Whether a file that starts with `start` is a web page."""
    text = start[:HEAD].removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    return text.startswith((b"<!doctype html", b"<html"))

"""What a job prints goes to its log; what a person must know goes to the terminal as well."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from typing import NoReturn, TextIO

from labelquality.errors import NO_ROOM, DataError, of_disk


@contextmanager
def job_log(path: str | os.PathLike[str]) -> Iterator[None]:
    """Send stdout and stderr of the block to the file at `path`.

    A DataError ends the process with status 1 and its one line in the log and on the terminal; so
    does a full disk or a log that cannot be written. Any other exception leaves its traceback in
    the log and goes on.
    """
    terminal = sys.stderr
    log = _open(path)
    try:
        with redirect_stdout(log), redirect_stderr(log):
            yield
    except DataError as error:
        _end(error, log, terminal)
    except Exception as error:
        if isinstance(error, OSError) and error.errno in NO_ROOM:
            _end(of_disk(error, error.filename or path), log, terminal)
        with suppress(OSError):
            traceback.print_exc(file=log)
        raise
    finally:
        with suppress(OSError):
            log.close()


def _open(path: str | os.PathLike[str]) -> TextIO:
    try:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return open(path, "w", encoding="utf-8", buffering=1)
    except OSError as error:
        _end(of_disk(error, path), sys.stderr)


def _end(error: DataError, *streams: TextIO) -> NoReturn:
    for stream in streams:
        with suppress(OSError):
            print(f"error: {error}", file=stream, flush=True)
    raise SystemExit(1) from None

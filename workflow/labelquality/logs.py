"""What a job prints goes to its log; what a person must know goes to the terminal as well."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from labelquality.errors import DataError


@contextmanager
def job_log(path: str | os.PathLike[str]) -> Iterator[None]:
    """Send stdout and stderr of the block to the file at `path`.

    A DataError ends the process with status 1 and its one line in the log and on the terminal. Any
    other exception leaves its traceback in the log and goes on.
    """
    terminal = sys.stderr
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with (
        open(path, "w", encoding="utf-8", buffering=1) as log,
        redirect_stdout(log),
        redirect_stderr(log),
    ):
        try:
            yield
        except DataError as error:
            for stream in (log, terminal):
                print(f"error: {error}", file=stream, flush=True)
            raise SystemExit(1) from None
        except Exception:
            traceback.print_exc(file=log)
            raise

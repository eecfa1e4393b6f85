"""The one exception that people are meant to read, and what to say of a disk."""

from __future__ import annotations

import errno
import os

NO_ROOM = {
    errno.ENOSPC: "free some space",
    errno.EDQUOT: "free some space or ask for a larger quota",
    errno.EFBIG: "raise the limit on the size of files",
}
NOT_WRITABLE = dict.fromkeys((errno.EROFS, errno.EACCES, errno.EPERM), "make its folder writable")
REMEDIES = NO_ROOM | NOT_WRITABLE
"""What a person can do about a file that cannot be written, by the error's number."""


class DataError(ValueError):
    """Bad input. The message is one line: file, record, field, and what to do about it."""


def of_disk(error: OSError, path: str | os.PathLike[str]) -> DataError:
    """What to tell a person for whom the file at `path` could not be written."""
    remedy = REMEDIES.get(error.errno or 0, "look at its folder")
    reason = os.strerror(error.errno) if error.errno else str(error)
    return DataError(f"{os.fspath(path)}: cannot be written ({reason}); {remedy}")

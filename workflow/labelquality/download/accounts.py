"""Files that need an account: fetched by the downloader that the data set's makers publish.

The user's name and password come from the environment and go to that program's standard input, so
that no list of processes shows them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labelquality.errors import DataError


@dataclass(frozen=True)
class Downloader:
    """A program that fetches a file by its name into a folder, and the package that brings it.

    `user` and `password` name the environment variables that hold the account; the program asks
    for both, then whether to keep them.
    """

    program: str
    package: str
    user: str
    password: str

    def has_account(self) -> bool:
        """Whether the environment holds the account."""
        return bool(os.environ.get(self.user) and os.environ.get(self.password))


DOWNLOADERS = {
    "cityscapes": Downloader(
        "csDownload", "cityscapesscripts", "CITYSCAPES_USERNAME", "CITYSCAPES_PASSWORD"
    ),
}


def account(download: Mapping[str, Any]) -> Downloader | None:
    """The downloader of a file that needs a login, None without one or without an account."""
    downloader = DOWNLOADERS.get(download.get("downloader", ""))
    return downloader if downloader and downloader.has_account() else None


def how_to_get(download: Mapping[str, Any], path: Path) -> str:
    """What a user has to do for a file that needs a login, in one line."""
    where = ", ".join(str(url) for url in download["urls"])
    text = f"needs a login (licence: {download['licence']}); get it from {where}"
    if downloader := DOWNLOADERS.get(download.get("downloader", "")):
        text += (
            f" and put it there, or pip install {downloader.package} and set {downloader.user} and"
            f" {downloader.password}"
        )
    else:
        text += " and put it there"
    return f"{path}: {text}"


def fetch_with_account(downloader: Downloader, path: Path) -> None:
    """Fetch the file that belongs at `path` into `path.part`, going on with an earlier attempt.

    The program is given a folder of its own beside `path`, as it writes under the file's final
    name from the start. Raises DataError with the program's last line where it fails.
    """
    program = shutil.which(downloader.program)
    if program is None:
        raise DataError(
            f"{path}: {downloader.program} is not there; pip install {downloader.package}"
        )
    folder = path.with_name(path.name + ".account")
    folder.mkdir(exist_ok=True)
    answers = f"{os.environ[downloader.user]}\n{os.environ[downloader.password]}\nn\n"
    # Without a terminal of its own it reads the password from its standard input as well.
    done = subprocess.run(
        [program, "--resume", "--destination_path", str(folder), path.name],
        check=False,
        input=answers,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    fetched = folder / path.name
    if done.returncode or not fetched.is_file():
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise DataError(
            f"{path}: {downloader.program} failed ({last}); correct {downloader.user} and"
            f" {downloader.password}, or delete {folder.name} to start anew"
        )
    fetched.replace(path.with_name(path.name + ".part"))
    folder.rmdir()

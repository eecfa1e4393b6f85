"""Files that need an account, with a program in the place of the data set's downloader."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from labelquality.download import ensure, out_of_reach
from labelquality.errors import DataError

PROGRAM = """#!/usr/bin/env python3
import getpass, json, sys
from pathlib import Path

folder, name = Path(sys.argv[sys.argv.index("--destination_path") + 1]), sys.argv[-1]
user, password, keep = input("user: "), getpass.getpass("password: "), input("keep? ")
Path(__file__).with_name("asked.json").write_text(json.dumps([user, password, keep]))
if password != "secret":
    sys.exit("Bad credentials.")
with open(folder / name, "ab") as file:
    file.write(b"whole"[file.tell():])
"""
DOWNLOAD = {
    "path": "a.zip",
    "urls": ["https://example.org/get"],
    "licence": "none",
    "access": "login",
    "downloader": "cityscapes",
    "sha256": hashlib.sha256(b"whole").hexdigest(),
}


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "bin" / "csDownload"
    path.parent.mkdir()
    path.write_text(PROGRAM)
    path.chmod(0o755)
    monkeypatch.setenv("PATH", str(path.parent), prepend=":")
    monkeypatch.setenv("CITYSCAPES_USERNAME", "someone")
    monkeypatch.setenv("CITYSCAPES_PASSWORD", "secret")
    return path


def test_an_account_from_the_environment_fetches_the_file(program: Path, tmp_path: Path) -> None:
    stored = ensure(DOWNLOAD, tmp_path / "data")
    assert stored.sha256 == DOWNLOAD["sha256"]
    asked = json.loads((program.parent / "asked.json").read_text())
    assert asked == ["someone", "secret", "n"]
    names = sorted(path.name for path in (tmp_path / "data").iterdir())
    assert names == ["a.zip", "a.zip.lock"]


def test_an_attempt_that_broke_off_is_gone_on_with(program: Path, tmp_path: Path) -> None:
    begun = tmp_path / "data" / "a.zip.account"
    begun.mkdir(parents=True)
    (begun / "a.zip").write_bytes(b"who")
    assert ensure(DOWNLOAD, tmp_path / "data").size == 5


def test_a_wrong_password_is_one_line(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITYSCAPES_PASSWORD", "guess")
    with pytest.raises(DataError, match=r"Bad credentials.*correct CITYSCAPES_USERNAME"):
        ensure(DOWNLOAD, tmp_path / "data")
    assert not (tmp_path / "data" / "a.zip").exists()


def test_a_file_that_is_not_the_expected_one_is_kept_aside(program: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"from csDownload: sha256 is .* kept as a.zip.bad"):
        ensure(DOWNLOAD | {"sha256": "0" * 64}, tmp_path / "data")
    assert (tmp_path / "data" / "a.zip.bad").read_bytes() == b"whole"


def test_without_the_program_the_user_is_told_its_package(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DataError, match="pip install cityscapesscripts"):
        ensure(DOWNLOAD, tmp_path / "data")


def test_without_an_account_the_user_is_told_both_ways(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CITYSCAPES_PASSWORD")
    with pytest.raises(DataError, match=r"https://example.org/get and put it there, or pip") as one:
        ensure(DOWNLOAD, tmp_path)
    assert out_of_reach([DOWNLOAD], tmp_path) == [str(one.value)]


def test_what_can_be_had_is_not_out_of_reach(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = DOWNLOAD | {"unpack": {"members": ["a", "b"]}}
    assert out_of_reach([archive], tmp_path) == []
    monkeypatch.delenv("CITYSCAPES_USERNAME")
    assert len(out_of_reach([archive], tmp_path)) == 1
    assert out_of_reach([archive | {"access": "open"}], tmp_path) == []
    (tmp_path / "a").mkdir()
    assert len(out_of_reach([archive], tmp_path)) == 1
    (tmp_path / "b").mkdir()
    assert out_of_reach([archive], tmp_path) == []
    (tmp_path / "a.zip.bad").touch()
    assert out_of_reach([DOWNLOAD], tmp_path) == []

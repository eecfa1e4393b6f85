from __future__ import annotations

import os
import pickle
from pathlib import Path

import pytest

from labelquality.file_digest import Contents, content_digest, folder_digest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    (tmp_path / "a.txt").write_text("1")
    (tmp_path / "in" / "b.xml").write_text("2")
    (tmp_path / "c.png").write_text("3")
    return tmp_path


def digest(folder: Path) -> str:
    return folder_digest(folder, (".txt", ".xml"))


def test_contents_names_and_places_enter(folder: Path) -> None:
    seen = {digest(folder)}
    (folder / "a.txt").write_text("2")
    seen.add(digest(folder))
    (folder / "a.txt").rename(folder / "d.txt")
    seen.add(digest(folder))
    (folder / "d.txt").rename(folder / "in" / "d.txt")
    seen.add(digest(folder))
    (folder / "in" / "d.txt").unlink()
    seen.add(digest(folder))
    assert len(seen) == 5


def test_times_and_other_files_do_not(folder: Path) -> None:
    before = digest(folder)
    os.utime(folder / "a.txt", (0, 0))
    (folder / "c.png").write_text("4")
    assert digest(folder) == before


def test_a_folder_that_is_not_there(folder: Path) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        digest(folder / "x")
    assert caught.value.filename == str(folder / "x")


def test_a_single_file_goes_by_its_content(folder: Path) -> None:
    before = content_digest(folder / "c.png", ())
    (folder / "c.png").rename(folder / "e.png")
    assert content_digest(folder / "e.png", ()) == before
    (folder / "e.png").write_text("4")
    assert content_digest(folder / "e.png", ()) != before
    assert content_digest(folder, (".txt", ".xml")) == digest(folder)


def test_contents_show_themselves_as_they_are_when_asked(folder: Path) -> None:
    contents = Contents(folder / "later")
    assert repr(contents) == repr("")
    (folder / "later").mkdir()
    (folder / "later" / "a.json").write_text("{}")
    assert repr(contents) == repr(content_digest(folder / "later", [".json"]))
    before = repr(contents)
    (folder / "later" / "a.json").write_text("[]")
    assert repr(contents) != before


def test_contents_are_a_path_that_travels_to_other_processes(folder: Path) -> None:
    contents = pickle.loads(pickle.dumps(Contents(folder / "a.txt")))
    assert contents == str(folder / "a.txt")
    assert repr(contents) == repr(content_digest(folder / "a.txt", []))

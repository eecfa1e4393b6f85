"""Archives, honest, broken and hostile; and what becomes of what was unpacked before."""

from __future__ import annotations

import hashlib
import io
import stat
import tarfile
import zipfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from labelquality.download import ensure, unpack
from labelquality.errors import DataError

FILES = {"data/val/1.txt": b"one", "data/val/2.txt": b"two", "data/train/3.txt": b"x", "no.md": b""}


def zipped(path: Path, files: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def tarred(path: Path, files: dict[str, bytes], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return path


def tree(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_only_the_members_are_unpacked(tmp_path: Path) -> None:
    archives = [
        zipped(tmp_path / "a.zip", FILES),
        tarred(tmp_path / "a.tar", FILES),
        tarred(tmp_path / "a.tar.gz", {f"./{name}": b for name, b in FILES.items()}, "w:gz"),
        tarred(tmp_path / "a.tar.xz", FILES, "w:xz"),
    ]
    for archive in archives:
        into = tmp_path / "out" / archive.name
        unpack(archive, into, ["data/val", "no.md"])
        assert tree(into) == {name: FILES[name] for name in sorted(FILES) if "train" not in name}
        assert sorted(path.name for path in into.iterdir()) == ["data", "no.md"]


def test_a_member_replaces_what_had_its_name(tmp_path: Path) -> None:
    for content in (b"old", b"new"):
        unpack(zipped(tmp_path / "a.zip", {f"val/{content.decode()}": content}), tmp_path, ["val"])
    assert tree(tmp_path / "val") == {"new": b"new"}


def test_folders_without_files_are_kept(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", {"val/": b""})
    unpack(archive, tmp_path, ["val"])
    assert (tmp_path / "val").is_dir()


@pytest.mark.parametrize("make", [zipped, tarred])
@pytest.mark.parametrize("name", ["../evil", "/evil", "val/../../evil", "val\\..\\evil", "C:evil"])
def test_a_name_that_leaves_the_folder_stops_everything(make, name: str, tmp_path: Path) -> None:
    archive = make(tmp_path / "a", {"val/1": b"", name: b"evil"})
    with pytest.raises(DataError, match="would be unpacked outside its folder"):
        unpack(archive, tmp_path / "in" / "out", ["val"])
    assert tree(tmp_path) == {"a": archive.read_bytes()}


@pytest.mark.parametrize(
    "kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.BLKTYPE, tarfile.FIFOTYPE]
)
def test_links_and_devices_are_refused(kind: bytes, tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar", "w") as archive:
        info = tarfile.TarInfo("val/evil")
        info.type, info.linkname = kind, "/etc/passwd"
        archive.addfile(info)
    with pytest.raises(DataError, match="val/evil is a link or a device"):
        unpack(tmp_path / "a.tar", tmp_path / "out", ["val"])
    assert tree(tmp_path / "out") == {}


def test_links_in_a_zip_are_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        info = zipfile.ZipInfo("val/evil")
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(info, "/etc/passwd")
    with pytest.raises(DataError, match="val/evil is a link or a device"):
        unpack(tmp_path / "a.zip", tmp_path / "out", ["val"])


@pytest.mark.parametrize("kind", ["zip", "tar", "gz"])
def test_a_broken_archive_leaves_nothing_behind(kind: str, tmp_path: Path) -> None:
    files = {f"val/{i}": np.random.default_rng(i).bytes(50_000) for i in range(9)}
    path = tmp_path / f"a.{kind}"
    make = {"zip": zipped, "tar": tarred, "gz": partial(tarred, mode="w:gz")}[kind]
    archive = make(path, files)
    whole = archive.read_bytes()
    damaged = [whole[:200_001], b"", b"text"]
    if kind != "tar":  # which has no checksums of contents
        damaged.append(whole[:200_000] + bytes(40) + whole[200_040:])
    for content in damaged:
        archive.write_bytes(content)
        with pytest.raises(DataError, match="delete it to fetch it again"):
            unpack(archive, tmp_path / "out", ["val"])
        assert list((tmp_path / "out").iterdir()) == []


def test_a_member_that_is_not_there_is_named(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", FILES)
    with pytest.raises(DataError, match=r"has no data/va, test; correct unpack\.members"):
        unpack(archive, tmp_path / "out", ["data/val", "data/va", "test"])
    assert list((tmp_path / "out").iterdir()) == []


def test_a_killed_run_is_cleaned_up_by_the_next(tmp_path: Path) -> None:
    archive = zipped(tmp_path / "a.zip", FILES)
    (tmp_path / ".a.zip.unpacking" / "new" / "data" / "val").mkdir(parents=True)
    (tmp_path / ".a.zip.unpacking" / "new" / "data" / "val" / "old.txt").write_text("half")
    unpack(archive, tmp_path, ["data/val"])
    assert set(tree(tmp_path)) == {"a.zip", "data/val/1.txt", "data/val/2.txt"}


def entry(archive: Path, **more: object) -> dict:
    pin = hashlib.sha256(archive.read_bytes()).hexdigest()
    return {
        "path": "a.zip",
        "urls": [archive.as_uri()],
        "sha256": pin,
        "unpack": {"into": "data", "members": ["val"]},
        "licence": "none",
        "access": "open",
    } | more


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return zipped(tmp_path / "source.zip", {"val/1": b"one"})


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "root"


def test_an_archive_is_unpacked_into_its_folder(source: Path, root: Path) -> None:
    stored = ensure(entry(source), root)
    assert stored.members == ("data/val",)
    assert tree(root / "data") == {"val/1": b"one"}


def test_what_was_unpacked_is_enough_without_the_archive(
    source: Path, root: Path, offline: None
) -> None:
    stored = ensure(entry(source), root)
    (root / "a.zip").unlink()
    assert ensure(entry(source, urls=["http://127.0.0.1:9/a"]), root) == stored
    assert not (root / "a.zip").exists()


def test_a_member_that_was_deleted_comes_back(source: Path, root: Path) -> None:
    ensure(entry(source), root)
    (root / "data" / "val" / "1").unlink()
    (root / "data" / "val").rmdir()
    ensure(entry(source), root)
    assert tree(root / "data") == {"val/1": b"one"}


def test_what_the_user_unpacked_is_used_and_never_replaced(
    source: Path, root: Path, offline: None, capsys: pytest.CaptureFixture
) -> None:
    (root / "data" / "val").mkdir(parents=True)
    (root / "data" / "val" / "own").write_bytes(b"own")
    stored = ensure(entry(source, urls=["http://127.0.0.1:9/a"], access="login"), root)
    assert stored.sha256 is None
    assert "data/val lie in place already and are used unverified" in capsys.readouterr().out
    (root / "a.zip").write_bytes(source.read_bytes())
    ensure(entry(source), root)
    assert tree(root / "data") == {"val/own": b"own"}


def test_a_new_version_replaces_what_the_old_one_brought(
    source: Path, root: Path, tmp_path: Path
) -> None:
    ensure(entry(source), root)
    newer = entry(zipped(tmp_path / "newer.zip", {"val/2": b"two"}))
    with pytest.raises(DataError, match="or delete the file"):
        ensure(newer, root)
    (root / "a.zip").unlink()
    ensure(newer, root)
    assert tree(root / "data") == {"val/2": b"two"}


def test_a_new_version_does_not_replace_what_someone_else_brought(
    source: Path, root: Path, tmp_path: Path
) -> None:
    (root / "data" / "val").mkdir(parents=True)
    (root / "a.zip").write_bytes(source.read_bytes())
    ensure(entry(source), root)
    (root / "a.zip").unlink()
    newer = entry(zipped(tmp_path / "newer.zip", {"val/2": b"two"}))
    with pytest.raises(DataError, match="data/val may come from the old one; delete them"):
        ensure(newer, root)

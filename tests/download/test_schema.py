"""What a data set's `downloads` may say, and that the shipped ones bring every file."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from labelquality.config import load_config
from labelquality.download import bringing
from labelquality.errors import DataError

REAL = ("coco", "voc", "kitti", "cityscapes")
HASH = {"sha256": 64 * "0"}


def load(repository: Path, tmp_path: Path, **changes: object) -> dict:
    spec = yaml.safe_load((repository / "config/datasets/coco.yaml").read_text(encoding="utf-8"))
    spec |= {"name": "mine"} | changes
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in spec.items() if v is not None}))
    run = {"run": "mine", "datasets": [str(path)], "detectors": ["yolov8l"]}
    return load_config(run, repository / "config")["datasets"]["mine"]


def download(**changes: object) -> dict:
    entry = {"path": "a.zip", "urls": ["https://x/a"], "licence": "none", "access": "open"}
    return entry | changes


@pytest.mark.parametrize(
    "changes",
    [
        {"urls": ["http://x/a"], **HASH},
        {"urls": ["http://x/page"], "access": "login"},
        {"urls": ["mirror/a.zip", "file:///a.zip", {"doi": "10.5281/zenodo.1", "file": "a"}]},
        {"unpack": {"members": ["a/b.c/.d"], "into": "x"}},
    ],
)
def test_what_is_allowed(repository: Path, tmp_path: Path, changes: dict) -> None:
    spec = load(repository, tmp_path, downloads=[download(**changes)])
    assert spec["downloads"] == [download(**changes)]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"urls": ["http://x/a"]}, "downloads.0: 'sha256' is a required property"),
        ({"urls": [{"doi": "10.1/x"}]}, "downloads.0.urls.0"),
        ({"path": "../a"}, "downloads.0.path: '../a' does not match"),
        ({"path": "/a"}, "downloads.0.path: '/a' does not match"),
        ({"unpack": {"members": ["a/../../b"]}}, "downloads.0.unpack.members.0"),
        ({"unpack": {"members": []}}, "downloads.0.unpack.members"),
        ({"sha256": "0"}, "downloads.0.sha256: '0' does not match"),
        ({"access": "maybe"}, "downloads.0.access: 'maybe' is not one of open, login"),
        ({"md5": "0"}, "downloads.0: unknown key md5"),
    ],
)
def test_what_is_not(repository: Path, tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(DataError) as raised:
        load(repository, tmp_path, downloads=[download(**changes)])
    assert message in str(raised.value)


def test_downloads_need_a_folder(repository: Path, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="'root' is a required property"):
        load(repository, tmp_path, downloads=[download()], root=None)


@pytest.mark.parametrize("name", REAL)
def test_every_file_of_the_shipped_data_sets_is_brought(repository: Path, name: str) -> None:
    text = (repository / f"config/datasets/{name}.yaml").read_text(encoding="utf-8")
    spec = yaml.safe_load(text)
    for file in spec["files"].values():
        assert len(bringing(spec["downloads"], file)) == 1, file
    brought = {
        path for file in spec["files"].values() for path in bringing(spec["downloads"], file)
    }
    assert brought == {entry["path"] for entry in spec["downloads"]}

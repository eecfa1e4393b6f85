"""Addresses of files that a DOI stands for."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from labelquality.download import ensure
from labelquality.download.sources import SourceError, resolve
from labelquality.errors import DataError
from loopback_server import Reply, Server, good

DOI = "10.7910/DVN/L7QCUG"
LISTING = {
    "data": [
        {"label": "soft.json", "dataFile": {"id": 11}},
        {"label": "soft.json", "directoryLabel": "old", "dataFile": {"id": 12}},
        {"label": "times.json", "directoryLabel": "more", "dataFile": {"id": 14}},
        {"label": "times.json", "directoryLabel": "less", "dataFile": {"id": 15}},
        {"label": "once.json", "directoryLabel": "more", "dataFile": {"id": 16}},
        {
            "label": "votes.tab",
            "dataFile": {
                "id": 13,
                "originalFileFormat": "text/csv",
                "originalFileName": "votes.csv",
            },
        },
    ]
}


def unasked(url: str) -> object:
    raise AssertionError(f"{url} was fetched")


@pytest.mark.parametrize(
    ("source", "url"),
    [
        ("https://a/b", "https://a/b"),
        (
            {"doi": "10.5281/zenodo.6885144", "file": "a b.zip"},
            "https://zenodo.org/api/records/6885144/files/a%20b.zip/content",
        ),
        (
            {"doi": f"doi:{DOI}", "file_id": 7},
            "https://dataverse.harvard.edu/api/access/datafile/7",
        ),
        (
            {"doi": f"https://doi.org/{DOI}", "file_id": 7, "original": True},
            "https://dataverse.harvard.edu/api/access/datafile/7?format=original",
        ),
        (
            {"doi": "10.18710/X", "file_id": 7, "server": "https://dataverse.no"},
            "https://dataverse.no/api/access/datafile/7",
        ),
    ],
)
def test_an_address_or_a_number_needs_no_question(source: object, url: str) -> None:
    assert resolve(source, unasked) == url


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("soft.json", "11"),
        ("old/soft.json", "12"),
        ("once.json", "16"),
        ("votes.csv", "13?format=original"),
        ("votes.tab", "13?format=original"),
    ],
)
def test_a_name_is_looked_up_and_rewritten_tables_come_as_uploaded(name: str, end: str) -> None:
    asked = []
    url = resolve({"doi": DOI, "file": name}, lambda url: asked.append(url) or LISTING)
    assert url == f"https://dataverse.harvard.edu/api/access/datafile/{end}"
    assert asked == [
        "https://dataverse.harvard.edu/api/datasets/:persistentId/versions/:latest-published/files"
        f"?persistentId=doi:{DOI}"
    ]


@pytest.mark.parametrize(
    ("source", "answer", "message"),
    [
        (
            {"doi": DOI, "file": "x.json"},
            LISTING,
            "0 files are called x.json; it has less/times.json, ",
        ),
        ({"doi": DOI, "file": "times.json"}, LISTING, "2 files are called times.json"),
        ({"doi": DOI, "file": "x.json"}, {"data": [3]}, "is not a list of files"),
        ({"doi": DOI, "file": "x.json"}, [], "is not a list of files"),
        ({"doi": "10.1/x", "file": "x"}, {}, "its host is not known; give server"),
        ({"doi": "10.5281/zenodo.1", "file_id": 3}, {}, "give file instead of file_id"),
    ],
)
def test_what_does_not_resolve_says_why(source: dict, answer: object, message: str) -> None:
    with pytest.raises(SourceError, match=message):
        resolve(source, lambda _: answer)


def test_a_file_of_a_doi_is_fetched(server: Server, tmp_path: Path) -> None:
    listing = f"/api/datasets/:persistentId/versions/:latest-published/files?persistentId=doi:{DOI}"
    source = {"doi": DOI, "file": "soft.json", "server": server.address}
    entry = {"path": "soft.json", "urls": [source], "licence": "none", "access": "open"}
    server.serve(listing, Reply(b"<html>"))
    with pytest.raises(DataError, match="the answer is not JSON"):
        ensure(entry, tmp_path)
    server.serve(listing, Reply(status=503), Reply(orjson.dumps(LISTING)))
    server.serve("/api/access/datafile/11", good(b"{}"))
    waits: list[float] = []
    ensure(entry, tmp_path, sleep=waits.append)
    assert (tmp_path / "soft.json").read_bytes() == b"{}"
    assert waits == [1]

"""Where a file comes from: an address as it is, or the file of a DOI."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

Source = str | Mapping[str, Any]
ZENODO = "10.5281/zenodo."
SERVERS = {ZENODO: "https://zenodo.org", "10.7910/": "https://dataverse.harvard.edu"}


class SourceError(Exception):
    """This source cannot give the file; another may."""


def resolve(source: Source, get_json: Callable[[str], Any]) -> str:
    """Address of `source`, an entry of `urls` in a data set's downloads.

    A string is returned as it is: http, https or file URL, or a local path. A mapping names the
    `doi` of a record on Zenodo or on a Dataverse, and one of its files: by `file`, its name (with
    its folder in the record, if the name alone is not enough), or, on a Dataverse, by `file_id`.
    `server` is needed for a Dataverse other than Harvard's. `get_json` fetches an address and
    parses what it gets.

    A Dataverse rewrites tables (csv, Stata and the like); `format=original` asks for what was
    uploaded and is refused for files that were not rewritten. So it is sent for a file id only
    where `original` says so, and for a file name where the record says that it was rewritten.

    Raises SourceError where the record has no such file or its host is not known.
    """
    if isinstance(source, str):
        return source
    doi = source["doi"].removeprefix("https://doi.org/").removeprefix("doi:")
    known = (server for prefix, server in SERVERS.items() if doi.startswith(prefix))
    server = source.get("server") or next(known, None)
    if server is None:
        raise SourceError(f"doi {doi}: its host is not known; give server")
    if doi.startswith(ZENODO):
        return _zenodo(server, doi, source)
    if "file_id" in source:
        return _datafile(server, source["file_id"], bool(source.get("original", False)))
    return _dataverse(server, doi, source["file"], get_json)


def _zenodo(server: str, doi: str, source: Mapping[str, Any]) -> str:
    if "file" not in source:
        raise SourceError(f"doi {doi}: Zenodo knows files by name; give file instead of file_id")
    record = doi.removeprefix(ZENODO)
    return f"{server}/api/records/{record}/files/{quote(source['file'])}/content"


def _datafile(server: str, file_id: int, original: bool) -> str:
    return f"{server}/api/access/datafile/{file_id}" + ("?format=original" if original else "")


def _dataverse(server: str, doi: str, name: str, get_json: Callable[[str], Any]) -> str:
    address = (
        f"{server}/api/datasets/:persistentId/versions/:latest-published/files"
        f"?persistentId=doi:{quote(doi, safe='/')}"
    )
    try:
        entries = [(_names(entry), entry["dataFile"]) for entry in get_json(address)["data"]]
        found = [file for names, file in entries if name in names]
        found = found or [file for names, file in entries if name in map(_base_name, names)]
        if len(found) == 1:
            return _datafile(server, found[0]["id"], "originalFileFormat" in found[0])
    except (KeyError, TypeError, AttributeError):
        raise SourceError(f"{address}: is not a list of files") from None
    listing = ", ".join(sorted(max(names, key=len) for names, _ in entries)[:20]) or "no file"
    raise SourceError(f"doi {doi}: {len(found)} files are called {name}; it has {listing}")


def _base_name(name: str) -> str:
    return name.rpartition("/")[2]


def _names(entry: Mapping[str, Any]) -> set[str]:
    """Names of a file, before and after it was rewritten, with its folder if it is in one."""
    folder = entry.get("directoryLabel", "")
    names = {entry["label"], entry["dataFile"].get("originalFileName", entry["label"])}
    return {f"{folder}/{name}" if folder else name for name in names}

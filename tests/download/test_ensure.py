"""Files of a data set against a server that misbehaves."""

from __future__ import annotations

import email.utils
import hashlib
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from labelquality.download import bringing, ensure
from labelquality.errors import DataError
from loopback_server import Reply, Server, good

BODY = np.random.default_rng(5).bytes(200_000)
OTHER = np.random.default_rng(6).bytes(200_000)
PAGE = b"\n<!DOCTYPE html><html><title>Log in</title></html>"


def sha256(body: bytes) -> str:
    return hashlib.sha256(body).hexdigest()


def entry(*urls: object, pin: bytes | None = BODY, **more: object) -> dict:
    pinned = {} if pin is None else {"sha256": sha256(pin), "size": len(pin)}
    return {"path": "in/a.bin", "urls": list(urls), "licence": "none", "access": "open"} | (
        pinned | more
    )


@pytest.fixture
def waits() -> list[float]:
    return []


@pytest.fixture
def get(tmp_path: Path, waits: list[float]):
    return lambda *urls, **more: ensure(entry(*urls, **more), tmp_path, sleep=waits.append)


def names(root: Path) -> list[str]:
    return sorted(path.name for path in (root / "in").iterdir())


def ranges(server: Server) -> list[str | None]:
    return [request.headers.get("Range") for request in server.requests]


def test_a_file_is_fetched_verified_and_noted(server: Server, get, tmp_path: Path) -> None:
    stored = get(server.serve("/a", good(BODY)))
    assert (stored.size, stored.sha256) == (len(BODY), sha256(BODY))
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY
    assert names(tmp_path) == ["a.bin", "a.bin.lock"]
    assert server.requests[0].headers["User-Agent"].startswith("labelquality/")


@pytest.mark.parametrize("pin", [BODY, None])
def test_what_is_there_and_right_needs_no_network(
    pin: bytes | None, get, tmp_path: Path, offline: None
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(BODY)
    for _ in range(2):
        assert get("http://127.0.0.1:9/a", pin=pin).sha256 == sha256(BODY)


def test_a_broken_transfer_goes_on_where_it_stopped(
    server: Server, get, waits: list[float], tmp_path: Path
) -> None:
    get(server.serve("/a", good(BODY, cut=70_000), good(BODY)))
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY
    assert ranges(server) == [None, "bytes=70000-"]
    assert server.requests[1].headers["If-Range"] == '"1"'
    assert waits == [1]


def test_the_next_run_goes_on_as_well(server: Server, get, tmp_path: Path) -> None:
    url = server.serve("/a", good(BODY, cut=70_000), Reply(status=503))
    with pytest.raises(DataError, match=r"HTTP status 503 .*; given up after 5 attempts"):
        get(url)
    assert names(tmp_path) == ["a.bin.part", "a.bin.part.json"]
    server.serve("/a", good(BODY))
    get(url)
    assert ranges(server)[-1] == "bytes=70000-"
    assert names(tmp_path) == ["a.bin", "a.bin.lock"]


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(cuts=st.lists(st.integers(1, 60_000), max_size=12), ranged=st.booleans())
def test_a_file_arrives_through_any_interruptions_that_let_something_through(
    server: Server, tmp_path_factory: pytest.TempPathFactory, cuts: list[int], ranged: bool
) -> None:
    root = tmp_path_factory.mktemp("root")
    whole = good(BODY) if ranged else Reply(BODY)
    broken = [
        good(BODY, cut=cut) if ranged else Reply(BODY, cut=cut) for cut in cuts[: ranged or 4]
    ]
    ensure(entry(server.serve("/a", *broken, whole)), root, sleep=lambda _: None)
    assert (root / "in" / "a.bin").read_bytes() == BODY


def test_a_server_that_ignores_ranges_starts_anew(server: Server, get, tmp_path: Path) -> None:
    get(server.serve("/a", good(BODY, cut=150_000), Reply(BODY, cut=20_000), Reply(BODY)))
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


def test_a_version_that_changed_meanwhile_is_not_mixed_with_the_old(
    server: Server, get, tmp_path: Path
) -> None:
    get(server.serve("/a", good(OTHER, '"1"', cut=70_000), good(BODY, '"2"')), pin=None)
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


def test_without_a_validator_and_a_hash_nothing_is_gone_on_with(server: Server, get) -> None:
    get(server.serve("/a", good(BODY, "", cut=70_000), good(BODY, "")), pin=None)
    assert ranges(server) == [None, None]


def test_halves_that_do_not_match_are_fetched_anew_once(
    server: Server, get, tmp_path: Path
) -> None:
    get(server.serve("/a", good(OTHER, "", cut=70_000), good(BODY, "")))
    assert ranges(server) == [None, "bytes=70000-", None]
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


def test_another_mirror_goes_on_where_the_first_stopped(server: Server, get) -> None:
    first = server.serve("/a", good(BODY, cut=70_000), Reply(status=404))
    get(first, server.serve("/b", good(BODY, '"9"')))
    assert ranges(server) == [None, "bytes=70000-", "bytes=70000-"]


def part(root: Path, body: bytes) -> None:
    (root / "in").mkdir()
    (root / "in" / "a.bin.part").write_bytes(body)


def test_a_part_that_is_complete_is_taken(server: Server, get, tmp_path: Path) -> None:
    part(tmp_path, BODY)
    get(server.serve("/a", good(BODY)))
    assert ranges(server) == [f"bytes={len(BODY)}-"]


def test_a_part_that_is_too_long_is_not(server: Server, get, tmp_path: Path) -> None:
    part(tmp_path, OTHER + BODY)
    get(server.serve("/a", good(BODY)))
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("given", ["bytes 10-199999/200000", "", "bytes */200000", "lines 1-2/3"])
def test_a_range_that_was_not_asked_for_is_refused(
    given: str, server: Server, get, tmp_path: Path
) -> None:
    part(tmp_path, BODY[:70_000])
    url = server.serve("/a", Reply(BODY[10:], 206, {"Content-Range": given}), good(BODY))
    get(url)
    assert ranges(server) == ["bytes=70000-", None]
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


def chunked(*chunks: bytes, end: bool) -> Reply:
    body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
    headers = {"Transfer-Encoding": "chunked"}
    return Reply(body + (b"0\r\n\r\n" if end else b""), 200, headers, length=False)


def test_a_transfer_of_unknown_size_that_breaks_off_is_noticed(
    server: Server, get, tmp_path: Path
) -> None:
    get(server.serve("/a", chunked(BODY[:9000], end=False), chunked(BODY, end=True)), pin=None)
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY


@pytest.mark.parametrize("reply", [Reply(cut=-1), Reply(status=500), Reply(BODY, cut=0)])
def test_attempts_are_spaced_out_and_end(
    reply: Reply, server: Server, get, waits: list[float]
) -> None:
    with pytest.raises(DataError, match="given up after 5 attempts"):
        get(server.serve("/a", reply))
    assert waits == [1, 2, 4, 8]


def test_a_server_is_given_the_time_that_it_asks_for(
    server: Server, get, waits: list[float]
) -> None:
    date = email.utils.formatdate(time.time() + 100, usegmt=True)
    replies = [
        Reply(status=429, headers={"Retry-After": "17"}),
        Reply(status=503, headers={"Retry-After": date}),
        Reply(status=403, headers={"Retry-After": "0"}),
        Reply(status=429, headers={"Retry-After": "soon"}),
    ]
    get(server.serve("/a", *replies, good(BODY)))
    assert waits[0] == 17
    assert 90 < waits[1] <= 100
    assert waits[2:] == [0, 8]


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        (Reply(status=404), "HTTP status 404"),
        (Reply(status=403), "HTTP status 403"),
        (Reply(status=429, headers={"Retry-After": "99999"}), "asks to wait 99999 s"),
        (Reply(status=302, headers={"Location": "file:///etc/passwd"}), "HTTP status 302"),
        (Reply(BODY, headers={"Content-Encoding": "gzip"}), "sent as gzip"),
        (Reply(PAGE), r"sent a web page instead of a\.bin"),
    ],
)
def test_what_waiting_does_not_mend_is_left_to_the_next_mirror(
    reply: Reply, message: str, server: Server, get, waits: list[float]
) -> None:
    first = server.serve("/a", reply)
    with pytest.raises(DataError, match=f"no source gives it.*{message}") as raised:
        get(first)
    assert "\n" not in str(raised.value)
    assert get(first, server.serve("/b", good(BODY))).sha256 == sha256(BODY)
    assert waits == []


def test_a_web_page_does_not_cost_what_is_there_already(
    server: Server, get, tmp_path: Path
) -> None:
    url = server.serve("/a", good(BODY, cut=70_000), Reply(PAGE))
    with pytest.raises(DataError, match="web page"):
        get(url)
    assert (tmp_path / "in" / "a.bin.part").read_bytes() == BODY[:70_000]


def test_a_wrong_file_stops_the_run_and_the_next_without_being_fetched_again(
    server: Server, get, tmp_path: Path
) -> None:
    url = server.serve("/a", good(OTHER))
    with pytest.raises(DataError) as raised:
        get(url, server.serve("/b", good(BODY)))
    for part_of_message in (url, sha256(OTHER), sha256(BODY), str(len(OTHER)), "a.bin.bad"):
        assert part_of_message in str(raised.value)
    assert names(tmp_path) == ["a.bin.bad"]
    with pytest.raises(DataError, match=sha256(OTHER)):
        get(url)
    assert len(server.requests) == 1


def test_a_wrong_file_becomes_the_right_one_by_correcting_its_hash(
    server: Server, get, tmp_path: Path
) -> None:
    url = server.serve("/a", good(OTHER))
    with pytest.raises(DataError, match="expected"):
        get(url)
    assert get(url, pin=OTHER).sha256 == sha256(OTHER)
    assert len(server.requests) == 1
    assert names(tmp_path) == ["a.bin", "a.bin.lock"]


def test_a_wrong_file_that_was_deleted_is_fetched_again(
    server: Server, get, tmp_path: Path
) -> None:
    url = server.serve("/a", good(OTHER), good(BODY))
    with pytest.raises(DataError, match="expected"):
        get(url)
    (tmp_path / "in" / "a.bin.bad").unlink()
    assert get(url).sha256 == sha256(BODY)


def test_a_wrong_size_alone_is_refused(server: Server, get) -> None:
    with pytest.raises(DataError, match="size is 200000, expected 7"):
        get(server.serve("/a", good(BODY)), pin=None, size=7)


def test_a_file_of_the_users_that_is_wrong_is_left_alone(
    get, tmp_path: Path, offline: None
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(OTHER)
    with pytest.raises(DataError, match="correct the download's sha256 and size, or delete"):
        get("http://127.0.0.1:9/a")
    assert (tmp_path / "in" / "a.bin").read_bytes() == OTHER


def test_a_file_without_a_pinned_hash_is_held_to_the_first_one_seen(
    server: Server, get, tmp_path: Path, capsys: pytest.CaptureFixture
) -> None:
    url = server.serve("/a", good(BODY), good(OTHER))
    get(url, pin=None)
    assert "no sha256 is pinned" in capsys.readouterr().out
    (tmp_path / "in" / "a.bin").unlink()
    for _ in range(2):
        with pytest.raises(DataError, match=r"if it may have changed, delete a\.bin\.lock"):
            get(url, pin=None)
    (tmp_path / "in" / "a.bin.lock").unlink()
    assert get(url, pin=None).sha256 == sha256(OTHER)
    assert len(server.requests) == 2


def test_a_note_that_cannot_be_read_is_an_error(get, tmp_path: Path, offline: None) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(BODY)
    (tmp_path / "in" / "a.bin.lock").write_text("{}")
    with pytest.raises(DataError, match=r"a\.bin\.lock: cannot be read; delete it"):
        get("http://127.0.0.1:9/a")


@pytest.mark.parametrize("as_url", [True, False])
def test_a_mirror_may_be_a_local_file(as_url: bool, get, tmp_path: Path, offline: None) -> None:
    (tmp_path / "own copy").write_bytes(BODY)
    copy = tmp_path / "own copy"
    absent = tmp_path / "absent"
    get(absent.as_uri() if as_url else str(absent), copy.as_uri() if as_url else str(copy))
    assert (tmp_path / "in" / "a.bin").read_bytes() == BODY
    assert copy.is_file()


@pytest.mark.parametrize("url", ["ftp://127.0.0.1/a", "file://host/a", "http://127.0.0.1 /a", "."])
def test_an_address_that_is_none_is_refused(url: str, get, waits: list[float]) -> None:
    with pytest.raises(DataError, match="no source gives it"):
        get(url)
    assert waits == []


def test_a_login_is_left_to_the_user_in_one_line(get, tmp_path: Path, offline: None) -> None:
    with pytest.raises(DataError, match=r"needs a login .* get it from https://x/get") as raised:
        get("https://x/get", access="login")
    assert str(tmp_path / "in" / "a.bin") in str(raised.value)
    (tmp_path / "in" / "a.bin").write_bytes(BODY)
    assert get("https://x/get", access="login").sha256 == sha256(BODY)


def test_a_disk_that_refuses_is_one_line(get, tmp_path: Path, server: Server) -> None:
    (tmp_path / "in").write_text("a file where a folder should be")
    with pytest.raises(DataError, match="mend it and run again"):
        get(server.serve("/a", good(BODY)))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only to root")
def test_right_files_may_be_read_only(get, tmp_path: Path, offline: None) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.bin").write_bytes(BODY)
    (tmp_path / "in").chmod(0o555)
    assert get("http://127.0.0.1:9/a").sha256 == sha256(BODY)
    (tmp_path / "in").chmod(0o755)


def test_two_runs_fetch_a_file_once(server: Server, tmp_path: Path) -> None:
    url = server.serve("/a", good(BODY))
    threads = [threading.Thread(target=ensure, args=(entry(url), tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(server.requests) == 1


def test_a_file_is_brought_by_itself_its_folder_or_its_parts() -> None:
    downloads = [
        {"path": "a.json"},
        {"path": "b.zip", "unpack": {"members": ["x/val"]}},
        {"path": "c.zip", "unpack": {"into": "y", "members": ["val"]}},
    ]
    assert bringing(downloads, "a.json") == ["a.json"]
    assert bringing(downloads, "x/val/1.png") == ["b.zip"]
    assert bringing(downloads, "y") == ["c.zip"]
    assert bringing(downloads, "val") == []
    assert bringing(downloads, "x/value") == []

"""An HTTP server on loopback that answers as it is told, well or badly, and keeps its requests."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Reply:
    """An answer; the connection ends after `cut` bytes of it, even of its head if that is -1."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    length: bool = True


Answer = Reply | Callable[[Mapping[str, str]], Reply]


@dataclass
class Request:
    path: str
    headers: Mapping[str, str]


def good(body: bytes, etag: str = '"1"', cut: int | None = None) -> Answer:
    """A file on a server that knows ranges, as of version `etag`."""

    def answer(headers: Mapping[str, str]) -> Reply:
        asked = re.fullmatch(r"bytes=(\d+)-", headers.get("Range", ""))
        own = {"ETag": etag} if etag else {}
        if asked is None or headers.get("If-Range", etag) != etag:
            return Reply(body, headers=own, cut=cut)
        start = int(asked[1])
        if start >= len(body):
            return Reply(status=416, headers={"Content-Range": f"bytes */{len(body)}"})
        span = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return Reply(body[start:], 206, own | {"Content-Range": span}, cut)

    return answer


class Server:
    """Answers to a path come in the order given, the last one for ever."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.answers: dict[str, list[Answer]] = {}
        self.requests: list[Request] = []
        self.lock = threading.Lock()

    def serve(self, path: str, *answers: Answer) -> str:
        """The URL of `path`, which is answered so from now on."""
        self.answers[path] = list(answers)
        return self.address + path

    def next(self, request: Request) -> Reply:
        with self.lock:
            self.requests.append(request)
            waiting = self.answers.get(request.path, [Reply(status=404)])
            answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        return answer(request.headers) if callable(answer) else answer


@contextmanager
def loopback() -> Iterator[Server]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            reply = server.next(Request(self.path, dict(self.headers)))
            self.close_connection = True
            if reply.cut == -1:
                return
            self.send_response(reply.status)
            sizes = {"Content-Length": str(len(reply.body))} if reply.length else {}
            for name, value in ({"Connection": "close"} | sizes | reply.headers).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(reply.body[: reply.cut])

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server = Server(f"http://127.0.0.1:{http.server_port}")
        thread = threading.Thread(target=http.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield server
        http.shutdown()
        thread.join()

"""A small HTTP server under the test's control."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Asked:
    """One request as the server got it."""

    method: str
    path: str
    headers: dict[str, str]
    body: Any


@dataclass
class Reply:
    """What the server sends: JSON unless `data` is text or bytes."""

    data: Any
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def raw(self) -> bytes:
        if isinstance(self.data, bytes):
            return self.data
        return (self.data if isinstance(self.data, str) else json.dumps(self.data)).encode()


@dataclass
class FakeServer:
    """Answers by path; keeps what it was asked and how many bytes it could send."""

    url: str
    asked: list[Asked] = field(default_factory=list)
    sent: int = 0

    def paths(self) -> list[str]:
        return [each.path for each in self.asked]


Answers = Mapping[str, "Reply | Callable[[Asked], Reply]"]


@contextlib.contextmanager
def serving(answers: Answers) -> Iterator[FakeServer]:
    """A server that is given its answers by path; anything else is a 404."""

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            body = json.loads(self.rfile.read(length)) if length else None
            asked = Asked(self.command, self.path, dict(self.headers), body)
            fake.asked.append(asked)
            found = answers.get(self.path, Reply({"error": {"message": "File Not Found"}}, 404))
            reply = found(asked) if callable(found) else found
            self.send_response(reply.status)
            for name, value in {"Content-Length": str(len(reply.raw)), **reply.headers}.items():
                self.send_header(name, value)
            self.end_headers()
            try:
                for start in range(0, len(reply.raw), 2**16):
                    self.wfile.write(reply.raw[start : start + 2**16])
                    fake.sent += len(reply.raw[start : start + 2**16])
            except OSError:  # the reader hung up, as it may
                self.close_connection = True

        do_GET = do_POST = answer  # noqa: N815 # the library's names

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    fake = FakeServer(f"http://127.0.0.1:{http.server_port}")
    threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    try:
        yield fake
    finally:
        http.shutdown()
        http.server_close()

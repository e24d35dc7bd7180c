"""A web server on loopback that answers what a test says, and remembers what it was asked."""

from __future__ import annotations

import contextlib
import json
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@dataclass
class Page:
    """One answer; a body that is no text is sent as JSON."""

    body: Any = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


def off(message: str) -> Page:
    """How llama.cpp says that an endpoint is off."""
    return Page({"error": {"code": 501, "message": message, "type": "not_supported_error"}}, 501)


@dataclass
class Pages:
    """Answers by path, or by path and query.

    Attributes:
        pages: what is answered; a function is asked each time, None closes the connection unanswered.
        asked: paths with their queries, in order. keys: the Authorization headers that came with them.
    """

    pages: dict[str, Page | Callable[[], Page | None] | None] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    address: str = ""

    def count(self, path: str) -> int:
        return sum(asked.partition("?")[0] == path for asked in self.asked)


@contextlib.contextmanager
def serving(pages: Pages, port: int = 0) -> Iterator[Pages]:
    """Serve on loopback."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:  # the library's name
            pages.asked.append(self.path)
            pages.keys.append(self.headers["Authorization"])
            page = pages.pages.get(self.path, pages.pages.get(self.path.partition("?")[0], Page(status=404)))
            if callable(page):
                page = page()
            if page is None:
                self.close_connection = True
                return
            body = (page.body if isinstance(page.body, str) else json.dumps(page.body)).encode()
            self.send_response(page.status)
            for name, value in page.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.daemon_threads = True
    pages.address = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield pages
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

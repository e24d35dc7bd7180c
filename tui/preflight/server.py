"""One running server, asked politely: few requests, bounded answers, no redirects."""

from __future__ import annotations

import contextlib
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx

from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

PATIENCE = httpx.Timeout(35, connect=10)
"""halogen's /health waits up to 30 s for its engine."""
LARGEST_ANSWER = 16 * 2**20


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: HTTP status; None when nothing came back, then `text` says why.
        text: the body.
    """

    status: int | None
    text: str

    @property
    def body(self) -> Any:
        """The body read as JSON; None where it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def error(self) -> str:
        """The server's own error message made harmless; empty without one."""
        error = self.body.get("error") if isinstance(self.body, dict) else None
        message = error.get("message") if isinstance(error, dict) else error
        return harmless(message) if isinstance(message, str) else ""

    @property
    def refusal(self) -> str:
        """Why there is no use in this answer, in words."""
        if self.status is None:
            return self.text
        if self.status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return "it asks for an API key"
        return f"it answers {self.status}" + (f": {self.error}" if self.error else "")


class Server:
    """A server at an address.

    Attributes:
        url: where it is, without a password.
    """

    def __init__(self, client: httpx.Client, url: str) -> None:
        self._client = client
        self._url = url.rstrip("/")
        self.url = re.sub(r"//[^/@]*@", "//", self._url)

    def get(self, path: str) -> Answer:
        """Ask for a path."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """Send one JSON body to a path."""
        return self._ask("POST", path, body)

    def _ask(self, method: str, path: str, body: dict[str, Any] | None) -> Answer:
        data = bytearray()
        try:
            with self._client.stream(method, self._url + path, json=body) as response:
                for piece in response.iter_bytes():
                    data += piece
                    if len(data) > LARGEST_ANSWER:
                        return Answer(None, "its answer is too large")
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            return Answer(None, f"cannot be reached: {harmless(str(error)) or type(error).__name__}")
        return Answer(response.status_code, data.decode("utf-8", "replace"))


@contextlib.contextmanager
def connect(url: str, api_key: str | None = None) -> Iterator[Server]:
    """A server to ask, with its connections closed in the end.

    Args:
        url: its base address.
        api_key: sent as a bearer token.
    """
    headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
    # A server here or in this network is not looked for by a proxy.
    proxied = url.startswith("https://")
    with httpx.Client(timeout=PATIENCE, headers=headers, follow_redirects=False, trust_env=proxied) as client:
        yield Server(client, url)

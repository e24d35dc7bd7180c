"""One GET at a time to one server: bounded, never sent on to another host, its key kept to itself."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import httpx

from tui import __version__
from tui.feeds.protocol import FeedError
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

if find_spec("sniffio") is None:
    # httpcore tries to import it some times a request, and each try searches all of the path again.
    sys.modules["sniffio"] = None  # type: ignore[assignment]  # how import is told that it is not there

PATIENCE = httpx.Timeout(10.0, connect=5.0)
LARGEST = 16 * 2**20
_REDIRECTS = 3
_KEY_GOES = "put it into SPECTOP_API_KEY, or name its file with --api-key-file"
NEEDS_KEY = f"it asks for an API key: {_KEY_GOES}"
BAD_KEY = "it refuses the API key that SPECTOP_API_KEY or --api-key-file gives"


class TroubleError(FeedError):
    """Nothing can be read now; worth another try."""


class SlowError(TroubleError):
    """No answer came in time."""


class FinalError(FeedError):
    """Nothing can be read until the operator does something."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: HTTP status. text: the body.
        process: differs between one process of a llama.cpp server and the next; None where it is not told.
    """

    status: int
    text: str
    process: str | None = None

    @property
    def body(self) -> Any:
        """The body read as JSON; None where it is none."""
        try:
            return json.loads(self.text)
        except (ValueError, RecursionError):
            return None

    @property
    def table(self) -> dict[str, Any]:
        """The body as a JSON object; empty where it is none."""
        body = self.body
        return body if isinstance(body, dict) else {}

    @property
    def said(self) -> str:
        """The status with the server's own words."""
        error = self.table.get("error")
        message = error.get("message") if isinstance(error, dict) else error
        return f"it answers {self.status}" + (f": {harmless(message)}" if isinstance(message, str) else "")


class Connection:
    """Asks one server."""

    def __init__(self, address: str, api_key: str | None) -> None:
        """Nothing is asked yet.

        Args:
            address: http(s)://host:port, with a path where the server has one (--api-prefix).
            api_key: sent as a bearer token, to this address alone.

        Raises:
            FeedError: it is no address, or holds a password, which others can read on the command line.
        """
        try:
            self._url = httpx.URL(address.rstrip("/"))
        except httpx.InvalidURL as error:
            raise FeedError(f"{harmless(address)} is no address: {error}") from None
        if not self._url.host:
            raise FeedError(f"{harmless(address)} is no address: http://HOST:PORT is one")
        if self._url.userinfo:
            raise FeedError(
                f"{self._url.host}: a password on the command line can be read by others; "
                f"if the server asks for a key, {_KEY_GOES}"
            )
        self._has_key = api_key is not None
        headers = {"User-Agent": f"spectop/{__version__}"}
        if api_key is not None:
            headers["Authorization"] = f"Bearer {api_key}"
        # Without TLS its set-up is left out (40 ms a server), and a server here is not looked for by a proxy.
        tls = self._url.scheme == "https"
        self._client = httpx.AsyncClient(headers=headers, timeout=PATIENCE, verify=tls, trust_env=tls)

    async def close(self) -> None:
        """Close the connection."""
        await self._client.aclose()

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, patience: httpx.Timeout = PATIENCE
    ) -> Answer:
        """Ask for a path.

        Raises:
            SlowError: no answer in time.
            TroubleError: no answer.
            FinalError: it asks for another key.
        """
        url = self._url.copy_with(raw_path=self._url.raw_path.rstrip(b"/") + path.encode())
        request = self._client.build_request("GET", url, params=query, timeout=patience)
        try:
            response = await self._client.send(request, stream=True)
            for _ in range(_REDIRECTS):
                if not response.has_redirect_location:
                    break
                await response.aclose()
                response = await self._client.send(self._redirected(response), stream=True)
            else:
                await response.aclose()
                raise TroubleError("it sends on and on")
            body = await _body(response)
        except httpx.TimeoutException:
            raise SlowError("it gives no answer in time") from None
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise TroubleError(
                f"it cannot be reached: {harmless(str(error)) or type(error).__name__}"
            ) from None
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise FinalError(BAD_KEY if self._has_key else NEEDS_KEY)
        return Answer(response.status_code, body, response.headers.get("Process-Start-Time-Unix"))

    def _redirected(self, response: httpx.Response) -> httpx.Request:
        """The request that a redirect asks for, on the same host, port and scheme."""
        following = response.next_request
        if following is None or _origin(following.url) != _origin(self._url):
            place = harmless(response.headers.get("Location", ""))
            raise TroubleError(
                f"it sends on to {place}, which is not followed: name that address if it is meant"
            )
        return following


def _origin(url: httpx.URL) -> tuple[str, str, int | None]:
    return url.scheme, url.host, url.port


async def _body(response: httpx.Response) -> str:
    data = bytearray()
    pieces: AsyncIterator[bytes] = response.aiter_bytes()
    try:
        async for piece in pieces:
            data += piece
            if len(data) > LARGEST:
                raise TroubleError("its answer is too large")
    finally:
        await response.aclose()
    return data.decode("utf-8", "replace")

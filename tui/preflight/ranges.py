"""GGUF headers of local files and http(s) URLs, without ever fetching a whole file."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import httpx

from tui.preflight.gguf import GgufError, Header, read_header

MAX_REDIRECTS = 5
MAX_PIECES = 200
TIMEOUT = httpx.Timeout(30, connect=10)


class RangeError(OSError):
    """A piece of the file cannot be had; the text says why and what to do."""


def open_header(place: str) -> Header:
    """Read the GGUF header of a local path or an http(s) URL.

    Raises:
        GgufError: it is no GGUF.
        RangeError: it cannot be read at all.
    """
    if place.startswith(("http://", "https://")):
        with httpx.Client(timeout=TIMEOUT, headers={"Accept-Encoding": "identity"}) as client:
            remote = RemoteFile(client, place)
            remote.read(0, 4)
            return read_header(remote.read, remote.size)
    path = Path(place)
    try:
        if path.exists() and not path.is_file():
            raise RangeError("not a file")
        with path.open("rb") as file:

            def read(offset: int, length: int) -> bytes:
                file.seek(offset)
                return file.read(length)

            return read_header(read, path.stat().st_size)
    except OSError as error:
        raise RangeError(f"cannot be read: {error.strerror or error}") from error


def open_model(place: str) -> Header:
    """Read the header of a whole model: of a split one, the tensors of all its pieces.

    Raises:
        GgufError: it is no GGUF, or holds less than it announces.
        RangeError: it, or a piece of it, cannot be read.
    """
    header = open_header(place)
    if header.missing:
        raise GgufError(f"{header.missing} bytes of the announced weights are missing: a broken download")
    name = re.fullmatch(r"(.*-)(\d{5})-of-(\d{5})(\.gguf.*)", place)
    if not name or (header.number("split.count") or 1) < 2:
        return header
    pieces = range(1, min(int(name[3]), MAX_PIECES) + 1)
    others = (open_header(f"{name[1]}{n:05d}-of-{name[3]}{name[4]}") for n in pieces if n != int(name[2]))
    tensors = dict(header.tensors)
    for other in others:
        tensors |= other.tensors
    return replace(header, tensors=tensors, file_size=None)


class RemoteFile:
    """A file behind http(s), read by byte ranges.

    Attributes:
        size: bytes of the whole file, known after the first read where the server tells.
    """

    def __init__(self, client: httpx.Client, url: str) -> None:
        self.client = client
        self.url = url
        self.size: int | None = None

    def read(self, offset: int, length: int) -> bytes:
        """Fetch one range, following redirects only where that is safe.

        Returns:
            The bytes, fewer than asked only at the end of the file.

        Raises:
            RangeError: the server does not give ranges, refuses, or cannot be reached.
        """
        url = self.url
        for _ in range(MAX_REDIRECTS + 1):
            try:
                step = self._fetch(url, offset, length)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise RangeError(f"cannot be fetched: {str(error) or type(error).__name__}") from error
            if isinstance(step, bytes):
                return step
            url = step
        raise RangeError(f"redirected more than {MAX_REDIRECTS} times")

    def _fetch(self, url: str, offset: int, length: int) -> bytes | str:
        """One request: the bytes, or the address it redirects to."""
        headers = {"Range": f"bytes={offset}-{offset + length - 1}"}
        with self.client.stream("GET", url, headers=headers, follow_redirects=False) as response:
            if response.has_redirect_location:
                return _next_address(response)
            total = re.search(r"/(\d+)$", response.headers.get("Content-Range", ""))
            if total:
                self.size = int(total[1])
            if response.status_code == httpx.codes.REQUESTED_RANGE_NOT_SATISFIABLE:
                return b""
            if response.status_code == httpx.codes.OK:
                raise RangeError("its server ignores range reads: download the file and give its path")
            if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
                raise RangeError("its server asks for a login: download the file and give its path")
            if response.status_code != httpx.codes.PARTIAL_CONTENT:
                raise RangeError(f"its server answers {response.status_code} {response.reason_phrase}")
            if not response.headers.get("Content-Range", "").startswith(f"bytes {offset}-"):
                raise RangeError("its server answers another range than asked")
            data = bytearray()
            for piece in response.iter_raw():
                data += piece
                if len(data) >= length:
                    break
            return bytes(data[:length])


def _next_address(response: httpx.Response) -> str:
    """Where a redirect leads: https, or the same server again; nothing else is followed."""
    here = response.request.url
    there = here.join(response.headers["Location"])
    same_server = (there.scheme, there.host, there.port) == (here.scheme, here.host, here.port)
    if there.scheme != "https" and not same_server:
        raise RangeError(f"its server redirects to {there.scheme}://{there.host}, which is not https")
    return str(there)

"""What can be named on a command line, and which log is which server's.

A log and a server are one source when they are given as one (LOG@URL), or when the server's address is one of
this machine, its port is the one that the log says its server listens on, and their models do not differ.
"""

from __future__ import annotations

import contextlib
import ipaddress
import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.feeds.protocol import FeedError
from tui.formats.events import harmless

if TYPE_CHECKING:
    from tui.formats.events import ServerStart

STDIN = "-"
_COMMANDS = ("docker:", "podman:", "journal:")
_PAIR = re.compile(r"(.+)@(https?://[^@]+)")
_PORT = re.compile(r":(\d{1,5})/?$")
_ADDRESS = re.compile(r"[\w.-]+:\d{1,5}/?|\[[0-9a-fA-F:]+\]:\d{1,5}/?|https?:.*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Source:
    """One source: a log, a server, or a log with its server.

    Attributes:
        log: a path, a glob, "-", docker:NAME, podman:NAME or journal:[user/]UNIT.
        url: http(s)://host:port.
    """

    log: str | None
    url: str | None

    @property
    def name(self) -> str:
        """What its events carry: the log as given, else the address."""
        return self.log or self.url or ""


def parse_source(text: str) -> Source:
    """Read one source of a command line."""
    if is_url(text):
        return Source(None, text)
    if found := _PAIR.fullmatch(text):
        return Source(found[1], found[2])
    return Source(text, None)


def is_url(text: str) -> bool:
    """Whether a server is meant, to be asked over HTTP."""
    return text.startswith(("http://", "https://"))


def is_command(text: str) -> bool:
    """Whether a container or a journal is meant, to be followed with its client."""
    return text.startswith(_COMMANDS)


def is_file(text: str) -> bool:
    """Whether a path or glob is meant."""
    return text != STDIN and not is_url(text) and not is_command(text)


def otherwise(path: str) -> str:
    """What was meant by a path that is not there, in words to append; empty where nothing else is likely."""
    if _ADDRESS.fullmatch(path):
        return "; a server is named http://HOST:PORT"
    if path.endswith(".service"):
        return f"; a unit's journal is named journal:{harmless(path)}"
    return ""


def read_api_key(file: str | None) -> str | None:
    """The key for servers that ask for one: SPECTOP_API_KEY, else the first line of a file.

    Never an option's value: command lines can be read by others.

    Raises:
        FeedError: the file cannot be read, or is empty.
    """
    if key := os.environ.get("SPECTOP_API_KEY", "").strip():
        return key
    if file is None:
        return None
    try:
        lines = Path(file).expanduser().read_text("utf-8").split()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no text"
        raise FeedError(f"the API key's file {harmless(file)} cannot be read: {why}") from None
    if not lines:
        raise FeedError(f"the API key's file {harmless(file)} is empty")
    return lines[0]


def belong_together(start: ServerStart, url: str, model: str | None) -> bool:
    """Whether a log with this start is that of a server.

    Args:
        start: what the log says of its server.
        url: the server's address.
        model: the path of its model, as the server tells it.
    """
    address = urlsplit(url)
    try:
        port = address.port or (443 if address.scheme == "https" else 80)
    except ValueError:
        return False
    found = _PORT.search(start.listening or "")
    if found is None or int(found[1]) != port or not is_here(address.hostname or ""):
        return False
    names = [PurePath(path).name for path in (start.model, model) if path and path.endswith(".gguf")]
    return len(set(names)) < 2


def is_here(host: str) -> bool:
    """Whether an address is this machine's own; no name is looked up."""
    if host in ("localhost", socket.gethostname().lower()):
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    # Only an own address can be bound; nothing is sent.
    with contextlib.suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.bind((str(address), 0))
        return True
    return False

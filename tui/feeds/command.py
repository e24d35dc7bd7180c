"""Containers and journals, followed with their tool's own client: docker, podman, journalctl.

The client is started again when it ends, and goes on behind the last line that was read: a journal by its
cursor, a container by the last line's time stamp, with those lines dropped that were seen: they share stamps,
and those of standard output and standard error may be out of order.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import signal
import subprocess
import time
from collections import Counter, deque
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, BinaryIO, cast

from tui.feeds.lines import CHUNK, LineSplitter, read_stream
from tui.feeds.protocol import Block, FeedError, Notice, NoticeKind
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

LONGEST_WAIT_S = 15.0
SILENCE_S = 0.5
"""A client that says nothing for so long has told what there was."""
CATCHING_UP_S = 5.0
"""So has one that has talked for so long without a pause."""
_RECENT = 1024
"""So many of the last lines are known again; podman's monitor gives all lines of one read the same stamp."""
_USER = "user/"
_STAMP = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d) ")
_CURSOR = re.compile(rb'"__CURSOR" ?: ?"([^"]+)"')
_FIELDS = (
    "MESSAGE",
    "_SYSTEMD_UNIT",
    "_SYSTEMD_USER_UNIT",
    "CONTAINER_NAME",
    "SYSLOG_IDENTIFIER",
    "CONTAINER_PARTIAL_MESSAGE",
    "_LINE_BREAK",
)
_FORBIDDEN = re.compile(
    "permission denied|insufficient permissions|not permitted|access denied", re.IGNORECASE
)
_ABSENT = re.compile("no such container|no container with name|no such object", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Container:
    """docker or podman; the two have the same options for logs."""

    program: str
    name: str

    @property
    def what(self) -> str:
        return f"{self.program} container {harmless(self.name)}"

    @property
    def may(self) -> str:
        return f"this user may not ask {self.program}: join its group ({self.program}), or run as one who may"

    def arguments(self, *, follow: bool, lines: int | None, after: bytes | None) -> list[str]:
        """The command line: from the last so many lines, or from behind a mark."""
        words = [self.program, "logs", "--timestamps"]
        if follow:
            words.append("--follow")
        if after is not None:
            words += ["--since", after.decode()]
        elif lines is not None:
            words += ["--tail", str(lines)]
        return [*words, "--", self.name]

    def mark(self, line: bytes) -> bytes | None:
        """What to go on from behind this line."""
        found = _STAMP.match(line)
        return found[0].rstrip() if found else None

    def is_fresh(self, line: bytes, after: bytes, seen: Counter[int]) -> bool:
        """Whether a line told again after a restart has not been read before; takes it off those seen."""
        now, last = _moment(line), _moment(after + b" ")
        if now is None or last is None or now < last:
            return False
        if seen[hash(line)]:
            seen[hash(line)] -= 1
            return False
        return True


@dataclass(frozen=True, slots=True)
class _Journal:
    """A unit's lines in the system's journal or the user's own."""

    unit: str
    user: bool
    program: str = "journalctl"

    @property
    def what(self) -> str:
        return f"journal of {'the user unit' if self.user else 'unit'} {harmless(self.unit)}"

    @property
    def may(self) -> str:
        if self.user:
            # Without a persistent journal, users' units are in the system's.
            return "this user has no journal, and the system's is for the group systemd-journal: join it"
        return "this user may not read it: join the group systemd-journal (a user unit is journal:user/UNIT)"

    def arguments(self, *, follow: bool, lines: int | None, after: bytes | None) -> list[str]:
        """The command line: from the last so many lines, or from behind a mark."""
        words = [self.program, "--output=json", "--all", f"--output-fields={','.join(_FIELDS)}"]
        if self.user:
            words.append("--user")
        if follow:
            words.append("--follow")
        if after is not None:
            words += ["--no-tail", f"--after-cursor={after.decode()}"]
        else:
            words.append("--no-tail" if lines is None else f"--lines={lines}")
        return [*words, f"--unit={self.unit}"]

    def mark(self, line: bytes) -> bytes | None:
        """What to go on from behind this line."""
        found = _CURSOR.search(line) if line.startswith(b"{") else None
        return found[1] if found else None

    def is_fresh(self, line: bytes, after: bytes, seen: Counter[int]) -> bool:  # noqa: ARG002
        """Always: a cursor is exact."""
        return True


Client = _Container | _Journal


def client_of(source: str) -> Client | None:
    """What a source of the form docker:NAME, podman:NAME or journal:[user/]UNIT is followed with.

    Raises:
        FeedError: the name is missing.
    """
    kind, colon, name = source.partition(":")
    if not colon or kind not in ("docker", "podman", "journal"):
        return None
    if not name.removeprefix(_USER):
        raise FeedError(f"{kind}: needs a name, as in {kind}:llama")
    if kind == "journal":
        return _Journal(name.removeprefix(_USER), user=name.startswith(_USER))
    return _Container(kind, name)


@dataclass(slots=True)
class _Reading:
    """How far a source was read, over all its clients."""

    source: str
    client: Client
    last: bytes | None = None
    offset: int = 0
    resuming: bool = False
    words: deque[str] = field(default_factory=lambda: deque(maxlen=3))
    _recent: deque[int] = field(default_factory=lambda: deque(maxlen=_RECENT))
    _seen: Counter[int] = field(default_factory=Counter)

    def resume(self) -> None:
        """Another client goes on behind the last mark."""
        self.words.clear()
        self.resuming = self.last is not None
        self._seen = Counter(self._recent)

    def take(self, block: Block) -> Block | None:
        """The lines of a block that are the source's own and new; the client's own words are kept apart."""
        lines = []
        for line in _lines(block.data):
            if not line[:1].isdigit() and not line.startswith(b"{"):
                self.words.append(harmless(line.decode("utf-8", "replace").strip()))
            elif not self.resuming or self.client.is_fresh(line, self.last or b"", self._seen):
                lines.append(line)
                self.resuming = False
        if not lines:
            return None
        self._note(lines)
        own = Block(self.source, b"".join(lines), self.offset)
        self.offset += len(own.data)
        return own

    def _note(self, lines: list[bytes]) -> None:
        """Keep the last mark, and what the last lines were."""
        marks = (self.client.mark(line) for line in reversed(lines))
        self.last = next(filter(None, marks), self.last)
        self._recent.extend(map(hash, lines[-_RECENT:]))

    @property
    def said(self) -> str:
        return "; ".join(filter(None, self.words))


class CommandFeed:
    """Follows one container or unit."""

    def __init__(
        self,
        source: str,
        *,
        lines: int | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Nothing is started yet.

        Args:
            source: docker:NAME, podman:NAME, journal:UNIT or journal:user/UNIT, as given.
            lines: how many of the lines that are there to start with; None for all.
            sleep: waits so many seconds.
            jitter: a number from 0 to 1.

        Raises:
            FeedError: it is none of these.
        """
        client = client_of(source)
        if client is None:
            raise FeedError(f"{harmless(source)} is neither docker:NAME, podman:NAME nor journal:UNIT")
        self._source = source
        self._client = client
        self._lines = lines
        self._sleep = sleep
        self._jitter = jitter

    async def read(self) -> AsyncGenerator[Block | Notice, None]:
        """Yield blocks and notices; ends only where another try is of no use."""
        reading = _Reading(self._source, self._client)
        tries, told = 0, ""
        while True:
            before = reading.offset
            reading.resume()
            arguments = self._client.arguments(follow=True, lines=self._lines, after=reading.last)
            try:
                process = await _start(arguments)
            except OSError as error:
                yield self._notice("failed", _cannot_start(self._client.program, error))
                return
            try:
                async for item in self._follow(process, reading):
                    yield item
            finally:
                code = await _end(process)
            if code and _FORBIDDEN.search(reading.said):
                yield self._notice("failed", f"{self._client.may} ({reading.said})")
                return
            tries = 0 if reading.offset > before else tries + 1
            why = self._why(code, reading.said)
            if why != told or reading.offset > before:
                told = why
                yield self._notice("gone" if reading.last else "waiting", why)
            await self._sleep(min(LONGEST_WAIT_S, 2.0 ** min(tries, 10)) * (0.5 + self._jitter() / 2))

    async def _follow(
        self, process: asyncio.subprocess.Process, reading: _Reading
    ) -> AsyncGenerator[Block | Notice, None]:
        """What one run of the client says."""
        if process.stdout is None:
            return
        splitter = LineSplitter(self._source)
        opened = caught_up = waits = False
        until = time.monotonic() + CATCHING_UP_S
        while True:
            try:
                async with asyncio.timeout(None if caught_up or waits else SILENCE_S):
                    data = await process.stdout.read(CHUNK)
            except TimeoutError:
                waits = reading.last is None
                caught_up = opened = not waits
                if waits:
                    yield self._notice("waiting", reading.said or f"{self._client.what} has no line yet")
                else:
                    yield self._notice("caught_up", reading.said)
                continue
            if not data:
                # What is left has no line end: the next client tells it whole.
                return
            waits = False
            for item in splitter.feed(data):
                own = reading.take(item) if isinstance(item, Block) else item
                if own is None:
                    continue
                if not opened:
                    opened = True
                    yield Notice(self._source, "opened")
                yield own
            if opened and not caught_up and time.monotonic() >= until:
                caught_up = True
                yield self._notice("caught_up", reading.said)

    def _why(self, code: int, said: str) -> str:
        what = self._client.what
        if _ABSENT.search(said):
            others = ", or it is another user's" if self._client.program == "podman" else ""
            return f"waiting for {what}: there is none of that name{others}"
        if code == 0:
            return f"{what} has stopped; waiting for it to go on"
        return f"{what}: {said or f'{self._client.program} ended with {code}'}; trying again"

    def _notice(self, kind: NoticeKind, text: str) -> Notice:
        return Notice(self._source, kind, text)


def read_command(source: str) -> Iterator[Block | Notice]:
    """What is there of a container's or unit's log, to its present end.

    Raises:
        FeedError: it cannot be read; with words for people.
    """
    client = client_of(source)
    if client is None:
        raise FeedError(f"{harmless(source)} is neither docker:NAME, podman:NAME nor journal:UNIT")
    reading = _Reading(source, client)
    arguments = client.arguments(follow=False, lines=None, after=None)
    try:
        process = subprocess.Popen(
            arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
    except OSError as error:
        raise FeedError(_cannot_start(client.program, error)) from None
    with process, contextlib.suppress(BrokenPipeError):
        if process.stdout is not None:
            for item in read_stream(source, cast("BinaryIO", process.stdout)):
                own = reading.take(item) if isinstance(item, Block) else item
                if own is not None:
                    yield own
    if process.returncode:
        words = reading.said or f"{client.program} ended with {process.returncode}"
        raise FeedError(f"{client.may} ({words})" if _FORBIDDEN.search(words) else f"{client.what}: {words}")


async def _start(arguments: list[str]) -> asyncio.subprocess.Process:
    """Start a client, out of reach of the terminal's keys; both its streams come by one pipe, in order."""
    return await asyncio.create_subprocess_exec(
        *arguments,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        limit=CHUNK,
        start_new_session=True,
    )


async def _end(process: asyncio.subprocess.Process) -> int:
    """The exit code of a client that has ended, or is ended now."""
    if process.returncode is None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(0.2):
                return await process.wait()
        # With what it started: a client may be a script around the real one.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    return await process.wait()


def _cannot_start(program: str, error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return f"{program} is not on this machine's PATH: install it, or give the log another way"
    return f"{program} cannot be started: {error.strerror or error}"


def _lines(data: bytes) -> Iterator[bytes]:
    """Lines with their ends; a carriage return ends none."""
    *whole, rest = data.split(b"\n")
    yield from (line + b"\n" for line in whole)
    if rest:
        yield rest


def _moment(line: bytes) -> int | None:
    """Nanoseconds since the epoch of the stamp a line begins with; clients leave trailing zeros out."""
    found = _STAMP.match(line)
    if found is None:
        return None
    try:
        seconds = datetime.fromisoformat((found[1] + found[3]).decode()).timestamp()
    except ValueError:
        return None
    return int(seconds) * 10**9 + int((found[2] or b"0").ljust(9, b"0"))

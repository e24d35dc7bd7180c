"""Servers that are polled, and the logs they belong to: what both tell is one source."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections import Counter, deque
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.sources import belong_together, is_file
from tui.formats.events import Event, ServerStart, harmless
from tui.formats.polled import PolledServer, build_of
from tui.formats.window import has_start

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.formats.sample import Sample

LOG_FIRST_S = 3.0
"""How long a server's first counts wait for what logs say of theirs."""
SILENT_LOG_S = 60.0
"""How long they wait for a log that has said nothing at all."""
_GZIP = b"\x1f\x8b"
LOG_START_S = 10.0
"""How long what a restarted server counts waits until its log tells the start."""


def _starts_in(log: str, offset: int) -> bool:
    """Whether a server starts in a file from an offset on, or may: what comes before is another's."""
    if not is_file(log):
        return False
    with contextlib.suppress(OSError), Path(log).open("rb") as file:

        def read(offset: int, length: int) -> bytes:
            return os.pread(file.fileno(), length, offset)

        if read(0, 2) == _GZIP:
            return True
        return has_start(read, offset, os.fstat(file.fileno()).st_size)
    return True


@dataclass(slots=True)
class Logs:
    """What the logs have said that tells whose they are, by source."""

    starts: dict[str, list[ServerStart]] = field(default_factory=dict)
    begun: Counter[str] = field(default_factory=Counter)
    streams: dict[str, set[str | None]] = field(default_factory=dict)

    def hear(self, events: Iterable[Event]) -> None:
        """Take note of a log's events."""
        for event in events:
            self.streams.setdefault(event.source, set()).add(event.stream)
            if isinstance(event, ServerStart):
                self.begun[event.source] += 1
                self.starts.setdefault(event.source, []).append(event)

    def of_server(self, url: str, model: str | None) -> str | None:
        """The one log whose server this is; None where none or several could be."""
        found = [
            source
            for source, starts in self.starts.items()
            if any(belong_together(start, url, model) for start in starts)
        ]
        return found[0] if len(found) == 1 else None

    def stream(self, source: str, stream: str | None) -> str | None:
        """What a log calls a server's stream: the port behind a unit's or container's name, or that name."""
        known = self.streams.get(source, set())
        if stream in known:
            return stream
        if stream is None:
            return next(iter(known)) if len(known) == 1 else None
        ends = [name for name in known if name is not None and name.endswith(f"/{stream}")]
        return ends[0] if len(ends) == 1 else stream


@dataclass(slots=True)
class Polled:
    """One polled server.

    What it counts is told at once, but for two moments: in the beginning logs are heard first, since one may
    be its own; and what it counts after a restart waits until its log has told the start, so that each start
    gets what belongs to it.

    Attributes:
        url: its address, as given.
        log: the log it belongs to; None while none is known.
        waits: whether a log may speak for it.
        words: what is wrong with its counters, for people.
        answered: it has answered, or is known not to.
        build: what it said it is, when it answered first.
    """

    url: str
    log: str | None
    waits: bool
    words: str = ""
    answered: asyncio.Event = field(default_factory=asyncio.Event)
    build: str | None = None
    _readers: dict[str | None, PolledServer] = field(default_factory=dict)
    _samples: deque[Sample] = field(default_factory=deque)
    _held: list[Event] = field(default_factory=list)
    _ready_at: float | None = None
    _starts: int | None = None
    _waits_until: float = 0.0

    @property
    def name(self) -> str:
        """What its events carry as their source."""
        return self.log or self.url

    def add(self, sample: Sample, now: float) -> None:
        """Take a sample; what it says is given when it is due."""
        if self._ready_at is None:
            self._ready_at = now + (LOG_FIRST_S if self.waits else 0)
            self.build = build_of(sample)
            self.answered.set()
        self._samples.append(sample)

    def build_at(self, log: str, offset: int) -> str | None:
        """The build of its log's lines from an offset on; None where another may have run then."""
        return None if _starts_in(log, offset) else self.build

    def due(self, now: float, logs: Logs) -> list[Event]:
        """The events whose time has come."""
        if self._ready_at is None or now < self._ready_at:
            return []
        if self.log is not None and self.log not in logs.streams and now < self._ready_at + SILENT_LOG_S:
            return []  # what the log calls its streams is not known yet
        events, self._held = self._held, []
        while self._samples:
            events += self._read(self._samples.popleft(), logs)
        return self._settle(events, now, logs)

    def flush(self, logs: Logs) -> list[Event]:
        """What was counted so far: its log is about to tell a new start."""
        if self._held:
            return []  # counted after that start already
        return [
            replace(event, stream=logs.stream(self.name, event.stream))
            for reader in self._readers.values()
            for event in reader.flush()
        ]

    def _read(self, sample: Sample, logs: Logs) -> list[Event]:
        if self.log is None:
            self._find_log(sample, logs)
        reader = self._readers.setdefault(sample.stream, PolledServer(self.name, sample.stream))
        try:
            events = reader.read(sample)
        except ValueError as fault:
            self.words = f"{harmless(self.url)}: /metrics cannot be read: {harmless(str(fault))}"
            return []
        self.words = ""
        return events

    def _find_log(self, sample: Sample, logs: Logs) -> None:
        model = sample.about.get("model_path")
        self.log = logs.of_server(self.url, model if isinstance(model, str) else None)
        if self.log is not None:
            # All is told anew, under the log's name and from the server's start.
            self._readers.clear()

    def _settle(self, events: list[Event], now: float, logs: Logs) -> list[Event]:
        """Under the log's names for it, up to a start that the log has not told yet."""
        if self.log is None:
            return events
        if self._starts is None:
            self._starts = logs.begun[self.log]
        settled: list[Event] = []
        for place, event in enumerate(events):
            if isinstance(event, ServerStart) and not event.running:
                if logs.begun[self.log] <= self._starts and now < (self._waits_until or now + 1):
                    self._waits_until = self._waits_until or now + LOG_START_S
                    self._held = events[place:]
                    break
                self._starts = logs.begun[self.log]
                self._waits_until = 0.0
                # The log tells starts itself: the server only completes what it says.
                event = replace(event, running=True)
            settled.append(replace(event, stream=logs.stream(self.log, event.stream)))
        return settled

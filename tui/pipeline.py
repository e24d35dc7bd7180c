"""Bytes in, snapshots out: feeds, readers and the session wired together, without a screen."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import glob
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.command import CommandFeed
from tui.feeds.files import FilesFeed
from tui.feeds.protocol import Block, Feed, FeedError, Notice
from tui.feeds.sources import STDIN, is_command, is_file, parse_source
from tui.feeds.stdin import StdinFeed
from tui.formats.events import Event, ServerStart, harmless
from tui.formats.reader import LogReader
from tui.formats.window import ranges
from tui.session.session import Session
from tui.whole import NOT_KNOWN, problems_of, read_incumbent

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.feeds.http import HttpFeed
    from tui.formats.sample import Sample
    from tui.joined import Polled
    from tui.model.comparison import Basis
    from tui.model.cost import Profile
    from tui.recorder import Recorder
    from tui.session.incumbent import Choice
    from tui.session.session import Policy
    from tui.session.snapshot import Snapshot, State

SILENCE_S = 1.0
"""A block that waits for its next line is complete after this long without one."""
FIRST_TOLD_S = 3.0
"""How long a log waits in the beginning for what its server says of itself."""
LINES_A_REQUEST = 30
"""How many lines of a container or a journal a request is taken to have, for the backfill."""
LOOKS_A_SECOND = 3
"""How often servers are asked, all together."""

_STATES: dict[str, State] = {
    "waiting": "waiting",
    "opened": "reading",
    "caught_up": "live",
    "gone": "waiting",
    "ended": "ended",
    "failed": "failed",
}


class Watch:
    """Follows sources and answers with snapshots; one per screen.

    Attributes:
        recorder: keeps what comes, when set before `run`; its end is told by a notice.
        api_key: for servers that ask for one.
    """

    def __init__(
        self,
        sources: Sequence[str],
        policy: Policy,
        *,
        basis: Basis = "decode",
        backfill: int | None = 200,
        stdin: int | None = None,
        api_key: str | None = None,
        clock: Callable[[], float] = time.time,
        on_events: Callable[[list[Event]], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is opened before `run`.

        Args:
            sources: paths, globs, "-" for standard input, docker:NAME, podman:NAME, journal:UNIT,
                http://HOST:PORT, or a log with its server, LOG@http://HOST:PORT.
            policy: how requests are read and judged.
            basis: what a typed incumbent counts.
            backfill: finished requests of an existing log to start with; None reads logs whole.
            stdin: the pipe that "-" means, where the keyboard has taken its place.
            api_key: for servers that ask for one.
            clock: the present, seconds since the epoch.
            on_events: called with all events as they come.
            on_notice: called with words about sources that are awaited, gone or unreadable.
        """
        self.session = Session(policy)
        self.recorder: Recorder | None = None
        self.api_key = api_key
        self._basis: Basis = basis
        self._clock = clock
        self._on_events = on_events
        self._on_notice = on_notice
        self._readers: dict[str, LogReader] = {}
        self._ends: dict[str, int] = {}
        self._shifts: dict[str, int] = {}
        self._waiting: dict[str, float] = {}
        self._feeds: list[Feed | HttpFeed] = []
        self._servers: dict[str, Polled] = {}
        self._words: dict[str, str] = {}
        self._first_until = 0.0
        parsed = [parse_source(source) for source in sources]
        logs = list(dict.fromkeys(source.log for source in parsed if source.log is not None))
        files = [log for log in logs if is_file(log)]
        for name in dict.fromkeys(source.name for source in parsed):
            if name not in files or not glob.has_magic(name):
                self.session.open(name)
        if files:
            window = None if backfill is None else partial(ranges, requests=backfill)
            self._feeds.append(FilesFeed(files, window=window))
        if STDIN in logs:
            self._feeds.append(StdinFeed() if stdin is None else StdinFeed(stdin))
        lines = None if backfill is None else backfill * LINES_A_REQUEST
        self._feeds += [CommandFeed(log, lines=lines) for log in logs if is_command(log)]
        self._poll({source.url: source.log for source in parsed if source.url is not None}, logs, api_key)

    def _poll(self, urls: dict[str, str | None], logs: Sequence[str], api_key: str | None) -> None:
        """Servers to ask, each with the log it was given with."""
        if not urls:
            return
        # HTTP costs half a second to import.
        from tui.feeds.http import PACE_S, HttpFeed
        from tui.joined import Logs, Polled

        self._logs = Logs()
        pace = max(PACE_S, len(urls) / LOOKS_A_SECOND)
        for url, log in urls.items():
            if log is not None and is_file(log) and glob.has_magic(log):
                raise FeedError(f"{harmless(log)}@{harmless(url)}: one log goes with a server, not a pattern")
            self._servers[url] = Polled(url, log, waits=bool(logs))
            if log is None:
                self.session.open(url, "waiting", f"{harmless(url)} is asked what it is")
            self._feeds.append(HttpFeed(url, api_key=api_key, pace_s=pace, clock=self._clock))

    async def run(self) -> None:
        """Follow all sources until cancelled."""
        self._first_until = asyncio.get_running_loop().time() + FIRST_TOLD_S
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                group.create_task(self._follow(feed))
            group.create_task(self._end_silent_blocks())

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        snapshot = self.session.snapshot(self._clock())
        words = [*self._words.values(), *(server.words for server in self._servers.values())]
        if self.recorder is not None:
            words.append(self.recorder.notice)
        return dataclasses.replace(snapshot, notices=(*snapshot.notices, *filter(None, words)))

    def read_incumbent(self, text: str) -> Choice:
        """What is typed for the incumbent, its log read whole; changes nothing, so that a thread may do it.

        Raises:
            ValueError: with words for people.
            FeedError: the log cannot be read.
        """
        return read_incumbent(text, self._basis, self.session.policy, self.api_key)

    def choose(self, choice: Choice, source: str | None = None) -> None:
        """Set what canaries are held against: that of one source, or of all of them."""
        self.session.choose(choice, source)

    def address_of(self, source: str) -> str | None:
        """Where the server of a source is asked; None where none is."""
        return next((url for url, server in self._servers.items() if server.name == source), None)

    def set_cost(self, cost: Profile | None) -> None:
        """Price verify passes with a profile; None takes it away."""
        self.session.price(cost)

    def freeze_incumbent(self, view: int, *, alone: bool = False) -> None:
        """The present arm of a view becomes the incumbent, of its own source alone or of all.

        Raises:
            ValueError: nothing has finished there yet.
        """
        self.session.freeze(view, alone=alone)

    def offer_incumbent(self, view: int) -> None:
        """The offered earlier arm of a view becomes the incumbent.

        Raises:
            ValueError: none is offered.
        """
        self.session.take_offer(view)

    async def _follow(self, feed: Feed | HttpFeed) -> None:
        async for item in feed.read():
            match item:
                case Block():
                    self._block(item, self._readers.get(item.source) or await self._new_reader(item))
                case Notice():
                    self._notice(item)
                case _:
                    self._sample(item)

    def _sample(self, sample: Sample) -> None:
        server, now = self._servers[sample.source], self._clock()
        server.add(sample, now)
        self._take_counters(sample.source)
        if server.log is None and not server.words:
            self.session.heard(sample.source, now)

    def _take_counters(self, url: str) -> None:
        """What a server has counted, once its log has been read as far."""
        server, now = self._servers[url], self._clock()
        name = server.name
        self._take(server.due(now, self._logs))
        if server.name != name:
            self.session.forget(name)
        self.session.note_server(server.name, server.words or self._words.get(url, ""))

    async def _new_reader(self, block: Block) -> LogReader:
        """The reader of a log; its server is heard first, for its build."""
        build = None
        for server in self._servers.values():
            if server.log == block.source:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout_at(self._first_until):
                        await server.answered.wait()
                build = server.build_at(block.source, block.offset)
        reader = self._readers[block.source] = LogReader(block.source, now=self._clock, build=build)
        return reader

    def _block(self, block: Block, reader: LogReader) -> None:
        end = self._ends.get(block.source, 0)
        if block.offset != end:
            self.session.gap(block.source)
            if self.recorder is not None:
                self.recorder.gap(block.source)
        if block.offset < end:
            # Truncated in place: what stood between the last look and the truncation is lost.
            self._shifts[block.source] = self._shifts.get(block.source, 0) + end + 1
        self._ends[block.source] = block.offset + len(block.data)
        known = reader.knows_it
        self._take_log(reader.feed(block.data, block.offset + self._shifts.get(block.source, 0)))
        if reader.knows_it and not known:
            self.session.say(block.source, "")
        now = self._clock()
        self.session.heard(block.source, now)
        self._waiting[block.source] = now

    def _notice(self, notice: Notice) -> None:
        server, state = self._servers.get(notice.source), _STATES.get(notice.kind)
        if server is None:
            self._take(list(problems_of(notice)))
        if notice.kind == "rotated":
            # The old file was read to its end: the same server goes on in the new one.
            self._shifts[notice.source] = self._shifts.get(notice.source, 0) + self._ends.pop(
                notice.source, 0
            )
        if notice.kind == "ended" and (reader := self._readers.get(notice.source)):
            self._take_log(reader.close())
        if notice.kind == "caught_up" and notice.source != STDIN:
            # What was there already is as old as the file, not as our reading of it.
            with contextlib.suppress(OSError):
                self.session.heard(notice.source, Path(notice.source).stat().st_mtime)
        if server is not None:
            server.answered.set()
            if state in ("waiting", "failed"):
                self.session.lost(server.name)
            self._words[notice.source] = notice.text
        if state is not None and (server is None or server.log is None):
            reader = self._readers.get(notice.source)
            lost = state == "live" and reader is not None and not reader.knows_it
            self.session.open(notice.source, state, notice.text or (NOT_KNOWN if lost else ""))
        if self._on_notice is not None and notice.text:
            self._on_notice(notice.text)

    def _take_log(self, events: list[Event]) -> None:
        """What a log says; before a start, what its server had counted until then."""
        begun = {event.source for event in events if isinstance(event, ServerStart)} if self._servers else ()
        for server in self._servers.values():
            if server.log in begun:
                self._take(server.flush(self._logs))
        if self._servers:
            self._logs.hear(events)
        self._take(events)

    def _take(self, events: list[Event]) -> None:
        if events:
            self.session.add(events)
            if self.recorder is not None:
                self.recorder.write(events)
            if self._on_events is not None:
                self._on_events(events)

    async def _end_silent_blocks(self) -> None:
        while True:
            await asyncio.sleep(SILENCE_S / 2)
            now = self._clock()
            for source, heard in list(self._waiting.items()):
                if now - heard >= SILENCE_S:
                    del self._waiting[source]
                    self._take_log(self._readers[source].idle())
            for url in self._servers:
                self._take_counters(url)

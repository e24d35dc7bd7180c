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

from tui.feeds.files import FilesFeed
from tui.feeds.lines import read_file
from tui.feeds.protocol import Block, Feed, FeedError, Notice
from tui.feeds.stdin import StdinFeed, read_stdin
from tui.formats.events import Event, Problem, harmless
from tui.formats.reader import LogReader
from tui.formats.recording import Gap
from tui.formats.window import ranges
from tui.recorder import is_recording, read_recording
from tui.session.incumbent import Choice, FrozenArm, LogPath, parse_incumbent
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Sequence

    from tui.model.comparison import Basis
    from tui.model.cost import Profile
    from tui.recorder import Recorder
    from tui.session.snapshot import Snapshot, State

STDIN = "-"
SILENCE_S = 1.0
"""A block that waits for its next line is complete after this long without one."""

_STATES: dict[str, State] = {
    "waiting": "waiting",
    "opened": "reading",
    "caught_up": "live",
    "gone": "waiting",
    "ended": "ended",
    "failed": "failed",
}


def read_events(source: str, path: str | os.PathLike[str]) -> Iterator[Event]:
    """All events of a whole log.

    Args:
        source: the name the events carry.
        path: the log, gzipped or not; "-" is standard input.

    Raises:
        FeedError: it cannot be read.
    """
    reader = LogReader(source)
    for item in read_stdin() if path == STDIN else read_file(source, path):
        if isinstance(item, Block):
            yield from reader.feed(item.data, item.offset)
        else:
            yield from _problems(item)
    yield from reader.close()


def read_whole(path: str) -> Iterator[Event | Gap]:
    """All that a log or a recording tells, to its end.

    Args:
        path: the file, which is also the name that a log's events carry; "-" for standard input.

    Raises:
        FeedError: it cannot be read.
    """
    if path != STDIN and is_recording(path):
        return (entry.what for entry in read_recording(path).entries)
    return read_events(path, path)


def read_session(sources: Sequence[str], policy: Policy) -> Session:
    """What whole files tell.

    Args:
        sources: paths or globs, "-" for standard input.
        policy: how requests are read and judged.

    Raises:
        FeedError: one cannot be read, or none matches.
    """
    session = Session(policy)
    for path in (path for source in sources for path in paths_of(source)):
        session.open(path, "ended")
        for what in read_whole(path):
            if isinstance(what, Gap):
                session.gap(what.source)
            else:
                session.add([what])
    return session


def paths_of(source: str) -> list[str]:
    """The files that a path or glob names.

    Raises:
        FeedError: a glob that matches nothing.
    """
    if source == STDIN or not glob.has_magic(source) or Path(source).exists():
        return [source]
    found = sorted(glob.glob(source, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    paths = [path for path in found if Path(path).is_file()]
    if not paths:
        raise FeedError(f"no file matches {harmless(source)}")
    return paths


def read_incumbent(text: str, basis: Basis, policy: Policy) -> Choice:
    """What is typed for the incumbent, its log read whole.

    Raises:
        ValueError: with words for people.
        FeedError: the log cannot be read.
    """
    parsed = parse_incumbent(text, basis)
    if not isinstance(parsed, LogPath):
        return parsed
    arm = read_session([parsed.path], policy).newest_arm()
    if arm is None:
        raise ValueError(f"{parsed.path} holds no finished request to compare with")
    return FrozenArm(arm, Path(parsed.path).name, "log")


def _problems(notice: Notice) -> Iterator[Problem]:
    if notice.kind == "oversize":
        yield Problem(source=notice.source, problem="oversize", text=notice.text, offset=notice.offset)
    elif notice.kind == "failed":
        yield Problem(source=notice.source, problem="cut", text=notice.text, offset=notice.offset)


class Watch:
    """Follows sources and answers with snapshots; one per screen.

    Attributes:
        recorder: keeps what comes, when set before `run`; its end is told by a notice.
    """

    def __init__(
        self,
        sources: Sequence[str],
        policy: Policy,
        *,
        basis: Basis = "decode",
        backfill: int | None = 200,
        stdin: int | None = None,
        clock: Callable[[], float] = time.time,
        on_events: Callable[[list[Event]], None] | None = None,
        on_notice: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing is opened before `run`.

        Args:
            sources: paths, globs, or "-" for standard input.
            policy: how requests are read and judged.
            basis: what a typed incumbent counts.
            backfill: finished requests of an existing log to start with; None reads logs whole.
            stdin: the pipe that "-" means, where the keyboard has taken its place.
            clock: the present, seconds since the epoch.
            on_events: called with all events as they come.
            on_notice: called with words about sources that are awaited, gone or unreadable.
        """
        self.session = Session(policy)
        self.recorder: Recorder | None = None
        self._basis: Basis = basis
        self._clock = clock
        self._on_events = on_events
        self._on_notice = on_notice
        self._readers: dict[str, LogReader] = {}
        self._ends: dict[str, int] = {}
        self._shifts: dict[str, int] = {}
        self._waiting: dict[str, float] = {}
        self._feeds: list[Feed] = []
        files = [source for source in sources if source != STDIN]
        for source in sources:
            if source == STDIN or not glob.has_magic(source):
                self.session.open(source)
        if files:
            window = None if backfill is None else partial(ranges, requests=backfill)
            self._feeds.append(FilesFeed(files, window=window))
        if STDIN in sources:
            self._feeds.append(StdinFeed() if stdin is None else StdinFeed(stdin))

    async def run(self) -> None:
        """Follow all sources until cancelled."""
        async with asyncio.TaskGroup() as group:
            for feed in self._feeds:
                group.create_task(self._follow(feed))
            group.create_task(self._end_silent_blocks())

    def snapshot(self) -> Snapshot:
        """Everything known now."""
        snapshot = self.session.snapshot(self._clock())
        if self.recorder is None or not self.recorder.notice:
            return snapshot
        return dataclasses.replace(snapshot, notices=(*snapshot.notices, self.recorder.notice))

    def set_incumbent(self, text: str) -> None:
        """Take a typed rate, a log's path or drafter:NAME.

        Raises:
            ValueError: with words for people.
        """
        self.session.choose(read_incumbent(text, self._basis, self.session.policy))

    def set_cost(self, cost: Profile | None) -> None:
        """Price verify passes with a profile; None takes it away."""
        self.session.price(cost)

    def freeze_incumbent(self, view: int) -> None:
        """The present arm of a view becomes the incumbent.

        Raises:
            ValueError: nothing has finished there yet.
        """
        self.session.freeze(view)

    def offer_incumbent(self, view: int) -> None:
        """The offered earlier arm of a view becomes the incumbent.

        Raises:
            ValueError: none is offered.
        """
        self.session.take_offer(view)

    async def _follow(self, feed: Feed) -> None:
        async for item in feed.read():
            if isinstance(item, Block):
                self._block(item)
            else:
                self._notice(item)

    def _block(self, block: Block) -> None:
        reader = self._readers.get(block.source)
        if reader is None:
            reader = self._readers[block.source] = LogReader(block.source, now=self._clock)
        end = self._ends.get(block.source, 0)
        if block.offset != end:
            self.session.gap(block.source)
            if self.recorder is not None:
                self.recorder.gap(block.source)
        if block.offset < end:
            # Truncated in place: what stood between the last look and the truncation is lost.
            self._shifts[block.source] = self._shifts.get(block.source, 0) + end + 1
        self._ends[block.source] = block.offset + len(block.data)
        self._take(reader.feed(block.data, block.offset + self._shifts.get(block.source, 0)))
        now = self._clock()
        self.session.heard(block.source, now)
        self._waiting[block.source] = now

    def _notice(self, notice: Notice) -> None:
        self._take(list(_problems(notice)))
        if notice.kind == "rotated":
            # The old file was read to its end: the same server goes on in the new one.
            self._shifts[notice.source] = self._shifts.get(notice.source, 0) + self._ends.pop(
                notice.source, 0
            )
        if notice.kind == "ended" and (reader := self._readers.get(notice.source)):
            self._take(reader.close())
        if notice.kind == "caught_up" and notice.source != STDIN:
            # What was there already is as old as the file, not as our reading of it.
            with contextlib.suppress(OSError):
                self.session.heard(notice.source, Path(notice.source).stat().st_mtime)
        if state := _STATES.get(notice.kind):
            self.session.open(notice.source, state, notice.text)
        if self._on_notice is not None and notice.text:
            self._on_notice(notice.text)

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
                    self._take(self._readers[source].idle())

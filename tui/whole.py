"""Sources read to their end: for commands that print and end, and for an incumbent's log."""

from __future__ import annotations

import asyncio
import glob
import math
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.command import read_command
from tui.feeds.lines import read_file
from tui.feeds.protocol import Block, FeedError, Notice
from tui.feeds.sources import STDIN, is_command, is_file, parse_source
from tui.feeds.stdin import read_stdin
from tui.formats.events import Event, Problem, harmless
from tui.formats.reader import LogReader
from tui.formats.recording import Gap
from tui.recorder import is_recording, read_recording
from tui.session.incumbent import Choice, FrozenArm, LogPath, parse_incumbent
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from tui.model.comparison import Basis


NOT_KNOWN = "no line in it that spectop knows: is this the server's log?"


def read_events(source: str, path: str | os.PathLike[str], build: str | None = None) -> Iterator[Event]:
    """All events of a whole log.

    Args:
        source: the name the events carry.
        path: the log, gzipped or not; "-" is standard input, docker:NAME and the like are what is there now.
        build: what its server says it is, where the log tells of no start.

    Raises:
        FeedError: it cannot be read.
    """
    reader = LogReader(source, build=build)
    for item in _items_of(source, path):
        if isinstance(item, Block):
            yield from reader.feed(item.data, item.offset)
        else:
            yield from problems_of(item)
    yield from reader.close()


def _items_of(source: str, path: str | os.PathLike[str]) -> Iterator[Block | Notice]:
    if path == STDIN:
        return read_stdin()
    if isinstance(path, str) and is_command(path):
        return read_command(path)
    return read_file(source, path)


def _read_server(url: str, log: str | None, api_key: str | None) -> Iterator[Event]:
    """What a server has counted since it started, after what its log tells.

    Raises:
        FeedError: it cannot be asked, or the log cannot be read.
    """
    from concurrent.futures import ThreadPoolExecutor

    from tui.feeds.http import HttpFeed
    from tui.joined import Logs, Polled

    feed = HttpFeed(url, api_key=api_key)
    # A thread, since the screen that asks has an event loop of its own.
    try:
        with ThreadPoolExecutor(1) as pool:
            samples = pool.submit(asyncio.run, feed.first_look()).result()
    except FeedError as fault:
        hint = "" if log is None else f" (its log can be read alone: {harmless(log)})"
        raise FeedError(f"{fault}{hint}") from None
    server, logs = Polled(url, log, waits=False), Logs()
    for sample in samples:
        server.add(sample, 0.0)
    if log is not None:
        for event in read_events(log, log, server.build_at(log, 0)):
            logs.hear([event])
            yield event
    yield from server.due(math.inf, logs)
    if server.words:
        raise FeedError(server.words)


def read_whole(path: str, api_key: str | None = None) -> Iterator[Event | Gap]:
    """All that a log or a recording tells, to its end, or a server's counters now.

    Args:
        path: the file, which is also the name that a log's events carry; or any other form of a source.
        api_key: for servers that ask for one.

    Raises:
        FeedError: it cannot be read.
    """
    source = parse_source(path)
    if source.url is not None:
        return _read_server(source.url, source.log, api_key)
    if is_command(path):
        return read_events(path, path)
    if path != STDIN and is_recording(path):
        return (entry.what for entry in read_recording(path).entries)
    return read_events(path, path)


def read_session(sources: Sequence[str], policy: Policy, api_key: str | None = None) -> Session:
    """What whole files tell.

    Args:
        sources: paths or globs, "-" for standard input.
        policy: how requests are read and judged.
        api_key: for servers that ask for one.

    Raises:
        FeedError: one cannot be read, or none matches.
    """
    session = Session(policy)
    for path in (path for source in sources for path in paths_of(source)):
        name, known = parse_source(path).name, False
        session.open(name, "ended")
        for what in read_whole(path, api_key):
            known = True
            if isinstance(what, Gap):
                session.gap(what.source)
            else:
                session.add([what])
        if not known:
            session.open(name, "ended", NOT_KNOWN)
    return session


def paths_of(source: str) -> list[str]:
    """The files that a path or glob names.

    Raises:
        FeedError: a glob that matches nothing.
    """
    if not is_file(source) or not glob.has_magic(source) or Path(source).exists():
        return [source]
    found = sorted(glob.glob(source, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    paths = [path for path in found if Path(path).is_file()]
    if not paths:
        raise FeedError(f"no file matches {harmless(source)}")
    return paths


def read_incumbent(text: str, basis: Basis, policy: Policy, api_key: str | None = None) -> Choice:
    """What is typed for the incumbent, its log read whole.

    Raises:
        ValueError: with words for people.
        FeedError: the log cannot be read.
    """
    parsed = parse_incumbent(text, basis)
    if not isinstance(parsed, LogPath):
        return parsed
    if len(paths := paths_of(parsed.path)) > 1:
        raise ValueError(f"{parsed.path} matches {len(paths)} files: name the one to compare with")
    arm = read_session([parsed.path], policy, api_key).newest_arm()
    if arm is None:
        raise ValueError(f"{parsed.path} holds no finished request to compare with")
    return FrozenArm(arm, Path(parsed.path).name, "log")


def problems_of(notice: Notice) -> Iterator[Problem]:
    """What a feed could not read, as events."""
    if notice.kind == "oversize":
        yield Problem(source=notice.source, problem="oversize", text=notice.text, offset=notice.offset)
    elif notice.kind == "failed":
        yield Problem(source=notice.source, problem="cut", text=notice.text, offset=notice.offset)

"""What is piped in: `podman logs -f halogen | spectop -`, with the keyboard still alive."""

from __future__ import annotations

import asyncio
import io
import os
import select
from typing import TYPE_CHECKING

from tui.feeds.lines import CHUNK, LineSplitter, read_stream
from tui.feeds.protocol import Block, FeedError, Notice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SOURCE = "-"
_STDIN = 0
_NOTHING_PIPED = "nothing is piped in; use - as in: podman logs -f NAME | spectop -"


class NoTerminalError(FeedError):
    """Standard input is a pipe and there is no terminal to take keys from."""


def take_over_stdin() -> int:
    """Put the terminal in the place of the pipe at standard input, so that keys are read from there.

    Call it before a screen starts.

    Returns:
        The pipe's new descriptor, for `StdinFeed`.

    Raises:
        NoTerminalError: the process has no controlling terminal.
        FeedError: nothing is piped in.
    """
    if os.isatty(_STDIN):
        raise FeedError(_NOTHING_PIPED)
    try:
        pipe = os.dup(_STDIN)
    except OSError as error:
        raise FeedError("standard input is closed; pipe a log into it") from error
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError as error:
        os.close(pipe)
        raise NoTerminalError(
            "the log comes by standard input and there is no terminal for the keys; "
            "run it in a terminal (ssh -t, docker run -it), or without a screen: spectop events -"
        ) from error
    os.dup2(terminal, _STDIN)
    os.close(terminal)
    return pipe


def read_stdin() -> Iterator[Block | Notice]:
    """Read standard input to its end, for commands that print and end; waits for what is to come.

    Raises:
        FeedError: it is a terminal, closed, or cannot be read.
    """
    if os.isatty(_STDIN):
        raise FeedError(_NOTHING_PIPED)
    try:
        with io.FileIO(_STDIN, closefd=False) as stream:
            yield from read_stream(SOURCE, stream)
    except OSError as error:
        raise FeedError("standard input cannot be read; pipe a log into it") from error


class StdinFeed:
    """Reads a pipe as it comes, without holding up the event loop."""

    def __init__(self, fd: int = _STDIN) -> None:
        """Nothing is read yet.

        Args:
            fd: the pipe, from `take_over_stdin`; closed at the end. Without it standard input itself, which
                must be a pipe still.
        """
        self._fd = fd

    async def read(self) -> AsyncIterator[Block | Notice]:
        """Yield blocks and notices until the pipe is closed; `caught_up` when it is first found empty."""
        if os.isatty(self._fd):
            yield Notice(SOURCE, "failed", _NOTHING_PIPED)
            return
        splitter = LineSplitter(SOURCE)
        ready = select.poll()
        ready.register(self._fd, select.POLLIN)
        caught_up = False
        yield Notice(SOURCE, "opened", "", 0)
        try:
            while True:
                if ready.poll(0):
                    await asyncio.sleep(0)
                else:
                    if not caught_up:
                        caught_up = True
                        yield Notice(SOURCE, "caught_up")
                    await _readable(self._fd)
                data = os.read(self._fd, CHUNK)
                if not data:
                    break
                for item in splitter.feed(data):
                    yield item
            for item in splitter.close():
                yield item
            yield Notice(SOURCE, "ended", "the pipe was closed")
        finally:
            if self._fd != _STDIN:
                os.close(self._fd)


async def _readable(fd: int) -> None:
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await ready.wait()
    finally:
        loop.remove_reader(fd)

"""A recorded log as if it were live, at the pace of its own clock."""

from __future__ import annotations

import asyncio
import io
import time
from typing import TYPE_CHECKING

from tui.feeds.lines import read_file, read_stream
from tui.feeds.protocol import Block, Notice

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

LONGEST_PAUSE_S = 5.0
_TICK_S = 0.02


class ReplayFeed:
    """Replays one recording to its end; the pace can be changed on the way."""

    def __init__(
        self,
        source: str,
        recording: bytes | str | os.PathLike[str],
        clock_of: Callable[[bytes], float | None],
        *,
        speed: float | None = 1.0,
        longest_pause_s: float = LONGEST_PAUSE_S,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Nothing is opened yet.

        Args:
            source: name that blocks and notices carry.
            recording: its content, or its path; gzip or plain.
            clock_of: the clock that a line shows, seconds; None if it shows none, then it goes with the line
                before. A clock that goes back (the server was restarted) makes no pause.
            speed: how many times faster than recorded; None for as fast as it is read.
            longest_pause_s: a longer pause is shortened to this, seconds after the division by speed.
            clock: the present, seconds.
            sleep: waits for seconds.
        """
        self.speed = speed
        self._source = source
        self._recording = recording
        self._clock_of = clock_of
        self._longest_pause_s = longest_pause_s
        self._clock = clock
        self._sleep = sleep

    async def read(self) -> AsyncIterator[Block | Notice]:
        """Yield blocks when they are due, then `ended`.

        Raises:
            FeedError: the recording cannot be read.
        """
        due = self._clock()
        last: float | None = None
        yield Notice(self._source, "opened", "", 0)
        yield Notice(self._source, "caught_up", "", 0)
        for item in self._items():
            if isinstance(item, Notice):
                yield item
                continue
            sent = at = 0
            for line in io.BytesIO(item.data):
                stamp = self._clock_of(line)
                if stamp is not None:
                    due += self._pause(last, stamp)
                    last = stamp
                    if due - self._clock() > _TICK_S:
                        if at > sent:
                            yield Block(self._source, item.data[sent:at], item.offset + sent)
                            sent = at
                        await self._sleep(due - self._clock())
                at += len(line)
            yield Block(self._source, item.data[sent:], item.offset + sent)
            await asyncio.sleep(0)
        yield Notice(self._source, "ended", "the recording has ended")

    def _items(self) -> Iterator[Block | Notice]:
        if isinstance(self._recording, bytes):
            return read_stream(self._source, io.BytesIO(self._recording))
        return read_file(self._source, self._recording)

    def _pause(self, last: float | None, stamp: float) -> float:
        if last is None or stamp <= last or self.speed is None:
            return 0.0
        return min((stamp - last) / self.speed, self._longest_pause_s)

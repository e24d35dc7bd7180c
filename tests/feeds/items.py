"""What the tests of feeds ask of blocks and notices."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from tui.feeds.protocol import Block, Feed, Notice

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterable

    from tui.feeds.follow import Follower

Items = list[Block | Notice]


def data(items: Iterable[Block | Notice], source: str | None = None) -> bytes:
    """All bytes given, of one source or of all."""
    return b"".join(i.data for i in items if isinstance(i, Block) and source in (None, i.source))


def kinds(items: Iterable[Block | Notice], source: str | None = None) -> list[str]:
    return [i.kind for i in items if isinstance(i, Notice) and source in (None, i.source)]


def notice(items: Iterable[Block | Notice], kind: str) -> Notice:
    (found,) = [i for i in items if isinstance(i, Notice) and i.kind == kind]
    return found


def offsets(items: Iterable[Block | Notice]) -> list[int]:
    return [i.offset for i in items if isinstance(i, Block)]


def look(follower: Follower) -> Items:
    """Everything that is to be read now."""
    items = follower.step()
    while follower.behind:
        items += follower.step()
    return items


class Running:
    """A feed read by a task of its own."""

    def __init__(self, feed: Feed) -> None:
        self.items: Items = []
        self._news = asyncio.Event()
        self.task = asyncio.create_task(self._read(feed))

    async def _read(self, feed: Feed) -> None:
        async for item in feed.read():
            self.items.append(item)
            self._news.set()

    async def until(
        self, condition: Callable[[Items], bool], do: Callable[[], object] = lambda: None
    ) -> None:
        """Wait until what came fulfils a condition; something is done every so often meanwhile."""
        async with asyncio.timeout(30):
            while not condition(self.items):
                assert not self.task.done(), self.task
                do()
                self._news.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(0.05):
                        await self._news.wait()

    async def cancel(self) -> None:
        self.task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self.task


@contextlib.asynccontextmanager
async def running(feed: Feed) -> AsyncIterator[Running]:
    run = Running(feed)
    try:
        yield run
    finally:
        await run.cancel()

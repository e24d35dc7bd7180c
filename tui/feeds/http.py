"""A server polled over HTTP, and awaited while it is away."""

from __future__ import annotations

import asyncio
import random
import time
from typing import TYPE_CHECKING

from tui.feeds.ask import Connection, FinalError, SlowError, TroubleError
from tui.feeds.protocol import Notice, NoticeKind
from tui.feeds.servers import Asker, recognise
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable

    from tui.formats.sample import Sample

PACE_S = 2.0
LONGEST_WAIT_S = 30.0
MISSES = 3
"""Looks in a row that a busy server may leave unanswered: up to b10428 a batch holds /metrics up."""


class HttpFeed:
    """Polls one server: llama.cpp (a router's children too), halogen, vLLM or SGLang."""

    def __init__(
        self,
        source: str,
        *,
        api_key: str | None = None,
        pace_s: float = PACE_S,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        """Nothing is asked yet.

        Args:
            source: http(s)://host:port, as given on the command line.
            api_key: for this server.
            pace_s: seconds between two looks.
            clock: the present, seconds since the epoch.
            sleep: waits so many seconds.
            jitter: a number from 0 to 1, so that watchers of a server that comes back do not ask in step.

        Raises:
            FeedError: it is no address, or holds a password.
        """
        self.source = source
        self._connection = Connection(source, api_key)
        self._asker = Asker(self._connection, source, clock)
        self._pace_s = pace_s
        self._sleep = sleep
        self._jitter = jitter
        self._live = False
        self._note = ""

    async def read(self) -> AsyncGenerator[Sample | Notice, None]:
        """Yield samples and notices; ends only where asking again is of no use."""
        tries, told = 0, ""
        try:
            while True:
                try:
                    async for item in self._looks():
                        if self._live:
                            tries, told = 0, ""
                        yield item
                except FinalError as fault:
                    yield self._notice("failed", str(fault))
                    return
                except TroubleError as trouble:
                    self._live = False
                    if str(trouble) != told:
                        told = str(trouble)
                        yield self._notice("waiting", told)
                    wait_s = min(LONGEST_WAIT_S, 2.0**tries) * (0.5 + self._jitter() / 2)
                    await self._sleep(max(wait_s, self._asker.rest_s))
                    tries = min(tries + 1, 10)
        finally:
            await self._connection.close()

    async def first_look(self) -> list[Sample]:
        """One look and no more, for commands that print and end.

        Raises:
            FeedError: it cannot be asked; with words for people.
        """
        try:
            server = await recognise(self._asker)
            look = await server.look()
        except (TroubleError, FinalError) as fault:
            raise type(fault)(self._words(str(fault))) from None
        finally:
            await self._connection.close()
        if look.trouble:
            raise TroubleError(self._words(look.trouble))
        return list(look.samples)

    async def _looks(self) -> AsyncIterator[Sample | Notice]:
        """Recognise the server and look at it until it does not answer."""
        server = await recognise(self._asker)
        misses = 0
        while True:
            try:
                look = await server.look()
                misses = 0
            except SlowError:
                misses += 1
                if misses == MISSES:
                    raise
                await self._sleep(self._pace_s)
                continue
            for sample in look.samples:
                yield sample
            if look.trouble:
                raise TroubleError(look.trouble)
            if not self._live:
                yield self._notice("opened", "")
            if not self._live or look.note != self._note:
                yield self._notice("caught_up", look.note)
            self._live, self._note = True, look.note
            await self._sleep(self._pace_s)

    def _notice(self, kind: NoticeKind, text: str) -> Notice:
        return Notice(self.source, kind, self._words(text) if text else "")

    def _words(self, text: str) -> str:
        return f"{harmless(self.source)}: {text}"

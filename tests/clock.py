"""A clock that only goes on when someone sleeps."""

from __future__ import annotations

import asyncio


class Clock:
    """Seconds; call it for the present, and sleep with it."""

    def __init__(self, start: float = 1000.0) -> None:
        self.now = start

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        await asyncio.sleep(0)

"""Work that blocks, done aside."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import Future
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")


async def aside(work: Callable[[], T]) -> T:
    """What `work` gives or raises, from a thread that the end of the program does not wait for.

    It would wait for one of `asyncio.to_thread`: a long log or a silent server would hold up `q`.
    """
    done: Future[T] = Future()
    done.set_running_or_notify_cancel()

    def run() -> None:
        try:
            done.set_result(work())
        except BaseException as fault:  # handed on to who waits
            done.set_exception(fault)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(done)

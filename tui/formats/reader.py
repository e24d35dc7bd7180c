"""From blocks of whole lines to events: one reader a source, the dialect is recognised by itself."""

from __future__ import annotations

import time
from collections.abc import Callable

from tui.formats.events import Event


class LogReader:
    """Reads one source. Never raises on any input; yields the same events however the lines are chunked."""

    def __init__(self, source: str, now: Callable[[], float] = time.time) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            now: the present, seconds since the epoch; stamps without a year are the nearest past of it.
        """
        raise NotImplementedError

    def feed(self, data: bytes, offset: int) -> list[Event]:
        """Read whole lines.

        Args:
            data: lines with their line ends; the very last line of a source may lack it.
            offset: where `data` starts in its source. A jump forgets what needs neighbours (cumulative
                counters, open blocks); 0 after more than 0 is a new file.
        """
        raise NotImplementedError

    def idle(self) -> list[Event]:
        """The source has been silent for a second: what waited for its next line is complete."""
        raise NotImplementedError

    def close(self) -> list[Event]:
        """The source has ended."""
        raise NotImplementedError

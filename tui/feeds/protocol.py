"""What every feed yields: blocks of whole lines, and notices about the source itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

NoticeKind = Literal[
    "waiting", "opened", "caught_up", "rotated", "truncated", "gone", "oversize", "ended", "failed"
]


class FeedError(Exception):
    """A source cannot be read at all; the text says why and what to do, and is safe to print."""


@dataclass(frozen=True, slots=True)
class Block:
    """Whole lines, each with its line end; only the last line of an ended source may lack it.

    Attributes:
        source: as given on the command line (a glob: the file it matched).
        offset: where the first byte stands in the source. It jumps where bytes were left out, and falls back
            to 0 when the source was replaced or truncated.
    """

    source: str
    data: bytes
    offset: int


@dataclass(frozen=True, slots=True)
class Notice:
    """Something happened to the source.

    Attributes:
        kind: waiting (there is nothing to read yet), opened, caught_up (what was there when it was opened
            has been read: what follows is live), rotated (another file stands in its place and is read from
            its start), truncated (in place; read from its start), gone (deleted and awaited), oversize (a
            line was left out for its length), ended (there is no more), failed (it cannot be read).
        text: for people, with what to do about it where something can be done; safe to print.
        offset: where in the source: of an oversize line its start, of a truncation how far it had been read.
    """

    source: str
    kind: NoticeKind
    text: str = ""
    offset: int | None = None


class Feed(Protocol):
    """A source of bytes. Iterating ends when the source does; cancelling it closes everything."""

    def read(self) -> AsyncIterator[Block | Notice]:
        """Yield blocks and notices until the source ends."""
        ...

"""What every feed yields: blocks of whole lines, and notices about the source itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence

    from tui.formats.events import Engine

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


@dataclass(frozen=True, slots=True)
class Sample:
    """What a server answered at one look at it, as it came.

    Attributes:
        source: as given on the command line.
        stream: of a router's child its port, else its model's name; None for a server by itself.
        time: seconds since the epoch.
        engine: what the server is; None where only its metrics can tell.
        metrics: text of /metrics; None where it was not asked or is off.
        about: /props of llama.cpp, /health of halogen.
        slots: /slots of llama.cpp; None where it was not asked or is off.
        args: command line of a router's child.
        process: differs between one process of the server and the next; None where nothing tells them apart.
    """

    source: str
    stream: str | None
    time: float
    engine: Engine | None
    metrics: str | None = None
    about: Mapping[str, Any] = field(default_factory=dict)
    slots: Sequence[Mapping[str, Any]] | None = None
    args: tuple[str, ...] = ()
    process: str | None = None


class Feed(Protocol):
    """A source of bytes. Iterating ends when the source does; cancelling it closes everything."""

    def read(self) -> AsyncIterator[Block | Notice]:
        """Yield blocks and notices until the source ends."""
        ...

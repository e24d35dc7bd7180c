"""What a polled server answered at one look."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.formats.events import Engine


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
        cache: /cache of halogen, as it answered last.
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
    cache: Mapping[str, Any] = field(default_factory=dict)
    slots: Sequence[Mapping[str, Any]] | None = None
    args: tuple[str, ...] = ()
    process: str | None = None

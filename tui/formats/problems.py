"""Lines that look like a server's own and cannot be read, told in one way by all dialects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.formats.events import Engine, Problem, ProblemKind, harmless

if TYPE_CHECKING:
    from tui.formats.prefixes import Line


def problem(source: str, engine: Engine, line: Line, kind: ProblemKind) -> Problem:
    """What is wrong with a line, with its text made harmless.

    Args:
        source: name that the event carries.
        engine: whose line it looks like.
        line: without its wrappers.
        kind: the fault.
    """
    return Problem(
        source=source,
        stream=line.stream,
        engine=engine,
        time=line.time,
        clock_s=line.clock_s,
        problem=kind,
        text=harmless(line.text),
        offset=line.offset,
    )

"""The requests table: the newest first, filtered, with a cursor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from textual.content import Content

from tui.render import numbers
from tui.render.text import clean, line

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.render.glyphs import Glyphs
    from tui.session.snapshot import RequestRow


@dataclass(frozen=True, slots=True)
class _Column:
    """One column: its head, its cells' width, and what stands in a cell."""

    head: str
    width: int
    cell: Callable[[RequestRow], str]


def _plain(value: float | None) -> str:
    return numbers.count(value)


_COLUMNS = (
    _Column("#", 5, lambda row: str(row.number)),
    _Column("slot", 5, lambda row: _plain(row.request.slot)),
    _Column("task", 7, lambda row: _plain(row.request.task)),
    _Column("tokens", 7, lambda row: _plain(row.request.tokens)),
    _Column("tok/s", 6, lambda row: numbers.rate(row.rate_tok_s)),
    _Column("ratio", 8, lambda row: numbers.percent(row.request.acceptance_ratio)),
    _Column("commit", 7, lambda row: numbers.tokens(row.request.mean_accepted_length)),
    _Column("round ms", 9, lambda row: numbers.ms(row.round_ms.value)),
)
_NARROW_DROPS = ("slot", "task")
"""Columns that give way first."""


def note(row: RequestRow) -> str:
    """What is to be said of a request besides its numbers."""
    words = [row.request.drafter or ""]
    if row.request.finish != "done":
        words.append(row.request.finish)
    if row.request.concurrency is not None and row.request.concurrency > 1:
        words.append(f"{row.request.concurrency} in flight")
    if row.left_out:
        words.append(f"left out: {row.left_out}")
    return " ".join(word for word in words if word)


def matching(rows: Sequence[RequestRow], text: str) -> Sequence[RequestRow]:
    """The rows in which every word of the filter occurs, whatever its case."""
    words = text.casefold().split()
    if not words:
        return rows
    return tuple(row for row in rows if all(word in _searchable(row) for word in words))


def _searchable(row: RequestRow) -> str:
    cells = [column.cell(row) for column in _COLUMNS]
    return " ".join([*cells, note(row), row.arm, *row.request.raw]).casefold()


def draw(
    rows: Sequence[RequestRow], cursor: int | None, width: int, height: int, glyphs: Glyphs, *, empty: str
) -> list[Content]:
    """The head and the rows from the first one given.

    Args:
        rows: what is to be seen, from the top line on.
        cursor: index in `rows` of the chosen one; None without focus.
        width: cells.
        height: rows, the head included.
        glyphs: the characters to draw with.
        empty: what to say when there is no row.
    """
    columns = list(_COLUMNS)
    for head in _NARROW_DROPS:
        if sum(column.width for column in columns) + 6 > width:
            columns = [column for column in columns if column.head != head]
    room = width - 1 - sum(column.width for column in columns)
    tail = "  note" if room > 6 else ""
    head = "".join(f"{column.head:>{column.width}}" for column in columns)
    lines = [line(width, glyphs, (f" {head}{tail}", "$muted"))]
    if not rows:
        lines.append(line(width, glyphs, (f" {empty}", "$muted")))
    for index, row in enumerate(rows[: max(0, height - 1)]):
        chosen = index == cursor
        cells = "".join(f"{column.cell(row):>{column.width}}" for column in columns)
        said = f"  {clean(note(row), glyphs)}" if tail else ""
        pointer = glyphs.cursor if chosen else " "
        shown = line(width, glyphs, f"{pointer}{cells}", (said, "$muted"))
        lines.append(Content.styled(shown.plain, "reverse") if chosen else shown)
    return lines

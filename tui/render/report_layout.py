"""How the rows of a report are laid out: as plain text, or as Markdown."""

from __future__ import annotations

import re
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_LABEL = 11


@dataclass(frozen=True, slots=True)
class Row:
    """A label (may be empty) with its text; a command is written as it is to be typed."""

    label: str
    text: str
    command: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and its rows."""

    title: str
    rows: tuple[Row, ...]


def laid(row: Row, width: int) -> list[str]:
    """A row as lines of at most `width` characters."""
    if row.command:
        lines = textwrap.wrap(row.text, width - 8, break_long_words=False, break_on_hyphens=False)
        return [
            f"      {'  ' if n else ''}{line}" + (" \\" if n < len(lines) - 1 else "")
            for n, line in enumerate(lines)
        ]
    return textwrap.wrap(
        row.text,
        width,
        initial_indent=f"   {row.label:<{_LABEL}} ",
        subsequent_indent=" " * (_LABEL + 4),
        break_on_hyphens=False,
    )


def bullets(rows: Sequence[Row]) -> str:
    """Rows as a Markdown list, commands fenced."""
    lines: list[str] = []
    fenced: list[str] = []
    for row in [*rows, None]:
        if row is not None and row.command:
            fenced.append(row.text)
            continue
        if fenced:
            ticks = max(len(run) for run in re.findall("`*", "".join(fenced)))
            fence = "`" * max(3, ticks + 1)
            lines += ["", f"{fence}sh", *fenced, fence, ""]
            fenced = []
        if row is not None:
            lines.append(f"- {f'**{escaped(row.label)}** ' if row.label else ''}{escaped(row.text)}")
    return "\n".join(lines).strip("\n")


def escaped(text: str) -> str:
    """Text that Markdown shows as it is: no markup, no mention, no link to an issue."""
    return re.sub(r"([@#])", r"\1<!-- -->", re.sub(r"([\\`*_\[\]<>|~])", r"\\\1", text))

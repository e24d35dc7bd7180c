"""Lines of an exact width in cells, made of styled parts. Nothing here reads markup."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.render.glyphs import Glyphs

Part = str | tuple[str, str] | Content
"""Plain text, text with a style such as "$good bold", or finished content."""


def clean(text: str, glyphs: Glyphs, limit: int = 200) -> str:
    """Outside text that may be shown: no control characters, in ASCII mode nothing but ASCII."""
    if len(text) <= limit and text.isascii() and text.isprintable():
        return text
    shown = harmless(text, limit)
    if glyphs.ascii:
        shown = shown.encode("ascii", "backslashreplace").decode("ascii")[:limit]
    return shown


def fit(content: Content, width: int, glyphs: Glyphs) -> Content:
    """The content in exactly `width` cells: filled up, or cut with an ellipsis."""
    if width <= 0:
        return Content("")
    if content.cell_length > width:
        return content.truncate(width - 1, pad=True) + Content(glyphs.ellipsis)
    return content.truncate(width, pad=True)


def padded(text: str, width: int, glyphs: Glyphs) -> str:
    """Plain text in exactly `width` cells, as `fit` has it; a good deal cheaper."""
    if cell_len(text) > width:
        return set_cell_size(text, width - 1) + glyphs.ellipsis
    return set_cell_size(text, width)


def line(width: int, glyphs: Glyphs, *parts: Part) -> Content:
    """One line of `width` cells."""
    # A style on no text would cut what stands around it in two.
    told = [part for part in parts if not isinstance(part, tuple) or part[0]]
    return fit(Content.assemble(*told), width, glyphs)


def split(width: int, glyphs: Glyphs, left: Sequence[Part], right: Sequence[Part]) -> Content:
    """One line with `right` at its end; what does not fit is cut from `left`."""
    end = Content.assemble(*right)
    if end.cell_length >= width:
        return fit(end, width, glyphs)
    return fit(Content.assemble(*left), width - end.cell_length, glyphs) + end


def fitting(width: int, pieces: Sequence[Sequence[Part]]) -> list[Part]:
    """The parts of the first pieces that fit whole; the first one in any case."""
    taken: list[Part] = []
    used = 0
    for piece in pieces:
        used += Content.assemble(*piece).cell_length
        if taken and used > width:
            break
        taken += piece
    return taken


def wrapped(text: str, width: int, height: int, glyphs: Glyphs) -> list[str]:
    """Words laid over at most `height` lines of `width`; what is left out shows as an ellipsis."""
    if width < 1 or height < 1:
        return []
    lines = textwrap.wrap(text, width) or [""]
    if len(lines) > height:
        last = lines[height - 1]
        lines = [*lines[: height - 1], last[: width - 1] + glyphs.ellipsis]
    return lines


def beside(blocks: Sequence[tuple[Sequence[Content], int]], glyphs: Glyphs, gap: int = 1) -> list[Content]:
    """Blocks of lines side by side, each given with its width in cells."""
    height = max(len(lines) for lines, _ in blocks)
    rows = []
    for y in range(height):
        cells = [fit(lines[y] if y < len(lines) else Content(""), width, glyphs) for lines, width in blocks]
        rows.append(Content(" " * gap).join(cells))
    return rows

"""A sparkline in text: one style per row, from 0 up, with the incumbent as a line in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.render.glyphs import Glyphs

HEAD_ROOM = 1.08
"""The picture ends this much above its highest value."""
_BRAILLE = 0x2800
_BITS = ((0x40, 0x04, 0x02, 0x01), (0x80, 0x20, 0x10, 0x08))
"""Dots of the left and the right half of a cell, from the bottom up."""


def top(values: Sequence[float | None], reference: float | None = None) -> float | None:
    """The value at the upper edge; None when there is nothing to draw."""
    known = [value for value in values if value is not None]
    if not known:
        return None
    highest = max([*known, reference or 0.0])
    return highest * HEAD_ROOM if highest > 0 else None


def cells(
    values: Sequence[float | None],
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    reference: float | None = None,
) -> list[str]:
    """Rows of characters, upper row first; the newest value stands at the right edge.

    Args:
        values: oldest first; None leaves a gap. One a cell, two a cell in dots.
        width: cells.
        height: rows.
        glyphs: the characters to draw with.
        reference: a value drawn as a line where no bar reaches it; a single row has no room for it.
    """
    dots = glyphs.dots and reference is not None and height > 1
    shown = list(values[-width * (2 if dots else 1) :]) if width > 0 else []
    edge = top(shown, reference)
    if edge is None or width < 1:
        return [" " * max(width, 0)] * height
    steps = 4 if dots else len(glyphs.levels)
    full = steps * height
    filled = [None if v is None else min(full, max(1, round(v / edge * full))) for v in shown]
    line = None if reference is None or height < 2 else min(full - 1, round(reference / edge * full))
    if dots and line is not None:
        return _dotted(filled, line, width, height)
    rows = []
    for row in range(height - 1, -1, -1):
        empty = glyphs.reference if line is not None and line // steps == row else " "
        drawn = (
            empty if f is None or f <= row * steps else glyphs.levels[min(steps, f - row * steps) - 1]
            for f in filled
        )
        rows.append(empty * (width - len(filled)) + "".join(drawn))
    return rows


def _dotted(filled: Sequence[int | None], line: int, width: int, height: int) -> list[str]:
    """Bars one dot wide with a line of dots over them; bars and line share cells."""
    columns = [0] * (2 * width - len(filled)) + [f or 0 for f in filled]
    rows = []
    for row in range(height - 1, -1, -1):
        drawn = ""
        for x in range(width):
            mask = 0
            for side, bits in enumerate(_BITS):
                for level, bit in enumerate(bits, start=4 * row):
                    if level < columns[2 * x + side] or level == line:
                        mask |= bit
            drawn += chr(_BRAILLE + mask) if mask else " "
        rows.append(drawn)
    return rows


def sparkline(
    values: Sequence[float | None],
    width: int,
    height: int,
    glyphs: Glyphs,
    *,
    reference: float | None = None,
    style: str = "$canary",
    reference_style: str = "$incumbent",
) -> list[Content]:
    """The rows with one style each: the reference's where it is the only thing in a row."""
    rows = cells(values, width, height, glyphs, reference=reference)
    styles = [reference_style if reference is not None and len(set(row)) == 1 else style for row in rows]
    if styles and len(set(rows[-1])) == 1:
        styles[-1] = style
    return [Content.styled(row, row_style) for row, row_style in zip(rows, styles, strict=True)]

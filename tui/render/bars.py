"""Horizontal bars and gauges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

if TYPE_CHECKING:
    from tui.render.glyphs import Glyphs


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A bar over `width` cells for a share of 0 to 1; more than nothing is never drawn as nothing."""
    steps = len(glyphs.bar)
    filled = round(min(1.0, max(0.0, share)) * width * steps)
    if share > 0:
        filled = max(1, filled)
    whole, rest = divmod(filled, steps)
    return (glyphs.bar[-1] * whole + (glyphs.bar[rest - 1] if rest else "")).ljust(width)


def gauge(
    value: float | None,
    needed: float | None,
    low: float,
    high: float,
    width: int,
    glyphs: Glyphs,
    style: str,
) -> Content:
    """A bar from `low` to `high` with a mark at what is needed; beyond `high` the mark stands at the end.

    Args:
        value: where the bar ends; None draws the empty track.
        needed: where the mark stands; None draws none.
        low: at the left edge.
        high: at the right edge.
        width: cells.
        glyphs: the characters to draw with.
        style: of the bar.
    """
    if width < 2 or high <= low:
        return Content(" " * max(width, 0))

    def at(x: float) -> int:
        return round(min(1.0, max(0.0, (x - low) / (high - low))) * (width - 1))

    filled = 0 if value is None else max(1, at(value) + 1)
    cells = [glyphs.bar[-1]] * filled + [glyphs.track] * (width - filled)
    parts: list[str | tuple[str, str]] = [
        ("".join(cells[:filled]), style),
        ("".join(cells[filled:]), "$muted"),
    ]
    if needed is not None:
        mark = at(needed)
        parts = [
            ("".join(cells[: min(mark, filled)]), style),
            ("".join(cells[min(mark, filled) : mark]), "$muted"),
            (glyphs.mark, "$incumbent bold"),
            ("".join(cells[mark + 1 : max(mark + 1, filled)]), style),
            ("".join(cells[max(mark + 1, filled) :]), "$muted"),
        ]
    return Content.assemble(*parts)

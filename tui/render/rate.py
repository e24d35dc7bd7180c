"""The rate panel: now, the whole arm and the incumbent, on both bases, and the last requests."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.content import Content

from tui.render import numbers
from tui.render.sparkline import sparkline, top
from tui.render.text import beside, clean, line

if TYPE_CHECKING:
    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.session.snapshot import ArmView, View

_TABLE = 43
_TALL = 14
"""Rows from which on everything is stacked (the zoomed panel)."""
_OTHERS, _TREND = 3, 4


def title(scene: Scene) -> str:
    """What the panel's frame says: the generations in flight."""
    view = scene.view
    rates = [] if view is None else [f.rate_recent_tok_s or f.rate_tok_s for f in view.in_flight]
    if not rates:
        return "rate, tok/s"
    shown = " ".join(numbers.rate(rate) for rate in rates[:4])
    more = f" +{len(rates) - 4}" if len(rates) > 4 else ""
    return f"rate, tok/s - {len(rates)} in flight: {shown}{more}"


def picture_size(width: int, height: int) -> tuple[int, int] | None:
    """Cells for the ratio's history: at the bottom when zoomed, else at the right of a wide panel."""
    if height >= _TALL:
        return width, height - 2 - _OTHERS - _TREND - 2
    if width >= _TABLE + 62 and height >= 4:
        return (width - _TABLE - 2) * 2 // 5, height
    return None


def draw(scene: Scene, picture: list[Content], width: int, height: int) -> list[Content]:
    """The table, the sparkline and, where there is room, the ratio's history.

    Args:
        scene: what is shown.
        picture: the history as drawn last, of `picture_size`; may be empty.
        width: cells.
        height: rows.
    """
    glyphs, view = scene.glyphs, scene.view
    arm = view.canary if view else None
    if view is None or arm is None:
        return [line(width, glyphs, ("no finished request yet", "$muted"))]
    table = _table(view, arm, glyphs)
    reference = view.incumbent.decode_tok_s if view.incumbent else None
    if height >= _TALL:
        lines = [*table, *_others(view, _OTHERS, width, glyphs)]
        lines += [line(width, glyphs)] * (2 + _OTHERS - len(lines))
        lines.append(
            line(width, glyphs, ("decode rate by request, from 0; the line is the incumbent", "$muted"))
        )
        lines += _picture(arm, reference, width, _TREND, glyphs)
        lines.append(line(width, glyphs, ("ratio with its interval, as requests came in", "$muted")))
        return [line(width, glyphs, row) for row in [*lines, *picture][:height]]
    if width < 2 * _TABLE and height > 4:
        rows = height - len(table) - 1
        lines = [*table, line(width, glyphs), *_picture(arm, reference, width, rows, glyphs)]
        return [line(width, glyphs, row) for row in lines[:height]]
    size = picture_size(width, height)
    history = 0 if size is None else size[0] + 3
    room = width - _TABLE - 1 - history
    table += _others(view, height - len(table), _TABLE, glyphs)
    blocks = [(table, _TABLE), (_picture(arm, reference, room, height, glyphs), room)]
    if size is not None:
        blocks += [([], 1), (picture, size[0])]
    return [line(width, glyphs, row) for row in beside(blocks, glyphs)[:height]]


def _table(view: View, arm: ArmView, glyphs: Glyphs) -> list[Content]:
    incumbent = view.incumbent
    pairs = (
        ("decode", arm.now.decode_tok_s, arm.decode_tok_s, incumbent.decode_tok_s if incumbent else None),
        (
            "delivered",
            arm.now.delivered_tok_s,
            arm.delivered_tok_s,
            incumbent.delivered_tok_s if incumbent else None,
        ),
    )
    return [_row(name, now, whole, beaten, glyphs) for name, now, whole, beaten in pairs]


def _row(name: str, now: float | None, whole: float | None, beaten: float | None, glyphs: Glyphs) -> Content:
    ratio = whole / beaten if whole is not None and beaten else None
    style = {"good": "$good bold", "bad": "$bad bold"}.get(numbers.side(ratio) or "", "bold")
    return line(
        _TABLE,
        glyphs,
        (f"{name:<10}", "$muted"),
        ("now ", "$muted"),
        f"{numbers.rate(now):<5}",
        ("all ", "$muted"),
        (f"{numbers.rate(whole):<5}", "$canary bold"),
        (f"{numbers.ratio(ratio):>6}", style),
        (" of ", "$muted"),
        (f"{numbers.rate(beaten):<5}", "$incumbent bold"),
    )


def _picture(arm: ArmView, reference: float | None, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    """The sparkline with its scale at the right."""
    edge = top(arm.rates[-width:], reference)
    if edge is None or height < 1:
        return [line(width, glyphs, ("no rates yet", "$muted"))]
    labels = [numbers.rate(edge), *[""] * (height - 2), "0"][:height]
    scale = max(len(label) for label in labels)
    rows = sparkline(arm.rates, width - scale - 1, height, glyphs, reference=reference)
    return [
        Content.assemble(row, " ", (f"{label:>{scale}}", "$muted"))
        for row, label in zip(rows, labels, strict=True)
    ]


def _others(view: View, room: int, width: int, glyphs: Glyphs) -> list[Content]:
    """What stands against what, and the arms that are in neither."""
    named: list[tuple[str, str, str]] = []
    if view.incumbent is not None:
        named.append(("incumbent", view.incumbent.label, view.incumbent.message))
    if view.canary is not None:
        named.append(("canary", view.canary.label, ""))
    named += [("other arm", arm.label, f"{numbers.rate(arm.decode_tok_s)} tok/s") for arm in view.others]
    return [
        line(
            width,
            glyphs,
            (f"{what:<10}", "$muted"),
            clean(label, glyphs),
            (f"  {clean(said, glyphs)}", "$muted"),
        )
        for what, label, said in named[: max(0, room)]
    ]

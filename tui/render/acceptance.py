"""The acceptance panel: the ratio, the p behind it, and how far drafts get."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.render import numbers
from tui.render.bars import bar
from tui.render.sparkline import sparkline
from tui.render.text import clean, line, split, wrapped

if TYPE_CHECKING:
    from textual.content import Content

    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.session.snapshot import ArmView

_EVIDENCE = {
    "per_position": "from counts per position",
    "mean_length": "from the mean length",
    "ratio": "from the ratio",
    "halogen_head": "from the head's commit",
}


def draw(scene: Scene, width: int, height: int) -> list[Content]:
    """The panel's lines."""
    glyphs = scene.glyphs
    arm = scene.view.canary if scene.view else None
    if arm is None:
        return [line(width, glyphs, ("no finished request yet", "$muted"))]
    lines = _p_lines(arm, width, glyphs)
    tall = height >= 9
    ratio = f"{numbers.percent(arm.acceptance_ratio.value)}"
    trend_width = width - len(ratio) - 15
    trend = "" if tall else sparkline(arm.ratios, trend_width, 1, glyphs, style="$draft")[0]
    lines.append(line(width, glyphs, ("ratio ", "$muted"), (ratio, "bold"), (" not p ", "$muted"), trend))
    reached = arm.reached
    if reached is None:
        reason = arm.acceptance_ratio.note if arm.acceptance_ratio.value is None else ""
        if not reason and arm.mean_accepted_length.note.startswith("rounds of"):
            reason = arm.mean_accepted_length.note
        missing = reason or "no counts per position in this log"
        rows = wrapped(clean(missing, glyphs), width, height - len(lines), glyphs)
        lines += [line(width, glyphs, (row, "$muted")) for row in rows]
    else:
        room = height - 3 - (3 if tall else 0)
        lines.append(split(width, glyphs, [("  reached", "$muted")], [("given all before", "$muted")]))
        lines += [_position(arm, i, width, glyphs) for i in _chosen(len(reached), room)]
    if tall:
        lines += _trend(arm, width, height - len(lines), glyphs)
    return lines[:height]


def _p_lines(arm: ArmView, width: int, glyphs: Glyphs) -> list[Content]:
    """P with what is to be said of it; a long reason takes the lines that no bars need."""
    p = arm.acceptance
    said = clean(p.note, glyphs)
    if not said and p.interval is not None and p.point is not None:
        said = f"[{numbers.p(p.interval[0])}, {numbers.p(p.interval[1])}]"
    if not said and p.evidence is not None:
        said = _EVIDENCE[p.evidence]
    value = numbers.acceptance(p)
    room = width - len(value) - 3
    rows = wrapped(said, room, 1 if arm.reached is not None else 3, glyphs)
    first = line(width, glyphs, ("p ", "$muted"), (value, "$draft bold"), (f" {rows[0]}", "$muted"))
    return [first, *(line(width, glyphs, (f"{'':>{width - room}}{row}", "$muted")) for row in rows[1:])]


def _chosen(positions: int, room: int) -> list[int]:
    """Which positions are shown: all, or the first ones and the last."""
    if positions <= room:
        return list(range(positions))
    return [*range(max(0, room - 1)), positions - 1]


def _position(arm: ArmView, index: int, width: int, glyphs: Glyphs) -> Content:
    share = (arm.reached or ())[index]
    p = arm.acceptance
    given = p.conditional[index] if index < len(p.conditional) else None
    bound = index < len(p.conditional_is_lower_bound) and p.conditional_is_lower_bound[index]
    text = f"{'>' if bound and given is not None else ''}{numbers.p(given)}"
    gutter = len(str(len(arm.reached or ()))) + 1
    length = max(3, width - 13 - gutter)
    return line(
        width,
        glyphs,
        (f"{index + 1:<{gutter}}", "$muted"),
        (bar(share, length, glyphs), "$draft"),
        f"{numbers.percent(share, 0):>6}",
        f"{text:>7}",
    )


def _trend(arm: ArmView, width: int, room: int, glyphs: Glyphs) -> list[Content]:
    if room < 2 or not arm.ratios:
        return []
    now = numbers.percent(arm.now.acceptance_ratio)
    head = split(width, glyphs, [("ratio, from 0", "$muted")], [("now ", "$muted"), now])
    return [head, *sparkline(arm.ratios, width, min(4, room - 1), glyphs, style="$draft")]

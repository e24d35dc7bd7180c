"""The commit/round panel: what a round commits, what it must, and what K allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.render import numbers
from tui.render.bars import gauge
from tui.render.sparkline import sparkline
from tui.render.text import clean, line, split

if TYPE_CHECKING:
    from textual.content import Content

    from tui.model.figures import Figure
    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.render.text import Part
    from tui.session.snapshot import ArmView


def draw(scene: Scene, width: int, height: int) -> list[Content]:
    """The panel's lines."""
    glyphs = scene.glyphs
    arm = scene.view.canary if scene.view else None
    if arm is None:
        return [line(width, glyphs, ("no finished request yet", "$muted"))]
    commit, needed, allowed = arm.mean_accepted_length, arm.commit_needed.value, arm.most_committed
    pays = commit.value is not None and needed is not None and commit.value >= needed
    style = "bold" if needed is None or commit.value is None else "$good bold" if pays else "$bad bold"
    lines = [
        _row(
            width,
            glyphs,
            "commits",
            (numbers.tokens(commit.value), style),
            _beside(commit, "a round", glyphs),
        ),
        _needs(arm, width, glyphs),
    ]
    if allowed is not None:
        most = f" {numbers.count(allowed)} max"
        scale = gauge(commit.value, needed, 1.0, allowed, width - 2 - len(most), glyphs, style.split()[0])
        lines.append(line(width, glyphs, ("1 ", "$muted"), scale, (most, "$muted")))
    lines.append(_figure(width, glyphs, "per pass", arm.tokens_per_pass, numbers.tokens))
    if arm.commit_spread is not None:
        low, middle, high = (numbers.tokens(x) for x in arm.commit_spread)
        median = f" median {middle}" if width >= 34 else ""
        lines.append(_row(width, glyphs, "10-90 %", f"{low}..{high}", (median, "$muted")))
    plain = f" {arm.plain_steps} plain" if arm.plain_steps else ""
    lines.append(_figure(width, glyphs, "coverage", arm.coverage, numbers.percent, plain))
    if arm.head_off_share is not None:
        lines.append(
            _row(width, glyphs, "head off", numbers.percent(arm.head_off_share), (" of tokens", "$muted"))
        )
    if height >= 9:
        finished = f" in {numbers.counted(arm.requests, 'request')}" if arm.requests is not None else ""
        lines.append(_row(width, glyphs, "rounds", _rounds(arm), (finished, "$muted")))
    room = min(4, height - len(lines) - (height >= 11))
    if room > 0 and arm.commits:
        if height >= 11:
            now = numbers.tokens(arm.now.mean_accepted_length)
            lines.append(
                split(width, glyphs, [("by request, from 0", "$muted")], [("now ", "$muted"), now]),
            )
        lines += sparkline(arm.commits, width, room, glyphs, reference=needed)
    return lines[:height]


def _row(width: int, glyphs: Glyphs, label: str, *parts: Part) -> Content:
    return line(width, glyphs, (f"{label:<9}", "$muted"), *parts)


def _figure(
    width: int, glyphs: Glyphs, label: str, value: Figure, write: numbers.Write, beside: str = ""
) -> Content:
    return _row(width, glyphs, label, write(value.value), _beside(value, beside, glyphs))


def _beside(value: Figure, known: str, glyphs: Glyphs) -> Part:
    text = known if value.value is not None else clean(value.note, glyphs)
    return (f" {text.strip()}" if text else "", "$muted")


def _needs(arm: ArmView, width: int, glyphs: Glyphs) -> Content:
    needed, allowed = arm.commit_needed, arm.most_committed
    text = ""
    if needed.value is None:
        text = clean(needed.note, glyphs)
    elif allowed is not None and needed.value > allowed:
        text = "over max"
    return _row(
        width,
        glyphs,
        "needs",
        (numbers.tokens(needed.value), "$incumbent bold" if needed.value is not None else ""),
        (f" {text}" if text else "", "$muted"),
    )


def _rounds(arm: ArmView) -> str:
    if arm.rounds is None and arm.rounds_range is not None:
        return f"{arm.rounds_range[0]}..{arm.rounds_range[1]}"
    return numbers.count(arm.rounds)

"""Scenes for the render functions, without a screen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests import snapshots
from tui.model.whatif import answer
from tui.render.glyphs import ASCII, UNICODE, Glyphs
from tui.render.levers import NOTHING_KNOWN, Levers
from tui.render.scene import Scene

if TYPE_CHECKING:
    from textual.content import Content

    from tui.session.snapshot import View

VIEWS = {
    "loss": snapshots.view(),
    "no incumbent": snapshots.no_incumbent(),
    "nothing known": snapshots.nothing_known(),
    "waiting": snapshots.waiting(),
    "head": snapshots.head(),
    "hostile": snapshots.hostile(),
}
GLYPHS = {"unicode": UNICODE, "ascii": ASCII}


def scene(
    view: View | None, glyphs: Glyphs = UNICODE, levers: Levers | None = None, paused: int | None = None
) -> Scene:
    levers = levers or Levers()
    what = levers.over((view.what_if if view else None) or NOTHING_KNOWN)
    return Scene(view=view, levers=levers, what=what, answer=answer(what), glyphs=glyphs, paused=paused)


def text(lines: list[Content]) -> str:
    return "\n".join(line.plain for line in lines)

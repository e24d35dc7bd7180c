"""Depth by depth: what a pass costs, what a draft token must bring, and whether it pays to go on."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from tui.model.thresholds import Thresholds, going_on
from tui.model.whatif import rate_of
from tui.render import numbers
from tui.render.text import line

if TYPE_CHECKING:
    from textual.content import Content

    from tui.model.thresholds import Threshold
    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene

TABLE = 37
"""Cells of the table."""
_HEAD = "  K    v  tok/s  needs  reach  go on"


def table(scene: Scene, height: int) -> list[Content]:
    """A row for each depth that the profile reaches, as far as there is room; empty without a profile.

    Args:
        scene: what is shown.
        height: rows.
    """
    vector = _vector(scene)
    if vector is None:
        return []
    glyphs = scene.glyphs
    if isinstance(vector, str):
        return [line(TABLE, glyphs, (f"go on: {vector}", "$muted"))]
    rows = [_row(scene, step, glyphs) for step in vector.steps[: max(0, height - 2)]]
    head, foot = ((words, "$muted") for words in (_HEAD, _at(scene, vector)))
    return [line(TABLE, glyphs, head), *rows, line(TABLE, glyphs, foot)]


def strip(scene: Scene, width: int) -> Content | None:
    """The same in one line: where it pays to go on; None without a profile."""
    vector = _vector(scene)
    if vector is None:
        return None
    if isinstance(vector, str):
        return line(width, scene.glyphs, (f"go on: {vector}", "$muted"))
    parts: list[tuple[str, str]] = [("go on to", "$muted")]
    for step in vector.steps:
        word, style = _pays(step)
        parts += [(f"  {step.depth} ", "$muted"), ("yes" if step.pays else word, style)]
    return line(width, scene.glyphs, *parts)


def _vector(scene: Scene) -> Thresholds | str | None:
    if scene.cost is None or scene.what.profile is None:
        return None
    return going_on(scene.what, scene.cost.profile)


def _row(scene: Scene, step: Threshold, glyphs: Glyphs) -> Content:
    what = dataclasses.replace(scene.what, depth=step.depth)
    v = what.profile[step.depth] if what.profile and step.depth < len(what.profile) else None
    live = what.measured
    if live is not None and live.depth == step.depth and what.verify_factor.value is not None:
        v = what.verify_factor.value
    arm = scene.view.canary if scene.view else None
    typed = scene.what.acceptance is not None or scene.what.conditional is not None
    bound = not typed and arm is not None and any(arm.acceptance.conditional_is_lower_bound[: step.depth])
    reach = f"{'>' if bound and step.reached is not None else ''}{numbers.p(step.reached)}"
    word, style = _pays(step)
    here = "bold" if step.depth == scene.what.depth else ""
    return line(
        TABLE,
        glyphs,
        (
            f"{step.depth:3}{'~' if step.derived else ' '}{numbers.factor(v):>5}"
            f"{numbers.span(rate_of(what), numbers.rate):>6} {_needs(step.block):>6}"
            f" {reach:>5}{'~' if step.extended else ' '}  ",
            here,
        ),
        (word, style),
    )


def _pays(step: Threshold) -> tuple[str, str]:
    if step.pays_to is not None:
        return ("yes" if step.pays_to == step.depth else f"to {step.pays_to}"), "$good"
    return (numbers.UNKNOWN, "$muted") if step.pays is None else ("no", "$bad")


def _needs(share: float) -> str:
    """A share that no acceptance reaches is "never", one that needs none is "any"."""
    return "never" if share > 1 else "any" if share <= 0 else numbers.p(share)


def _at(scene: Scene, vector: Thresholds) -> str:
    step = scene.what.target_step_ms.value
    rate = None if step is None else 1000 * vector.speedup / step
    best = "without drafting" if not vector.best_depth else f"K={vector.best_depth}"
    return f"to beat: {numbers.rate(rate)} tok/s, {best}"

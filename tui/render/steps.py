"""The step times panel: where the time of a round goes, and how each number was come by."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

from tui.model.steps import UPPER_BOUND, is_upper_bound
from tui.render import numbers
from tui.render.text import clean, line, wrapped

if TYPE_CHECKING:
    from textual.content import Content

    from tui.model.figures import Figure
    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.session.snapshot import ArmView

_LABEL, _VALUE = 8, 7
_FASTER = "t_s/d_s"
PLAIN_NEEDS = "10-50"
"""How much faster than its target a plain drafter must be to pay, by the field's experience."""


def draw(scene: Scene, width: int, height: int) -> list[Content]:
    """The panel's lines: label, number, and the word or reason beside it."""
    glyphs = scene.glyphs
    arm = scene.view.canary if scene.view else None
    if arm is None:
        return [line(width, glyphs, ("no finished request yet", "$muted"))]
    rows = _rows(arm)
    room = width - _LABEL - len(numbers.UNKNOWN) - 1
    texts: list[str] = []
    for (known, text), group in groupby(((f.value is not None, _said(f, glyphs)) for _, _, f in rows)):
        size = len(list(group))
        # One reason for several unknown figures in a row is written once, over the lines they have.
        flowed = [text] * size if known else wrapped(text, room, size, glyphs)
        texts += flowed + [""] * (size - len(flowed))
    lines = []
    for (label, number, figure), text in zip(rows, texts, strict=True):
        known = figure.value is not None
        shown = (f"{number:>{_VALUE}}", "bold") if known else (number, "$muted")
        if label == _FASTER and len(text) > width - _LABEL - _VALUE - 1:
            text = figure.note  # what a plain drafter needs says more than "derived"
        lines.append(line(width, glyphs, (f"{label:<{_LABEL}}", "$muted"), shown, (f" {text}", "$muted")))
    lines += _in_full(rows, room, width, height - len(lines) - 3, glyphs)
    if height > len(lines) + 1:
        now = numbers.ms(arm.now.round_ms)
        lines += [
            line(width, glyphs, ""),
            line(
                width,
                glyphs,
                (f"{'now':<{_LABEL}}", "$muted"),
                f"{now:>{_VALUE}}",
                (f" last {arm.now.requests}", "$muted"),
            ),
        ]
    if scene.view is not None and scene.view.fixed_cost:
        rows_left = height - len(lines)
        told = (
            wrapped(clean(scene.view.fixed_cost, glyphs), width, rows_left, glyphs) if rows_left > 0 else []
        )
        lines += [line(width, glyphs, (row, "$muted")) for row in told]
    return lines[:height]


def _in_full(
    rows: list[tuple[str, str, Figure]], room: int, width: int, height: int, glyphs: Glyphs
) -> list[Content]:
    """The reasons that were too long for their line, whole, where there is room."""
    told: dict[str, list[str]] = {}
    for label, _, figure in rows:
        said = _said(figure, glyphs)
        if len(said) > room:
            told.setdefault(said, []).append(label)
    lines = [line(width, glyphs)] if told else []
    for said, labels in told.items():
        text = f"{', '.join(labels)}: {said}"
        lines += [line(width, glyphs, (row, "$muted")) for row in wrapped(text, width, 3, glyphs)]
    return lines if len(lines) <= height else []


def _rows(arm: ArmView) -> list[tuple[str, str, Figure]]:
    steps = arm.steps
    whole = ("round", steps.round_ms)
    if steps.round_ms.value is None and steps.pass_ms.value is not None:
        whole = ("pass", steps.pass_ms)
    times = [whole, ("t_s", steps.target_step_ms), ("draft", steps.draft_ms)]
    times += [("verify", steps.verify_ms), ("d_s", steps.draft_step_ms)]
    rows = [(label, _bounded(numbers.ms(f.value), f), f) for label, f in times]
    rows.append(("v", numbers.factor(steps.verify_factor.value), steps.verify_factor))
    faster = steps.target_over_draft
    if faster.value is not None and arm.drafter_class == "plain":
        faster = replace(faster, note=f"needs {PLAIN_NEEDS}")
    rows.append((_FASTER, numbers.ratio(faster.value), faster))
    return rows


def _bounded(text: str, figure: Figure) -> str:
    return f"<={text}" if figure.value is not None and is_upper_bound(figure) else text


def _said(figure: Figure, glyphs: Glyphs) -> str:
    words = [numbers.mark(figure), "" if figure.note == UPPER_BOUND else clean(figure.note, glyphs)]
    return ", ".join(word for word in words if word)

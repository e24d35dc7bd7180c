"""Findings of the pre-flight checks in words."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from textual.content import Content

from tui.render import numbers
from tui.render.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.preflight.findings import Finding
    from tui.render.glyphs import Glyphs

_INDENT = 4
_LONGEST = 600


def summary(findings: Sequence[Finding], age_s: float) -> str:
    """How many findings speak for and against the pair, and how old they are."""
    good, bad = (sum(each.ok is ok for each in findings) for ok in (True, False))
    unknown = sum(each.sure == "unknown" for each in findings)
    facts = len(findings) - good - bad - unknown
    told = [f"{good} ok", f"{bad} NO", f"{unknown} unknown", numbers.counted(facts, "fact")]
    return f"{', '.join(told)}; asked {numbers.age(age_s)} ago (f asks again)"


def lines(findings: Sequence[Finding], width: int, glyphs: Glyphs) -> list[Content]:
    """Each finding as question, answer, how sure and who was asked, and advice.

    Args:
        findings: in the order they are told.
        width: cells.
        glyphs: the characters that may be used.
    """
    told: list[Content] = []
    for each in findings:
        mark, style = _mark(each)
        question, *rest = _wrapped(each.question, width, glyphs)
        told.append(Content.assemble((f"{mark:<{_INDENT}}", style), (question[_INDENT:], "bold")))
        told += [Content.styled(line, "bold") for line in rest]
        told += [Content(line) for line in _wrapped(each.answer, width, glyphs)]
        sure = f"{each.sure}; asked: {each.asked}"
        told += [Content.styled(line, "$muted") for line in _wrapped(sure, width, glyphs)]
        if each.advice:
            told += [Content.styled(line, "$accent") for line in _wrapped(f"-> {each.advice}", width, glyphs)]
        told.append(Content(""))
    return told


def _mark(finding: Finding) -> tuple[str, str]:
    if finding.ok is None:
        return ("?", "$warn bold") if finding.sure == "unknown" else ("", "")
    return ("ok", "$good bold") if finding.ok else ("NO", "$bad bold")


def _wrapped(text: str, width: int, glyphs: Glyphs) -> list[str]:
    indent = " " * _INDENT
    shown = clean(text, glyphs, _LONGEST)
    told = textwrap.wrap(
        shown, max(width, 20), initial_indent=indent, subsequent_indent=indent, break_on_hyphens=False
    )
    return told or [indent]

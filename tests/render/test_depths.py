"""Where it pays to go on, depth by depth."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.render.scenes import GLYPHS, scene
from tests.snapshots import BENCH, COMMIT, CURVE, LIVE, priced, view
from tui.model.figures import Figure
from tui.model.thresholds import Thresholds, going_on
from tui.model.whatif import Measured, rate_of
from tui.render import depths, numbers
from tui.render.levers import Levers

if TYPE_CHECKING:
    from tui.model.whatif import WhatIf
    from tui.render.scene import Scene

FAST = replace(
    LIVE,
    draft_step_ms=Figure(1.0, "measured"),
    verify_factor=Figure(1.8, "measured"),
    measured=Measured(4, 4 + 1.8 * 26.2, 4.0, 1 + sum(CURVE), CURVE),
)
"""A drafter of 1 ms a token, whose passes over five tokens took 1.8 plain steps."""


def of(what: WhatIf | None = None, levers: Levers | None = None) -> Scene:
    shown = priced() if what is None else replace(priced(), what_if=what)
    return replace(scene(shown, levers=levers), cost=shown.cost)


def rows(drawn: Scene, height: int = 12) -> list[str]:
    return [row.plain for row in depths.table(drawn, height)]


def test_nothing_without_a_profile() -> None:
    assert depths.table(scene(view()), 12) == []
    assert depths.strip(scene(view()), 60) is None
    # A typed v replaces the profile.
    assert depths.table(of(levers=Levers(verify_factor=1.5)), 12) == []


def test_a_row_for_each_depth_that_the_profile_reaches() -> None:
    what = replace(FAST, profile=BENCH.steps)
    drawn = of(what)
    vector = going_on(drawn.what, BENCH)
    assert isinstance(vector, Thresholds)
    head, *body, foot = rows(drawn)
    assert head.split() == ["K", "v", "tok/s", "needs", "reach", "go", "on"]
    assert [row.split()[0].strip("~") for row in body] == ["1", "2", "3", "4", "5", "6", "7"]
    for row, step in zip(body, vector.steps, strict=True):
        cells = row.replace("~", " ").replace(">", " ").split()
        assert cells[2] == numbers.span(rate_of(replace(what, depth=step.depth)), numbers.rate)
        assert cells[4] == numbers.p(step.reached)
        assert ("no" in cells) is (step.pays is False)
    # Two tokens are nearly free, the third leaps.
    assert [step.pays_to for step in vector.steps[:3]] == [2, 2, None]
    assert body[0].split()[-2:] == ["to", "2"]
    assert body[1].split()[-1] == "yes"
    assert body[2].split()[-1] == "no"
    assert foot.startswith(f"to beat: {numbers.rate(1000 * vector.speedup / 26.2)} tok/s, K=2")


def test_what_is_cut_short_derived_or_extended_is_marked() -> None:
    body = rows(of(replace(FAST, profile=BENCH.steps)))[1:-1]
    # The first position is whole, later ones are lower bounds while drafts are cut short.
    assert ">" not in body[0]
    assert ">" in body[1]
    # n = 7 lies between two measured sizes; positions after the fourth were not measured.
    assert [row[3] for row in body] == [" ", " ", " ", " ", " ", "~", "~"]
    assert ["~" in row[20:] for row in body] == [False] * 4 + [True] * 3
    typed = rows(of(replace(FAST, profile=BENCH.steps), Levers(acceptance=0.7)))
    assert all(">" not in row for row in typed)


def test_the_measured_pass_stands_at_its_depth() -> None:
    body = rows(of())[1:-1]
    assert body[3].split()[1] == "2.20"
    assert body[3].split()[2] == numbers.rate(1000 * COMMIT / 104.4)
    assert body[4].split()[1] == "1.80"


def test_nothing_pays_where_not_drafting_is_best() -> None:
    *body, foot = rows(of(replace(LIVE, profile=BENCH.steps), Levers(acceptance=0.2)))[1:]
    assert {row.split()[-1] for row in body} == {"no"}
    assert foot.strip() == f"to beat: {numbers.rate(1000 / 26.2)} tok/s, without drafting"


@pytest.mark.parametrize("name", ["target_step_ms", "draft_step_ms"])
def test_what_must_be_known_first_is_said(name: str) -> None:
    unknown = Figure.unknown("not measured")
    changes = {name: unknown, "measured": None}
    what = replace(LIVE, profile=BENCH.steps, **changes)  # type: ignore[arg-type]  # fields by name
    said = "go on: t_s unknown" if name == "target_step_ms" else "go on: d_s unknown"
    assert [row.strip() for row in rows(of(what))] == [said]
    strip = depths.strip(of(what), 60)
    assert strip is not None
    assert strip.plain.strip() == said


@pytest.mark.parametrize("kind", GLYPHS)
def test_rows_have_their_width_and_room(kind: str) -> None:
    drawn = replace(of(replace(FAST, profile=BENCH.steps)), glyphs=GLYPHS[kind])
    for height in (3, 6, 12):
        table = depths.table(drawn, height)
        assert len(table) <= height
        assert {row.cell_length for row in table} == {depths.TABLE}
        assert kind != "ascii" or all(row.plain.isascii() for row in table)
    for width in (20, 66):
        strip = depths.strip(drawn, width)
        assert strip is not None
        assert strip.cell_length == width
        assert strip.plain.startswith("go on to  1 yes  2 ")

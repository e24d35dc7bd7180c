from dataclasses import replace

import pytest

from tests.snapshots import LIVE, UNKNOWN_ARM, arm, no_incumbent, view
from tui.model.acceptance import Acceptance
from tui.model.figures import Figure
from tui.model.whatif import WhatIf
from tui.render.levers import NUMBERS, LeverName, Levers, measured_p, parse, stepped, value_of


def step(name: LeverName, direction: int, live: WhatIf = LIVE, levers: Levers | None = None) -> Levers:
    levers = levers or Levers()
    return stepped(levers.over(live), levers, name, direction, 0.609)


def test_untouched_levers_leave_the_live_inputs_alone() -> None:
    assert Levers().over(LIVE) is LIVE
    assert Levers().touched() == ()


def test_untouched_inputs_go_on_following_the_log() -> None:
    levers = step("depth", 1)
    later = replace(LIVE, target_step_ms=Figure(31.0, "measured"))
    assert levers.over(later).target_step_ms.value == 31.0
    assert levers.over(later).depth == 5


def test_what_was_moved_is_typed() -> None:
    levers = step("target_step_ms", 1)
    assert levers.over(LIVE).target_step_ms == Figure(27.0, "typed")
    assert levers.touched() == ("target_step_ms",)


def test_p_starts_from_the_measured_one_and_moves_on_hundredths() -> None:
    assert step("acceptance", 1).acceptance == 0.61
    assert step("acceptance", -1).acceptance == 0.60
    assert step("acceptance", 1, levers=Levers(acceptance=0.61)).acceptance == 0.62


@pytest.mark.parametrize(
    ("name", "at", "direction"),
    [
        ("depth", 64, 1),
        ("depth", 1, -1),
        ("acceptance", 1.0, 1),
        ("acceptance", 0.0, -1),
        ("coverage", 1.0, 1),
    ],
)
def test_steps_end_at_the_range(name: LeverName, at: float, direction: int) -> None:
    levers = Levers().with_value(name, at)
    assert step(name, direction, levers=levers) == levers


def test_a_hundred_steps_of_p_reach_both_ends_without_drift() -> None:
    levers = Levers(acceptance=0.0)
    seen = []
    for _ in range(100):
        levers = step("acceptance", 1, levers=levers)
        seen.append(levers.acceptance)
    assert seen == [round(i / 100, 2) for i in range(1, 101)]


@pytest.mark.parametrize("name", [name for name in NUMBERS if name not in ("acceptance", "verify_factor")])
def test_an_unknown_value_is_not_stepped_from_a_guess(name: LeverName) -> None:
    blank = WhatIf(drafter_class="plain", depth=3)
    if value_of(blank, name) is None:
        with pytest.raises(ValueError, match="type a value"):
            step(name, 1, live=blank)
    else:
        assert step(name, -1, live=blank) != Levers()


def test_every_number_can_be_stepped_once_known() -> None:
    for name in NUMBERS:
        assert step(name, -1).touched() == (name,)


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("depth", "65", "from 1 to 64"),
        ("depth", "0", "from 1 to 64"),
        ("depth", "2.5", "whole"),
        ("acceptance", "1.2", "from 0 to 1"),
        ("coverage", "101", "100 %"),
        ("target_step_ms", "0", "more than 0"),
        ("incumbent_tok_s", ".", "not a number"),
    ],
)
def test_what_is_out_of_range_is_refused_with_the_range(name: LeverName, text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Levers().with_value(name, parse(name, text))


def test_coverage_is_typed_in_percent_and_a_free_draft_is_allowed() -> None:
    assert Levers().with_value("coverage", parse("coverage", "62")).coverage == pytest.approx(0.62)
    assert Levers().with_value("draft_step_ms", parse("draft_step_ms", "0")).draft_step_ms == 0


def test_the_class_goes_round() -> None:
    levers = Levers()
    seen = []
    for _ in range(3):
        levers = levers.next_class(levers.over(LIVE))
        seen.append(levers.drafter_class)
    assert seen == ["head", "ngram", "plain"]


def test_the_measured_p_is_the_point_or_the_middle_of_its_range() -> None:
    assert measured_p(view()) == pytest.approx(0.609)
    point = arm(acceptance=Acceptance(0.7, 0.7, 0.7, (0.68, 0.72), "per_position", ""))
    assert measured_p(view(canary=point)) == 0.7
    assert measured_p(view(canary=UNKNOWN_ARM)) is None
    assert measured_p(view(canary=None)) is None
    assert measured_p(None) is None
    assert measured_p(no_incumbent()) == pytest.approx(0.609)


def test_p_may_be_one_for_each_position() -> None:
    levers = Levers(acceptance=0.6).with_value("acceptance", parse("acceptance", ".8,.7,.5"))
    assert levers.touched() == ("acceptance",)
    what = levers.over(LIVE)
    assert (what.acceptance, what.conditional) == (None, (0.8, 0.7, 0.5))
    # One p again, typed or stepped, replaces them.
    again = levers.with_value("acceptance", 0.6)
    assert (again.over(LIVE).acceptance, again.over(LIVE).conditional) == (0.6, None)
    assert step("acceptance", 1, levers=levers).over(LIVE).conditional is None
    assert levers.with_value("depth", 2).over(LIVE).conditional == (0.8, 0.7, 0.5)
    assert parse("acceptance", ".8,") == (0.8,)


@pytest.mark.parametrize(
    ("text", "words"), [(".8,1.2", "from 0 to 1"), (".8,,.7", "not a number"), (",", "number")]
)
def test_what_is_no_p_at_some_position_is_refused(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        Levers().with_value("acceptance", parse("acceptance", text))


def test_a_typed_verify_factor_replaces_the_profile() -> None:
    priced = replace(LIVE, profile=(1.0, 1.2, 1.4))
    assert Levers(depth=1).over(priced).profile == (1.0, 1.2, 1.4)
    assert Levers(verify_factor=1.5).over(priced).profile is None

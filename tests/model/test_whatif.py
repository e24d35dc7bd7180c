from __future__ import annotations

import dataclasses
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.figures import DrafterClass, Figure, RootSpan, Span
from tui.model.whatif import ASSUMED_VERIFY_FACTOR, Measured, WhatIf, answer, at_factor, predicted, rate_of

INF = math.inf


def typed(value: float) -> Figure:
    return Figure(value, "typed")


def measured(value: float) -> Figure:
    return Figure(value, "measured")


UNKNOWN = Figure.unknown("not measured")
UPPER_BOUND = Figure(30.0, "measured", "upper bound")
ASSUMED = Figure(ASSUMED_VERIFY_FACTOR, "assumed")

TYPED = WhatIf("plain", 3, 0.6, typed(67.0), typed(12.0), typed(1.1), incumbent_tok_s=25.0)

# A plain drafter at K = 3: round 110 = draft 50 + verify 60, t_s 30, so v = 2; 1 % plain steps.
LIVE = WhatIf(
    "plain",
    3,
    None,
    measured(30.0),
    measured(17.0),
    measured(2.0),
    coverage=0.99,
    incumbent_tok_s=1000 / 30,
    measured=Measured(3, 110.0, 50.0, 2.25, (0.65, 0.38, 0.22)),
)
ROUND_ONLY = dataclasses.replace(
    LIVE,
    draft_step_ms=UNKNOWN,
    verify_factor=ASSUMED,
    measured=Measured(3, 110.0, None, 2.25),
    coverage=1.0,
)

PROFILE = (1.0, 1.2, 1.3, 1.5)


def near(span: Span | None, low: float, high: float) -> bool:
    return span is not None and (span.low, span.high) == pytest.approx((low, high), rel=1e-9)


def test_the_worked_example_by_the_formula_not_by_its_misquoted_figures() -> None:
    found = answer(TYPED)
    assert found.expected_tokens == pytest.approx(2.176)
    assert near(found.round_ms, 109.7, 109.7)
    assert near(found.rate_tok_s, 2176 / 109.7, 2176 / 109.7)
    assert near(found.commit_needed, 2.7425, 2.7425)
    assert found.break_even is not None
    assert found.break_even.low == pytest.approx(0.7519, abs=5e-5)
    assert found.break_even_at[1] == RootSpan("never", "never")
    seventh = found.break_even_at[7]
    assert seventh is not None
    assert seventh.low == pytest.approx(0.7817, abs=5e-5)
    assert found.best_depth == 2
    assert found.best_rate_tok_s == pytest.approx(20.061, abs=5e-4)
    assert found.head_room is not None
    assert found.head_room.low == pytest.approx(0.6 - 0.7519, abs=1e-4)
    assert (found.assumed, found.replaces, found.approximate) == ((), "", False)


@pytest.mark.parametrize(
    ("what", "depth", "low", "high"),
    [
        # Typed: a number at every depth.
        (TYPED, 1, 85.7, 85.7),
        (TYPED, 64, 841.7, 841.7),
        # Measured: a number at its depth, bounds elsewhere. Draft 17 a token; verify [30, 60] or [60, inf).
        (LIVE, 3, 110.0, 110.0),
        (LIVE, 1, 17 + 30.0, 17 + 60.0),
        (LIVE, 2, 34 + 30.0, 34 + 60.0),
        (LIVE, 7, 7 * 17 + 60.0, INF),
        # A head drafts in one pass at every depth.
        (dataclasses.replace(LIVE, drafter_class="head", draft_step_ms=measured(50.0)), 1, 50 + 30.0, 110.0),
        (dataclasses.replace(LIVE, drafter_class="head", draft_step_ms=measured(50.0)), 9, 110.0, INF),
        # The draft step unknown, drafting per round known: scaled per token.
        (dataclasses.replace(LIVE, draft_step_ms=UNKNOWN), 3, 110.0, 110.0),
        (dataclasses.replace(LIVE, draft_step_ms=UNKNOWN), 1, 50 / 3 + 30.0, 50 / 3 + 60.0),
        # No target step: the verify pass is still the round less its drafting.
        (dataclasses.replace(LIVE, target_step_ms=UNKNOWN, verify_factor=UNKNOWN), 3, 110.0, 110.0),
        (dataclasses.replace(LIVE, target_step_ms=UNKNOWN, verify_factor=UNKNOWN), 1, 17.0, 77.0),
        # Only whole rounds: nothing but the plain step bounds it from below.
        (ROUND_ONLY, 3, 110.0, 110.0),
        (ROUND_ONLY, 2, 30.0, 110.0),
        (ROUND_ONLY, 4, 110.0, INF),
        (dataclasses.replace(ROUND_ONLY, target_step_ms=UNKNOWN), 2, 0.0, 110.0),
        # An upper bound of the target step bounds nothing from below.
        (
            dataclasses.replace(ROUND_ONLY, target_step_ms=Figure(30.0, "measured", "upper bound")),
            2,
            0.0,
            110.0,
        ),
        # Assumed: the band, over the whole round for one-pass drafters, over the verify pass for plain ones.
        (WhatIf("plain", 3, 0.6, typed(67.0), typed(12.0), ASSUMED), 3, 36 + 1.4 * 67, 36 + 3.9 * 67),
        (WhatIf("head", 3, 0.6, typed(67.0), UNKNOWN, ASSUMED), 3, 1.4 * 67, 3.9 * 67),
        (WhatIf("head", 3, 0.6, typed(67.0), typed(4.0), ASSUMED), 9, 1.4 * 67, 3.9 * 67),
        (WhatIf("ngram", 3, 0.6, typed(67.0), UNKNOWN, ASSUMED), 3, 1.4 * 67, 3.9 * 67),
        # A profile replaces the factor where it reaches.
        (dataclasses.replace(TYPED, profile=(1.0, 1.2, 1.3, 1.5)), 2, 24 + 1.3 * 67, 24 + 1.3 * 67),
        (dataclasses.replace(LIVE, profile=(1.0, 1.2, 1.3, 1.5)), 1, 17 + 36.0, 17 + 36.0),
        # Where the round was measured, the measurement stands.
        (dataclasses.replace(LIVE, profile=(1.0, 1.2, 1.3, 1.5)), 3, 110.0, 110.0),
        # Beyond its end what the measured depth bounds stays bounded.
        (dataclasses.replace(LIVE, profile=(1.0, 1.2, 1.3, 1.5)), 5, 5 * 17 + 60.0, INF),
        (dataclasses.replace(LIVE, profile=(1.0, 1.2)), 2, 2 * 17 + 30.0, 2 * 17 + 60.0),
        # Without a draft time it bounds a shorter round from below, and the measured one stands.
        (dataclasses.replace(ROUND_ONLY, profile=PROFILE), 3, 110.0, 110.0),
        (dataclasses.replace(ROUND_ONLY, profile=PROFILE), 1, 36.0, 110.0),
        (dataclasses.replace(ROUND_ONLY, profile=PROFILE), 4, 110.0, INF),
        (dataclasses.replace(ROUND_ONLY, profile=PROFILE, drafter_class="ngram"), 3, 110.0, 110.0),
        # What is typed over replaces what was measured.
        (dataclasses.replace(LIVE, draft_step_ms=typed(5.0)), 3, 15 + 60.0, 15 + 60.0),
        (dataclasses.replace(LIVE, verify_factor=typed(1.5)), 7, 7 * 17 + 45.0, 7 * 17 + 45.0),
        (dataclasses.replace(LIVE, target_step_ms=typed(20.0)), 3, 50 + 40.0, 50 + 40.0),
        # n-gram drafts cost nothing.
        (dataclasses.replace(LIVE, drafter_class="ngram", draft_step_ms=UNKNOWN), 8, 60.0, INF),
    ],
)
def test_round_time_by_what_is_known(what: WhatIf, depth: int, low: float, high: float) -> None:
    found = answer(dataclasses.replace(what, depth=depth))
    assert near(found.round_ms, low, high), found.round_ms
    assert low == high or found.replaces


@pytest.mark.parametrize(
    ("what", "replaces"),
    [
        (WhatIf("plain", 3, 0.6, UNKNOWN, typed(12.0), typed(1.1)), "target step unknown"),
        (WhatIf("plain", 3, 0.6, typed(67.0), UNKNOWN, typed(1.1)), "draft step unknown"),
        (WhatIf("plain", 3, 0.6, typed(67.0), UNKNOWN, ASSUMED), "draft step unknown"),
        (WhatIf("head", 3, 0.6, typed(67.0), typed(4.0), UNKNOWN), "verify factor unknown"),
        (dataclasses.replace(TYPED, depth=4, profile=(1.0, 1.2, 1.3, 1.5)), "profile ends at 4 tokens"),
        (dataclasses.replace(LIVE, target_step_ms=UNKNOWN, verify_factor=typed(2.0)), "target step unknown"),
    ],
)
def test_an_unknown_cost_gives_no_number_and_says_what_to_measure(what: WhatIf, replaces: str) -> None:
    found = answer(what)
    assert [found.round_ms, found.rate_tok_s, found.break_even, found.head_room] == [None] * 4
    assert replaces in found.replaces
    assert found.expected_tokens is not None


def test_live_and_untouched_the_rate_is_the_measured_decode_rate() -> None:
    found = answer(LIVE)
    by_hand = 1000 * (0.99 * 2.25 + 0.01) / (0.99 * 110 + 0.01 * 30)
    assert near(found.rate_tok_s, by_hand, by_hand)
    assert found.approximate is False
    assert found.expected_tokens == 2.25


def test_measured_at_one_depth_break_even_elsewhere_is_bounded() -> None:
    found = answer(LIVE)
    assert found.break_even is not None
    assert found.break_even.exact
    first, seventh = found.break_even_at[1], found.break_even_at[7]
    assert first is not None
    assert first.low == pytest.approx(17 / 30, abs=0.01)
    assert first.high == "never"
    assert seventh is not None
    assert isinstance(seventh.low, float)
    assert 0.9 < seventh.low < 1
    assert seventh.high == "never"
    assert found.best_depth is None
    assert "depth 3 only" in found.replaces
    assert found.assumed == ()


def test_another_depth_cuts_or_extends_the_curve_and_says_so() -> None:
    shallow, deep = (answer(dataclasses.replace(LIVE, depth=depth)) for depth in (1, 5))
    assert shallow.expected_tokens == pytest.approx(1.65)
    last = 0.22 / 0.38
    assert deep.expected_tokens == pytest.approx(2.25 + 0.22 * last + 0.22 * last**2)
    assert shallow.approximate
    assert deep.approximate


def test_a_mean_length_alone_is_carried_to_another_depth_by_the_one_p_behind_it() -> None:
    what = dataclasses.replace(LIVE, measured=Measured(3, 110.0, 50.0, 1 + 0.5 + 0.25 + 0.125))
    found = answer(dataclasses.replace(what, depth=1))
    assert found.expected_tokens == pytest.approx(1.5)
    assert found.approximate
    assert answer(what).expected_tokens == pytest.approx(1.875)


def test_without_any_acceptance_costs_and_break_even_remain() -> None:
    found = answer(dataclasses.replace(TYPED, acceptance=None))
    assert [found.expected_tokens, found.rate_tok_s, found.speedup, found.head_room] == [None] * 4
    assert found.break_even is not None
    assert found.commit_needed is not None
    assert found.best_depth is None


def test_without_an_incumbent_the_rate_stands_alone() -> None:
    found = answer(dataclasses.replace(TYPED, incumbent_tok_s=None))
    assert found.rate_tok_s is not None
    assert [found.speedup, found.break_even, found.commit_needed, found.head_room] == [None] * 4
    assert found.break_even_at == {1: None, 3: None, 7: None}
    assert found.best_depth == 2
    # Depths beyond it are only bounded by what was measured at K = 3: they hide nothing.
    live = answer(
        dataclasses.replace(LIVE, acceptance=0.5, draft_step_ms=measured(1.0), profile=(1.0, 1.1, 1.6))
    )
    assert live.best_depth == 1
    assert live.best_rate_tok_s == pytest.approx(1000 * (0.99 * 1.5 + 0.01) / (0.99 * 34 + 0.01 * 30))


def test_setting_p_leaves_the_measured_acceptance_but_keeps_the_measured_cost() -> None:
    found = answer(dataclasses.replace(LIVE, acceptance=0.8))
    assert found.expected_tokens == pytest.approx(1 + 0.8 + 0.64 + 0.512)
    assert near(found.round_ms, 110.0, 110.0)
    assert not found.approximate


def test_changing_the_class_drops_the_cost_of_the_drafter_that_was_measured() -> None:
    live = dataclasses.replace(LIVE.measured or Measured(3), drafter_class="plain")
    asked = dataclasses.replace(LIVE, measured=live, drafter_class="ngram")
    found = answer(asked)
    assert found.round_ms is not None
    assert near(found.round_ms, 60.0, 60.0)
    assert near(answer(dataclasses.replace(LIVE, measured=live)).round_ms, 110.0, 110.0)


def test_an_assumed_factor_gives_bands_and_names_what_replaces_it() -> None:
    what = WhatIf("head", 3, 0.6, typed(50.0), typed(4.0), ASSUMED, incumbent_tok_s=20.0)
    found = answer(what)
    assert found.assumed == ("verify_factor",)
    assert "-lv 4" in found.replaces
    assert "without drafting" in found.replaces
    assert near(found.commit_needed, 1.4, 3.9)
    assert near(found.speedup, 2.176 / 3.9, 2.176 / 1.4)
    assert found.best_depth is found.best_rate_tok_s is None
    assert found.head_room is not None
    assert found.head_room.low < 0 < found.head_room.high


@pytest.mark.parametrize("what", [TYPED, LIVE, ROUND_ONLY, dataclasses.replace(LIVE, depth=5)])
def test_a_picture_shows_the_rate_of_the_answer(what: WhatIf) -> None:
    assert rate_of(what) == answer(what).rate_tok_s is not None


def test_the_sharp_figure_of_an_assumed_factor_exists_for_scripts_alone() -> None:
    what = WhatIf("plain", 3, 0.6, typed(67.0), typed(12.0), ASSUMED, incumbent_tok_s=25.0)
    assert answer(at_factor(what)) == answer(TYPED)
    assert at_factor(LIVE) is LIVE


def test_an_assumed_step_time_is_named() -> None:
    assert answer(dataclasses.replace(TYPED, target_step_ms=Figure(67.0, "assumed"))).assumed == (
        "target_step_ms",
    )


def test_where_plain_steps_hide_the_round_the_time_per_pass_gives_the_rate() -> None:
    what = WhatIf(
        "ngram",
        16,
        coverage=0.6,
        incumbent_tok_s=30.0,
        measured=Measured(16, mean_accepted_length=8.0, pass_ms=100.0, coverage=0.6),
    )
    found = answer(what)
    assert found.round_ms is None
    assert near(found.rate_tok_s, 52.0, 52.0)
    assert near(found.commit_needed, (3.0 - 0.4) / 0.6, (3.0 - 0.4) / 0.6)
    assert near(answer(dataclasses.replace(what, depth=8)).commit_needed, -0.4 / 0.6, (3.0 - 0.4) / 0.6)
    assert answer(dataclasses.replace(what, coverage=0.5)).rate_tok_s is None


def test_with_nothing_drafted_no_p_matters() -> None:
    slow = answer(dataclasses.replace(TYPED, coverage=0.0))
    assert near(slow.rate_tok_s, 1000 / 67, 1000 / 67)
    assert slow.break_even == RootSpan("never", "never")
    assert slow.commit_needed is None
    fast = answer(dataclasses.replace(TYPED, coverage=0.0, incumbent_tok_s=10.0))
    assert fast.break_even == RootSpan("always", "always")


def test_the_measured_rate_stands_when_only_a_profile_tells_the_target_step() -> None:
    # Plain steps among the passes and no target step in the log: all that was measured is the mean pass.
    live = Measured(3, None, None, 2.25, pass_ms=100.0, coverage=0.8)
    what = WhatIf("ngram", 3, None, measured(30.0), coverage=0.8, measured=live, profile=PROFILE)
    found = answer(what)
    assert near(found.rate_tok_s, 1000 * (0.8 * 2.25 + 0.2) / 100, 1000 * (0.8 * 2.25 + 0.2) / 100)
    assert not found.assumed
    shorter = answer(dataclasses.replace(what, depth=1, acceptance=0.5))
    pass_ms = 0.8 * 36 + 0.2 * 30
    assert near(shorter.rate_tok_s, 1000 * (0.8 * 1.5 + 0.2) / pass_ms, 1000 * (0.8 * 1.5 + 0.2) / pass_ms)


def test_a_chance_for_each_position_replaces_the_one_p() -> None:
    what = dataclasses.replace(TYPED, acceptance=None, conditional=(0.8, 0.5, 0.25))
    found = answer(what)
    assert found.expected_tokens == pytest.approx(1 + 0.8 + 0.4 + 0.1)
    assert not found.approximate
    assert answer(dataclasses.replace(what, depth=1)).expected_tokens == pytest.approx(1.8)
    longer = answer(dataclasses.replace(what, depth=5))
    assert longer.expected_tokens == pytest.approx(1 + 0.8 + 0.4 + 0.1 + 0.025 + 0.00625)
    assert longer.approximate
    assert answer(dataclasses.replace(what, acceptance=0.6)) == answer(TYPED)
    # It lays itself over what was measured; the cost stays.
    live = answer(dataclasses.replace(LIVE, conditional=(0.8, 0.5, 0.25)))
    assert live.expected_tokens == found.expected_tokens
    assert near(live.round_ms, 110.0, 110.0)


def test_the_constant_beside_what_was_measured() -> None:
    tokens = 1000 * (0.99 * 2.25 + 0.01)
    constant, measured_rate = (
        tokens / (0.99 * (3 * 17 + v * 30) + 0.01 * 30) for v in (ASSUMED_VERIFY_FACTOR, 2.0)
    )
    with_profile = dataclasses.replace(LIVE, profile=PROFILE)
    for what in (LIVE, with_profile):
        assert near(predicted(what, ASSUMED_VERIFY_FACTOR), constant, constant)
        assert near(predicted(what, 2.0), measured_rate, measured_rate)
    assert predicted(dataclasses.replace(LIVE, target_step_ms=UNKNOWN), 1.1) is None
    assert predicted(ROUND_ONLY, 1.1) is None


def test_an_impossible_mean_length_is_kept_where_it_was_measured_and_carried_nowhere() -> None:
    what = dataclasses.replace(LIVE, measured=Measured(3, 110.0, 50.0, 5.5))
    assert answer(what).expected_tokens == 5.5
    assert answer(dataclasses.replace(what, depth=2)).expected_tokens is None


def test_best_depth_stays_inside_the_profile() -> None:
    # Verifying three tokens is nearly free, a fourth is dear.
    found = answer(
        dataclasses.replace(TYPED, acceptance=0.8, draft_step_ms=typed(1.0), profile=(1, 1, 1.05, 2.5))
    )
    assert found.best_depth == 2


@given(
    kind=st.sampled_from(["plain", "head", "ngram"]),
    depth=st.integers(1, 64),
    asked=st.integers(1, 64),
    p=st.floats(0.0, 1.0),
    t_s=st.floats(1.0, 200.0),
    d_s=st.floats(0.1, 50.0),
    extra=st.floats(0.0, 0.3),
    coverage=st.floats(0.1, 1.0),
    incumbent=st.floats(1.0, 200.0),
)
def test_bounds_from_one_depth_hold_the_truth_at_every_depth(
    kind: DrafterClass,
    depth: int,
    asked: int,
    p: float,
    t_s: float,
    d_s: float,
    extra: float,
    coverage: float,
    incumbent: float,
) -> None:
    """A target whose verify factor grows with the depth, measured once, asked about elsewhere."""

    def factor(k: int) -> float:
        return 1.0 + extra * k

    def at(k: int, v: Figure, live: Measured | None) -> Any:
        what = WhatIf(kind, k, p, measured(t_s), measured(d_s), v, coverage, incumbent, live)
        return answer(what, depths=())

    truth = at(asked, typed(factor(asked)), None)
    seen = at(depth, typed(factor(depth)), None).round_ms.low
    draft = {"plain": depth * d_s, "head": d_s, "ngram": 0.0}[kind]
    bounds = at(asked, measured(factor(depth)), Measured(depth, seen, draft))
    for name in ("round_ms", "rate_tok_s", "speedup", "commit_needed"):
        span, value = getattr(bounds, name), getattr(truth, name).low
        assert span.low <= value + 1e-9 * abs(value)
        assert span.high >= value - 1e-9 * abs(value)
    order = {"always": -1.0, "never": 2.0}
    low, root, high = (
        end if isinstance(end, float) else order[end]
        for end in (bounds.break_even.low, truth.break_even.low, bounds.break_even.high)
    )
    assert low - 1e-6 <= root <= high + 1e-6
    if asked == depth:
        assert bounds.rate_tok_s.exact
        assert bounds.break_even.exact

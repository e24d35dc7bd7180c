"""Thresholds per depth: the block rule at the best rate over all depths."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.cost import Profile
from tui.model.figures import Figure
from tui.model.thresholds import Thresholds, chances, going_on, nearest_flags, reached, thresholds
from tui.model.whatif import Measured, WhatIf

if TYPE_CHECKING:
    from tui.model.figures import DrafterClass

JUMP = Profile("jump", (1, 2, 3, 4, 5, 6), (1.0, 1.1, 1.2, 2.0, 2.05, 2.1))
"""Cheap to n = 3, a leap at 4, then nearly free."""


def test_reached_multiplies_and_extends_by_the_last_chance() -> None:
    assert reached((0.8, 0.5), 4) == pytest.approx((0.8, 0.4, 0.2, 0.1))


def test_without_acceptance_the_vector_is_what_beats_not_drafting() -> None:
    vector = thresholds(JUMP, "plain", 0.05)
    assert (vector.rate_from, vector.speedup, vector.best_depth) == ("plain", 1.0, None)
    assert [step.alone for step in vector.steps] == pytest.approx([0.15, 0.15, 0.85, 0.10, 0.10])
    # The block 3..5 asks for (3*0.05 + 2.1 - 1.2)/3 a token: less than its first token alone.
    assert [step.block for step in vector.steps] == pytest.approx([0.15, 0.15, 0.35, 0.10, 0.10])
    assert vector.steps[2].block_to == 5
    assert vector.steps[0].pays is None


def test_a_block_gets_over_a_jump_that_its_first_token_would_not() -> None:
    vector = thresholds(JUMP, "ngram", 0.0, (0.95,))
    assert vector.rate_from == "best"
    assert vector.best_depth == 5
    third = vector.steps[2]
    assert third.reached is not None
    assert third.reached < third.alone
    assert third.pays
    assert third.pays_to == 5


def test_a_weaker_drafter_stops_before_the_jump() -> None:
    vector = thresholds(JUMP, "ngram", 0.0, (0.5,))
    assert vector.best_depth == 2
    assert [step.pays for step in vector.steps[:3]] == [True, True, False]
    assert vector.speedup == pytest.approx((1 + 0.5 + 0.25) / 1.2)


def test_not_drafting_can_be_best() -> None:
    vector = thresholds(Profile("moe", (1, 2, 3), (1.0, 2.2, 2.5)), "head", 0.1, (0.6,))
    assert vector.best_depth == 0
    assert vector.speedup == 1.0
    first, second = vector.steps
    assert first.pays is False
    assert second.pays  # whoever stands at 1 already should go on: the dear part is behind


def test_a_head_pays_its_pass_once_and_a_plain_drafter_each_token() -> None:
    flat = Profile("flat", (1, 2, 3, 4), (1.0, 1.0, 1.0, 1.0))
    head = thresholds(flat, "head", 0.3)
    assert [step.alone for step in head.steps] == pytest.approx([0.3, 0.0, 0.0])
    assert head.steps[0].block == pytest.approx(0.1)
    assert [step.alone for step in thresholds(flat, "plain", 0.3).steps] == pytest.approx([0.3] * 3)
    assert [step.alone for step in thresholds(flat, "ngram", 0.3).steps] == pytest.approx([0.0] * 3)


def test_drafting_is_not_added_to_rounds_that_include_it() -> None:
    whole = Profile("rounds", (1, 2, 3), (1.0, 1.5, 1.9), includes_draft=True)
    assert thresholds(whole, "plain", 0.5) == thresholds(whole, "plain", 0.0)


def test_a_typed_rate_scales_the_vector() -> None:
    vector = thresholds(JUMP, "plain", 0.05, speedup=2.0)
    assert vector.rate_from == "typed"
    assert vector.steps[0].alone == pytest.approx(0.30)


def test_positions_beyond_those_given_are_marked() -> None:
    vector = thresholds(JUMP, "ngram", 0.0, (0.8, 0.6, 0.5))
    assert [step.extended for step in vector.steps] == [False, False, False, True, True]
    assert not any(step.extended for step in thresholds(JUMP, "ngram", 0.0, (0.8,)).steps)


def test_depths_between_measured_sizes_are_marked() -> None:
    gap = Profile("gap", (1, 2, 4), (1.0, 1.1, 1.5))
    vector = thresholds(gap, "ngram", 0.0, (0.7,))
    assert [step.derived for step in vector.steps] == [False, True, True]
    wide = Profile("wide", (1, 2, 4, 5), (1.0, 1.1, 1.2, 3.0))
    assert not thresholds(wide, "ngram", 0.0, (0.9,)).best_derived
    assert thresholds(Profile("wide", (1, 2, 4), (1.0, 1.1, 4.0)), "ngram", 0.0, (0.9,)).best_depth == 1


def test_an_optimum_that_was_not_measured_is_marked() -> None:
    vector = thresholds(Profile("gap", (1, 2, 9), (1.0, 1.05, 1.9)), "ngram", 0.0, (0.6,))
    assert vector.best_depth == 3
    assert vector.best_derived


def test_nearest_flags() -> None:
    vector = thresholds(JUMP, "plain", 0.05, (0.9,))
    flags = nearest_flags(JUMP, vector)
    assert (flags.n_min, flags.n_max) == (1, vector.best_depth)
    assert flags.p_min is not None
    assert flags.p_min_range is not None
    low, high = flags.p_min_range
    assert low < flags.p_min < high


def test_no_p_min_without_an_acceptance() -> None:
    flags = nearest_flags(JUMP, thresholds(JUMP))
    assert (flags.n_max, flags.p_min, flags.p_min_range) == (5, None, None)


RATIOS = st.lists(st.floats(0.8, 6.0), min_size=1, max_size=12)
CLASSES: list[DrafterClass] = ["plain", "head", "ngram"]


@given(RATIOS, st.sampled_from(CLASSES), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_the_rule_agrees_with_trying_every_depth(
    ratios: list[float], drafter: DrafterClass, step: float, chances: list[float]
) -> None:
    profile = Profile("any", tuple(range(1, len(ratios) + 2)), (1.0, *ratios))
    vector = thresholds(profile, drafter, step, chances)

    each, once = {"plain": (step, 0.0), "head": (0.0, step), "ngram": (0.0, 0.0)}[drafter]
    shares = reached(chances, len(ratios))
    cost = [each * k + once * (k > 0) + t for k, t in enumerate(profile.time_ratio)]
    tokens = list(itertools.accumulate(shares, initial=1.0))
    rates = [a / c for a, c in zip(tokens, cost, strict=True)]
    assert vector.speedup == pytest.approx(max(rates))
    assert vector.best_depth is not None
    for one in vector.steps:
        i = one.depth
        blocks = range(i, len(cost))
        gains = [tokens[j] - tokens[i - 1] - vector.speedup * (cost[j] - cost[i - 1]) for j in blocks]
        if abs(max(gains)) > 1e-9:
            assert one.pays is (max(gains) > 0)
        if one.pays:
            assert one.pays_to is not None
            assert gains[one.pays_to - i] == pytest.approx(max(gains))
            # Below the block threshold nothing pays, so what pays reaches it.
            assert shares[i - 1] >= one.block - 1e-9
        if i > vector.best_depth and one.depth == vector.best_depth + 1:
            assert max(gains) < 1e-9


def measured(value: float) -> Figure:
    return Figure(value, "measured")


LIVE = WhatIf(
    "plain",
    2,
    None,
    measured(20.0),
    measured(1.0),
    measured(1.2),
    measured=Measured(2, 26.0, 2.0, 2.2, (0.8, 0.4), drafter_class="plain"),
)


def vector_of(what: WhatIf) -> Thresholds:
    found = going_on(what, JUMP)
    assert isinstance(found, Thresholds), found
    return found


def test_the_inputs_of_a_what_if_give_the_vector_for_its_drafter() -> None:
    assert vector_of(LIVE) == thresholds(JUMP, "plain", 0.05, (0.8, 0.5))
    assert vector_of(dataclasses.replace(LIVE, acceptance=0.9)) == thresholds(JUMP, "plain", 0.05, (0.9,))
    typed = dataclasses.replace(LIVE, conditional=(0.9, 0.2))
    assert vector_of(typed) == thresholds(JUMP, "plain", 0.05, (0.9, 0.2))
    ngram = dataclasses.replace(LIVE, drafter_class="ngram")
    assert vector_of(ngram) == thresholds(JUMP, "ngram", 0.0, (0.8, 0.5))


def test_the_pass_that_was_measured_goes_before_the_profile() -> None:
    dear = vector_of(dataclasses.replace(LIVE, verify_factor=measured(1.9)))
    # Two tokens cost .7 more plain steps than the profile says, and their drafting.
    assert dear.steps[1].alone == pytest.approx((1.9 - 1.1 + 0.05) * dear.speedup)
    assert dear.best_depth == 1
    assumed = dataclasses.replace(LIVE, verify_factor=Figure(1.9, "assumed"))
    assert vector_of(assumed) == vector_of(LIVE)


def test_what_must_be_known_first_is_said() -> None:
    unknown = Figure.unknown("not measured")
    assert going_on(dataclasses.replace(LIVE, target_step_ms=unknown), JUMP) == "t_s unknown"
    untimed = dataclasses.replace(LIVE, draft_step_ms=unknown)
    # The time of a whole draft of two stands in for that of one.
    assert vector_of(untimed) == vector_of(LIVE)
    assert going_on(dataclasses.replace(untimed, drafter_class="head"), JUMP) == "d_s unknown"
    assert going_on(dataclasses.replace(untimed, measured=None), JUMP) == "d_s unknown"


@pytest.mark.parametrize(
    ("live", "expected"),
    [
        (Measured(2, curve=(0.8, 0.4)), (0.8, 0.5)),
        (Measured(3, curve=(0.8, 0.0, 0.0)), (0.8, 0.0)),
        (Measured(2, mean_accepted_length=1.75), (0.5,)),
        (Measured(2, mean_accepted_length=1.0), (0.0,)),
        (Measured(2, mean_accepted_length=3.5), None),
        (Measured(2), None),
        (None, None),
    ],
)
def test_chances_come_from_what_is_known(live: Measured | None, expected: tuple[float, ...] | None) -> None:
    found = chances(WhatIf("plain", 2, measured=live))
    assert found == (None if expected is None else pytest.approx(expected))

"""What to measure next, and what to expect of it."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from tui.model.comparison import Judged, Judgement
from tui.model.figures import Figure, Span
from tui.model.rates import expected_tokens
from tui.model.unknowns import Outlook, most_telling, typical_acceptance, unnamed_incumbent
from tui.model.whatif import Measured, WhatIf, answer

# A drafter that loses: a round of 100 ms at K=3 (8 ms a draft token, 76 ms the verify pass) commits 2.2.
LOSING = WhatIf(
    drafter_class="plain",
    depth=3,
    target_step_ms=Figure(40.0, "measured"),
    draft_step_ms=Figure(8.0, "measured"),
    verify_factor=Figure(1.9, "measured"),
    incumbent_tok_s=25.0,
    measured=Measured(
        depth=3, round_ms=100.0, draft_ms=24.0, mean_accepted_length=2.2, curve=(0.7, 0.35, 0.15)
    ),
)
UNATTACHED = WhatIf(
    drafter_class="plain", depth=1, target_step_ms=Figure(40.0, "measured"), incumbent_tok_s=25.0
)


def judged(**other: Any) -> Judged:
    return dataclasses.replace(Judged(20.0, 15.0, 30, 28.0, {}), **other)


def judgement(**other: Any) -> Judgement:
    one = Judgement(
        verdict="FAIL",
        reason="slower",
        ratio=0.8,
        interval=(0.75, 0.85),
        basis="decode",
        other_ratio=0.82,
        stratum="alone",
        requests_needed=None,
        incumbent=judged(rate_tok_s=25.0),
        canary=judged(),
    )
    return dataclasses.replace(one, **other)


def test_the_typical_band_is_a_ratio_and_becomes_a_p_by_the_depth() -> None:
    one, three = typical_acceptance(1), typical_acceptance(3)
    assert (one.low, one.high) == pytest.approx((0.4, 0.6))
    assert expected_tokens(three.low, 3) - 1 == pytest.approx(3 * 0.4)
    assert expected_tokens(three.high, 3) - 1 == pytest.approx(3 * 0.6)
    assert typical_acceptance(None) == three


def test_what_was_measured_is_not_unknown_at_its_depth() -> None:
    outlook = Outlook(LOSING)
    assert outlook.effects(3, 1.0) == []
    speedup = outlook.prospect(3).speedup
    assert speedup is not None
    assert speedup.low == speedup.high == pytest.approx(2.2 / 100 * 1000 / 25)


def test_a_smaller_depth_costs_between_a_plain_step_and_what_was_measured() -> None:
    (effect,) = Outlook(LOSING).effects(1, 1.0)
    assert effect.unknown == "verify_factor"
    assert effect.plausible is not None
    assert (effect.plausible.low, effect.plausible.high) == pytest.approx((1.0, 1.9))
    assert effect.speedup is not None
    # 1.7 tokens in 8 ms of drafting and a verify pass of 76 or 40 ms
    assert effect.speedup.low == pytest.approx(1.7 / 84 * 1000 / 25)
    assert effect.speedup.high == pytest.approx(1.7 / 48 * 1000 / 25)
    assert effect.turns


def test_of_a_settled_loss_the_depth_that_could_still_pay_is_asked_about() -> None:
    effect = most_telling(Outlook(LOSING), judgement())
    assert effect is not None
    assert (effect.unknown, effect.depth) == ("verify_factor", 1)


def test_nothing_is_asked_when_no_plausible_value_turns_the_answer() -> None:
    hopeless = dataclasses.replace(LOSING, incumbent_tok_s=200.0)
    assert most_telling(Outlook(hopeless), judgement(ratio=0.11, interval=(0.1, 0.12))) is None


def test_a_pass_asks_only_about_depths_that_could_do_better_still() -> None:
    winning = dataclasses.replace(LOSING, incumbent_tok_s=15.0)
    won = judgement(verdict="PASS", ratio=22 / 15, interval=(1.4, 1.5), other_ratio=1.4)
    effect = most_telling(Outlook(winning), won, bar=22 / 15)
    assert effect is not None
    assert effect.depth == 1
    assert effect.speedup is not None
    assert effect.speedup.high > 22 / 15
    assert most_telling(Outlook(winning), won, bar=5.0) is None


def test_an_open_verdict_asks_for_requests_whatever_other_depths_might_do() -> None:
    inconclusive = judgement(verdict="INCONCLUSIVE", ratio=1.02, interval=(0.9, 1.15), other_ratio=1.03)
    effect = most_telling(Outlook(LOSING), inconclusive)
    assert effect is not None
    assert effect.unknown == "requests"
    assert effect.speedup == Span(0.9, 1.15)
    unjudged = most_telling(Outlook(LOSING), judgement(verdict="NO_DATA", interval=None))
    assert unjudged is not None
    assert (unjudged.unknown, unjudged.speedup) == ("requests", None)


def test_bases_that_disagree_come_before_more_requests() -> None:
    apart = judgement(verdict="INCONCLUSIVE", ratio=1.2, interval=(1.1, 1.3), other_ratio=0.85)
    effect = most_telling(None, apart)
    assert effect is not None
    assert effect.unknown == "basis"
    assert effect.speedup == Span(0.85, 1.2)


def test_a_typed_rate_that_may_count_something_else_turns_even_a_settled_verdict() -> None:
    typed = judged(rate_tok_s=18.0, delivered_tok_s=None, requests=0, n_effective=None)
    passed = judgement(verdict="PASS", ratio=20 / 18, interval=(1.05, 1.2), other_ratio=None, incumbent=typed)
    effect = most_telling(Outlook(LOSING), passed)
    assert effect is not None
    assert effect.unknown == "basis"
    assert effect.speedup is not None
    assert effect.speedup.low == pytest.approx(15 / 18)


def test_a_typed_rate_on_one_side_of_both_bases_is_no_question() -> None:
    typed = judged(rate_tok_s=10.0, delivered_tok_s=None, requests=0, n_effective=None)
    passed = judgement(verdict="PASS", ratio=2.0, interval=(1.9, 2.1), other_ratio=None, incumbent=typed)
    effect = most_telling(None, passed)
    assert effect is None


def test_without_a_drafter_the_cost_of_a_round_matters_most_and_the_draft_step_least() -> None:
    outlook = Outlook(UNATTACHED, typical_acceptance(None))
    widths = {effect.unknown: effect.width for effect in outlook.effects(3, 1.0)}
    assert widths["verify_factor"] > widths["acceptance"] > widths["draft_step_ms"]
    effect = most_telling(outlook, None)
    assert effect is not None
    assert effect.unknown == "verify_factor"


def test_a_round_that_the_log_does_not_split_leaves_the_draft_step_unknown_elsewhere() -> None:
    live = Measured(depth=3, round_ms=100.0, mean_accepted_length=2.2, curve=(0.7, 0.35, 0.15))
    info = dataclasses.replace(
        LOSING, draft_step_ms=Figure.unknown("-lv 4"), verify_factor=Figure.unknown("-lv 4"), measured=live
    )
    outlook = Outlook(info)
    assert outlook.effects(3, 1.0) == []
    effects = {effect.unknown: effect for effect in outlook.effects(1, 1.0)}
    step = effects["draft_step_ms"].plausible
    assert step is not None
    # at most what the round leaves beside one plain step
    assert (step.low, step.high) == pytest.approx((40 / 50, (100 - 40) / 3))
    assert "verify_factor" in effects


def test_a_drafter_without_an_incumbent_is_held_against_plain_steps() -> None:
    known = unnamed_incumbent(Outlook(dataclasses.replace(LOSING, incumbent_tok_s=None)))
    assert known.speedup is not None
    assert known.speedup.low == known.speedup.high == pytest.approx(22.0 * 40 / 1000)
    unknown = dataclasses.replace(
        LOSING, incumbent_tok_s=None, drafter_class="head", target_step_ms=Figure.unknown("never seen")
    )
    guessed = unnamed_incumbent(Outlook(unknown))
    assert guessed.speedup is not None
    # published pairs put a round at 1.4 to 3.9 plain steps
    assert (guessed.speedup.low, guessed.speedup.high) == pytest.approx((2.2 / 3.9, 2.2 / 1.4))


def test_plain_steps_among_the_passes_are_reckoned_with() -> None:
    live = Measured(depth=3, mean_accepted_length=2.2, curve=(0.7, 0.35, 0.15), pass_ms=70.0, coverage=0.5)
    unsplit = WhatIf(drafter_class="head", depth=3, coverage=0.5, measured=live)
    step = Outlook(unsplit).target_step_ms
    assert step is not None
    # half the passes are rounds of 1.4 (3.9) steps, half are plain ones
    assert step.high == pytest.approx(70 / (0.5 * 1.4 + 0.5))
    assert step.low == pytest.approx(70 / (0.5 * 3.9 + 0.5))


def test_an_upper_bound_of_the_target_step_is_not_taken_for_it() -> None:
    bounded = dataclasses.replace(LOSING, target_step_ms=Figure(90.0, "measured", "upper bound"))
    step = Outlook(bounded).target_step_ms
    assert step is not None
    assert not step.exact


def test_a_profile_settles_the_depths_it_reaches() -> None:
    bench = dataclasses.replace(UNATTACHED, profile=(1.0, 1.2, 1.3, 1.5), draft_step_ms=Figure(4.0, "typed"))
    outlook = Outlook(bench, Span.exactly(0.7))
    assert outlook.effects(3, 1.0) == []
    reached = outlook.prospect(3).speedup
    assert reached is not None
    assert reached.low == reached.high == pytest.approx(expected_tokens(0.7, 3) / (12 + 60) * 1000 / 25)
    assert [effect.unknown for effect in outlook.effects(7, 1.0)] == ["verify_factor"]


def test_break_even_spans_the_plausible_rounds() -> None:
    prospect = Outlook(UNATTACHED, typical_acceptance(None)).prospect(3)
    assert prospect.break_even is not None
    # cheapest: 1.4 steps and three tokens at 1/50; dearest: 3.9 steps and three tokens at 1/10
    cheapest = answer(
        dataclasses.replace(
            UNATTACHED, depth=3, draft_step_ms=Figure(0.8, "typed"), verify_factor=Figure(1.4, "typed")
        )
    )
    assert cheapest.break_even is not None
    assert prospect.break_even.low == pytest.approx(cheapest.break_even.low)
    assert prospect.break_even.high == "never"


def test_nothing_known_gives_no_prospect() -> None:
    outlook = Outlook(WhatIf(drafter_class="plain", depth=3), typical_acceptance(3))
    prospect = outlook.prospect(3)
    assert (prospect.rate_tok_s, prospect.speedup, prospect.break_even) == (None, None, None)
    assert outlook.effects(3, 1.0) == []
    assert unnamed_incumbent(outlook).speedup is None

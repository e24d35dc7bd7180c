"""What rounds cost by the length of their drafts: from the log itself, and from a profile given for it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.session.build import drafted, plain, start
from tui.model.cost import CostKey, Profile
from tui.model.live_cost import LEAST_ROUNDS
from tui.model.whatif import answer
from tui.session.incumbent import Choice, FrozenArm
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.formats.events import Event, Request
    from tui.session.snapshot import VerifyCost, View

STEP = 20.0
BENCH = Profile("bench.jsonl", (1, 2, 3, 4, 5), (1.0, 1.2, 1.5, 1.75, 2.0), target_step_ms=21.0)


def old_log() -> FrozenArm:
    """30 requests without drafting: 20 ms a step."""
    session = Session()
    session.add([start(spec_types=(), depth=None, draft_model=None), *[plain() for _ in range(30)]])
    arm = session.newest_arm()
    assert arm is not None
    return FrozenArm(arm, "old.log", "log")


def of_length(
    length: int, verify_ms: float, rounds: int = 40, plain_steps: int = 0, **other: object
) -> Request:
    """Rounds of one draft length, with 2 ms a draft token, and plain steps of 20 ms."""
    reached = tuple(rounds * (length - i) // (length + 1) for i in range(length))
    draft_ms = 2.0 * length * rounds
    request = drafted(
        rounds,
        reached,
        decode_ms=draft_ms + verify_ms * rounds + STEP * plain_steps,
        draft_ms=draft_ms,
        plain_steps=plain_steps,
    )
    assert request.tokens is not None
    return dataclasses.replace(request, tokens=request.tokens + plain_steps, **other)  # type: ignore[arg-type]  # by name


def view_of(
    events: Iterable[Event], choice: Choice | None = None, policy: Policy | None = None, depth: int = 5
) -> View:
    session = Session(policy)
    session.choose(choice)
    session.add([start(depth=depth), *events])
    (view,) = session.snapshot(0.0).views
    return view


def cost_of(view: View) -> VerifyCost:
    assert view.cost is not None
    return view.cost


ADAPTIVE = [
    of_length(2, 26.0),
    of_length(5, 45.0),
    of_length(2, 28.0),
    of_length(5, 45.0),
    of_length(2, 30.0),
]


def test_a_profile_grows_from_drafts_of_several_lengths() -> None:
    view = view_of(ADAPTIVE, old_log())
    cost = cost_of(view)
    profile = cost.profile
    assert not cost.typed
    assert profile.name == "this log"
    assert profile.batch == (1, 3, 6)
    assert profile.time_ratio == pytest.approx((1.0, 28.0 / STEP, 45.0 / STEP))
    assert profile.rounds == (3000, 120, 80)
    assert profile.spread_ms[1:] == pytest.approx(((8 / 3) ** 0.5, 0.0))
    assert profile.key == CostKey("llama.cpp", "target.gguf", None, "b11000", None)


def test_what_grew_makes_numbers_of_bounds_and_leaves_what_was_measured() -> None:
    bounds = view_of(ADAPTIVE[1::2], old_log())
    assert bounds.cost is None
    view = view_of(ADAPTIVE, old_log())
    assert bounds.what_if is not None
    assert view.what_if is not None
    assert view.canary is not None
    before, after = answer(bounds.what_if, depths=(2,)), answer(view.what_if, depths=(2,))
    assert before.break_even_at[2] is not None
    assert not before.break_even_at[2].exact
    assert after.break_even_at[2] is not None
    assert after.break_even_at[2].exact
    shorter = answer(dataclasses.replace(view.what_if, depth=2))
    assert shorter.round_ms is not None
    assert shorter.round_ms.low == shorter.round_ms.high == pytest.approx(2 * 2.0 + 28.0)
    assert after.rate_tok_s is not None
    assert after.rate_tok_s.low == pytest.approx(view.canary.decode_tok_s)


@pytest.mark.parametrize(
    "events",
    [
        [of_length(5, 45.0)] * 5,
        [of_length(2, 26.0, rounds=LEAST_ROUNDS - 1), *[of_length(5, 45.0)] * 5],
        [of_length(2, 26.0), *[of_length(5, 45.0, concurrency=2)] * 5],
        [of_length(2, 26.0), *[of_length(5, 45.0, concurrency=None)] * 5],
        [of_length(2, 26.0), *[of_length(5, 45.0, draft_ms=None)] * 5],
    ],
    ids=["one length", "too few rounds", "overlapping", "overlap unknown", "no draft time"],
)
def test_no_profile_from_too_little(events: list[Request]) -> None:
    assert view_of(events, old_log()).cost is None


def test_no_profile_without_the_target_step() -> None:
    assert view_of(ADAPTIVE).cost is None


def test_plain_steps_among_the_rounds_are_taken_out() -> None:
    events = [
        of_length(length, verify, plain_steps=plain_steps)
        for length, verify in ((2, 28.0), (5, 45.0))
        for plain_steps in (0, 7, 60)
    ]
    profile = cost_of(view_of(events, old_log())).profile
    assert profile.time_ratio == pytest.approx((1.0, 28.0 / STEP, 45.0 / STEP))
    assert profile.spread_ms[1:] == pytest.approx((0.0, 0.0), abs=1e-4)


def test_whole_mean_lengths_are_not_believed_where_most_vary() -> None:
    vary = [drafted(40, (20, 10, 5), drafted=101 + i, decode_ms=2000.0, draft_ms=300.0) for i in range(9)]
    # A mean of 1, or of K, leaves no other lengths; a mean of 3 out of 5 may be chance.
    sure = [of_length(1, 23.0), of_length(5, 45.0)]
    profile = cost_of(view_of([*vary, *sure, of_length(3, 99.0)], old_log())).profile
    assert profile.batch == (1, 2, 6)
    assert cost_of(view_of([*sure, of_length(3, 31.0)], old_log())).profile.batch == (1, 2, 4, 6)


def test_drafts_longer_than_any_are_in_no_profile() -> None:
    profile = cost_of(view_of([*ADAPTIVE, of_length(65, 300.0), of_length(5000, 9000.0)], old_log())).profile
    assert profile.batch == (1, 3, 6)


def test_costs_are_never_carried_over_to_another_arm() -> None:
    session = Session()
    session.choose(old_log())
    session.add([start(depth=5), *ADAPTIVE])
    assert cost_of(session.snapshot(0.0).views[0]).profile.batch == (1, 3, 6)
    session.add([start(depth=5, build="b11999"), ADAPTIVE[0]])
    assert session.snapshot(0.0).views[0].cost is None
    # The same setup again goes on from where it was.
    session.add([start(depth=5, build="b11999"), *ADAPTIVE])
    profile = cost_of(session.snapshot(0.0).views[0]).profile
    assert profile.key.build == "b11999"
    assert profile.rounds[1] == 160


def lengths(fixed_ms: float, per_token_ms: float, wobble: float = 0.3) -> list[Request]:
    """Drafts cut by p-min: mean lengths from 1.5 to 7 tokens, in rounds of 40."""
    return [
        drafted(
            40,
            (30, 20, 10),
            drafted=round(40 * mean),
            decode_ms=40 * (fixed_ms + per_token_ms * mean + wobble * (-1) ** i),
            draft_ms=None,
        )
        for i, mean in enumerate((1.5, 2.25, 3.75, 5.125, 7.0, 2.125, 6.25, 4.5))
    ]


def test_a_fixed_cost_is_told_from_the_cost_of_tokens() -> None:
    told = view_of(lengths(STEP + 18.0, 1.5), old_log(), depth=8).fixed_cost
    assert "a round takes 18." in told or "a round takes 17." in told
    assert "1.5 ms for each draft token (320 rounds of 1.5 to 7.0)" in told
    assert "a smaller depth will not fix a fixed cost" in told


@pytest.mark.parametrize(
    ("events", "choice"),
    [
        (lengths(STEP, 4.0), old_log()),
        (lengths(STEP + 1.0, 4.0), old_log()),
        (lengths(STEP + 6.0, 4.0, wobble=40.0), old_log()),
        (lengths(STEP + 18.0, 1.5), None),
        ([of_length(5, 90.0)] * 9, old_log()),
    ],
    ids=["none", "hardly any", "within the noise", "target step unknown", "one length"],
)
def test_no_fixed_cost_is_claimed_where_none_shows(events: list[Request], choice: Choice | None) -> None:
    assert view_of(events, choice, depth=8).fixed_cost == ""


def test_a_given_profile_goes_before_what_grew() -> None:
    cost = cost_of(view_of(ADAPTIVE, old_log(), Policy(cost=BENCH)))
    assert (cost.profile, cost.typed) == (BENCH, True)


def test_a_given_profile_prices_what_did_not_run() -> None:
    view = view_of([drafted()] * 25, old_log(), Policy(cost=BENCH), depth=3)
    assert view.what_if is not None
    assert view.what_if.target_step_ms.value == pytest.approx(STEP)
    found = answer(dataclasses.replace(view.what_if, depth=1))
    assert found.round_ms is not None
    assert found.round_ms.low == found.round_ms.high == pytest.approx(5.0 + 1.2 * STEP)
    assert cost_of(view).doubts == ()
    assert cost_of(view).untold == ("server", "model", "device", "build", "context")


def test_its_plain_step_stands_in_where_the_log_has_none() -> None:
    events = [drafted(plain_steps=3, tokens=104), *[drafted()] * 25]
    unpriced = view_of(events, depth=3)
    view = view_of(events, policy=Policy(cost=BENCH), depth=3)
    assert view.what_if is not None
    assert view.canary is not None
    assert unpriced.what_if is not None
    at_one = dataclasses.replace(unpriced.what_if, depth=1, acceptance=0.5)
    assert answer(at_one).round_ms is None
    assert view.what_if.target_step_ms.value == 21.0
    assert view.what_if.target_step_ms.note == "T(1) of bench.jsonl"
    rate = answer(view.what_if).rate_tok_s
    assert rate is not None
    assert rate.low == rate.high == pytest.approx(view.canary.decode_tok_s)
    shorter = answer(dataclasses.replace(view.what_if, depth=1, acceptance=0.5)).round_ms
    assert shorter is not None
    assert shorter.low == shorter.high == pytest.approx(5.0 + 1.2 * 21.0)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        (CostKey(model="/other/place/target.gguf"), None),
        (CostKey(model="larger.gguf"), "measured with larger, this server runs target"),
        (CostKey(build="b10500"), "measured with build b10500, this server is b11000"),
        (CostKey(server="vLLM"), "measured on vLLM, this is llama.cpp"),
        (CostKey(context=1500), None),
        (CostKey(context=30000), "measured at a context of 30000 tokens, requests here have about 901"),
    ],
)
def test_a_profile_of_another_setup_is_doubted(key: CostKey, said: str | None) -> None:
    events = [drafted(prompt_tokens=800)] * 25
    bench = dataclasses.replace(BENCH, key=key)
    cost = cost_of(view_of(events, old_log(), Policy(cost=bench), depth=3))
    assert cost.doubts == (() if said is None else (said,))


def test_a_profile_that_is_off_at_the_length_that_ran_is_doubted() -> None:
    dear = [drafted(decode_ms=40 * 65.0)] * 25
    (doubt,) = cost_of(view_of(dear, old_log(), Policy(cost=BENCH), depth=3)).doubts
    assert doubt.startswith("4 tokens cost 2.50 plain steps here, 1.75 by the profile")


def test_a_profile_can_be_set_and_taken_away_while_nothing_happens() -> None:
    session = Session()
    session.add([start(), drafted()])
    assert session.snapshot(0.0).views[0].cost is None
    session.price(BENCH)
    assert cost_of(session.snapshot(0.0).views[0]).profile == BENCH
    session.price(None)
    assert session.snapshot(0.0).views[0].cost is None

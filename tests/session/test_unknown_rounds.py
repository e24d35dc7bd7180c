"""Requests whose rounds the log does not tell, among others whose rounds it does."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import drafted, plain, start
from tui.model.whatif import answer
from tui.session.session import Session

if TYPE_CHECKING:
    from tui.formats.events import Request
    from tui.session.snapshot import ArmView, View


def view_of(events: list[Request]) -> View:
    session = Session()
    session.add([start(), *events])
    (view,) = session.snapshot(100.0).views
    return view


def canary(events: list[Request]) -> ArmView:
    arm = view_of(events).canary
    assert arm is not None
    return arm


def unknown(**other: Any) -> Request:
    """A request of 100 to 300 rounds, of which its log tells nothing sharper."""
    request = dataclasses.replace(
        drafted(),
        tokens=361,
        drafted=300,
        accepted=60,
        rounds=None,
        rounds_range=(100, 300),
        rounds_from=None,
        mean_accepted_length=None,
        accepted_per_position=None,
        draft_ms=None,
        plain_steps=None,
    )
    return dataclasses.replace(request, **other)


def rejected() -> Request:
    """A short answer of which nothing was accepted, so that its printed mean tells no rounds."""
    return unknown(
        tokens=4, decode_ms=150.0, drafted=6, accepted=0, rounds_range=(2, 3), mean_accepted_length=1.0
    )


def test_a_few_requests_of_known_rounds_do_not_speak_for_all() -> None:
    small = drafted(rounds=1, reached=(0, 0, 0))
    arm = canary([small, *[unknown()] * 20])
    told = (arm.mean_accepted_length, arm.tokens_per_pass, arm.coverage, arm.steps.round_ms)
    assert [figure.value for figure in told] == [None] * 4
    assert arm.mean_accepted_length.note == "rounds of 20 of 21 requests unknown"
    assert arm.steps.draft_ms.note == "rounds of 20 of 21 requests unknown"
    assert arm.rounds_range == (2001, 6001)
    assert (arm.reached, arm.plain_steps) == (None, None)
    assert (arm.now.mean_accepted_length, arm.now.round_ms) == (None, None)
    # What is left is the ratio of all of them.
    assert arm.acceptance_ratio.value == pytest.approx(1200 / 6003)
    assert (arm.acceptance.evidence, arm.acceptance.point) == ("ratio", None)


def test_the_what_if_reckons_with_none_of_it_either() -> None:
    what = view_of([drafted(rounds=1, reached=(0, 0, 0)), *[unknown()] * 20]).what_if
    assert what is not None
    assert answer(what).rate_tok_s is None


def test_a_few_of_unknown_rounds_change_nothing() -> None:
    arm = canary([*[drafted()] * 30, rejected()])
    assert arm.mean_accepted_length.value == pytest.approx(2.5)
    assert arm.mean_accepted_length.note == "rounds of 1 of 31 requests unknown, left out"
    assert arm.steps.round_ms.value == pytest.approx(50.0)
    assert arm.acceptance.evidence == "per_position"
    assert arm.plain_steps is None


def test_answers_with_nothing_accepted_are_missed_where_they_are_many() -> None:
    arm = canary([*[drafted()] * 2, *[rejected()] * 20])
    assert arm.mean_accepted_length.value is None


def test_bounds_of_all_rounds_need_bounds_of_each() -> None:
    assert canary([drafted(), unknown(), unknown(rounds_range=None)]).rounds_range is None


def test_passes_that_may_have_had_no_draft_count_for_coverage() -> None:
    hardly = unknown(tokens=401, drafted=3, accepted=0, rounds_range=(1, 3))
    assert canary([*[drafted()] * 20, hardly]).coverage.value is None


def test_the_round_time_of_late_takes_plain_steps_out_or_is_unknown() -> None:
    mixed = drafted(tokens=111, decode_ms=2000.0 + 10 * 20.0, plain_steps=10)
    few = [drafted(), *[mixed] * 5]
    assert canary(few).now.round_ms is None
    session = Session()
    session.add([start(spec_types=(), depth=None), *[plain()] * 3, start(), *few])
    (view,) = session.snapshot(100.0).views
    assert view.canary is not None
    assert view.canary.now.round_ms == pytest.approx(50.0)


def test_rounds_among_many_plain_steps_have_no_time() -> None:
    # 40 rounds of 50 ms each, and 1,000 plain steps of 20 ms: a step of 21 ms would make them 25 ms.
    lost = drafted(tokens=1101, decode_ms=2000.0 + 1000 * 20.0, plain_steps=1000)
    session = Session()
    session.add([start(spec_types=(), depth=None), *[plain()] * 3, start(), *[lost] * 3])
    (view,) = session.snapshot(100.0).views
    assert view.canary is not None
    steps = view.canary.steps
    assert (steps.round_ms.value, steps.verify_factor.value, view.canary.now.round_ms) == (None, None, None)
    assert steps.round_ms.note == (
        "plain steps took nearly all of the time: what is left does not tell the rounds"
    )
    assert view.requests[0].round_ms.value is None
    # The measured rate needs no round time.
    assert view.what_if is not None
    rate = answer(view.what_if).rate_tok_s
    assert rate is not None
    assert rate.low == rate.high == pytest.approx(1100 / 22.0)

"""What a report says before anybody acts on it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.render.judged import canary, log, losing, view_of, winning
from tests.session.build import drafted, plain, start
from tui.formats.events import Problem
from tui.render.report_notes import notes
from tui.session.session import Policy

if TYPE_CHECKING:
    from tui.formats.events import Event, Request
    from tui.session.incumbent import Choice


def said(events: list[Event], incumbent: Choice | None = None) -> str:
    return "\n".join(notes(view_of(events, incumbent)))


def acceptance(rate: float, **other: Any) -> Request:
    """40 rounds of one draft token each."""
    accepted = round(40 * rate)
    return drafted(40, (accepted,), **other)


def test_nothing_is_noted_of_a_plain_win() -> None:
    assert notes(view_of(winning(), log())) == []


def test_a_round_dearer_than_the_tokens_it_may_commit() -> None:
    assert "a round costs 4.5 plain steps and commits 4 tokens at most" in said(losing(), log())
    full = [start(), *[drafted(40, (40, 40, 40), decode_ms=40 * 70.0) for _ in range(30)]]
    assert "or the counters are off" in said(full, log())


def test_rounds_that_cost_more_at_the_same_commit_are_told_from_a_worse_drafter() -> None:
    before = log([drafted(source="old.log") for _ in range(31)])
    slower = said(canary(decode_ms=4000.0), before)
    assert "round 100.0 against 50.0 ms (+100%): rounds cost more, the drafter is as good" in slower
    worse = said([start(), *[drafted(40, (20, 10, 5)) for _ in range(31)]], before)
    assert "commit/round 1.88 against 2.50 (-25%)" in worse
    assert "the drafter accepts less, rounds cost the same" in worse


def test_a_server_with_an_idle_drafter_is_no_clean_baseline() -> None:
    idle = log()
    loaded = dataclasses.replace(idle.arm.identity, spec_types=("draft-simple",), depth=3)
    idle.arm.identity = loaded
    assert "cleaner baseline" in said(winning(), idle)
    assert "cleaner baseline" not in said(winning(), log())


def test_the_same_prompt_again_is_called_a_repeat() -> None:
    first = drafted(prompt_evaluated_tokens=900)
    again = drafted(prompt_evaluated_tokens=1)
    assert "2 of the newest 3 requests look like the same prompt" in said([start(), first, again, again])
    assert "same prompt" not in said([start(), first, drafted(prompt_evaluated_tokens=700)])
    other = drafted(rounds=30, prompt_evaluated_tokens=1)
    assert "same prompt" not in said([start(), first, other])


def test_requests_that_drafted_nothing_are_counted() -> None:
    assert "2 of the newest 5 requests drafted nothing" in said([start(), *[drafted()] * 3, *[plain()] * 2])


def test_acceptance_that_differs_by_slot_concurrency_or_prompt_is_told() -> None:
    slots = [acceptance(0.8, slot=0), acceptance(0.03, slot=1)] * 4
    assert "acceptance differs by slot: slot 0 80 %, slot 1 2 %" in said([start(depth=1), *slots])
    loads = [acceptance(0.6, concurrency=1), acceptance(0.05, concurrency=16)] * 4
    assert "acceptance differs by requests in flight: alone 60 %, 5+ 5 %" in said([start(depth=1), *loads])
    lengths = [acceptance(0.75, prompt_tokens=800), acceptance(0.0, prompt_tokens=6000)] * 4
    assert "4096 tokens or more 0 %" in said([start(depth=1), *lengths])
    even = [acceptance(0.6, slot=0), acceptance(0.5, slot=1)] * 4
    assert "differs" not in said([start(depth=1), *even])


def test_a_depth_that_is_asked_for_and_never_drafted_is_told() -> None:
    assert "K=5 is configured, but drafts seen reach 1.0" in said([start(depth=5), *[acceptance(0.8)] * 5])


def test_other_arms_and_unreadable_lines_are_told_not_pooled() -> None:
    restarted = [
        *winning(4),
        *canary(5, begin={"depth": 5}),
        Problem(source="a.log", problem="cut", text="x"),
    ]
    text = said(restarted)
    assert "never pooled" in text
    assert "4 requests" in text
    assert "1 line could not be read" in text


def test_a_class_that_no_name_tells_is_said_to_be_taken_as_plain() -> None:
    unnamed = [start(spec_types=None), *[drafted(drafter=None) for _ in range(5)]]
    assert "taken as plain" in said(unnamed)
    told = view_of(unnamed, None, Policy(drafter_class="head"))
    assert "taken as plain" not in "\n".join(notes(told))

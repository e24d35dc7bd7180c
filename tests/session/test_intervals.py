"""What counters say of an arm: alone, and beside the requests of a log."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import pytest

from tests.session.build import drafted, plain, start
from tui.formats.events import Interval, Progress, ServerStart
from tui.model.comparison import TypedRate
from tui.session.session import Session

if TYPE_CHECKING:
    from tui.session.snapshot import ArmView, View

HTTP = "http://127.0.0.1:8080"


def interval(**other: Any) -> Interval:
    """Two seconds of decoding at K=3, 100 rounds: 261 tokens with those of some first and plain steps."""
    event = Interval(
        source=HTTP,
        engine="llama.cpp",
        seconds=2.0,
        tokens=261,
        drafted=300,
        accepted=150,
        rounds=100,
        accepted_per_position=(0.8, 0.5, 0.2),
        running=1,
    )
    return dataclasses.replace(event, **other)


def facts(**other: Any) -> ServerStart:
    told = ServerStart(source=HTTP, engine="llama.cpp", build="b11000", model="target.gguf", running=True)
    return dataclasses.replace(told, **other)


def one_view(session: Session) -> View:
    (view,) = session.snapshot(0.0).views
    return view


def canary(session: Session) -> ArmView:
    arm = one_view(session).canary
    assert arm is not None
    return arm


def test_counters_alone_fill_what_they_can_and_say_why_not_elsewhere() -> None:
    session = Session()
    session.add([facts(spec_types=("draft-simple",)), interval(), interval(accepted=160)])
    arm = canary(session)
    assert arm.acceptance_ratio.value == 310 / 600
    assert arm.mean_accepted_length.value == 1 + 310 / 200
    assert arm.reached == (0.8, 0.5, 0.2)
    assert (arm.rounds, arm.tokens, arm.drafted) == (200, 522, 600)
    assert arm.depth.value == 3
    assert arm.decode_tok_s == pytest.approx(522 / 4)
    assert "first token" in arm.rate_note
    assert arm.acceptance.conditional[0] == 0.8
    assert arm.drafter == "draft-simple"
    assert arm.requests is None
    for figure in (arm.coverage, arm.tokens_per_pass, arm.steps.round_ms, arm.steps.draft_ms):
        assert figure.value is None
        assert figure.note
    view = one_view(session)
    assert view.source.unnumbered
    assert (view.source.build, view.source.load.running) == ("b11000", 1)
    assert view.what_if is not None


def test_counters_that_tell_requests_give_coverage_and_the_rate_over_n_minus_1() -> None:
    session = Session()
    session.add([interval(requests=3, tokens=261)])
    arm = canary(session)
    assert arm.requests == 3
    assert arm.decode_tok_s == pytest.approx(258 / 2)
    assert arm.coverage.value == pytest.approx(100 / 108)
    assert arm.tokens_per_pass.value == pytest.approx(258 / 108)
    assert "first token" not in arm.rate_note
    assert not one_view(session).source.unnumbered


def test_the_first_interval_is_history_and_in_no_picture() -> None:
    session = Session()
    session.add([interval(tokens=10_000, seconds=100.0), interval(), interval(tokens=200)])
    arm = canary(session)
    assert arm.rates == (130.5, 100.0)
    assert arm.now.decode_tok_s == pytest.approx(461 / 4)
    assert arm.tokens == 10_461


def test_no_verdict_from_counters_but_a_ratio_and_a_reason() -> None:
    session = Session()
    session.choose(TypedRate(100.0))
    session.add([interval() for _ in range(50)])
    judgement = one_view(session).judgement
    assert judgement is not None
    assert judgement.verdict == "NO_DATA"
    assert "log" in judgement.reason
    assert judgement.ratio == pytest.approx(1.305)
    assert judgement.interval is None


def test_seconds_of_a_stretch_are_no_decode_time() -> None:
    session = Session()
    session.add([interval(engine="vLLM", seconds=10.0)])
    arm = canary(session)
    assert arm.decode_tok_s is None
    assert "no decode rate" in arm.rate_note
    assert arm.acceptance_ratio.value == 0.5


def test_printed_means_without_rounds_are_weighted_by_passes() -> None:
    session = Session()
    mean = {"drafted": None, "accepted": None, "rounds": None, "accepted_per_position": None}
    slow, fast = {"mean_accepted_length": 2.0, "tokens": 100}, {"mean_accepted_length": 3.0, "tokens": 600}
    session.add([interval(engine="SGLang", **mean, **which) for which in (slow, fast)])
    arm = canary(session)
    assert arm.mean_accepted_length.value == pytest.approx(700 / 250)
    assert arm.acceptance_ratio.value is None
    assert arm.rounds is None


def test_printed_ratios_and_rates_are_taken_as_printed() -> None:
    session = Session()
    said: dict[str, Any] = {"drafted": None, "accepted": None, "rounds": None, "accepted_per_position": None}
    said |= {"engine": "SGLang", "tokens": None, "seconds": None}
    lines = [
        interval(**said, mean_accepted_length=2.5, acceptance_ratio=0.5, rate_tok_s=100.0, running=1),
        interval(**said, mean_accepted_length=3.1, acceptance_ratio=0.7, rate_tok_s=300.0, running=3),
        interval(**said, mean_accepted_length=2.5, acceptance_ratio=0.5, rate_tok_s=5.0, doubt="idle before"),
    ]
    session.add(lines)
    arm = canary(session)
    assert arm.acceptance_ratio.value == pytest.approx((0.5 + 3 * 0.7 + 0.5) / 5)
    assert arm.mean_accepted_length.value == pytest.approx((2.5 + 3 * 3.1 + 2.5) / 5)
    assert arm.rates == (300.0, None)
    assert arm.ratios == (0.7, 0.5)
    assert arm.decode_tok_s is None


def test_full_drafts_tell_rounds_where_the_printed_mean_agrees() -> None:
    session = Session()
    session.add([interval(engine="vLLM", rounds=None, mean_accepted_length=2.5)])
    assert canary(session).rounds == 100
    session.add([interval(engine="vLLM", rounds=None, mean_accepted_length=2.6)])
    assert canary(session).rounds is None


def test_an_old_build_without_drafting_counters_is_unknown_not_undrafted() -> None:
    session = Session()
    session.add([interval(drafted=None, accepted=None, rounds=None, accepted_per_position=None)])
    ratio = canary(session).acceptance_ratio
    assert ratio.value is None
    assert "does not count drafting" in ratio.note


def test_rounding_of_large_counters_is_no_inconsistency() -> None:
    # 1,234,562 rounds of 3 drafts as six digits tell them: 1.23456e+06 and 3.70369e+06.
    session = Session()
    shares = tuple(n / 1_234_560 for n in (900_000, 600_000, 300_000))
    session.add(
        [interval(rounds=1_234_560, drafted=3_703_690, accepted=1_800_000, accepted_per_position=shares)]
    )
    p = canary(session).acceptance
    assert p.point is not None
    assert p.conditional[1] == pytest.approx(2 / 3, abs=1e-4)


def test_a_log_counts_its_requests_and_counters_add_what_it_hides() -> None:
    session = Session()
    hidden: dict[str, Any] = {"accepted_per_position": None, "source": HTTP}
    session.add([start(source=HTTP, build=None, depth=None), facts()])
    session.add([drafted(**hidden) for _ in range(4)])
    before = canary(session)
    assert before.reached is None
    positions = {"accepted_per_position": (0.75, 0.5, 0.25)}
    session.add([interval(tokens=404, rounds=160, drafted=480, accepted=240, **positions)])
    after = canary(session)
    assert (after.requests, after.tokens, after.drafted) == (4, 404, 480)
    assert after.decode_tok_s == before.decode_tok_s
    assert after.reached == (0.75, 0.5, 0.25)
    assert after.depth.value == 3
    assert after.acceptance.evidence == "per_position"
    source = one_view(session).source
    assert (source.requests, source.build, source.restarts) == (4, "b11000", 0)


def test_cancelled_requests_are_explained_and_not_added() -> None:
    session = Session()
    session.add([start(source=HTTP), drafted(source=HTTP), plain(source=HTTP, finish="cancelled")])
    session.add([interval(tokens=101, drafted=120, accepted=60, rounds=40)])
    assert one_view(session).notes == ()
    session.add([interval(tokens=70)])
    (note,) = one_view(session).notes
    assert "1 request was cancelled" in note
    assert "171" in note
    arm = canary(session)
    assert (arm.requests, arm.tokens, arm.acceptance_ratio.value) == (1, 101, 0.5)


def test_halogens_counters_give_the_ratio_that_its_log_lacks() -> None:
    session = Session()
    said: dict[str, Any] = {
        "engine": "halogen",
        "drafted": None,
        "accepted": None,
        "accepted_per_position": None,
    }
    session.add(
        [drafted(source=HTTP, drafter="mtp", **said), plain(source=HTTP, engine="halogen", drafter="batch")]
    )
    assert canary(session).acceptance_ratio.value is None
    counted = {"rounds": None, "accepted_per_position": None, "requests": 2, "engine": "halogen"}
    session.add([interval(drafted=80, accepted=60, **counted)])
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.drafter == "mtp"
    assert view.canary.acceptance_ratio.value == 0.75
    assert view.source.requests == 2
    assert len(view.others) == 1


def test_a_mean_length_and_a_depth_tell_p_and_the_ratio_beside_it_does_not() -> None:
    session = Session()
    said = {"engine": "vLLM", "tokens": None, "seconds": None, "rounds": None, "accepted_per_position": None}
    session.add([facts(engine="vLLM", build=None, depth=3)])
    session.add([interval(**said, accepted=270, mean_accepted_length=2.44)])
    # 1 + .6 + .36 + .216 = 2.176; .7 gives 2.533, .67 gives 2.42.
    assert canary(session).acceptance.point == pytest.approx(0.6755, abs=1e-3)
    assert canary(session).acceptance.evidence == "mean_length"


def test_a_running_servers_facts_are_no_restart_and_a_start_is() -> None:
    session = Session()
    session.add([facts(), interval(), facts(spec_types=("draft-mtp",), depth=3)])
    first = one_view(session).source
    assert (first.restarts, first.drafter, first.model) == (0, "draft-mtp", "target.gguf")
    session.add([facts(running=False, build="b11001"), interval()])
    second = one_view(session)
    assert (second.source.restarts, second.source.build) == (1, "b11001")
    assert len(second.others) == 1


def test_a_restart_as_before_goes_on_with_the_arm() -> None:
    session = Session()
    told = {"spec_types": ("draft-mtp",), "depth": 3}
    session.add([facts(**told), interval(), facts(running=False, **told), interval()])
    view = one_view(session)
    assert view.others == ()
    assert view.canary is not None
    assert view.canary.rounds == 200
    assert view.source.restarts == 1


def test_generations_that_ended_leave_with_the_servers_own_count() -> None:
    session = Session()
    tasks = [Progress(source=HTTP, engine="llama.cpp", slot=n, task=n, tokens=5) for n in range(3)]
    session.add([interval(running=3), *tasks])
    assert len(one_view(session).in_flight) == 3
    session.add([tasks[1], interval(tokens=0, drafted=0, running=1)])
    assert [flight.task for flight in one_view(session).in_flight] == [1]
    session.add([interval(tokens=0, drafted=0, running=0)])
    assert one_view(session).in_flight == ()


def test_frozen_counters_are_an_incumbent_rate() -> None:
    session = Session()
    session.add([interval()])
    session.freeze(0)
    session.add([interval(tokens=522)])
    view = one_view(session)
    assert view.incumbent is not None
    assert view.incumbent.decode_tok_s == pytest.approx(130.5)
    assert view.ratio == pytest.approx(2.0)
    assert view.judgement is not None
    assert view.judgement.verdict == "NO_DATA"


def test_intervals_of_counted_rounds_do_not_speak_for_those_of_a_printed_mean() -> None:
    # 10 rounds that tell themselves, then 400 of drafts cut short that only their mean length tells.
    small = {"drafted": 30, "accepted": 3, "accepted_per_position": (0.2, 0.1, 0.0)}
    large = {"drafted": 801, "accepted": 600, "accepted_per_position": (0.75, 0.5, 0.25)}
    session = Session()
    for says, mean in ((small, 1.3), (large, 2.5), (large, 2.5)):
        session.add([interval(engine="vLLM", rounds=None, mean_accepted_length=mean, seconds=10.0, **says)])
    arm = canary(session)
    assert arm.mean_accepted_length.value == pytest.approx((13 + 2 * 1000) / (10 + 2 * 400))
    assert arm.mean_accepted_length.note == "mean over intervals"
    assert arm.now.mean_accepted_length == pytest.approx(2.5)
    assert arm.reached == pytest.approx((602 / 810, 401 / 810, 200 / 810))
    assert arm.acceptance.low == pytest.approx(1203 / (1203 + 610))
    assert arm.rounds is None


def test_an_interval_with_nothing_accepted_weighs_by_its_drafts() -> None:
    # Nothing accepted tells no rounds: 91 draft tokens of at most 3 each are of 31 rounds at least.
    none = {"drafted": 91, "accepted": 0, "accepted_per_position": (0.0, 0.0, 0.0)}
    large = {"drafted": 801, "accepted": 600, "accepted_per_position": (0.75, 0.5, 0.25)}
    session = Session()
    for says, mean in ((none, 1.0), (large, 2.5)):
        session.add([interval(engine="vLLM", rounds=None, mean_accepted_length=mean, seconds=10.0, **says)])
    assert canary(session).mean_accepted_length.value == pytest.approx((31 + 1000) / (31 + 400))

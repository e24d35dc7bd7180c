"""What the session makes of events."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from tests.session.build import drafted, plain, start
from tui.formats.events import Problem, Progress
from tui.model.comparison import Rules, TypedRate
from tui.model.whatif import answer
from tui.session.incumbent import DrafterArm, FrozenArm
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    from tui.session.snapshot import View


def one_view(session: Session, now: float = 100.0) -> View:
    (view,) = session.snapshot(now).views
    return view


def incumbent_log(requests: int = 30) -> FrozenArm:
    session = Session()
    session.add([start(spec_types=(), depth=None, draft_model=None), *[plain() for _ in range(requests)]])
    arm = session.newest_arm()
    assert arm is not None
    return FrozenArm(arm, "old.log", "log")


def test_nothing_known_is_nothing_shown() -> None:
    session = Session()
    session.open("a.log", "waiting", "no such file yet")
    view = one_view(session)
    assert view.canary is None
    assert view.ratio is None
    assert view.judgement is None
    assert (view.source.state, view.source.message) == ("waiting", "no such file yet")


def test_step_times_and_commit_against_a_plain_incumbent() -> None:
    session = Session()
    session.choose(incumbent_log())
    session.add([start(), *[drafted() for _ in range(25)]])
    arm = one_view(session).canary
    assert arm is not None
    assert arm.mean_accepted_length.value == pytest.approx(1 + 60 / 40)
    assert arm.steps.target_step_ms.value == pytest.approx(20.0)
    assert arm.steps.round_ms.value == pytest.approx(50.0)
    assert arm.steps.draft_ms.value == pytest.approx(15.0)
    assert arm.steps.draft_step_ms.value == pytest.approx(5.0)
    assert arm.steps.verify_ms.value == pytest.approx(35.0)
    assert arm.steps.verify_factor.value == pytest.approx(1.75)
    assert arm.steps.target_over_draft.value == pytest.approx(4.0)
    assert arm.coverage.value == 1.0
    assert arm.commit_needed.value == pytest.approx(50 * 50 / 1000)
    assert arm.reached == pytest.approx((0.75, 0.5, 0.25))
    assert arm.acceptance_ratio.value == pytest.approx(0.5)


def test_what_a_round_must_commit_leaves_plain_steps_their_part() -> None:
    session = Session()
    session.choose(TypedRate(60.0))
    session.add([start(), *[drafted(tokens=111, decode_ms=2200.0, plain_steps=10) for _ in range(3)]])
    view = one_view(session)
    assert view.canary is not None
    assert view.what_if is not None
    # 44 ms a pass, .8 of the passes are rounds: 60 * .044 = .8 * 3.05 + .2 * 1.
    assert view.canary.commit_needed.value == pytest.approx(3.05)
    needed = answer(view.what_if).commit_needed
    assert needed is not None
    assert (needed.low, needed.high) == pytest.approx((3.05, 3.05))


def test_untouched_what_if_gives_the_measured_rate() -> None:
    session = Session()
    session.choose(incumbent_log())
    undrafted = plain()
    session.add([start(), *[drafted() for _ in range(25)], undrafted, drafted(plain_steps=3, tokens=104)])
    view = one_view(session)
    assert view.what_if is not None
    assert view.canary is not None
    rate = answer(view.what_if).rate_tok_s
    assert rate is not None
    assert rate.exact
    assert rate.low == pytest.approx(view.canary.decode_tok_s, rel=1e-9)


def test_an_incumbent_of_another_model_is_told_and_gives_no_target_step() -> None:
    session = Session()
    session.choose(incumbent_log())
    session.add([start(model="/srv/other.gguf"), *[drafted() for _ in range(25)]])
    view = one_view(session)
    assert view.judgement is not None
    assert view.judgement.warnings[0] == "different models: incumbent target.gguf, canary other.gguf"
    assert view.canary is not None
    assert view.canary.steps.target_step_ms.value is None
    assert view.canary.steps.verify_factor.value is None


def test_overlapping_requests_have_no_step_times_and_say_shared() -> None:
    session = Session()
    session.choose(incumbent_log())
    session.add([start(), *[drafted(concurrency=2) for _ in range(25)]])
    view = one_view(session)
    assert view.canary is not None
    steps = view.canary.steps
    for figure in (steps.round_ms, steps.draft_ms, steps.verify_ms, steps.verify_factor):
        assert figure.value is None
        assert "shared" in figure.note


def test_missing_draft_time_names_the_flag_that_gives_it_where_one_does() -> None:
    session = Session()
    session.add([drafted(draft_ms=None)])
    session.add([drafted(source="b.log", engine="halogen", drafter="mtp", draft_ms=None, drafted=None)])
    llama, halogen = (view.canary for view in session.snapshot(0.0).views)
    assert llama is not None
    assert halogen is not None
    assert "-lv 4" in llama.steps.draft_ms.note
    assert halogen.steps.draft_ms.note == "halogen does not log draft time"
    assert halogen.acceptance_ratio.note == "halogen does not log drafted tokens"


def test_undrafted_requests_lower_the_coverage_not_the_commit() -> None:
    session = Session()
    session.add([start(spec_types=("ngram-mod",), depth=16), drafted(), plain(tokens=161)])
    arm = one_view(session).canary
    assert arm is not None
    assert arm.coverage.value == pytest.approx(40 / 200)
    assert arm.mean_accepted_length.value == pytest.approx(2.5)
    assert arm.tokens_per_pass.value == pytest.approx((100 + 160) / 200)


def test_a_restart_with_the_same_known_identity_continues_the_arm() -> None:
    session = Session()
    session.add([start(), *[drafted() for _ in range(3)], start(), *[drafted() for _ in range(3)]])
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.requests == 6
    assert view.others == ()
    assert [row.left_out for row in view.requests] == ["", "", "warm-up", "", "", "warm-up"]
    assert view.source.restarts == 1


def test_a_restart_with_another_depth_is_a_new_arm_and_the_old_one_is_offered() -> None:
    session = Session()
    session.add([start(), *[drafted() for _ in range(3)], start(depth=5)])
    assert one_view(session).source.restarted
    session.add([drafted()])
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.requests == 1
    assert [arm.requests for arm in view.others] == [3]
    assert view.offered is not None
    assert "K=3" in view.offered
    assert not view.source.restarted
    session.take_offer(0)
    incumbent = one_view(session).incumbent
    assert incumbent is not None
    assert incumbent.requests == 3


@pytest.mark.parametrize(
    ("depths", "pooled"), [((12, 3), True), ((12, 7), False), ((12,), False)], ids=["same", "other", "untold"]
)
def test_a_chain_is_the_same_only_with_every_depth_the_same(depths: tuple[int, ...], pooled: bool) -> None:
    chain = start(spec_types=("ngram-mod", "draft-mtp"), depth=12, depths=(12, 3))
    session = Session()
    session.add([chain, *[drafted()] * 3, dataclasses.replace(chain, depths=depths), *[drafted()] * 2])
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.requests == (5 if pooled else 2)


def test_a_restart_of_which_nothing_is_known_is_a_new_arm() -> None:
    unknown = start(build=None, spec_types=None, depth=None)
    session = Session()
    session.add([unknown, drafted(), unknown, drafted()])
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.requests == 1


def test_halogen_drafters_of_one_server_are_arms_of_their_own() -> None:
    session = Session()
    serial = plain(engine="halogen", drafter="batch", concurrency=None)
    mtp = dataclasses.replace(
        serial, drafter="mtp", rounds=50, mean_accepted_length=2.0, decode_ms=1500.0, rounds_from="printed"
    )
    session.add([serial, mtp] * 25)
    view = one_view(session)
    assert view.canary is not None
    assert view.canary.drafter == "mtp"
    assert view.offered is not None
    assert "batch" in view.offered
    session.choose(DrafterArm("batch"))
    view = one_view(session)
    assert view.ratio == pytest.approx(2000 / 1500)
    assert view.canary is not None
    assert "overlap unknown" in view.canary.steps.round_ms.note


def test_freezing_makes_the_present_arm_the_incumbent_and_starts_a_canary() -> None:
    session = Session()
    with pytest.raises(IndexError):
        session.freeze(0)
    session.open("a.log", "live")
    with pytest.raises(ValueError, match="no finished request"):
        session.freeze(0)
    session.add([start(), *[drafted() for _ in range(4)]])
    session.freeze(0)
    view = one_view(session)
    assert view.incumbent is not None
    assert view.incumbent.requests == 4
    session.add([drafted()])
    view = one_view(session)
    assert view.incumbent is not None
    assert view.incumbent.requests == 4
    assert view.canary is not None
    assert view.canary.requests == 1


def test_the_ratio_leaves_the_warm_up_out_and_history_shrinks() -> None:
    session = Session(Policy(rules=Rules(min_requests=5)))
    session.choose(TypedRate(50.0, "decode"))
    slow_first = drafted(decode_ms=9000.0)
    session.add([start(), slow_first, *[drafted(decode_ms=2000.0 + 200 * (n % 2)) for n in range(60)]])
    view = one_view(session)
    assert view.ratio == pytest.approx(100 / 2.1 / 50, rel=1e-3)
    widths = [p.interval[1] - p.interval[0] for p in view.history if p.interval is not None]
    assert len(widths) > 10
    assert widths[-1] < widths[0]


def test_a_typed_delivered_incumbent_is_held_against_the_delivered_rate() -> None:
    session = Session()
    session.choose(TypedRate(50.0, "delivered"))
    session.add([start(), *[drafted() for _ in range(30)]])
    view = one_view(session)
    assert view.basis == "delivered"
    assert view.ratio == pytest.approx(101 / 2.5 / 50)


def test_doubtful_rounds_are_counted_nowhere_while_their_time_is() -> None:
    session = Session()
    good = drafted(engine="halogen", drafter="mtp", drafted=None, accepted=None)
    session.add([good] * 3)
    before = one_view(session).canary
    session.add([dataclasses.replace(good, rounds=1, mean_accepted_length=151.0, doubt="impossible")])
    view = one_view(session)
    assert view.canary is not None
    assert before is not None
    assert view.canary.requests == 4
    assert view.canary.mean_accepted_length.value == before.mean_accepted_length.value
    assert view.canary.coverage.value == before.coverage.value
    assert view.canary.commits[-1] is None
    assert view.requests[0].round_ms.note == "impossible"


@pytest.mark.parametrize(
    ("build", "words"),
    [
        ("b6722", ""),
        ("b6723", "bit high"),
        ("b7322", "high"),
        ("b7683", "too low"),
        ("b7684", ""),
        (None, ""),
    ],
)
def test_builds_whose_clock_is_wrong_are_told(build: str | None, words: str) -> None:
    session = Session()
    session.add([start(build=build), drafted()])
    notes = " ".join(one_view(session).notes)
    assert bool(notes) == bool(words)
    assert words in notes


def test_failed_and_cancelled_requests_count_nowhere_and_leave_the_flight() -> None:
    session = Session()
    session.add([start(), Progress(source="a.log", slot=0, task=7, tokens=100, rate_tok_s=20.0)])
    assert len(one_view(session).in_flight) == 1
    session.add([plain(slot=0, task=7, tokens=None, decode_ms=None, finish="cancelled")])
    view = one_view(session)
    assert view.in_flight == ()
    assert view.source.requests == 0


def test_silence_makes_a_live_source_stale_and_problems_are_counted() -> None:
    session = Session()
    session.open("a.log", "live")
    session.heard("a.log", 100.0)
    session.add([Problem(source="a.log", problem="cut", text="x")])
    assert one_view(session, 120.0).source.state == "live"
    source = one_view(session, 142.0).source
    assert (source.state, source.last_line_age_s, source.problems) == ("stale", 42.0, 1)


def test_bytes_left_out_mean_the_next_request_is_no_warm_up() -> None:
    session = Session()
    session.add([start()])
    session.gap("a.log")
    session.add([drafted()])
    assert one_view(session).requests[0].left_out == ""


def test_a_slower_server_is_not_blamed_on_the_drafter() -> None:
    session = Session()
    fast = [drafted(decode_ms=2000.0 + 10 * (n % 3)) for n in range(30)]
    slow = [drafted(decode_ms=4000.0 + 10 * (n % 3)) for n in range(20)]
    session.add([start(), *fast])
    assert one_view(session).drift == ""
    session.add(slow)
    said = one_view(session).drift
    assert "round time +99 %, commit +0 %" in said
    assert "residency" in said


def test_another_concurrency_is_no_drift() -> None:
    session = Session()
    session.add([start(), *[drafted() for _ in range(30)]])
    session.add([drafted(decode_ms=6000.0, concurrency=3) for _ in range(20)])
    assert one_view(session).drift == ""


def test_the_table_of_a_snapshot_stands_still_while_requests_come() -> None:
    session = Session(Policy(warm_up=0))
    # Its plain steps need t_s, which the start without drafting below tells later.
    session.add([start(), drafted(plain_steps=5)])
    rows = one_view(session).requests
    before = [(row.number, row.arm, row.round_ms) for row in rows]
    session.add([start(spec_types=()), plain(), start(), drafted()])
    assert [(row.number, row.arm, row.round_ms) for row in rows] == before
    assert [row.number for row in one_view(session).requests] == [3, 2, 1]
    assert one_view(session).requests[-1].round_ms != before[0][2]


def test_requests_of_two_router_streams_never_pool() -> None:
    session = Session()
    session.add([drafted(stream="8081"), drafted(stream="8082"), drafted(stream="8082")])
    view = one_view(session)
    assert view.canary is not None
    assert {view.canary.requests, *(arm.requests for arm in view.others)} == {1, 2}


def two_sources() -> Session:
    session = Session(Policy(rules=Rules(min_requests=2)))
    for name in ("a.log", "b.log"):
        session.add([start(source=name), *[drafted(source=name) for _ in range(4)]])
    return session


def beaten(session: Session) -> dict[str, str | None]:
    views = session.snapshot(100.0).views
    return {view.source.name: view.incumbent.label if view.incumbent else None for view in views}


def test_one_source_may_be_held_against_something_of_its_own() -> None:
    session = two_sources()
    session.choose(TypedRate(25.0))
    session.choose(TypedRate(80.0), "b.log")
    assert beaten(session) == {"a.log": "25 tok/s, typed", "b.log": "80 tok/s, typed"}
    ratios = [view.ratio for view in session.snapshot(100.0).views]
    assert ratios == pytest.approx([50 / 25, 50 / 80])
    session.choose(None, "b.log")
    assert beaten(session) == {"a.log": "25 tok/s, typed", "b.log": "25 tok/s, typed"}


def test_an_incumbent_for_all_ends_what_sources_had_of_their_own() -> None:
    session = two_sources()
    session.choose(TypedRate(80.0), "b.log")
    assert beaten(session) == {"a.log": None, "b.log": "80 tok/s, typed"}
    session.choose(TypedRate(25.0))
    assert beaten(session) == {"a.log": "25 tok/s, typed", "b.log": "25 tok/s, typed"}


def test_an_arm_is_frozen_for_its_own_source_or_for_all() -> None:
    session = two_sources()
    session.freeze(0, alone=True)
    labels = beaten(session)
    assert labels["b.log"] is None
    assert labels["a.log"] is not None
    assert "frozen at 4" in labels["a.log"]
    session.freeze(1)
    assert {label for label in beaten(session).values() if label} == {
        "b.log draft-simple K=3 (frozen at 4)",
    }


def test_an_earlier_arm_is_taken_by_its_own_source_alone() -> None:
    session = two_sources()
    session.choose(TypedRate(25.0))
    session.add([start(source="b.log", depth=5), drafted(source="b.log")])
    with pytest.raises(ValueError, match="no earlier arm"):
        session.take_offer(1)
    session.choose(None)
    session.take_offer(1)
    labels = beaten(session)
    assert labels["a.log"] is None
    assert labels["b.log"] is not None
    assert "K=3" in labels["b.log"]


def test_step_times_of_a_few_that_ran_alone_say_so() -> None:
    session = Session()
    session.add([start(), drafted(), *[drafted(concurrency=2, decode_ms=9000.0)] * 9])
    arm = one_view(session).canary
    assert arm is not None
    assert arm.steps.round_ms.value == pytest.approx(50.0)
    assert arm.steps.round_ms.note == "1 of 10 ran alone"
    session = Session()
    session.add([plain(), plain(concurrency=2), start(), drafted()])
    arm = one_view(session).canary
    assert arm is not None
    assert arm.steps.target_step_ms.note == "1 of 2 ran alone"

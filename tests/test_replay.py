"""A replay as a screen sees it."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gzip
import math
from typing import TYPE_CHECKING, Any

import pytest

from tests.clock import Clock
from tests.session.build import drafted, plain, start
from tui.feeds.protocol import FeedError
from tui.formats.events import Event, Problem, Progress
from tui.formats.recording import Entry, Gap
from tui.recorder import Recorder
from tui.replay import Due, Replay, Timeline, read_timeline, schedule
from tui.session.incumbent import FrozenArm
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    from pathlib import Path

    from tui.session.snapshot import Snapshot, View


def places(*whats: Event | Gap) -> list[float]:
    """Where a log's events come to stand."""
    return [due.at for due in schedule(Entry(None, what) for what in whats)]


def test_events_stand_where_the_servers_clock_has_them() -> None:
    assert places(
        start(clock_s=5.0), drafted(clock_s=8.0), Progress(source="a.log", clock_s=8.5), drafted(clock_s=12.0)
    ) == [0.0, 3.0, 3.5, 7.0]


def test_recorded_times_come_before_the_lines_stamps_and_those_before_the_servers_clock() -> None:
    stamped = plain(time=500.0, clock_s=1.0)
    later = plain(time=504.0, clock_s=2.0)
    assert places(stamped, later) == [0.0, 4.0]
    recorded = schedule([Entry(70.0, stamped), Entry(72.0, later)])
    assert [due.at for due in recorded] == [0.0, 2.0]


def test_bare_requests_are_spaced_as_if_one_ran_after_the_other() -> None:
    assert places(
        plain(prompt_ms=500.0, decode_ms=2000.0),
        Problem(source="a.log", problem="cut", text="x"),
        plain(prompt_ms=None, decode_ms=1000.0),
        plain(prompt_ms=250.0, decode_ms=None),
    ) == [2.5, 2.5, 3.5, 3.75]


def test_a_restart_makes_no_pause_and_its_clock_is_taken_on() -> None:
    assert places(plain(clock_s=90.0), start(clock_s=1.0), plain(clock_s=4.0)) == [0.0, 0.0, 3.0]


def test_a_long_pause_is_shortened_but_not_the_work_on_a_long_answer() -> None:
    long = plain(prompt_ms=10_000.0, decode_ms=50_000.0)
    quick = plain(prompt_ms=0.0, decode_ms=1000.0)
    assert places(
        dataclasses.replace(quick, clock_s=1.0),
        dataclasses.replace(quick, clock_s=5000.0),  # most of it idle
        dataclasses.replace(long, clock_s=5062.0),  # two seconds idle
        dataclasses.replace(quick, clock_s=5065.0),
    ) == [0.0, 11.0, 73.0, 76.0]


def test_streams_have_clocks_of_their_own() -> None:
    assert places(
        plain(stream="8081", clock_s=100.0),
        plain(stream="8082", clock_s=3.0),
        plain(stream="8081", clock_s=102.0),
        plain(stream="8082", clock_s=6.0),
    ) == [0.0, 0.0, 2.0, 3.0]


def canary(requests: int = 30, every_s: float = 4.0) -> Timeline:
    """Starts at 0; a request each so many seconds, ever slower, and progress between them."""
    dues = [Due(0.0, start())]
    for n in range(1, requests + 1):
        at = n * every_s
        dues.append(Due(at - every_s / 2, Progress(source="a.log", slot=0, task=n, tokens=20)))
        request = drafted(slot=0, task=n)
        dues.append(Due(at, dataclasses.replace(request, decode_ms=(request.decode_ms or 0) * (2 + n / 100))))
    return Timeline(tuple(dues))


def frozen_plain() -> FrozenArm:
    session = Session()
    session.add([start(spec_types=(), draft_model=None, depth=None), *[plain() for _ in range(30)]])
    arm = session.newest_arm()
    assert arm is not None
    return FrozenArm(arm, "old.log", "log")


def replay_of(timeline: Timeline, clock: Clock, **other: Any) -> Replay:
    return Replay(timeline, Policy(), clock=clock, sleep=clock.sleep, **other)


def one_view(replay: Replay) -> View:
    (view,) = replay.snapshot().views
    return view


def told(snapshot: Snapshot) -> Snapshot:
    """A snapshot without what depends on when it was taken."""
    views = tuple(
        dataclasses.replace(view, source=dataclasses.replace(view.source, last_line_age_s=None))
        for view in snapshot.views
    )
    return dataclasses.replace(snapshot, views=views, taken_at=0.0, notices=())


def fresh(timeline: Timeline, place: float, choice: FrozenArm, state: Any = "live") -> Snapshot:
    """What a session that never saw more than this place shows."""
    session = Session()
    session.choose(choice)
    session.open("a.log", state)
    for due in timeline.dues:
        if due.at <= place and not isinstance(due.what, Gap):
            session.add([due.what])
    return told(session.snapshot(0.0))


async def run_for(replay: Replay, clock: Clock, seconds: float) -> None:
    """Let a replay run for so many seconds of its clock."""
    running = asyncio.create_task(replay.run())
    until = clock.now + seconds
    while clock.now < until and not running.done():
        await asyncio.sleep(0)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running


@pytest.mark.parametrize(("speed", "expected"), [(1.0, 5), (4.0, 21), (0.5, 2)])
async def test_speed_paces_the_events(speed: float, expected: int) -> None:
    clock = Clock()
    replay = replay_of(canary(), clock, speed=speed)
    assert one_view(replay).source.requests == 0
    await run_for(replay, clock, 21.3)
    view = one_view(replay)
    assert view.source.requests == expected
    assert view.source.state == "live"
    assert replay.place == {1.0: "0:21", 4.0: "1:24", 0.5: "0:10"}[speed] + " of 2:00"


async def test_end_is_told_and_the_replay_stays_there() -> None:
    clock = Clock()
    replay = replay_of(canary(requests=3), clock, speed=2.0)
    await run_for(replay, clock, 60.0)
    view = one_view(replay)
    assert (view.source.state, view.source.requests) == ("ended", 3)
    replay.seek(-5.0)
    assert (one_view(replay).source.state, one_view(replay).source.requests) == ("live", 1)
    await run_for(replay, clock, 1.0)
    assert one_view(replay).source.requests == 2
    await run_for(replay, clock, 60.0)
    assert (one_view(replay).source.state, one_view(replay).source.requests) == ("ended", 3)


def test_max_opens_at_the_end_and_stays_where_one_seeks() -> None:
    clock = Clock()
    replay = replay_of(canary(), clock, speed=math.inf)
    assert (one_view(replay).source.requests, one_view(replay).source.state) == (30, "ended")
    replay.seek(-60.0)
    assert (one_view(replay).source.requests, one_view(replay).source.state) == (15, "live")
    asyncio.run(run_for(replay, clock, 30.0))
    assert one_view(replay).source.requests == 15


def test_seeking_back_and_forth_equals_a_fresh_session() -> None:
    clock = Clock()
    timeline = canary()
    replay = replay_of(timeline, clock, speed=math.inf)
    choice = frozen_plain()
    replay.choose(choice)
    assert told(replay.snapshot()) == fresh(timeline, 120.0, choice, "ended")
    place = 120.0
    for step in (-40.0, -33.0, 21.0, 2.0, -9.5, 50.0, -90.5, 30.0):
        replay.seek(step)
        place += step
        assert told(replay.snapshot()) == fresh(timeline, place, choice), place
    replay.seek(1e9)
    assert told(replay.snapshot()) == fresh(timeline, 120.0, choice, "ended")
    judgement = one_view(replay).judgement
    assert judgement is not None
    assert judgement.verdict == "FAIL"
    replay.seek(-1e9)
    assert told(replay.snapshot()) == fresh(timeline, 0.0, choice)
    assert replay.place == "0:00 of 2:00"


def test_an_incumbent_set_holds_wherever_one_seeks() -> None:
    replay = replay_of(canary(), Clock(), speed=math.inf)
    replay.choose(replay.read_incumbent("50"))
    ratio = one_view(replay).ratio
    assert ratio is not None
    replay.seek(-60.0)
    earlier = one_view(replay)
    assert earlier.incumbent is not None
    assert earlier.incumbent.label.startswith("50 tok/s")
    assert earlier.ratio is not None
    assert earlier.ratio > ratio


def test_an_arm_frozen_on_the_way_is_one_from_there_on_only() -> None:
    timeline = canary()
    replay = replay_of(timeline, Clock(), speed=math.inf)
    replay.seek(-60.0)
    replay.freeze_incumbent(0)
    replay.seek(60.0)
    after = told(replay.snapshot())
    (view,) = after.views
    assert view.incumbent is not None
    assert (view.incumbent.requests, view.canary.requests if view.canary else 0) == (15, 15)
    replay.seek(-80.0)
    (view,) = replay.snapshot().views
    assert view.incumbent is None
    assert view.canary is not None
    assert view.canary.requests == 10
    replay.seek(80.0)
    assert told(replay.snapshot()) == after
    replay.choose(replay.read_incumbent("50"))
    assert one_view(replay).source.requests == 30
    canary_arm = one_view(replay).canary
    assert canary_arm is not None
    assert canary_arm.requests == 30


def test_an_offered_earlier_arm_stays_the_incumbent_while_seeking() -> None:
    undrafted = [start(spec_types=(), draft_model=None, depth=None), *[plain() for _ in range(10)]]
    whats = [*undrafted, start(), *[drafted() for _ in range(10)]]
    replay = replay_of(Timeline(tuple(schedule(Entry(float(n), w) for n, w in enumerate(whats)))), Clock())
    replay.seek(1e9)
    with pytest.raises(IndexError):
        replay.offer_incumbent(1)
    replay.offer_incumbent(0)
    before = told(replay.snapshot())
    assert before.views[0].ratio is not None
    replay.seek(-3.0)
    replay.seek(3.0)
    assert told(replay.snapshot()) == before


def test_nothing_to_freeze_is_told() -> None:
    replay = replay_of(canary(), Clock())
    with pytest.raises(ValueError, match="no finished request"):
        replay.freeze_incumbent(0)


async def test_a_suspended_process_goes_on_where_it_was() -> None:
    clock = Clock()
    replay = replay_of(canary(), clock)
    running = asyncio.create_task(replay.run())
    for _ in range(10):
        await asyncio.sleep(0)
    clock.now += 3600.0
    for _ in range(10):
        await asyncio.sleep(0)
    running.cancel()
    assert one_view(replay).source.requests == 0


def test_what_was_left_out_while_watching_is_left_out_again() -> None:
    """After a gap no request is the first after its start: none is warm-up, live and replayed."""
    entries = [Entry(0.0, start()), Entry(0.0, Gap("a.log")), *[Entry(1.0, drafted()) for _ in range(3)]]
    replay = replay_of(Timeline(tuple(schedule(entries))), Clock(), speed=math.inf)
    assert [row.left_out for row in one_view(replay).requests] == ["", "", ""]
    entries.pop(1)
    replay = replay_of(Timeline(tuple(schedule(entries))), Clock(), speed=math.inf)
    assert [row.left_out for row in one_view(replay).requests] == ["", "", "warm-up"]


async def test_what_is_replayed_and_what_could_not_be_read_is_told() -> None:
    timeline = dataclasses.replace(canary(), notes=("the recording is cut",))
    clock = Clock()
    replay = replay_of(timeline, clock, speed=6.0)
    await run_for(replay, clock, 1.0)
    notices = replay.snapshot().notices
    assert "2:00" in notices[0]
    assert "speed 6" in notices[0]
    assert notices[1:] == ("the recording is cut",)
    await run_for(replay, clock, 1.0)
    assert replay.snapshot().notices == notices, "a notice that changes would be told again and again"


def test_a_recording_is_read_with_its_own_times_and_sources(tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl.gz"
    now = iter([100.0, 100.0, 103.0, 107.5])
    with Recorder(path, clock=lambda: next(now)) as recorder:
        recorder.write([start(), plain(source="b.log", clock_s=1.0)])
        recorder.write([plain(clock_s=900.0), plain(clock_s=901.0)])
    timeline = read_timeline(str(path))
    assert [due.at for due in timeline.dues] == [0.0, 0.0, 3.0, 7.5]
    assert timeline.notes == ()
    replay = replay_of(timeline, Clock())
    assert [view.source.name for view in replay.snapshot().views] == ["a.log", "b.log"]


HALOGEN = "serve_api: mtp 88 tok in 2.20s = 40.00 t/s | 52 rounds, commit 1.67/round\n"


@pytest.mark.parametrize("name", ["a.log", "a.log.gz"])
def test_a_log_is_read_as_if_live(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    content = (HALOGEN * 3).encode()
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    timeline = read_timeline(str(path), "mine")
    assert [due.what.source for due in timeline.dues] == ["mine"] * 3
    assert [due.at for due in timeline.dues] == pytest.approx([2.2, 4.4, 6.6])


@pytest.mark.parametrize("content", [b"", b"nothing of ours\n" * 5, b'{"spectop_recording": 1}\n'])
def test_a_file_without_any_event_is_told_in_words(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(content)
    with pytest.raises(FeedError, match="nothing to replay"):
        read_timeline(str(path))


def two_sources() -> Replay:
    events = [
        event for name in ("a.log", "b.log") for event in (start(source=name), *[drafted(source=name)] * 4)
    ]
    whats = [what for pair in zip(events[:5], events[5:], strict=True) for what in pair]
    entries = (Entry(float(n), what) for n, what in enumerate(whats))
    return replay_of(Timeline(tuple(schedule(entries))), Clock(), speed=math.inf)


def beaten(replay: Replay) -> list[str]:
    labels = (view.incumbent.label if view.incumbent else "--" for view in replay.snapshot().views)
    return [label.removesuffix(" tok/s, typed") for label in labels]


def test_one_source_may_have_an_incumbent_of_its_own_wherever_one_seeks() -> None:
    replay = two_sources()
    replay.choose(replay.read_incumbent("25"))
    replay.choose(replay.read_incumbent("80"), "b.log")
    for seconds in (0.0, -5.0, 2.0):
        replay.seek(seconds)
        assert beaten(replay) == ["25", "80"]
    replay.choose(replay.read_incumbent("30"))
    assert beaten(replay) == ["30", "30"]


def test_freezes_and_incumbents_of_one_source_stand_side_by_side_while_seeking() -> None:
    replay = two_sources()
    replay.freeze_incumbent(0)
    replay.choose(replay.read_incumbent("80"), "b.log")
    frozen = "a.log draft-simple K=3 (frozen at 4)"
    assert beaten(replay) == [frozen, "80"]
    replay.seek(-5.0)
    assert beaten(replay) == ["--", "80"]
    replay.seek(9.0)
    assert beaten(replay) == [frozen, "80"]
    replay.freeze_incumbent(1, alone=True)
    replay.seek(-5.0)
    replay.seek(9.0)
    assert beaten(replay) == [frozen, "b.log draft-simple K=3 (frozen at 4)"]
    replay.choose(replay.read_incumbent("80"), "b.log")
    assert beaten(replay) == [frozen, "80"]

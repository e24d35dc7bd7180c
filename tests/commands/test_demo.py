"""The demo tells of a canary that loses and of one that wins."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import math
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tests.clock import Clock
from tui.cli import cli
from tui.commands import terminal
from tui.demo import Demo

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.session.snapshot import Snapshot

PACE_S = 0.5


async def looks(demo: Demo, clock: Clock, seconds: float) -> list[Snapshot]:
    """What a screen sees in so many seconds, looking twice a second."""
    running = asyncio.create_task(demo.run())
    start = clock.now
    seen: list[Snapshot] = []
    while clock.now < start + seconds and not running.done():
        await asyncio.sleep(0)
        if clock.now >= start + len(seen) * PACE_S:
            seen.append(demo.snapshot())
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    return seen


def demo_of(clock: Clock, **other: Any) -> Demo:
    return Demo(clock=clock, sleep=clock.sleep, **other)


def chapters(seen: list[Snapshot]) -> Iterator[Snapshot]:
    """The last look at each chapter, in the order they were shown."""
    for look, following in itertools.pairwise(seen):
        if look.notices != following.notices:
            yield look


async def test_both_canaries_have_their_verdict_within_a_minute_and_start_over() -> None:
    clock = Clock()
    seen = (await looks(demo_of(clock), clock, 60.0))[1:]
    loss, win = chapters(seen)
    assert "1/2: a drafter nearly as slow as its target loses" in loss.notices[0]
    assert "2/2: n-gram drafting wins" in win.notices[0]
    (view,) = loss.views
    assert view.source.name == "canary-loss (recorded)"
    assert view.incumbent is not None
    assert view.incumbent.label == "canary-incumbent (recorded)"
    assert view.incumbent.decode_tok_s == pytest.approx(36.1, abs=0.1)
    assert view.judgement is not None
    assert view.judgement.verdict == "FAIL"
    assert view.judgement.ratio == pytest.approx(0.549, abs=0.001)
    assert view.judgement.interval == pytest.approx((0.464, 0.649), abs=0.001)
    assert view.canary is not None
    assert view.canary.steps.round_ms.value == pytest.approx(113.1, abs=0.1)
    (view,) = win.views
    assert view.source.name == "canary-edit-ngram (recorded)"
    assert view.judgement is not None
    assert view.judgement.verdict == "PASS"
    assert view.judgement.ratio == pytest.approx(1.663, abs=0.001)
    assert seen[-1].notices == loss.notices


async def test_a_look_ten_seconds_later_always_shows_something_else() -> None:
    clock = Clock()
    seen = await looks(demo_of(clock), clock, 60.0)
    shown = [(s.views[0].source.name, s.views[0].source.requests) for s in seen]
    later = round(10 / PACE_S)
    assert len(shown) > 2 * later
    assert [n for n, (a, b) in enumerate(zip(shown, shown[later:], strict=False)) if a == b] == []


def test_the_verdict_stands_on_screen_for_a_while() -> None:
    clock = Clock()
    seen = asyncio.run(looks(demo_of(clock), clock, 60.0))
    for verdict in ("FAIL", "PASS"):
        views = [view for look in seen for view in look.views]
        stands = sum(view.judgement is not None and view.judgement.verdict == verdict for view in views)
        assert stands * PACE_S >= 8


def test_seeking_stays_within_the_chapter_and_speed_max_shows_its_end() -> None:
    demo = demo_of(Clock(), speed=math.inf)
    (view,) = demo.snapshot().views
    assert (view.source.requests, view.source.state) == (24, "ended")
    demo.seek(-demo.step_s)
    (view,) = demo.snapshot().views
    assert 15 < view.source.requests < 24
    assert demo.place == "1:48 of 1:58"


def test_another_incumbent_can_be_tried() -> None:
    demo = demo_of(Clock(), speed=math.inf)
    demo.choose(demo.read_incumbent("10"))
    (view,) = demo.snapshot().views
    assert view.ratio == pytest.approx(1.98, abs=0.01)
    demo.seek(-demo.step_s)
    demo.freeze_incumbent(0)
    (view,) = demo.snapshot().views
    assert view.incumbent is not None
    assert view.incumbent.kind == "frozen"


def test_command_puts_the_demo_on_the_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[Any] = []
    monkeypatch.setattr(terminal, "require_terminal", lambda _: None)
    monkeypatch.setattr(terminal, "run_screen", lambda *args, **options: shown.append((*args, options)))
    done = CliRunner().invoke(cli, ["demo", "--speed", "max", "--ascii"])
    assert done.exit_code == 0, done.output
    ((demo, options),) = shown
    assert isinstance(demo, Demo)
    assert demo.snapshot().views[0].source.requests == 24
    assert options == {"theme": None, "ascii_only": True, "quiet": False}

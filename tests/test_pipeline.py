"""From files on disk to snapshots: what an operator sees while logs grow, rotate and vanish."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.logs import request, startup
from tui.feeds.protocol import FeedError
from tui.model.comparison import TypedRate
from tui.pipeline import Watch
from tui.session.incumbent import DrafterArm, FrozenArm
from tui.session.session import Policy
from tui.whole import read_incumbent, read_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from tui.session.snapshot import View

PATIENCE_S = 30.0


@contextlib.asynccontextmanager
async def watching(*sources: str, backfill: int | None = 200) -> AsyncIterator[Watch]:
    watch = Watch(sources, Policy(), backfill=backfill)
    running = asyncio.create_task(watch.run())
    try:
        yield watch
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


async def until(watch: Watch, condition: Callable[[View], bool]) -> View:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        views = watch.snapshot().views
        if views and condition(views[0]):
            return views[0]
        await asyncio.sleep(0.02)
    raise AssertionError(watch.snapshot())


def seen(count: int) -> Callable[[View], bool]:
    return lambda view: view.source.requests == count


async def test_a_file_of_something_else_is_told_until_a_servers_line_comes(tmp_path: Path) -> None:
    log = tmp_path / "syslog"
    log.write_text("Nov 29 10:00:00 box kernel: nothing of a server\n" * 3)
    (view,) = read_session([str(log)], Policy()).snapshot(0.0).views
    assert "no line in it" in view.source.message
    async with watching(str(log)) as watch:
        view = await until(watch, lambda view: view.source.state == "live")
        assert "no line in it" in view.source.message
        with log.open("a") as file:
            file.write("serve_api: mtp 88 tok in 2.20s = 40.00 t/s | 52 rounds, commit 1.67/round\n")
        view = await until(watch, seen(1))
        assert view.source.message == ""


async def test_a_log_that_comes_late_is_awaited_then_followed(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "llama.log"
    async with watching(str(log)) as watch:
        view = await until(watch, lambda view: view.source.message != "")
        assert view.source.state == "waiting"
        assert "llama.log" in view.source.message
        log.parent.mkdir()
        log.write_text(startup() + request(1))
        view = await until(watch, lambda view: view.source.requests == 1 and view.source.state == "live")
        assert (view.source.model, view.source.build) == ("/srv/target.gguf", "b11500")
        assert view.source.depth.value == 3
        with log.open("a") as file:
            file.write(request(2))
        view = await until(watch, seen(2))
        assert view.canary is not None
        assert view.canary.rounds == 80
        assert view.canary.steps.draft_step_ms.value == pytest.approx(5.0)


async def test_counters_go_on_through_a_rename(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(startup() + request(1))
    async with watching(str(log)) as watch:
        await until(watch, seen(1))
        with log.open("a") as old:
            log.rename(tmp_path / "llama.log.1")
            log.write_text("")
            old.write(request(2))
        await until(watch, seen(2))
        with log.open("a") as file:
            file.write(request(3))
        view = await until(watch, seen(3))
        rows = [row.request.rounds_from for row in view.requests]
        assert rows == ["statistics"] * 3
        assert view.source.restarts == 0
        assert view.canary is not None
        assert view.canary.requests == 3


async def test_after_copytruncate_nothing_is_counted_twice_and_the_first_delta_is_unknown(
    tmp_path: Path,
) -> None:
    log = tmp_path / "llama.log"
    log.write_text(startup() + request(1) + request(2))
    async with watching(str(log)) as watch:
        await until(watch, seen(2))
        os.truncate(log, 0)
        with log.open("a") as file:
            file.write(request(4))
        view = await until(watch, seen(3))
        assert view.requests[0].request.rounds == 40
        assert view.requests[0].request.rounds_from == "mean_length"
        assert view.canary is not None
        assert view.canary.requests == 3


async def test_a_restart_that_truncates_the_log_starts_a_new_arm(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(startup(depth=3) + request(1) + request(2))
    async with watching(str(log)) as watch:
        await until(watch, seen(2))
        log.write_text(startup(depth=5))
        view = await until(watch, lambda view: view.source.restarted)
        with log.open("a") as file:
            file.write(request(1))
        view = await until(watch, seen(3))
        assert view.canary is not None
        assert (view.canary.requests, view.canary.depth.value) == (1, 5)
        assert [arm.requests for arm in view.others] == [2]
        assert not view.source.restarted


async def test_a_long_log_is_entered_at_its_end_and_the_start_is_known(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    noise = "0.09.000.000 I srv  params_from_: Chat format: peg-native\n" * 20_000
    log.write_text(startup() + request(1) + noise + "".join(request(n) for n in range(2, 24)))
    async with watching(str(log), backfill=5) as watch:
        view = await until(watch, lambda view: view.source.requests >= 5 and view.source.state == "live")
        assert view.source.requests == 5
        assert view.source.depth.value == 3
        assert view.source.model == "/srv/target.gguf"
        assert [row.left_out for row in view.requests] == [""] * 5
        assert view.requests[-1].request.rounds_from == "mean_length"
        assert view.requests[0].request.rounds_from == "statistics"


async def test_old_logs_are_stale_at_once(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(startup() + request(1))
    os.utime(log, (time.time() - 7200, time.time() - 7200))
    async with watching(str(log)) as watch:
        view = await until(watch, lambda view: view.source.state in ("live", "stale"))
        assert view.source.state == "stale"
        assert view.source.last_line_age_s is not None
        assert view.source.last_line_age_s > 7000


async def test_two_sources_are_two_views(tmp_path: Path) -> None:
    for name in ("one.log", "two.log"):
        (tmp_path / name).write_text(startup() + request(1))
    async with watching(str(tmp_path / "*.log")) as watch:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline and len(watch.snapshot().views) < 2:
            await asyncio.sleep(0.02)
        names = {Path(view.source.name).name for view in watch.snapshot().views}
        assert names == {"one.log", "two.log"}


def test_incumbents_as_typed(tmp_path: Path) -> None:
    log = tmp_path / "old.log"
    log.write_text(startup() + request(1))
    policy = Policy()
    assert read_incumbent("25", "delivered", policy) == TypedRate(25.0, "delivered")
    assert read_incumbent("25 decode", "delivered", policy) == TypedRate(25.0, "decode")
    assert read_incumbent("drafter:batch", "decode", policy) == DrafterArm("batch")
    frozen = read_incumbent(str(log), "decode", policy)
    assert isinstance(frozen, FrozenArm)
    assert (frozen.label, frozen.arm.all.requests) == ("old.log", 1)
    for text in ("", "-3", "0", "drafter:", "25 apples"):
        with pytest.raises((ValueError, FeedError)):
            read_incumbent(text, "decode", policy)
    (tmp_path / "empty.log").write_text("nothing here\n")
    with pytest.raises(ValueError, match="no finished request"):
        read_incumbent(str(tmp_path / "empty.log"), "decode", policy)
    with pytest.raises(FeedError, match=r"none\.log"):
        read_incumbent(str(tmp_path / "none.log"), "decode", policy)


def test_whole_files_and_globs(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text(startup() + request(1) + request(2))
    session = read_session([str(tmp_path / "*.log")], Policy())
    (view,) = session.snapshot(0.0).views
    assert view.source.requests == 2
    with pytest.raises(FeedError, match="no file matches"):
        read_session([str(tmp_path / "*.txt")], Policy())

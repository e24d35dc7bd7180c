"""Polled servers from the wire to the snapshot: a halogen with all its oddities, a flapping llama.cpp."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.feeds.pages import Page, Pages, off, serving
from tests.feeds.stand_ins import stand_in
from tests.formats.metrics_texts import halogen, llamacpp
from tests.formats.reading import LOADING, block, launch, lines, release
from tui.feeds.protocol import FeedError
from tui.formats.events import Event, Interval, Request
from tui.pipeline import Watch
from tui.session.session import Policy
from tui.session.snapshot import Load
from tui.whole import paths_of, read_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tui.session.snapshot import ArmView, View


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.feeds.http.PACE_S", 0.02)
    monkeypatch.setattr("tui.pipeline.LOOKS_A_SECOND", 1000)
    monkeypatch.setattr("tui.feeds.http.LONGEST_WAIT_S", 0.05)
    monkeypatch.setattr("tui.joined.LOG_FIRST_S", 0.2)


@dataclass
class Halogen:
    """A server that counts as halogen does: at the end of a request, with gauges that any reader resets."""

    version: str = "0.17.4"
    requests: int = 0
    tokens: int = 0
    seconds: float = 0.0
    drafted: int = 0
    accepted: int = 0
    running: int = 0
    rate: float = 0.0
    lines: list[str] = field(default_factory=list)

    def finish(self, tokens: int = 120, rounds: int = 50, drafted: int = 100) -> None:
        accepted = tokens - rounds
        self.requests += 1
        self.tokens += tokens
        self.seconds += 2.0
        self.drafted += drafted
        self.accepted += accepted
        self.rate = tokens / 2.0
        commit = 1 + accepted / rounds
        self.lines.append(
            f"serve_api: mtp {tokens} tok in 2.00s = {tokens / 2:.2f} t/s | {rounds} rounds, "
            f"commit {commit:.2f}/round | prompt 700, prefill 0.80s | detok 20us/tok\n"
        )

    def restart(self) -> None:
        self.requests = self.tokens = self.drafted = self.accepted = 0
        self.seconds = 0.0

    def metrics(self) -> Page:
        rate, self.rate = self.rate, 0.0
        return Page(
            halogen(self.requests, self.tokens, self.seconds, self.drafted, self.accepted, self.running, rate)
        )

    def health(self) -> Page:
        return Page(
            {
                "status": "ok",
                "model": "flash",
                "version": {"api": self.version, "engine": self.version, "match": True},
                "drafters_available": ["serial", "mtp"],
                "drafter_default": "mtp",
                "prompt_lookup": {"ngram": 3, "chain": 3},
            }
        )

    def cache(self) -> Page:
        return Page({"pool": {"positions": 262144, "usage_ratio": 0.25, "busy_regions": self.running}})

    def pages(self) -> Pages:
        return Pages({"/health": self.health, "/metrics": self.metrics, "/cache": self.cache})


class Watched:
    def __init__(self, *sources: str) -> None:
        self.events: list[Event] = []
        self.words: list[str] = []
        self.watch = Watch(
            sources, Policy(), on_events=self.events.extend, on_notice=self.words.append, api_key="sk-secret"
        )

    def views(self) -> tuple[View, ...]:
        return self.watch.snapshot().views

    def view(self) -> View:
        (view,) = self.views()
        return view

    def canary(self) -> ArmView | None:
        return self.view().canary

    def counted(self) -> int:
        return round(sum(e.tokens or 0 for e in self.events if isinstance(e, Interval)))

    async def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            assert time.monotonic() < deadline, (self.events[-5:], self.words)
            await asyncio.sleep(0.02)


@contextlib.asynccontextmanager
async def watching(*sources: str) -> AsyncIterator[Watched]:
    watched = Watched(*sources)
    task = asyncio.create_task(watched.watch.run())
    try:
        yield watched
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_halogen_alone_by_differences_of_its_counters() -> None:
    server = Halogen()
    server.finish()
    with serving(server.pages()) as pages:
        async with watching(pages.address) as watched:
            await watched.until(lambda: watched.counted() == 120)
            for _ in range(5):
                server.finish()
                await watched.until(lambda: watched.counted() == server.tokens)
    arm, source = watched.canary(), watched.view().source
    assert arm is not None
    assert (arm.requests, source.requests, source.engine, source.build) == (6, 6, "halogen", "0.17.4")
    assert arm.acceptance_ratio.value == 0.7
    assert arm.decode_tok_s == pytest.approx((720 - 6) / 12)
    assert arm.mean_accepted_length.value is None
    assert "rounds" in arm.mean_accepted_length.note
    assert source.load.kv_usage == 0.25
    assert pages.count("/health") < pages.count("/metrics")


async def test_halogens_log_and_counters_are_one_source(tmp_path: Path) -> None:
    log = tmp_path / "halogen.log"
    server = Halogen()
    server.finish()
    log.write_text("".join(server.lines))
    with serving(server.pages()) as pages:
        async with watching(f"{log}@{pages.address}") as watched:
            await watched.until(lambda: watched.counted() == 120)
            for _ in range(3):
                server.finish()
                with log.open("a") as file:
                    file.write(server.lines[-1])
            await watched.until(lambda: watched.counted() == server.tokens)
            await watched.until(lambda: sum(isinstance(e, Request) for e in watched.events) == 4)
    arm, source = watched.canary(), watched.view().source
    assert arm is not None
    assert (arm.requests, arm.tokens, source.requests) == (4, 480, 4)
    assert arm.rounds == 200
    assert arm.mean_accepted_length.value == pytest.approx(2.4)
    assert arm.acceptance_ratio.value == 0.7
    assert (source.build, source.drafter) == ("0.17.4", "mtp")


async def test_a_journal_and_its_server_are_one_stream(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = stand_in("journalctl", tmp_path, monkeypatch)
    server = Halogen()

    def tell() -> None:
        server.finish()
        record = {"__CURSOR": f"i={server.requests:04}", "MESSAGE": server.lines[-1].rstrip()}
        journal.add(json.dumps({**record, "_SYSTEMD_UNIT": "halogen.service"}))

    tell()
    with serving(server.pages()) as pages:
        async with watching(f"journal:halogen.service@{pages.address}") as watched:
            await watched.until(lambda: watched.counted() == 120)
            tell()
            await watched.until(lambda: watched.counted() == 240)
            await watched.until(lambda: watched.view().source.requests == 2)
    assert {(event.source, event.stream) for event in watched.events} == {
        ("journal:halogen.service", "halogen.service")
    }
    arm = watched.canary()
    assert arm is not None
    assert (arm.requests, arm.acceptance_ratio.value) == (2, 0.7)
    assert watched.view().others == ()


async def test_halogen_that_miscounts_has_no_ratio_but_its_rate() -> None:
    server = Halogen(version="0.15.1")
    server.finish(drafted=60)
    with serving(server.pages()) as pages:
        async with watching(pages.address) as watched:
            await watched.until(lambda: watched.counted() == 120)
    arm = watched.canary()
    assert arm is not None
    assert server.accepted > server.drafted
    assert arm.acceptance_ratio.value is None
    assert "0.15.3" in arm.acceptance_ratio.note
    assert arm.decode_tok_s == pytest.approx(119 / 2)


async def test_halogen_restarted_is_another_arm() -> None:
    server = Halogen()
    for _ in range(3):
        server.finish()
    with serving(server.pages()) as pages:
        async with watching(pages.address) as watched:
            await watched.until(lambda: watched.counted() == 360)
            server.restart()
            server.finish(tokens=90)
            await watched.until(lambda: watched.counted() == 450)
    view = watched.view()
    assert view.canary is not None
    assert (view.canary.tokens, [arm.tokens for arm in view.others]) == (90, [360])
    assert view.source.restarts == 1


async def test_a_flapping_server_never_stops_the_watch() -> None:
    # Each answer in turn: none, nonsense, an error, a broken counter, and now and then a good one.
    looks = 0

    def metrics() -> Page | None:
        nonlocal looks
        looks += 1
        broken = 'llamacpp:tokens_predicted_total{x="\n'
        good = Page(llamacpp(10 * looks, looks))
        return [None, Page("\0" * 50), Page(status=500), Page(broken), Page({"a": 1}), good][looks % 6]

    props: dict[str, Any] = {"build_info": "b11434-aa", "total_slots": 1}
    pages = Pages({"/health": Page({"status": "ok"}), "/props": Page(props), "/metrics": metrics})
    with serving(pages):
        async with watching(pages.address) as watched:
            await watched.until(lambda: watched.counted() >= 200)
    assert watched.view().source.restarts == 0
    assert set(pages.keys) == {"Bearer sk-secret"}


async def test_what_is_off_is_told_and_the_log_goes_on(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    server = Halogen()
    server.finish()
    log.write_text("".join(server.lines))
    props = Page({"build_info": "b11434-aa", "total_slots": 1})
    pages = Pages({"/health": Page(), "/props": props, "/metrics": off("no metrics")})
    with serving(pages):
        async with watching(f"{log}@{pages.address}") as watched:
            await watched.until(lambda: any("--metrics" in text for text in watched.watch.snapshot().notices))
            await watched.until(lambda: watched.view().source.state == "live")
    assert watched.view().source.requests == 1
    assert any("--metrics" in text for text in watched.words)


def old_log(*, started: str = "") -> str:
    """Two requests in the form of b7323 and later without the mean: of a build that only its start tells."""
    first, second = (
        lines(
            launch(0, task),
            block(0, task, tokens=400, ms=8000.0, drafted=90, accepted=60, mean=False),
            release(0, task),
        )
        for task in (1, 2)
    )
    return first + started + second


def props(build: int) -> Pages:
    about = Page({"build_info": f"b{build}-aa", "total_slots": 1})
    return Pages({"/health": Page({"status": "ok"}), "/props": about, "/metrics": Page(llamacpp(800, 16.0))})


async def doubts_of(log: Path, pages: Pages) -> list[str | None]:
    with serving(pages):
        async with watching(f"{log}@{pages.address}") as watched:
            await watched.until(lambda: sum(isinstance(e, Request) for e in watched.events) == 2)
    return [event.doubt for event in watched.events if isinstance(event, Request)]


async def test_a_build_that_only_the_server_tells_makes_its_logs_numbers_doubted(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(old_log())
    first, second = await doubts_of(log, props(5000))
    assert first is not None
    assert "--draft-min" in first
    assert second == first
    assert await doubts_of(log, props(6000)) == [None, None]


async def test_what_stands_before_a_start_may_be_another_builds(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(old_log(started=lines("build: 5000 (aaaaaaaa) with gcc", LOADING)))
    first, second = await doubts_of(log, props(5000))
    assert first is None
    assert second is not None


async def test_a_log_is_read_though_its_server_is_away(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(old_log())
    with serving(props(5000)) as pages:
        pass
    async with watching(f"{log}@{pages.address}") as watched:
        await watched.until(lambda: watched.view().source.requests == 2)


async def test_a_server_that_has_gone_is_busy_with_nothing_known(tmp_path: Path) -> None:
    log = tmp_path / "halogen.log"
    server = Halogen(running=2)
    server.finish()
    log.write_text("".join(server.lines))
    pages = server.pages()
    with serving(pages):
        async with watching(f"{log}@{pages.address}") as watched:
            await watched.until(lambda: watched.view().source.load.running == 2)
            pages.pages.clear()
            await watched.until(lambda: watched.view().source.load == Load())
            assert watched.view().source.requests == 1


async def test_a_server_of_its_own_is_a_view_of_its_own(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text("".join(_finished(Halogen())))
    server = Halogen()
    server.finish(tokens=200)
    with serving(server.pages()) as pages:
        async with watching(str(log), pages.address) as watched:
            await watched.until(lambda: watched.counted() == 200)
    assert [view.source.name for view in watched.views()] == [str(log), pages.address]
    assert [view.canary.tokens if view.canary else 0 for view in watched.views()] == [120, 200]


def _finished(server: Halogen) -> list[str]:
    server.finish()
    return server.lines


def test_a_pattern_has_no_one_server() -> None:
    with pytest.raises(Exception, match="not a pattern"):
        Watch(["*.log@http://127.0.0.1:8080"], Policy())


def test_a_log_and_its_server_are_read_together_for_a_report(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(old_log())
    with serving(props(5000)) as pages:
        source = f"{log}@{pages.address}"
        assert paths_of(source) == [source]
        (view,) = read_session([source], Policy()).snapshot(0.0).views
    assert (view.source.name, view.source.requests, view.source.build) == (str(log), 2, "b5000")
    assert all(row.request.doubt for row in view.requests)
    with pytest.raises(FeedError, match="cannot be reached"):
        read_session([source], Policy())


async def test_a_log_whose_server_wants_a_key_is_one_source_still(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(old_log())
    with serving(Pages({"/health": Page({"status": "ok"}), "/props": Page(status=401)})) as pages:
        async with watching(f"{log}@{pages.address}") as watched:
            await watched.until(lambda: watched.words and watched.view().source.requests == 2)
    assert watched.view().source.name == str(log)
    assert any("API key" in text for text in watched.watch.snapshot().notices)


def test_a_server_can_be_read_once_for_a_report() -> None:
    server = Halogen()
    server.finish()
    with serving(server.pages()) as pages:
        assert paths_of(pages.address) == [pages.address]
        (view,) = read_session([pages.address], Policy()).snapshot(0.0).views
    assert view.canary is not None
    assert view.canary.acceptance_ratio.value == 0.7


async def test_a_server_typed_as_incumbent_is_read_while_the_screen_runs() -> None:
    server = Halogen()
    server.finish()
    with serving(server.pages()) as pages:
        async with watching(pages.address) as watched:
            await watched.until(lambda: watched.counted() == 120)
            await asyncio.to_thread(watched.watch.read_incumbent, pages.address)
            watched.watch.choose(watched.watch.read_incumbent(pages.address))
    incumbent = watched.view().incumbent
    assert incumbent is not None
    assert incumbent.decode_tok_s == pytest.approx(119 / 2)

"""A real server polled and tailed at once, restarted under load: every request counted once."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

import httpx
import psutil
import pytest

from tests.llama_server import LlamaServer, llama_server
from tui.formats.events import Event, Interval, Request, ServerStart
from tui.pipeline import Watch
from tui.session.session import Policy
from tui.whole import read_session

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from tui.session.snapshot import ArmView, View

RATES = (0.8, 0.55, 0.3)
PATIENCE_S = 60.0


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tui.feeds.http.PACE_S", 0.3)
    monkeypatch.setattr("tui.pipeline.LOOKS_A_SECOND", 100)
    monkeypatch.setattr("tui.feeds.http.LONGEST_WAIT_S", 0.5)


class Watched:
    """A watch that is running, with all its events."""

    def __init__(self, *sources: str) -> None:
        self.events: list[Event] = []
        self.watch = Watch(sources, Policy(), on_events=self.events.extend)

    def of(self, kind: type[Any]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def view(self) -> View:
        (view,) = self.watch.snapshot().views
        return view

    def canary(self) -> ArmView:
        canary = self.view().canary
        assert canary is not None
        return canary

    async def until(self, condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, self.events[-5:]
            await asyncio.sleep(0.05)


@contextlib.asynccontextmanager
async def watching(*sources: str) -> AsyncIterator[Watched]:
    watched = Watched(*sources)
    task = asyncio.create_task(watched.watch.run())
    try:
        yield watched
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def ask(server: LlamaServer, requests: int, clients: int = 2) -> list[dict[str, Any]]:
    """So many requests by each client, one after the other; the responses' timings."""

    def client(number: int) -> list[dict[str, Any]]:
        return [server.complete(f"Client {number} asks {n}", 40 + 3 * n + number) for n in range(requests)]

    parts = await asyncio.gather(*(asyncio.to_thread(client, number) for number in range(clients)))
    return [timings for part in parts for timings in part]


def signs(timings: list[dict[str, Any]]) -> Counter[tuple[Any, ...]]:
    return Counter((t["predicted_n"], round(t["predicted_ms"], 2), t.get("draft_n")) for t in timings)


def read(requests: list[Request]) -> Counter[tuple[Any, ...]]:
    return Counter((r.tokens, r.decode_ms, r.drafted) for r in requests if r.finish == "done")


def counted(events: list[Interval]) -> int:
    return round(sum(event.tokens or 0 for event in events))


async def test_a_log_and_its_server_are_one_source_by_the_port(tmp_path: Path) -> None:
    with llama_server(tmp_path, rates=RATES, slots=2) as server:
        async with watching(str(server.log), server.address) as watched:
            timings = await ask(server, 10)
            total = sum(t["predicted_n"] for t in timings)
            await watched.until(lambda: len(watched.of(Request)) == len(timings))
            await watched.until(lambda: len(watched.watch.snapshot().views) == 1)
            await watched.until(lambda: watched.canary().reached is not None and same(server, watched))
    assert read(watched.of(Request)) == signs(timings)
    arm, source = watched.canary(), watched.view().source
    assert (arm.requests, arm.tokens, source.requests) == (len(timings), total, len(timings))
    assert arm.drafted == sum(t["draft_n"] for t in timings)
    # What the log at its default verbosity hides.
    assert arm.acceptance.evidence == "per_position"
    assert source.drafter == "draft-simple"
    assert (source.restarts, source.problems) == (0, 0)
    assert watched.view().notes == ()


def same(server: LlamaServer, watched: Watched) -> bool:
    """Whether the counters per position have been taken in as they stand now."""
    text = httpx.get(f"{server.address}/metrics", timeout=30).text
    counts = [float(line.split()[1]) for line in text.splitlines() if "per_pos_total{" in line]
    rounds = server.counter("spec_decode_num_drafts_total")
    return watched.canary().reached == tuple(count / rounds for count in counts)


def kill_server() -> None:
    """As a crash would; asked to end, it would first finish what it has begun."""
    for child in psutil.Process().children():
        if "tests.llama_server" in child.cmdline():
            child.kill()


async def test_restarted_under_load_no_request_is_lost_or_counted_twice(tmp_path: Path) -> None:
    timings: list[dict[str, Any]] = []
    failures = 0
    done = threading.Event()

    def client(address: str, number: int) -> None:
        nonlocal failures
        turn = 0
        while not done.is_set():
            turn += 1
            try:
                server = LlamaServer(address, tmp_path / "server.log")
                timings.append(server.complete(f"Client {number}, {turn}", 60 + turn % 9))
            except (httpx.HTTPError, KeyError):
                failures += 1
                done.wait(0.05)

    with contextlib.ExitStack() as stack:
        first = stack.enter_context(llama_server(tmp_path, rates=RATES, slots=2))
        pair = f"{first.log}@{first.address}"
        clients = [threading.Thread(target=client, args=(first.address, n)) for n in range(2)]
        async with watching(pair) as watched:
            for thread in clients:
                thread.start()
            try:
                await watched.until(lambda: len(timings) > 20 and watched.of(Interval))
                kill_server()
                await asyncio.to_thread(stack.close)
                before = len(timings)
                port = int(first.address.rpartition(":")[2])
                second = llama_server(tmp_path, rates=RATES, slots=2, port=port)
                server = await asyncio.to_thread(stack.enter_context, second)
                await watched.until(lambda: len(timings) > before + 20)
            finally:
                done.set()
                for thread in clients:
                    await asyncio.to_thread(thread.join)
            await watched.until(lambda: not signs(timings) - read(watched.of(Request)))
            await watched.until(lambda: same(server, watched))
            newest = server.counter("tokens_predicted_total")

    # Each response is one event; an event without a response is one whose client was cut off.
    extra = read(watched.of(Request)) - signs(timings)
    assert extra.total() <= failures
    assert watched.view().source.restarts == 1
    assert [start.running for start in watched.of(ServerStart)].count(False) == 2
    arm = watched.canary()
    assert arm.tokens <= newest
    intervals = watched.of(Interval)
    tokens = sum(r.tokens or 0 for r in watched.of(Request))
    assert newest <= counted(intervals) <= tokens + 60 * failures
    assert {event.source for event in watched.events} == {str(tmp_path / "server.log")}


async def test_cancelled_requests_are_in_the_counters_and_explained(tmp_path: Path) -> None:
    with llama_server(tmp_path, rates=RATES) as server:
        async with watching(f"{server.log}@{server.address}") as watched:
            timings = await ask(server, 3, clients=1)
            body = {"prompt": "Count on", "n_predict": 1900, "ignore_eos": True, "stream": True}
            with httpx.stream("POST", f"{server.address}/completion", json=body, timeout=30) as stream:
                next(stream.iter_lines())
            await watched.until(lambda: len(watched.of(Request)) == len(timings) + 1)
            total = sum(t["predicted_n"] for t in timings)
            await watched.until(lambda: counted(watched.of(Interval)) > total)
    (note,) = watched.view().notes
    assert "1 request was cancelled" in note
    arm = watched.canary()
    assert (arm.requests, arm.tokens) == (len(timings), total)
    assert arm.drafted == sum(t["draft_n"] for t in timings)


async def test_a_server_alone_is_an_arm_of_counters(tmp_path: Path) -> None:
    with llama_server(tmp_path, rates=RATES, slots=2) as server:
        early = await ask(server, 4)
        async with watching(server.address) as watched:
            await watched.until(lambda: watched.of(Interval))
            late = await ask(server, 6)
            timings = [*early, *late]
            await watched.until(
                lambda: counted(watched.of(Interval)) == sum(t["predicted_n"] for t in timings)
            )
            rounds = server.counter("spec_decode_num_drafts_total")
            whole = read_session([server.address], Policy()).snapshot(0.0).views[0].canary
    arm, source = watched.canary(), watched.view().source
    assert (arm.drafted, arm.accepted) == tuple(
        sum(t[name] for t in timings) for name in ("draft_n", "draft_n_accepted")
    )
    assert arm.rounds == rounds
    assert arm.depth.value == len(RATES)
    spent = sum(t["predicted_ms"] for t in timings) / 1000
    assert arm.decode_tok_s == pytest.approx(arm.tokens / spent, rel=1e-3)
    assert arm.requests is None
    assert (source.engine, source.drafter, source.state) == ("llama.cpp", "draft-simple", "live")
    assert whole is not None
    assert (whole.drafted, whole.rounds) == (arm.drafted, arm.rounds)

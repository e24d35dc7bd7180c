"""The whole chain, from a real server's log to the arm's numbers, against what the server itself counted."""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Any

import pytest

from tests.llama_server import LlamaServer, llama_server
from tui.formats.events import Event, Request
from tui.pipeline import Watch
from tui.session.session import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tui.session.snapshot import Snapshot

RATES = (0.8, 0.55, 0.3)
PATIENCE_S = 60.0


async def follow(server: LlamaServer, load: Sequence[Sequence[tuple[str, int]]]) -> tuple[Any, ...]:
    """Watch the server's log while `load` runs, a client a list, until every request has been seen."""
    requests: list[Request] = []

    def keep(events: list[Event]) -> None:
        requests.extend(e for e in events if isinstance(e, Request))

    watch = Watch([str(server.log)], Policy(), on_events=keep)
    running = asyncio.create_task(watch.run())
    wanted = sum(map(len, load))
    try:
        work = [asyncio.to_thread(client, server, prompts) for prompts in load]
        timings = [t for part in await asyncio.gather(*work) for t in part]
        deadline = time.monotonic() + PATIENCE_S
        while len(requests) < wanted and time.monotonic() < deadline:
            await asyncio.sleep(0.05)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return timings, requests, watch.snapshot()


def client(server: LlamaServer, prompts: Sequence[tuple[str, int]]) -> list[dict[str, Any]]:
    """Send requests one after the other."""
    return [server.complete(prompt, tokens) for prompt, tokens in prompts]


def assert_each_response_is_one_event(timings: list[dict[str, Any]], requests: list[Request]) -> None:
    def said(t: dict[str, Any]) -> tuple[Any, ...]:
        return (
            t["predicted_n"],
            round(t["predicted_ms"], 2),
            t["prompt_n"],
            t.get("draft_n"),
            t.get("draft_n_accepted"),
        )

    def read(r: Request) -> tuple[Any, ...]:
        return r.tokens, r.decode_ms, r.prompt_evaluated_tokens, r.drafted, r.accepted

    assert sorted(map(said, timings), key=str) == sorted(map(read, requests), key=str)


def test_trace_log_gives_the_rates_the_server_was_told(tmp_path: Path) -> None:
    with llama_server(tmp_path, rates=RATES, verbosity=4) as server:
        prompts = [(f"Count the sheep of flock {n}", 190 + n % 7) for n in range(36)]
        timings, requests, snapshot = asyncio.run(follow(server, [prompts]))
        counted = server.counter("spec_decode_num_drafts_total")

    assert_each_response_is_one_event(timings, requests)
    assert all(request.rounds_from == "statistics" for request in requests)
    assert sum(request.rounds or 0 for request in requests) == counted
    arm = canary(snapshot)
    assert arm.rounds == counted
    assert arm.rounds >= 2000
    assert arm.reached is not None
    for share, rate in zip(arm.reached, RATES, strict=True):
        z = (share - rate) / math.sqrt(rate * (1 - rate) / arm.rounds)
        assert abs(z) < 4
    assert arm.synthetic
    assert arm.depth.value == len(RATES)
    assert arm.steps.draft_step_ms.value is not None
    live = snapshot.views[0].source
    assert (live.requests, live.problems, live.state) == (len(prompts), 0, "live")


def test_default_verbosity_with_three_clients_at_once(tmp_path: Path) -> None:
    with llama_server(tmp_path, rates=RATES, slots=3) as server:
        load = [[(f"Client {c} asks {n}", 120 + 5 * n) for n in range(8)] for c in range(3)]
        timings, requests, snapshot = asyncio.run(follow(server, load))
        counted = server.counter("spec_decode_num_drafts_total")

    assert_each_response_is_one_event(timings, requests)
    low = sum(r.rounds if r.rounds is not None else (r.rounds_range or (0, 0))[0] for r in requests)
    high = sum(r.rounds if r.rounds is not None else (r.rounds_range or (0, 10**9))[1] for r in requests)
    assert low <= counted <= high
    assert {request.concurrency for request in requests} & {2, 3}
    arm = canary(snapshot)
    assert arm.requests == len(timings)
    assert arm.steps.draft_step_ms.value is None


def test_server_without_a_drafter_is_an_arm_with_a_target_step(tmp_path: Path) -> None:
    with llama_server(tmp_path) as server:
        timings, requests, snapshot = asyncio.run(follow(server, [[(f"Say {n}", 40) for n in range(4)]]))

    assert_each_response_is_one_event(timings, requests)
    arm = canary(snapshot)
    steps = sum(t["predicted_n"] - 1 for t in timings)
    spent = sum(t["predicted_ms"] for t in timings)
    assert arm.steps.target_step_ms.value == pytest.approx(spent / steps, rel=1e-3)
    assert arm.acceptance_ratio.value is None


def canary(snapshot: Snapshot) -> Any:
    (view,) = snapshot.views
    assert view.canary is not None
    return view.canary

"""Finished requests with numbers of our own."""

from __future__ import annotations

import dataclasses
from typing import Any

from tui.formats.events import Request, ServerStart


def plain(**other: Any) -> Request:
    """A request without drafting: 20 ms a step."""
    request = Request(
        source="a.log",
        engine="llama.cpp",
        tokens=101,
        decode_ms=2000.0,
        prompt_ms=500.0,
        concurrency=1,
    )
    return dataclasses.replace(request, **other)


def drafted(rounds: int = 40, reached: tuple[int, ...] = (30, 20, 10), **other: Any) -> Request:
    """A request with K=3 whose drafts were all full: 50 ms a round, of which 15 ms drafting."""
    depth = len(reached)
    accepted = sum(reached)
    request = Request(
        source="a.log",
        engine="llama.cpp",
        tokens=1 + rounds + accepted,
        decode_ms=rounds * 50.0,
        prompt_ms=500.0,
        drafter="draft-simple",
        drafted=rounds * depth,
        accepted=accepted,
        acceptance_ratio=accepted / (rounds * depth),
        rounds=rounds,
        rounds_from="statistics",
        mean_accepted_length=1 + accepted / rounds,
        accepted_per_position=tuple(round(n / rounds, 3) for n in reached),
        draft_ms=rounds * 15.0,
        plain_steps=0,
        concurrency=1,
    )
    return dataclasses.replace(request, **other)


def start(**other: Any) -> ServerStart:
    """A start-up block that tells everything."""
    block = ServerStart(
        source="a.log",
        engine="llama.cpp",
        build="b11000",
        model="target.gguf",
        draft_model="draft.gguf",
        spec_types=("draft-simple",),
        depth=3,
        synthetic=False,
    )
    return dataclasses.replace(block, **other)

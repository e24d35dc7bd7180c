"""Watches that serve hand-made snapshots, and what checks of their sources would find."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from tests.snapshots import snapshot
from tui.feeds.protocol import FeedError
from tui.preflight.findings import Finding
from tui.session.incumbent import LogPath, parse_incumbent

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.model.cost import Profile
    from tui.session.incumbent import Choice
    from tui.session.snapshot import Snapshot, View


class FakeWatch:
    """Serves what it is given, and notes what was asked of it."""

    def __init__(self, *views: View) -> None:
        self.now = snapshot(*views)
        self.asked: list[tuple[object, ...]] = []

    async def run(self) -> None:
        await asyncio.Event().wait()

    def snapshot(self) -> Snapshot:
        return self.now

    def change(self, change: Callable[[View], View], index: int = 0) -> None:
        views = list(self.now.views)
        views[index] = change(views[index])
        self.now = replace(self.now, views=tuple(views))

    def finish(self, count: int) -> None:
        """So many more requests finish in the first source."""
        self.change(lambda v: replace(v, source=replace(v.source, requests=v.source.requests + count)))

    def read_incumbent(self, text: str) -> Choice:
        if text == "nonsense":
            raise ValueError("[/x] is neither a rate nor a log")
        parsed = parse_incumbent(text)
        if isinstance(parsed, LogPath):
            raise FeedError(f"no such file: {parsed.path}")
        return parsed

    def choose(self, choice: Choice, source: str | None = None) -> None:
        self.asked.append(("choose", choice, source))

    def set_cost(self, cost: Profile | None) -> None:
        self.asked.append(("cost", cost))

    def freeze_incumbent(self, view: int, *, alone: bool = False) -> None:
        self.asked.append(("freeze", view, alone))

    def offer_incumbent(self, view: int) -> None:
        self.asked.append(("offer", view))


class CheckedWatch(FakeWatch):
    """A watch whose sources have servers that can be asked."""

    api_key: str | None = "key"

    def address_of(self, source: str) -> str | None:
        return f"http://{PurePath(source).name}:8080"


class SoughtWatch(FakeWatch):
    """A watch of something recorded, at some second of it."""

    step_s = 10.0
    at = 30.0

    @property
    def place(self) -> str:
        return f"0:{self.at:.0f} of 1:30"

    def seek(self, seconds: float) -> None:
        self.at += seconds


FINDINGS = (
    Finding(
        question="Does the target already speculate?",
        asked="/srv/logs/canary.log",
        answer="no: no implementation was started",
        sure="certain",
        ok=None,
    ),
    Finding(
        question="Are the token ids interchangeable?",
        asked="the headers of /srv/target-4b.gguf and /srv/draft-half.gguf",
        answer="token ids are not interchangeable: 2 ids differ: 812 is 'ab' in the target and 'ba' in the"
        " draft; llama.cpp refuses the pair",
        sure="certain",
        ok=False,
        advice="a drafter of the same model family and generation",
    ),
    Finding(
        question="Does the drafter fit on host memory?",
        asked="/proc/meminfo",
        answer="fits: needs about 1.2 GiB to 1.4 GiB, free 41.0 GiB",
        sure="likely",
        ok=True,
    ),
    Finding(
        question="Is the target's file at hand?",
        asked="/models/target-4b.gguf",
        answer="no such file on this machine",
        sure="unknown",
        ok=None,
        advice="spectop preflight --target FILE --draft FILE, where the files are",
    ),
)

"""The demo: two recorded canaries, one that loses and one that wins, shown in turn."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.protocol import FeedError
from tui.model.comparison import Rules
from tui.replay import Replay, Timeline, read_timeline
from tui.session.incumbent import FrozenArm
from tui.session.session import Policy, Session
from tui.whole import read_events

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from tui.model.cost import Profile
    from tui.session.incumbent import Choice
    from tui.session.snapshot import Snapshot

RECORDINGS = Path(__file__).parent / "recordings"
HOLD_S = 9.0
"""How long each canary stays at its end, so that its verdict can be read."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """A recorded canary with the incumbent it is held against; `tells` is what it shows."""

    canary: str
    incumbent: str
    tells: str
    min_requests: int


CHAPTERS = (
    Chapter("canary-loss", "canary-incumbent", "a drafter nearly as slow as its target loses", 20),
    # Twelve answers of uneven length count as about ten.
    Chapter(
        "canary-edit-ngram",
        "canary-edit-incumbent",
        "n-gram drafting wins where text is edited (8 requests are enough here)",
        8,
    ),
)


@dataclass(frozen=True, slots=True)
class _Reel:
    """A chapter, read."""

    timeline: Timeline
    incumbent: FrozenArm
    policy: Policy


class Demo:
    """Plays the chapters in turn until cancelled; a screen takes it in place of a `Watch`."""

    def __init__(
        self,
        *,
        speed: float = 6.0,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Read the recordings; the first chapter is ready to run.

        Args:
            speed: how many times faster than recorded.
            clock: the present, seconds.
            sleep: waits for seconds.
        """
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self._reels = [_read(chapter) for chapter in CHAPTERS]
        self._notice = ""
        self._replay = self._open(0)

    async def run(self) -> None:
        """Play all chapters, again and again."""
        for number in itertools.cycle(range(len(CHAPTERS))):
            self._replay = self._open(number)
            following = CHAPTERS[(number + 1) % len(CHAPTERS)]
            tells = f"{CHAPTERS[number].tells}; next: {following.tells}"
            self._notice = f"demo {number + 1}/{len(CHAPTERS)}: {tells}"
            await self._replay.play(HOLD_S)

    def snapshot(self) -> Snapshot:
        """The present chapter's snapshot; its notice tells what is shown and what comes next."""
        notices = (self._notice,) if self._notice else ()
        return dataclasses.replace(self._replay.snapshot(), notices=notices)

    @property
    def step_s(self) -> float:
        """How far one key press goes, recorded seconds."""
        return self._replay.step_s

    @property
    def place(self) -> str:
        """Where the present chapter stands."""
        return self._replay.place

    def seek(self, seconds: float) -> None:
        """Go on or back within the present chapter, recorded seconds."""
        self._replay.seek(seconds)

    def read_incumbent(self, text: str) -> Choice:
        """See `Replay.read_incumbent`."""
        return self._replay.read_incumbent(text)

    def choose(self, choice: Choice, source: str | None = None) -> None:
        """Hold the present chapter against something else; see `Replay.choose`."""
        self._replay.choose(choice, source)

    def set_cost(self, cost: Profile | None) -> None:
        """Price the present chapter's verify passes; see `Replay.set_cost`."""
        self._replay.set_cost(cost)

    def freeze_incumbent(self, view: int, *, alone: bool = False) -> None:
        """See `Replay.freeze_incumbent`."""
        self._replay.freeze_incumbent(view, alone=alone)

    def offer_incumbent(self, view: int) -> None:
        """See `Replay.offer_incumbent`."""
        self._replay.offer_incumbent(view)

    def _open(self, number: int) -> Replay:
        reel = self._reels[number]
        replay = Replay(reel.timeline, reel.policy, speed=self._speed, clock=self._clock, sleep=self._sleep)
        replay.choose(reel.incumbent)
        return replay


def _read(chapter: Chapter) -> _Reel:
    policy = Policy(rules=Rules(min_requests=chapter.min_requests))
    timeline = read_timeline(_path(chapter.canary), _name(chapter.canary))
    session = Session(policy)
    session.add(read_events(_name(chapter.incumbent), Path(_path(chapter.incumbent))))
    arm = session.newest_arm()
    if arm is None:
        raise FeedError(f"the recording {chapter.incumbent} holds no finished request")
    return _Reel(timeline, FrozenArm(arm, _name(chapter.incumbent), "log"), policy)


def _path(recording: str) -> str:
    return str(RECORDINGS / f"{recording}.log.gz")


def _name(recording: str) -> str:
    return f"{recording} (recorded)"

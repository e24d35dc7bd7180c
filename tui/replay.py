"""A recording or a log as if it were live: its events at their own pace, with seeking."""

from __future__ import annotations

import asyncio
import dataclasses
import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.protocol import FeedError
from tui.formats.events import Event, Request, harmless
from tui.formats.recording import Entry, Gap
from tui.recorder import is_recording, read_recording
from tui.session.session import Policy, Session
from tui.whole import read_events, read_incumbent

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

    from tui.model.comparison import Basis
    from tui.model.cost import Profile
    from tui.session.incumbent import Choice
    from tui.session.snapshot import Snapshot, State

LONGEST_PAUSE_S = 10.0
"""Recorded seconds without any work that are kept of a longer pause."""
TICK_S = 0.1
"""How often events are looked for that have become due."""
_LONGEST_TICK_S = 1.0
"""A process that was suspended goes on where it was."""


@dataclass(frozen=True, slots=True)
class Due:
    """What happens `at` so many seconds after the start of a replay."""

    at: float
    what: Event | Gap


@dataclass(frozen=True, slots=True)
class Timeline:
    """All that is replayed, in order; `notes` say for people what could not be read."""

    dues: tuple[Due, ...]
    notes: tuple[str, ...] = ()

    @property
    def length_s(self) -> float:
        """When the last of it happens."""
        return self.dues[-1].at if self.dues else 0.0


def read_timeline(path: str, source: str | None = None) -> Timeline:
    """Read what a replay shows.

    Args:
        path: a recording, or a log in any dialect.
        source: the name that a log's events carry; its path by default. A recording has its own.

    Raises:
        FeedError: it cannot be read, or there is nothing to replay in it.
    """
    notes: tuple[str, ...] = ()
    if is_recording(path):
        recording = read_recording(path)
        entries, notes = list(recording.entries), recording.notes
    else:
        entries = [Entry(None, event) for event in read_events(source or path, Path(path))]
    if not entries:
        raise FeedError(f"{harmless(path, 300)} holds nothing to replay: no event that spectop knows")
    return Timeline(tuple(schedule(entries)), notes)


def schedule(entries: Iterable[Entry]) -> list[Due]:
    """Lay entries out in time.

    By when they were recorded, else by the stamps of their lines, else by the server's clock (one for each
    stream). What has no stamp is spaced as if requests ran one after the other. A clock that falls back (a
    restart) makes no pause, and of a pause without work only `LONGEST_PAUSE_S` are kept.
    """
    dues: list[Due] = []
    place = 0.0
    last: dict[tuple[str, ...], tuple[float, float]] = {}
    for entry in entries:
        work = _work_s(entry.what)
        clock, stamp = _stamp(entry)
        if stamp is None:
            place += work
        else:
            before, at = last.get(clock, (stamp, place))
            due = at + stamp - before if stamp >= before else place
            place = max(place, min(due, place + LONGEST_PAUSE_S + work))
            last[clock] = (stamp, place)
        dues.append(Due(place, entry.what))
    return dues


def _stamp(entry: Entry) -> tuple[tuple[str, ...], float | None]:
    """Which clock stamps an entry, and with what, seconds."""
    if entry.at is not None:
        return ("recorded",), entry.at
    if isinstance(entry.what, Gap):
        return (), None
    if entry.what.time is not None:
        return ("time",), entry.what.time
    return ("server", entry.what.source, entry.what.stream or ""), entry.what.clock_s


def _work_s(what: Event | Gap) -> float:
    """How long the server worked on what an event tells, seconds."""
    if not isinstance(what, Request):
        return 0.0
    return ((what.prompt_ms or 0.0) + (what.decode_ms or 0.0)) / 1000


class Replay:
    """Shows a timeline at its own pace; a screen takes it in place of a `Watch`.

    Attributes:
        session: what is known at the present place; another one after each seek back.
        position_s: the present place, recorded seconds after the start.
    """

    def __init__(
        self,
        timeline: Timeline,
        policy: Policy,
        *,
        basis: Basis = "decode",
        speed: float = 1.0,
        clock: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """Start before the first event.

        Args:
            timeline: what to show.
            policy: how requests are read and judged.
            basis: what a typed incumbent counts.
            speed: how many times faster than recorded; infinite opens at the end and stays where one seeks.
            clock: the present, seconds.
            sleep: waits for seconds.
        """
        self._timeline = timeline
        self._policy = policy
        self._basis: Basis = basis
        self._speed = speed
        self._clock = clock
        self._sleep = sleep
        self._sources = tuple(dict.fromkeys(due.what.source for due in timeline.dues))
        self._choice: Choice | None = None
        self._own: dict[str, Choice] = {}
        self._freezes: dict[int, list[tuple[int, bool]]] = {}
        self._notices: tuple[str, ...] = ()
        self._ticked = clock()
        self.position_s = timeline.length_s if math.isinf(speed) else 0.0
        self._rewind()
        self._catch_up()

    @property
    def step_s(self) -> float:
        """A twentieth of the whole, at least 10 recorded seconds."""
        return max(10.0, self._timeline.length_s / 20)

    @property
    def place(self) -> str:
        """Where it stands, for people: `0:42 of 2:00`."""
        return f"{_minutes(self.position_s)} of {_minutes(self._timeline.length_s)}"

    async def run(self) -> None:
        """Play until cancelled: after the end one may still seek back."""
        pace = "at its end" if math.isinf(self._speed) else f"at speed {self._speed:g}"
        length = _minutes(self._timeline.length_s)
        self._notices = (f"replay of {length} {pace}: [ goes back, ] on", *self._timeline.notes)
        while True:
            await self.play()
            await self._sleep(TICK_S)

    async def play(self, hold_s: float = 0.0) -> None:
        """Play to the end.

        Args:
            hold_s: how long to stay at the end; seeking back within that time goes on from there.
        """
        self._ticked = self._clock()
        held = 0.0
        while True:
            passed = self._tick()
            held = held + passed if self._over else 0.0
            if self._over and held >= hold_s:
                return
            await self._sleep(TICK_S)

    def seek(self, seconds: float) -> None:
        """Go on by so many recorded seconds, back if negative; stops at either end."""
        back = seconds < 0
        self.position_s = min(max(0.0, self.position_s + seconds), self._timeline.length_s)
        if back:
            self._rewind()
        self._catch_up()

    def snapshot(self) -> Snapshot:
        """Everything known at the present place."""
        return dataclasses.replace(self.session.snapshot(self._clock()), notices=self._notices)

    def read_incumbent(self, text: str) -> Choice:
        """What is typed for the incumbent, its log read whole; changes nothing.

        Raises:
            ValueError: with words for people.
            FeedError: the log cannot be read.
        """
        return read_incumbent(text, self._basis, self._policy)

    def choose(self, choice: Choice, source: str | None = None) -> None:
        """Set what canaries are held against, from the start of the replay on.

        Args:
            choice: what to beat.
            source: the only source it holds for; None for all.
        """
        if source is None:
            self._choice = choice
            self._own.clear()
            self._freezes.clear()
        else:
            self._own[source] = choice
            mine = (self._sources.index(source), True)
            for place, freezes in self._freezes.items():
                self._freezes[place] = [each for each in freezes if each != mine]
        self._rewind()
        self._catch_up()

    def set_cost(self, cost: Profile | None) -> None:
        """Price verify passes with a profile, wherever the replay stands; None takes it away."""
        self._policy = dataclasses.replace(self._policy, cost=cost)
        self.session.price(cost)

    def freeze_incumbent(self, view: int, *, alone: bool = False) -> None:
        """The present arm of a view becomes the incumbent from this place on.

        Args:
            view: its place among the sources.
            alone: only that source is held against it.

        Raises:
            ValueError: nothing has finished there yet.
        """
        self.session.freeze(view, alone=alone)
        for later in [place for place in self._freezes if place > self._shown]:
            del self._freezes[later]
        self._freezes.setdefault(self._shown, []).append((view, alone))
        if not alone:
            self._own.clear()

    def offer_incumbent(self, view: int) -> None:
        """The offered earlier arm of a view becomes the incumbent.

        Raises:
            ValueError: none is offered.
        """
        self.session.take_offer(view)
        name = self._sources[view]
        self._own[name] = self.session.own[name]

    @property
    def _over(self) -> bool:
        return self.position_s >= self._timeline.length_s

    def _tick(self) -> float:
        """Go on with the clock; gives the seconds that have passed."""
        now = self._clock()
        passed = min(max(0.0, now - self._ticked), _LONGEST_TICK_S)
        self._ticked = now
        if not math.isinf(self._speed):
            self.position_s = min(self.position_s + passed * self._speed, self._timeline.length_s)
            self._catch_up()
        return passed

    def _rewind(self) -> None:
        self.session = Session(self._policy)
        self.session.choose(self._choice)
        self._choose_own()
        self._shown = 0
        self._tell_state("live")

    def _catch_up(self) -> None:
        """Add the events up to the present place."""
        dues = self._timeline.dues
        first = self._shown
        while self._shown < len(dues) and dues[self._shown].at <= self.position_s:
            self._show(dues[self._shown].what)
            self._shown += 1
            for view, alone in self._freezes.get(self._shown, ()):
                self.session.freeze(view, alone=alone)
                if not alone:
                    self._choose_own()
        if self._shown == len(dues) > first:
            self._tell_state("ended")

    def _choose_own(self) -> None:
        for source, choice in self._own.items():
            self.session.choose(choice, source)

    def _show(self, what: Event | Gap) -> None:
        if isinstance(what, Gap):
            self.session.gap(what.source)
        else:
            self.session.add([what])
            self.session.heard(what.source, self._clock())

    def _tell_state(self, state: State) -> None:
        for source in self._sources:
            self.session.open(source, state)


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"

"""Arms: which requests belong together, and what is kept of them.

An arm is (source, stream, server start, model, build, spec types, depth), as far as the log tells; halogen
arms are keyed by the drafter name of the request too. Arms are never pooled.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from tui.model.comparison import RateSums, Stratum, stratum_of
from tui.session.costs import Costs
from tui.session.sums import Sums, accepted_in

if TYPE_CHECKING:
    from tui.formats.events import Interval, Request, ServerStart
    from tui.session.snapshot import HistoryPoint

PICTURED = 200
"""How many requests the pictures and the table keep; nothing is judged from them."""
NOW = 20
"""How many requests the `now` column covers."""
CHECKPOINTS = 256
"""How many points the ratio's history keeps; when full, every other one goes."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What a server said of itself at its start; None is unknown."""

    build: str | None = None
    model: str | None = None
    draft_model: str | None = None
    spec_types: tuple[str, ...] | None = None
    depth: int | None = None
    synthetic: bool | None = None
    depths: tuple[int, ...] | None = None

    @classmethod
    def of(cls, start: ServerStart) -> Identity:
        """The identity that a start-up block tells."""
        return cls(
            start.build,
            start.model,
            start.draft_model,
            start.spec_types,
            start.depth,
            start.synthetic,
            start.depths,
        )

    def completed(self, told: Identity) -> Identity:
        """This identity, with what it lacks from another telling of the same start."""
        mine = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(told, **{name: value for name, value in mine.items() if value is not None})

    @property
    def known(self) -> bool:
        """Whether it settles that two starts are the same experiment."""
        settings = self.spec_types is not None and (self.depth is not None or not self.spec_types)
        if self.depths is not None and len(self.depths) < len(self.spec_types or ()):
            settings = False
        return self.build is not None and self.model is not None and settings


@dataclass(frozen=True, slots=True)
class ArmKey:
    """What tells arms apart. `generation` counts the starts that began a new arm."""

    source: str
    stream: str | None
    generation: int
    drafter: str | None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The decode sums per stratum as they stood after so many requests: one point of the ratio's history."""

    requests: int
    decode: dict[Stratum, RateSums]


def _ring() -> deque[Any]:
    return deque(maxlen=PICTURED)


@dataclass(slots=True)
class Arm:
    """Running sums of one arm, and rings for its pictures.

    Attributes:
        all, alone, overlap_unknown: sums over all requests, those that ran alone, those of which the log
            cannot tell.
        counted: sums over the intervals of the server's own counters, never added to those of requests.
        costs: of rounds and verify passes by draft length, over the requests that ran alone.
        cancelled: requests cancelled before they finished, which no other number here holds.
        decode, delivered: sums for the comparison by stratum, warm-up and short answers left out.
        recent: the last requests. rates, ratios, commits, positions: of each its rate, its acceptance ratio,
            its mean accepted length, and how many positions it printed.
        past, past_choice: the ratio at the first checkpoints by their requests, and what it was held against.
        order: rises with every request that any arm gets; the newest arm has the highest.
    """

    key: ArmKey
    identity: Identity
    engine: str | None
    created: int
    all: Sums = field(default_factory=Sums)
    alone: Sums = field(default_factory=Sums)
    overlap_unknown: Sums = field(default_factory=Sums)
    counted: Sums = field(default_factory=Sums)
    costs: Costs = field(default_factory=Costs)
    cancelled: int = 0
    shared: int = 0
    decode: dict[Stratum, RateSums] = field(default_factory=dict)
    delivered: dict[Stratum, RateSums] = field(default_factory=dict)
    left_out: Counter[str] = field(default_factory=Counter)
    drafters: Counter[str] = field(default_factory=Counter)
    recent: deque[Request] = field(default_factory=_ring)
    rates: deque[float | None] = field(default_factory=_ring)
    ratios: deque[float | None] = field(default_factory=_ring)
    commits: deque[float | None] = field(default_factory=_ring)
    positions: deque[int] = field(default_factory=_ring)
    recent_intervals: deque[Interval] = field(default_factory=_ring)
    checkpoints: list[Checkpoint] = field(default_factory=list)
    order: int = 0
    past: dict[int, HistoryPoint | None] = field(default_factory=dict)
    past_choice: object = None
    _checkpoint_every: int = 1

    def add(self, request: Request, *, order: int, left_out: str, short: int) -> None:
        """Count one finished request.

        Args:
            request: a request event whose finish is done.
            order: the count of requests so far in the session.
            left_out: why the comparison leaves it out ("warm-up"), or empty.
            short: answers with fewer decoded tokens than this are in no comparison.
        """
        self.order = order
        self.all.add(request)
        if request.concurrency is None:
            self.overlap_unknown.add(request)
        elif request.concurrency == 1:
            self.alone.add(request)
            self.costs.add(request)
        else:
            self.shared += 1
        if request.drafter is not None:
            self.drafters[request.drafter] += 1
        self._picture(request)
        if request.tokens is None or request.decode_ms is None:
            return
        reason = left_out or ("short" if request.tokens - 1 < short or request.decode_ms <= 0 else "")
        if reason:
            self.left_out[reason] += 1
            return
        stratum = stratum_of(request.concurrency)
        decode = self.decode.get(stratum, RateSums())
        self.decode[stratum] = decode.plus(request.tokens - 1, request.decode_ms / 1000)
        if request.prompt_ms is not None:
            seconds = (request.prompt_ms + request.decode_ms) / 1000
            self.delivered[stratum] = self.delivered.get(stratum, RateSums()).plus(request.tokens, seconds)
        self._checkpoint()

    def _picture(self, request: Request) -> None:
        self.recent.append(request)
        self.rates.append(decode_rate(request))
        self.ratios.append(acceptance_of(request))
        self.commits.append(commit_of(request))
        self.positions.append(len(request.accepted_per_position or ()))

    def add_interval(self, interval: Interval, *, order: int) -> None:
        """Count what the server's counters say of a stretch.

        The first interval can be all that came before the watch, so it is in the sums, not in the pictures.
        """
        self.order = order
        if self.counted.intervals:
            self.recent_intervals.append(interval)
        self.counted.add_interval(interval)

    @property
    def finished(self) -> bool:
        """Whether anything has finished here, by requests or by counters."""
        return self.all.requests > 0 or self.counted.intervals > 0

    @property
    def interval_only(self) -> bool:
        """Whether counters are all that is known: no request is told from another."""
        return self.all.requests == 0 and self.counted.intervals > 0

    @property
    def drafts(self) -> bool:
        """Whether anything was ever drafted here."""
        return self.all.drafts or self.counted.drafts

    def _checkpoint(self) -> None:
        counted = sum(sums.n for sums in self.decode.values())
        if counted % self._checkpoint_every:
            return
        self.checkpoints.append(Checkpoint(counted, dict(self.decode)))
        if len(self.checkpoints) > CHECKPOINTS:
            self._checkpoint_every *= 2
            self.checkpoints = [c for c in self.checkpoints if not c.requests % self._checkpoint_every]
            self.past = {at: point for at, point in self.past.items() if not at % self._checkpoint_every}

    @property
    def step_sums(self) -> tuple[Sums, str]:
        """The sums that step times may come from, with what qualifies them.

        Requests that ran alone; where the log never tells overlaps, all of those, marked so.
        """
        if self.alone.steps:
            some = f"{self.alone.requests} of {self.all.requests} ran alone"
            return self.alone, some if self.shared else ""
        if self.overlap_unknown.steps:
            return self.overlap_unknown, "overlap unknown"
        return self.alone, "shared"

    @property
    def drafter(self) -> str | None:
        """The drafter's name: halogen's own, else the spec types, else what requests named."""
        if self.key.drafter is not None:
            return self.key.drafter
        if self.identity.spec_types:
            return "+".join(self.identity.spec_types)
        return self.drafters.most_common(1)[0][0] if self.drafters else None


def decode_rate(request: Request) -> float | None:
    """(n - 1)/decode time of one request in tok/s; None for an answer of at most one token."""
    if request.tokens is None or request.decode_ms is None or request.tokens < 2 or request.decode_ms <= 0:
        return None
    return (request.tokens - 1) / request.decode_ms * 1000


def commit_of(request: Request) -> float | None:
    """Mean accepted length of one request, from the counts where the rounds are known, else as printed."""
    if request.doubt:
        return None
    accepted = accepted_in(request)
    if request.rounds and accepted is not None:
        return 1 + accepted / request.rounds
    return request.mean_accepted_length


def acceptance_of(request: Request) -> float | None:
    """Accepted over drafted of one request; None when nothing was drafted or the counts are impossible."""
    if not request.drafted or request.accepted is None or request.doubt:
        return None
    if request.accepted > request.drafted:
        return None
    return request.accepted / request.drafted

"""What is known so far: events go in, arms grow, snapshots come out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tui.formats.events import Event, Interval, Problem, Progress, Request, ServerStart
from tui.model.comparison import Rules
from tui.session.arms import PICTURED, Arm, ArmKey, Identity
from tui.session.incumbent import Choice, EarlierArm, frozen
from tui.session.rows import Row
from tui.session.snapshot import Load, Snapshot, State, View
from tui.session.views import SourceFacts, SourceView

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tui.model.cost import Profile
    from tui.model.figures import DrafterClass


@dataclass(frozen=True, slots=True)
class Policy:
    """How requests are read and judged.

    Attributes:
        warm_up: requests after a server start that the comparison leaves out.
        depth, drafter_class: what the operator says where the log is silent.
        cost: the profile that verify passes are priced with, as the operator gave it.
        stale_after_s: silence after which a source is called stale.
    """

    rules: Rules = field(default_factory=Rules)
    concurrency: str = "match"
    warm_up: int = 1
    depth: int | None = None
    drafter_class: DrafterClass | None = None
    cost: Profile | None = None
    stale_after_s: float = 30.0


@dataclass(slots=True)
class _Server:
    """One server inside a source: a stream, or the source itself."""

    generation: int
    identity: Identity = field(default_factory=Identity)
    engine: str | None = None
    warm_up_left: int = 0
    started: bool = False
    restarts: int = 0
    restarted: bool = False
    load: Load = Load()  # noqa: RUF009  # frozen


@dataclass(slots=True)
class _Source:
    name: str
    state: State = "waiting"
    message: str = ""
    servers: dict[str | None, _Server] = field(default_factory=dict)
    arms: dict[ArmKey, Arm] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    in_flight: dict[tuple[str | None, int | None, int | None], Progress] = field(default_factory=dict)
    requests: int = 0
    problems: int = 0
    last_line_at: float | None = None
    server_note: str = ""
    changes: int = 0
    view: View | None = None
    made_of: tuple[int, Choice | None, Policy] | None = None


class Session:
    """Collects events of any number of sources and makes frozen snapshots of them.

    Attributes:
        choice: what canaries are held against. own: by source, where one is held against something else.
    """

    def __init__(self, policy: Policy | None = None) -> None:
        """Start with nothing known.

        Args:
            policy: how requests are read and judged.
        """
        self.policy = policy or Policy()
        self.choice: Choice | None = None
        self.own: dict[str, Choice] = {}
        self._sources: dict[str, _Source] = {}
        self._order = 0

    def open(self, name: str, state: State = "waiting", message: str = "") -> None:
        """Name a source, or tell its state: waiting, reading, live, ended, failed."""
        source = self._source(name)
        source.state = state
        source.message = message

    def say(self, name: str, message: str) -> None:
        """What to do about a source, in words; empty where nothing is to be done."""
        self._source(name).message = message

    def forget(self, name: str) -> None:
        """A source is none of its own: what it says belongs to another."""
        self._sources.pop(name, None)

    def heard(self, name: str, now: float) -> None:
        """Bytes of the source arrived."""
        self._source(name).last_line_at = now

    def lost(self, name: str) -> None:
        """The source's server does not answer: what it is busy with is not known."""
        source = self._source(name)
        for server in source.servers.values():
            server.load = Load()
        source.changes += 1

    def note_server(self, name: str, text: str) -> None:
        """What is off, asleep or wrong with the server behind a source, in words; empty takes it away."""
        self._source(name).server_note = text

    def gap(self, name: str) -> None:
        """Bytes of the source were left out: the first request seen next is not the first after its start."""
        for server in self._source(name).servers.values():
            server.warm_up_left = 0

    def add(self, events: Iterable[Event]) -> None:
        """Take in events in their order."""
        for event in events:
            source = self._source(event.source)
            source.changes += 1
            match event:
                case Request():
                    self._request(source, event)
                case Progress():
                    place = (event.stream, event.slot, event.task)
                    source.in_flight.pop(place, None)
                    source.in_flight[place] = event
                case Interval():
                    self._interval(source, event)
                case ServerStart(running=True):
                    self._facts_told(source, event)
                case ServerStart():
                    self._start(source, event)
                case Problem():
                    source.problems += 1
                case _:
                    pass

    def choose(self, choice: Choice | None, source: str | None = None) -> None:
        """Set what canaries are held against.

        Args:
            choice: None takes it away: a source without one of its own has that of all.
            source: the name of the only source it holds for; None for all, whatever they had before.
        """
        if source is None:
            self.choice = choice
            self.own.clear()
        elif choice is None:
            self.own.pop(source, None)
        else:
            self.own[source] = choice

    def choice_of(self, source: str) -> Choice | None:
        """What the canary of a source is held against."""
        return self.own.get(source, self.choice)

    def price(self, cost: Profile | None) -> None:
        """Set the profile that verify passes are priced with; None takes it away."""
        self.policy = replace(self.policy, cost=cost)

    def freeze(self, view: int, *, alone: bool = False) -> None:
        """The present arm of a view becomes the incumbent; what comes after it is the canary.

        Args:
            view: its place among the sources.
            alone: only that source is held against it.

        Raises:
            ValueError: nothing has finished in that view.
        """
        source = list(self._sources.values())[view]
        arm = SourceView(self._facts(source), self.policy, self.choice_of(source.name)).canary_arm
        if arm is None or not arm.finished:
            raise ValueError("no finished request to freeze yet")
        label = SourceView(self._facts(source), self.policy, None).label_of(arm)
        choice = frozen(arm, f"{label} (frozen at {arm.all.requests or 'its counters'})")
        self.choose(choice, source.name if alone else None)
        server = source.servers[arm.key.stream]
        server.generation = self._next_generation(source)
        self._arm_for(source, arm.key.stream, arm.key.drafter)

    def take_offer(self, view: int) -> None:
        """The offered earlier arm of a view becomes the incumbent of that source, which alone has it.

        Raises:
            ValueError: none is offered.
        """
        source = list(self._sources.values())[view]
        offered = SourceView(self._facts(source), self.policy, self.choice_of(source.name)).offered_arm
        if offered is None:
            raise ValueError("no earlier arm of this source to compare with")
        self.choose(EarlierArm(offered.key), source.name)

    def newest_arm(self) -> Arm | None:
        """The arm that got the newest request."""
        arms = [arm for source in self._sources.values() for arm in source.arms.values() if arm.finished]
        return max(arms, key=lambda arm: arm.order, default=None)

    def snapshot(self, now: float) -> Snapshot:
        """Everything known at this moment, frozen."""
        return Snapshot(now, tuple(self._view(source, now) for source in self._sources.values()))

    def _view(self, source: _Source, now: float) -> View:
        facts = self._facts(source, now)
        choice = self.choice_of(source.name)
        made_of = (source.changes, choice, self.policy)
        if source.view is None or source.made_of != made_of:
            source.view = SourceView(facts, self.policy, choice).view()
            source.made_of = made_of
        # Only its age and state move while nothing happens.
        state = replace(
            source.view.source,
            state=facts.state,
            message=facts.message,
            server_note=facts.server_note,
            last_line_age_s=facts.last_line_age_s,
        )
        return replace(source.view, source=state)

    def _source(self, name: str) -> _Source:
        if name not in self._sources:
            self._sources[name] = _Source(name, state="waiting", message="")
        return self._sources[name]

    def _server(self, source: _Source, stream: str | None) -> _Server:
        if stream not in source.servers:
            source.servers[stream] = _Server(self._next_generation(source))
        return source.servers[stream]

    def _next_generation(self, source: _Source) -> int:
        return 1 + max((server.generation for server in source.servers.values()), default=0)

    def _start(self, source: _Source, event: ServerStart) -> None:
        server = self._server(source, event.stream)
        identity = Identity.of(event)
        arms = [arm for key, arm in source.arms.items() if key.generation == server.generation]
        seen = server.started or any(arm.finished for arm in arms)
        if seen:
            server.restarts += 1
            server.restarted = True
            if not (identity.known and identity == server.identity):
                server.generation = self._next_generation(source)
        server.identity = identity
        server.engine = event.engine
        server.started = True
        server.load = Load()
        server.warm_up_left = self.policy.warm_up
        for place in [place for place in source.in_flight if place[0] == event.stream]:
            del source.in_flight[place]

    def _request(self, source: _Source, event: Request) -> None:
        source.in_flight.pop((event.stream, event.slot, event.task), None)
        server = self._server(source, event.stream)
        server.engine = server.engine or event.engine
        if event.finish != "done":
            if event.finish == "cancelled" and event.engine == "llama.cpp":
                self._arm_for(source, event.stream, None).cancelled += 1
            return
        server.restarted = False
        source.requests += 1
        self._order += 1
        drafter = event.drafter if event.engine == "halogen" else None
        arm = self._arm_for(source, event.stream, drafter)
        left_out = ""
        if server.warm_up_left and event.tokens is not None:
            server.warm_up_left -= 1
            left_out = "warm-up"
        arm.add(event, order=self._order, left_out=left_out, short=self.policy.rules.short_tokens)
        source.rows.append(Row(source.requests, event, arm.key, left_out))
        del source.rows[:-PICTURED]

    def _interval(self, source: _Source, event: Interval) -> None:
        server = self._server(source, event.stream)
        server.engine = server.engine or event.engine
        load = Load(event.running, event.queued, event.kv_usage)
        if load != Load():
            server.load = load
        if event.running is not None:
            places = [place for place in source.in_flight if place[0] == event.stream]
            for place in places[: max(0, len(places) - event.running)]:
                del source.in_flight[place]
        if not (event.tokens or event.drafted or event.mean_accepted_length or event.rate_tok_s):
            return
        self._order += 1
        server.restarted = False
        self._arm_for(source, event.stream, None).add_interval(event, order=self._order)

    def _facts_told(self, source: _Source, event: ServerStart) -> None:
        """What a running server says of itself completes what its log said."""
        server = self._server(source, event.stream)
        server.engine = server.engine or event.engine
        server.identity = server.identity.completed(Identity.of(event))
        for key, arm in source.arms.items():
            if key.generation == server.generation and key.stream == event.stream:
                arm.identity, arm.engine = server.identity, server.engine

    def _arm_for(self, source: _Source, stream: str | None, drafter: str | None) -> Arm:
        server = self._server(source, stream)
        key = ArmKey(source.name, stream, server.generation, drafter)
        if key not in source.arms:
            source.arms[key] = Arm(key, server.identity, server.engine, created=self._order)
        return source.arms[key]

    def _facts(self, source: _Source, now: float | None = None) -> SourceFacts:
        newest = max(source.arms.values(), key=lambda arm: arm.order, default=None)
        stream = newest.key.stream if newest else next(iter(source.servers), None)
        server = source.servers.get(stream)
        age = None if now is None or source.last_line_at is None else max(0.0, now - source.last_line_at)
        stale = source.state == "live" and age is not None and age > self.policy.stale_after_s
        return SourceFacts(
            name=source.name,
            engine=server.engine if server else None,
            identity=server.identity if server else Identity(),
            state="stale" if stale else source.state,
            message=source.message,
            server_note=source.server_note,
            last_line_age_s=age,
            requests=source.requests,
            problems=source.problems,
            restarts=sum(s.restarts for s in source.servers.values()),
            restarted=any(s.restarted for s in source.servers.values()),
            load=_together([server.load for server in source.servers.values()]),
            arms=tuple(source.arms.values()),
            rows=tuple(reversed(source.rows)),
            in_flight=tuple(source.in_flight.values()),
        )


def _together(loads: Sequence[Load]) -> Load:
    running = [load.running for load in loads if load.running is not None]
    queued = [load.queued for load in loads if load.queued is not None]
    used = [load.kv_usage for load in loads if load.kv_usage is not None]
    return Load(sum(running) if running else None, sum(queued) if queued else None, max(used, default=None))

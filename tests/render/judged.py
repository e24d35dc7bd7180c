"""Snapshots of judged sources, made of finished requests with numbers of our own."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from tests.session.build import drafted, plain, start
from tui.session.incumbent import Choice, FrozenArm
from tui.session.session import Policy, Session

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.formats.events import Event, Request
    from tui.session.snapshot import Snapshot, View

PLAIN_START = {"spec_types": (), "depth": None, "draft_model": None}


def session_of(
    events: Iterable[Event], incumbent: Choice | None = None, policy: Policy | None = None
) -> Session:
    session = Session(policy or Policy())
    session.choose(incumbent)
    session.open("a.log", "ended")
    session.add(events)
    return session


def view_of(events: Iterable[Event], incumbent: Choice | None = None, policy: Policy | None = None) -> View:
    (view,) = session_of(events, incumbent, policy).snapshot(100.0).views
    return view


def log(requests: Iterable[Request] | None = None, label: str = "old.log") -> FrozenArm:
    """An incumbent without drafting: 50 tok/s, 40.4 delivered."""
    first = start(source=label, **PLAIN_START)
    session = Session()
    session.add([first, *(requests or [plain(source=label) for _ in range(31)])])
    arm = session.newest_arm()
    assert arm is not None
    return FrozenArm(arm, label, "log")


def canary(requests: int = 31, begin: dict[str, Any] | None = None, **other: Any) -> list[Event]:
    """A start and K=3 requests of 40 rounds: 2.5 tokens in 50 ms make 50 tok/s when nothing else is said."""
    return [start(**(begin or {})), *[drafted(**other) for _ in range(requests)]]


def losing(requests: int = 31) -> list[Event]:
    """Rounds of 90 ms: 27.8 tok/s."""
    return canary(requests, decode_ms=3600.0)


def winning(requests: int = 31) -> list[Event]:
    """Rounds of 30 ms: 83 tok/s."""
    return canary(requests, decode_ms=1200.0, draft_ms=200.0)


def several(*events: Iterable[Event], incumbent: Choice | None = None) -> Snapshot:
    """Each list of events as a source of its own: a.log, b.log, ..."""
    session = Session()
    session.choose(incumbent)
    for number, part in enumerate(events):
        name = f"{chr(ord('a') + number)}.log"
        session.open(name, "ended")
        session.add([dataclasses.replace(event, source=name) for event in part])
    return session.snapshot(100.0)

"""The events: the contract between the dialects and everything else.

Absent knowledge is None (null in JSON), never 0. Times are milliseconds, rates tok/s.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

Engine = Literal["llama.cpp", "halogen", "vLLM", "SGLang", "Ollama"]
RoundsFrom = Literal["statistics", "metrics", "per_round_lines", "mean_length", "printed"]
Finish = Literal["done", "cancelled", "failed"]
ProblemKind = Literal["cut", "renamed", "impossible", "oversize", "encoding", "unattached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """What every event carries.

    Attributes:
        source: what is tailed, as given on the command line.
        stream: router port, container or unit name inside one source; slots and tasks are unique only in it.
        engine: the server that spoke; None where a line cannot be told.
        time: seconds since the epoch, when the line or its prefix has a stamp.
        clock_s: the server's own clock, in seconds, at the line that completed the event.
    """

    kind: ClassVar[str] = "event"
    source: str
    stream: str | None = None
    engine: Engine | None = None
    time: float | None = None
    clock_s: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as JSON-ready values, in the documented order."""
        row: dict[str, Any] = {"event": self.kind}
        for name in _shown(type(self)):
            value = getattr(self, name)
            if name == "time" and value is not None:
                value = dt.datetime.fromtimestamp(value, dt.UTC).isoformat().replace("+00:00", "Z")
            elif name == "by_drafter" and value is not None:
                value = [dataclasses.asdict(share) for share in value]
            row[name] = value
        return row


_SHOWN: dict[type, tuple[str, ...]] = {}


def _shown(kind: type[Event]) -> tuple[str, ...]:
    if kind not in _SHOWN:
        fields = dataclasses.fields(kind)
        _SHOWN[kind] = tuple(field.name for field in fields if not field.metadata.get("internal"))
    return _SHOWN[kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class DrafterShare:
    """What one member of a chain of drafters did in one request."""

    drafter: str
    rounds: int
    drafted: int
    accepted: int
    draft_ms: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Request(Event):
    """One finished generation.

    Attributes:
        prompt_tokens: the whole prompt, cached tokens included.
        prompt_evaluated_tokens: what was computed of it.
        tokens: generated tokens, the one that the prompt pass gives included.
        rate_tok_s: as printed, over `rate_over` tokens; None for an answer of at most one token.
        rounds: verify passes that had a draft; where only a range is known, None with `rounds_range` set.
        mean_accepted_length: as printed, else 1 + accepted/rounds where the rounds are known.
        accepted_per_position: share of rounds whose first i drafts were all accepted.
        draft_ms: drafting time credited to this request alone.
        plain_steps: target passes without a draft; negative knowledge (overshoot) is None.
        head_off_tokens: halogen: tokens made while the draft head was off.
        concurrency: most requests in flight with it, itself included.
        doubt: why its rounds and accepted lengths, kept as printed, are not to be counted or charted.
        raw: the lines it was read from, undecorated; shown on demand, never parsed again.
    """

    kind: ClassVar[str] = "request"
    slot: int | None = None
    task: int | None = None
    model: str | None = None
    drafter: str | None = None
    prompt_tokens: int | None = None
    prompt_evaluated_tokens: int | None = None
    prompt_cached_tokens: int | None = None
    prompt_ms: float | None = None
    tokens: int | None = None
    decode_ms: float | None = None
    rate_tok_s: float | None = None
    rate_over: Literal["n", "n-1"] | None = None
    drafted: int | None = None
    accepted: int | None = None
    acceptance_ratio: float | None = None
    rounds: int | None = None
    rounds_range: tuple[int, int] | None = None
    rounds_from: RoundsFrom | None = None
    mean_accepted_length: float | None = None
    accepted_per_position: tuple[float, ...] | None = None
    draft_ms: float | None = None
    plain_steps: int | None = None
    by_drafter: tuple[DrafterShare, ...] | None = None
    head_off_tokens: int | None = None
    lookup_rounds: int | None = None
    lookup_accepted_per_round: float | None = None
    concurrency: int | None = None
    finish: Finish = "done"
    doubt: str | None = None
    raw: tuple[str, ...] = dataclasses.field(default=(), repr=False, metadata={"internal": True})


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress(Event):
    """A generation in flight: tokens so far, rate since its first token, rate since the last such line."""

    kind: ClassVar[str] = "progress"
    slot: int | None = None
    task: int | None = None
    tokens: int | None = None
    rate_tok_s: float | None = None
    rate_recent_tok_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics(Event):
    """A drafter's counters, cumulative as printed."""

    kind: ClassVar[str] = "statistics"
    drafter: str | None = None
    calls_begin: int | None = None
    calls_draft: int | None = None
    calls_accept: int | None = None
    drafts: int | None = None
    drafts_accepted: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    accepted_per_position: tuple[float, ...] | None = None
    begin_ms: float | None = None
    draft_ms: float | None = None
    accept_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval(Event):
    """What a server counted over a stretch of time, all its requests together.

    Attributes:
        seconds: the stretch; for counters of decode time that time, summed over requests.
        tokens: generated in it. requests: finished in it.
        drafted, accepted, rounds: of the drafter in it.
        accepted_per_position: share of the rounds whose first i drafts were all accepted.
        mean_accepted_length: as printed.
        acceptance_ratio: where the counts behind it are not printed.
        rate_tok_s: tokens generated a second, all requests together: as printed, or between two looks.
        running, queued: requests in flight, and waiting, at its end.
        kv_usage: share of the KV cache in use at its end, 0 to 1.
        doubt: why its rate, kept as printed, is not to be charted.
    """

    kind: ClassVar[str] = "interval"
    seconds: float | None = None
    tokens: float | None = None
    drafted: int | None = None
    accepted: int | None = None
    rounds: int | None = None
    accepted_per_position: tuple[float, ...] | None = None
    mean_accepted_length: float | None = None
    acceptance_ratio: float | None = None
    rate_tok_s: float | None = None
    requests: int | None = None
    running: int | None = None
    queued: int | None = None
    kv_usage: float | None = None
    doubt: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStart(Event):
    """What a server said of itself while starting; one event a start, when it is ready or first works.

    Attributes:
        depth: the largest n_max printed. depths: each one, in the order of the drafters.
        synthetic: whether acceptance is decided by the server itself.
        running: told by a server that runs already (over HTTP): facts about its present start, no new one.
    """

    kind: ClassVar[str] = "server_start"
    build: str | None = None
    model: str | None = None
    draft_model: str | None = None
    spec_types: tuple[str, ...] | None = None
    depth: int | None = None
    depths: tuple[int, ...] | None = None
    synthetic: bool | None = None
    listening: str | None = None
    running: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem(Event):
    """A line that looks like ours but cannot be read, or says something impossible.

    Attributes:
        problem: the kind of fault.
        text: the first 200 characters, made harmless.
        offset: where the line starts in its source, bytes.
    """

    kind: ClassVar[str] = "problem"
    problem: ProblemKind
    text: str
    offset: int | None = None

    def to_json(self) -> dict[str, Any]:
        """The event as JSON-ready values; the fault is written as `kind`."""
        row = Event.to_json(self)
        row["kind"] = row.pop("problem")
        return row


def harmless(text: str, limit: int = 200) -> str:
    """Outside text made safe to print: control and bidirectional characters become visible escapes.

    Args:
        text: anything a log or server sent.
        limit: most characters of the result.
    """
    shown = "".join(
        c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text[:limit]
    )
    return shown[:limit]

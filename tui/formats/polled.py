"""A polled server's answers into events: counters become intervals, what it says of itself facts."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from tui.formats.events import Engine, Event, Interval, Progress, ServerStart
from tui.formats.metrics import GAUGES, Counters, engine_of, read_counters

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tui.formats.sample import Sample

E = TypeVar("E", bound=Event)

PRECISE = 50
"""How often a counter's last printed digit must have moved before its difference is worth an interval."""
_DEPTH_OPTIONS = ("--draft", "--draft-n", "--draft-max", "--spec-draft-n-max")
PATIENCE_S = 60.0
"""An interval is given after so long, however coarse."""
_LONGEST_TOKEN_S = 100.0
"""No token takes longer: up to b8663 a time could be counted that was never set."""
MISCOUNTED = ((0, 14, 0), (0, 15, 3))
"""First and last halogen version that counts one drafted token where it made two (fixed in 0.16.0)."""


class _Load(NamedTuple):
    """What a server is busy with, as fields of an interval."""

    running: int | None
    queued: int | None
    kv_usage: float | None


@dataclass(slots=True)
class PolledServer:
    """Reads the samples of one server, or of one child of a router.

    Attributes:
        source, stream: what its events carry.
    """

    source: str
    stream: str | None = None
    _base: Counters = field(default_factory=dict)
    _last: Sample | None = None
    _counters: Counters = field(default_factory=dict)
    _process: str | None = None
    _moved_at: float | None = None
    _busy_since: float | None = None
    _load: _Load | None = None
    _restarted: bool = False
    _told: ServerStart | None = None
    _slots: dict[int, tuple[int, float, int]] = field(default_factory=dict)

    def read(self, sample: Sample) -> list[Event]:
        """The events of one look at the server.

        The first look counts all since the server's start. A counter that fell, or another process, is a
        restart: what was counted before it comes first, the start itself with the first request that finished
        after it, when the server tells its depth and drafters too.

        Raises:
            ValueError: /metrics is no Prometheus text.
        """
        engine = sample.engine or engine_of(sample.metrics or "")
        if engine is None:
            return []
        counters = self._counters
        if sample.metrics is not None:
            counters = read_counters(sample.metrics, engine)
        out: list[Event] = []
        if self._is_new_process(sample, counters):
            out += self.flush()
            self._restarted = True
            self._base, self._moved_at, self._slots, self._busy_since = {}, None, {}, None
        self._process = sample.process or self._process
        if self._last is not None and self._busy_since != self._last.time:
            self._busy_since = None  # it did nothing for a part of the time
        self._last, self._counters = sample, counters
        moved = self._moved(counters)
        if moved or not self._restarted:
            out += self._facts(sample, engine)
        if moved and self._moved_at is None:
            self._moved_at = sample.time
        load = _load(sample, engine, counters)
        if moved and (self._is_precise() or sample.time - (self._moved_at or 0) >= PATIENCE_S):
            out.append(self._interval(sample, engine, counters))
            self._base, self._moved_at = counters, None
            self._busy_since = sample.time if load.running else None
        elif load != self._load:
            out.append(self._event(Interval, sample, engine, **load._asdict()))
        self._load = load
        return out + self._progress(sample, engine)

    def flush(self) -> list[Event]:
        """What has been counted and was not told yet, however coarse: the server is known to have ended."""
        if self._last is None or not self._moved(self._counters):
            return []
        engine = self._last.engine or engine_of(self._last.metrics or "")
        if engine is None:
            return []
        interval = self._interval(self._last, engine, self._counters)
        self._base, self._moved_at = self._counters, None
        return [interval]

    def _is_new_process(self, sample: Sample, counters: Counters) -> bool:
        if sample.process is not None and self._process is not None and sample.process != self._process:
            return True
        # Time can fall by itself: up to b8663 a request that ended early left an uninitialised one.
        names = (name for name in _counted(self._counters) if name != "seconds")
        return any(_difference(counters, self._counters, name) < 0 for name in names)

    def _moved(self, counters: Counters) -> bool:
        return any(_difference(counters, self._base, name) > 0 for name in _counted(counters))

    def _is_precise(self) -> bool:
        """Whether differences are much larger than what six digits round away."""
        names = [name for name in _counted(self._counters) if self._counters[name].quantum]
        moved = ((_difference(self._counters, self._base, n), self._counters[n].quantum) for n in names)
        return all(difference <= 0 or difference >= PRECISE * quantum for difference, quantum in moved)

    def _interval(self, sample: Sample, engine: Engine, counters: Counters) -> Interval:
        rounds, drafted = _whole(counters, self._base, "rounds"), _whole(counters, self._base, "drafted")
        positions = sorted((name for name in counters if name.isdecimal()), key=int)
        reached = [_difference(counters, self._base, name) for name in positions]
        seconds, tokens = (_difference(counters, self._base, name) for name in ("seconds", "tokens"))
        return self._event(
            Interval,
            sample,
            engine,
            seconds=seconds if 0 < seconds <= _LONGEST_TOKEN_S * tokens else None,
            tokens=tokens if "tokens" in counters else None,
            drafted=None if engine == "halogen" and _miscounts(sample.about) else drafted,
            accepted=_whole(counters, self._base, "accepted"),
            rounds=rounds,
            accepted_per_position=tuple(count / rounds for count in reached) if rounds and reached else None,
            mean_accepted_length=counters["mean"].value if "mean" in counters else None,
            rate_tok_s=self._wall_rate(sample, counters) if "seconds" not in counters else None,
            requests=_whole(counters, self._base, "requests"),
            **_load(sample, engine, counters)._asdict(),
        )

    def _wall_rate(self, sample: Sample, counters: Counters) -> float | None:
        """Tokens a second, all requests together, where it had work at this look and the last one."""
        running = _whole(counters, {}, "running")
        if self._busy_since is None or sample.time <= self._busy_since or not running:
            return None
        tokens = _difference(counters, self._base, "tokens")
        return round(tokens / (sample.time - self._busy_since), 2) if tokens > 0 else None

    def _facts(self, sample: Sample, engine: Engine) -> list[Event]:
        """What the server says of itself, when that is new; a restart first of all."""
        says = {
            name: value for name, value in _about(sample, engine, self._counters).items() if value is not None
        }
        if self._restarted or self._told is None:
            start = self._event(ServerStart, sample, engine, running=not self._restarted, **says)
        else:
            start = replace(self._told, **says)
            if start == self._told:
                return []
        self._restarted = False
        # Kept without its moment, so that only what it says is compared.
        self._told = replace(start, time=None, running=True)
        return [replace(start, time=sample.time)]

    def _progress(self, sample: Sample, engine: Engine) -> list[Event]:
        """Generations in flight, each with its rate since the last look."""
        if sample.slots is None:
            return []
        before, self._slots = self._slots, dict(_busy(sample))
        return [
            self._event(
                Progress,
                sample,
                engine,
                slot=slot,
                task=now[0],
                tokens=now[2],
                rate_recent_tok_s=_rate(before.get(slot), now),
            )
            for slot, now in self._slots.items()
        ]

    def _event(self, kind: type[E], sample: Sample, engine: Engine, **says: Any) -> E:
        return kind(source=self.source, stream=self.stream, engine=engine, time=sample.time, **says)


def _counted(counters: Counters) -> list[str]:
    return [name for name in counters if name not in GAUGES]


def _difference(counters: Counters, base: Counters, name: str) -> float:
    now, before = counters.get(name), base.get(name)
    return (now.value if now else 0.0) - (before.value if before else 0.0)


def _whole(counters: Counters, base: Counters, name: str) -> int | None:
    return round(_difference(counters, base, name)) if name in counters else None


def _load(sample: Sample, engine: Engine, counters: Counters) -> _Load:
    running, queued = _whole(counters, {}, "running"), _whole(counters, {}, "queued")
    used = counters["kv_usage"].value if "kv_usage" in counters else None
    if engine == "halogen":
        if sample.metrics is None:
            running, queued = _number(sample.about.get("in_flight")), _number(sample.about.get("queued"))
        pool = sample.cache.get("pool")
        # Of its /metrics' gauge only the last finished request is told.
        used = pool.get("usage_ratio") if isinstance(pool, dict) and not sample.cache.get("stale_s") else None
    if not isinstance(used, int | float) or not 0 <= used <= 1:
        used = None
    return _Load(running, queued, None if used is None else round(used, 2))


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _busy(sample: Sample) -> Iterable[tuple[int, tuple[int, float, int]]]:
    """Slots that generate: task, moment and tokens so far, in every build's spelling."""
    for slot in sample.slots or ():
        number, task = slot.get("id"), slot.get("id_task", slot.get("task_id"))
        token = slot.get("next_token")
        if isinstance(token, list):  # since b6723
            token = token[0] if token else None
        tokens = token.get("n_decoded") if isinstance(token, dict) else None
        busy = slot.get("is_processing", slot.get("state") == 1)
        if (
            busy
            and isinstance(number, int)
            and isinstance(task, int)
            and isinstance(tokens, int)
            and tokens > 0
        ):
            yield number, (task, sample.time, tokens)


def _rate(before: tuple[int, float, int] | None, now: tuple[int, float, int]) -> float | None:
    if before is None or before[0] != now[0] or now[1] <= before[1] or now[2] <= before[2]:
        return None
    return (now[2] - before[2]) / (now[1] - before[1])


def build_of(sample: Sample) -> str | None:
    """The build or version that a server says it is, as its log would say it."""
    return _llama_build(sample.about) if sample.engine == "llama.cpp" else halogen_version(sample.about)


def _llama_build(about: Mapping[str, Any]) -> str | None:
    build = _text(about.get("build_info"))
    if build and (numbered := re.match(r"b(\d+)-", build)):
        # A shallow clone's number says nothing.
        return f"b{numbered[1]}" if int(numbered[1]) >= 1000 else None
    return build


def halogen_version(about: Mapping[str, Any]) -> str | None:
    """The version that halogen's /health tells (0.5.8 and later)."""
    version = about.get("version")
    told = version.get("api") if isinstance(version, dict) else version
    return _text(told)


def _miscounts(about: Mapping[str, Any]) -> bool:
    """Whether this halogen's count of drafted tokens is wrong, or may be as its version is unknown."""
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", halogen_version(about) or "")
    if found is None:
        return True
    return MISCOUNTED[0] <= tuple(int(part or 0) for part in found.groups()) <= MISCOUNTED[1]


def _about(sample: Sample, engine: Engine, counters: Counters) -> dict[str, Any]:
    """What a server says of itself, as fields of its start; None where it does not."""
    about = sample.about
    if engine == "halogen":
        return {
            "build": halogen_version(about),
            "model": _text(about.get("model")),
            "spec_types": _halogen_drafters(about),
        }
    if engine != "llama.cpp":
        return {"build": _text(about.get("version")), "model": _text(about.get("model"))}
    return {
        "build": _llama_build(about),
        "model": _text(about.get("model_path")) or _text(about.get("model_alias")),
        "draft_model": _option(sample.args, "-md", "--model-draft", "--spec-draft-model"),
        "spec_types": _spec_types(sample),
        "depth": sum(name.isdecimal() for name in counters) or _depth(sample),
    }


def _halogen_drafters(about: Mapping[str, Any]) -> tuple[str, ...] | None:
    """What drafts where a request asks for nothing else; () where nothing does."""
    drafter = _text(about.get("drafter_default"))
    if drafter is None or about.get("capability_probe") == "failed":
        return None  # what it says of its drafters then is no more than a default
    # Before versions were told, its weights were said to be missing even where they were not.
    missing = about.get("drafter_weights_loaded") is False and halogen_version(about) is not None
    return () if drafter == "serial" or missing else (drafter,)


def _depth(sample: Sample) -> int | None:
    """The largest depth of the slots' last tasks (b4164 to b8954), else that of a child's command line."""
    params = [slot.get("params") for slot in sample.slots or () if slot.get("speculative") is True]
    told = [_number(each.get("speculative.n_max")) for each in params if isinstance(each, dict)]
    option = _option(sample.args, *_DEPTH_OPTIONS) or ""
    return max((depth for depth in told if depth), default=int(option) if option.isdecimal() else None)


def _spec_types(sample: Sample) -> tuple[str, ...] | None:
    """The drafters, from the slots' last tasks or a child's command line; () where no slot can draft."""
    for slot in sample.slots or ():
        params = slot.get("params")
        params = params if isinstance(params, dict) else {}
        names = _text(params.get("speculative.types", params.get("speculative.type")))
        if names is not None:
            return tuple(names.split(","))
    if (option := _option(sample.args, "--spec-type")) is not None:
        return tuple(option.split(","))
    flags = [slot.get("speculative") for slot in sample.slots or ()]
    return () if flags and all(flag is False for flag in flags) else None


def _option(args: Sequence[str], *names: str) -> str | None:
    """The value that follows an option on a command line."""
    found = [value for name, value in itertools.pairwise(args) if name in names]
    return found[-1] if found else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value not in ("", "none") else None

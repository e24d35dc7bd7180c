"""vLLM's interval lines: cumulative ones of its V0 engine, and those of V1 in all their forms."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.formats.events import Event, Interval, ProblemKind, ServerStart
from tui.formats.forms import Form, is_falling, number, shares
from tui.formats.keywords import ENGINES
from tui.formats.problems import problem
from tui.model.rounds import candidate_rounds, mean_bounds

if TYPE_CHECKING:
    from tui.formats.prefixes import Line

_SPEC = "SpecDecoding metrics: "
_CUMULATIVE = "Speculative metrics: "
_ENGINE = re.compile(r"Engine \d{1,6}: ")
_THROUGHPUT = Form(
    "Avg prompt throughput: {f} tokens/s, Avg generation throughput: {f} tokens/s, Running: {i} reqs"
)
_WAITING = re.compile(r", (?:Waiting|Pending): (\d{1,9}) reqs")
_KV_USAGE = re.compile(r", (?:GPU )?KV cache usage: (\d{1,3}\.\d)%")
_START = re.compile(
    r"Initializing an? (?:V\d )?LLM engine \(v([^)\s]{1,80})\) with config: (?:model='([^']*)')?"
)
_SPECULATIVE = re.compile(r"\bspeculative_config=(?:(None)|SpeculativeConfig\(([^)]*)\))")
_OPTION = re.compile(r"\b(\w+)=(?:'([^']*)'|(\d{1,9})(?!\w))")

_BETWEEN = re.compile(r", (?=[A-Z])")
_REAL = r"(-?nan|-?inf|\d{1,15}(?:\.\d+)?)"
_PER_POSITION = "Per-position acceptance rate"
_MEAN = "Mean acceptance length"
_READ = {
    "Draft acceptance rate": re.compile(_REAL + "%?"),
    "Avg Draft acceptance rate": re.compile(_REAL + "%"),
    _MEAN: re.compile(_REAL),
    "Accepted throughput": re.compile(_REAL + " tokens/s"),
    "Drafted throughput": re.compile(_REAL + " tokens/s"),
    "Accepted": re.compile(r"(\d{1,15}) tokens"),
    "Drafted": re.compile(r"(\d{1,15}) tokens"),
    _PER_POSITION: re.compile(r"(\d\.\d{3}(?:, \d\.\d{3})*|)"),
    "Number of speculative tokens": re.compile(r"(\d{1,9})"),
    "Number of accepted tokens": re.compile(r"(\d{1,15})"),
    "Number of draft tokens": re.compile(r"(\d{1,15})"),
    "Number of emitted tokens": re.compile(r"(\d{1,15})"),
}
_NEEDED = {
    _SPEC: ("Accepted", "Drafted"),
    _CUMULATIVE: ("Number of accepted tokens", "Number of draft tokens"),
}
_LAST_OF_THE_NEWEST = "Avg Draft acceptance rate"
_PERCENT_ERROR, _THROUGHPUT_ERROR, _MEAN_ERROR, _SHARE_ERROR = 0.0501, 0.00501, 0.00501, 0.000501
"""Half of what the last printed digit is worth."""
_TELLING = 1.02
"""How far bounds of a time may lie apart for it to be told."""
_MOST_ENGINES = 1024
_ONE_OF_SEVERAL = "of one engine of several"
_IDLE = "idle for a part of its time"


class _Totals(NamedTuple):
    """The V0 engine's counters, since its start; `accepted` holds drafts behind a rejected one too."""

    accepted: int
    drafted: int
    emitted: int | None
    depth: int | None

    def since(self, before: _Totals) -> _Totals | None:
        """What came after an earlier line; None after a restart."""
        if self.depth != before.depth or self.accepted < before.accepted or self.drafted < before.drafted:
            return None
        emitted = None
        if self.emitted is not None and before.emitted is not None:
            emitted = self.emitted - before.emitted
            if emitted < 0:
                return None
        return _Totals(self.accepted - before.accepted, self.drafted - before.drafted, emitted, self.depth)

    @property
    def mean(self) -> float | None:
        """Tokens a round gave: all drafts of this engine are full."""
        if not self.depth or not self.emitted or not self.drafted or self.drafted % self.depth:
            return None
        return self.emitted * self.depth / self.drafted


@dataclass(slots=True)
class _Pending:
    """A throughput line whose drafting line may follow."""

    line: Line
    interval: Interval


class VllmStream:
    """Reads one stream of vLLM lines; a throughput line waits for the drafting line of its interval."""

    starting = False
    serving = True
    quoting = False
    wants = ENGINES

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: container or unit name.
        """
        self._source = source
        self._stream = stream
        self._headed = False
        self._pending: _Pending | None = None
        self._totals: _Totals | None = None
        self._start: ServerStart | None = None
        self._engines: dict[str, Interval] = {}
        self._started = False
        self._depth: int | None = None

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether vLLM prints such a line."""
        return text.startswith((_SPEC, _CUMULATIVE)) or bool(
            _START.match(text) or _THROUGHPUT.match(_without_engine(text))
        )

    def forget(self) -> None:
        """Bytes were left out: the next interval need not follow the last one."""
        self._pending = None

    def idle(self, out: list[Event]) -> None:
        """The stream has been silent: no drafting line follows."""
        self._flush(out)

    def close(self, out: list[Event]) -> None:
        """The stream has ended."""
        self._flush(out)

    def read(self, line: Line, out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            out: where events go.

        Returns:
            Whether vLLM prints such lines.
        """
        text = line.text.strip()
        bare = _without_engine(text)
        engine = text.removesuffix(bare)
        if not text.startswith((_SPEC, _CUMULATIVE, "Initializing a")) and not bare.startswith("Avg prompt"):
            return False
        if self._headed and not line.shape.endswith("v"):
            self.refuse(line, out)
            return True
        self._headed = line.shape.endswith("v")
        if text.startswith(_SPEC):
            self._on_drafting(line, text, out)
        elif text.startswith(_CUMULATIVE):
            self._on_totals(line, text, out)
        elif found := _START.match(text):
            self._on_start(line, found, out)
        else:
            self._on_throughput(line, engine, bare, out)
        return True

    def refuse(self, line: Line, out: list[Event]) -> None:
        """Report data that belongs to nothing here."""
        self._problem(line, "unattached", out)

    def _on_start(self, line: Line, found: re.Match[str], out: list[Event]) -> None:
        """An engine begins. Each of several in one server says so: once is enough."""
        config = found.string[found.end() :]
        types: tuple[str, ...] | None = None
        options: dict[str, str] = {}
        if speculative := _SPECULATIVE.search(config):
            options = {name: text or count for name, text, count in _OPTION.findall(speculative[2] or "")}
            types = () if speculative[1] else (options["method"],) if "method" in options else None
        start = ServerStart(
            source=self._source,
            stream=self._stream,
            engine="vLLM",
            build=found[1],
            model=found[2],
            draft_model=options.get("model") or options.get("draft_model"),
            spec_types=types,
            depth=int(options["num_spec_tokens"]) if options.get("num_spec_tokens", "").isdecimal() else None,
        )
        self._flush(out)
        if start != self._start:
            out.append(replace(start, time=line.time))
        self._start, self._totals, self._started = start, None, True
        self._engines.clear()
        self._depth = start.depth

    def _on_throughput(self, line: Line, engine: str, text: str, out: list[Event]) -> None:
        found = _THROUGHPUT.match(text)
        if not found or text[found.end() :][:1] not in (",", ""):
            self._problem(line, "cut" if _THROUGHPUT.ends_inside(text) else "renamed", out)
            return
        self._flush(out)
        running = int(found[3])
        waiting, kv_usage = _WAITING.search(text, found.end()), _KV_USAGE.search(text, found.end())
        interval = Interval(
            source=self._source,
            stream=self._stream,
            engine="vLLM",
            time=line.time,
            rate_tok_s=number(found[2]),
            running=running,
            queued=int(waiting[1]) if waiting else None,
            kv_usage=round(float(kv_usage[1]) / 100, 3) if kv_usage else None,
            doubt=_IDLE if not running or self._was_idle(engine) else None,
        )
        self._start = None
        if len(self._engines) < _MOST_ENGINES:
            self._engines[engine] = interval
        self._pending = _Pending(line, self._of_all(interval))

    def _was_idle(self, engine: str) -> bool:
        before = self._engines.get(engine)
        return self._started if before is None else not before.running

    def _of_all(self, interval: Interval) -> Interval:
        """What the engines of one server do together: each prints for itself, one after the other."""
        engines = self._engines.values()
        if len(engines) < 2:
            return interval
        if not all(_together(each.time, interval.time) for each in engines):
            return replace(interval, running=None, queued=None, kv_usage=None, doubt=_ONE_OF_SEVERAL)
        rates, queued, used = (
            [value for each in engines if (value := getattr(each, name)) is not None]
            for name in ("rate_tok_s", "queued", "kv_usage")
        )
        return replace(
            interval,
            rate_tok_s=round(sum(rates), 2) if len(rates) == len(engines) else None,
            running=sum(each.running or 0 for each in engines),
            queued=sum(queued) if queued else None,
            kv_usage=max(used, default=None),
            doubt=interval.doubt if all(each.doubt for each in engines) else None,
        )

    def _on_drafting(self, line: Line, text: str, out: list[Event]) -> None:
        """A line of the V1 engine: what was drafted since the last one."""
        items = self._items(line, text, _SPEC, out)
        if items is None:
            return
        accepted, drafted, mean = int(items["Accepted"]), int(items["Drafted"]), _finite(items.get(_MEAN))
        per_position = shares(items.get(_PER_POSITION, ""))
        if not _is_possible(accepted, drafted, mean, items):
            self._flush(out)
            self._problem(line, "impossible", out)
            return
        if not per_position or not _fit(per_position, mean):
            per_position = None
        rounds = candidate_rounds(
            drafted=drafted,
            accepted=accepted,
            mean=mean,
            tokens=None,
            depth=len(per_position) if per_position else None,
            per_position=per_position,
        )
        self._give(
            line,
            out,
            seconds=_seconds(items, accepted, drafted),
            drafted=drafted,
            accepted=accepted,
            rounds=rounds[0] if len(rounds) == 1 else None,
            accepted_per_position=per_position,
            mean_accepted_length=mean,
        )

    def _on_totals(self, line: Line, text: str, out: list[Event]) -> None:
        """A line of the V0 engine: since its start, so that only differences are of an interval.

        Its accepted drafts are as printed, those behind a rejected one included; what a round committed
        follows from the emitted tokens. So its rounds are not told: with those counts they would say more.
        """
        items = self._items(line, text, _CUMULATIVE, out)
        if items is None:
            return
        emitted, depth = items.get("Number of emitted tokens"), items.get("Number of speculative tokens")
        totals = _Totals(
            int(items["Number of accepted tokens"]),
            int(items["Number of draft tokens"]),
            int(emitted) if emitted else None,
            int(depth) if depth else None,
        )
        if totals.accepted > totals.drafted:
            self._problem(line, "impossible", out)
            return
        if totals.depth and totals.depth != self._depth:
            self._depth = totals.depth
            out.append(
                ServerStart(
                    source=self._source,
                    stream=self._stream,
                    engine="vLLM",
                    time=line.time,
                    depth=totals.depth,
                    running=True,
                )
            )
        done = (totals.since(self._totals) if self._totals else None) or totals
        self._totals = totals
        if done.drafted:
            self._give(
                line, out, drafted=done.drafted, accepted=done.accepted, mean_accepted_length=done.mean
            )

    def _items(self, line: Line, text: str, prefix: str, out: list[Event]) -> dict[str, str] | None:
        """The known values of a line by their names; None, and a problem, when some cannot be read."""
        text = text.removeprefix(prefix)
        values: dict[str, str] = {}
        fault: ProblemKind | None = None
        parts = _BETWEEN.split(text.rstrip(",. "))
        for part in parts:
            name, _, value = part.partition(": ")
            form = _READ.get(name)
            if form is not None and (found := form.fullmatch(value)):
                values[name] = found[1]
            elif part is parts[-1] and (form is not None or any(known.startswith(part) for known in _READ)):
                fault = "cut"
            elif form is not None:
                fault = "renamed"
        newest = _MEAN in values and not text.startswith("Draft acceptance rate")
        needed = (*_NEEDED[prefix], _LAST_OF_THE_NEWEST) if newest else _NEEDED[prefix]
        if fault is None and any(name not in values for name in needed):
            fault = "cut" if set(values) else "renamed"
        if fault is not None:
            self._flush(out)
            self._problem(line, fault, out)
            return None
        return values

    def _give(self, line: Line, out: list[Event], **says: Any) -> None:
        """The interval of a drafting line, with its throughput where that was printed with it."""
        pending, interval = self._pending, None
        if pending is not None and _together(pending.line.time, line.time):
            interval, self._pending = pending.interval, None
        self._flush(out)
        if interval is None:
            interval = Interval(source=self._source, stream=self._stream, engine="vLLM", time=line.time)
        self._start = None
        out.append(replace(interval, **says))

    def _flush(self, out: list[Event]) -> None:
        if self._pending is not None:
            out.append(self._pending.interval)
            self._pending = None

    def _problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        out.append(problem(self._source, "vLLM", line, kind))


def _without_engine(text: str) -> str:
    found = _ENGINE.match(text)
    return text[found.end() :] if found else text


def _together(before: float | None, now: float | None) -> bool:
    return before is None or now is None or abs(now - before) <= 1


def _finite(text: str | None) -> float | None:
    return None if text is None else number(text)


def _is_possible(accepted: int, drafted: int, mean: float | None, items: dict[str, str]) -> bool:
    """Whether a line agrees with itself."""
    if accepted > drafted:
        return False
    percent = _finite(items.get("Avg Draft acceptance rate") or items.get("Draft acceptance rate"))
    if percent is not None and abs(percent * drafted - 100 * accepted) > _PERCENT_ERROR * drafted:
        return False
    if mean is None or not accepted:
        return mean is None or mean <= 1
    bounds = mean_bounds(accepted, mean)
    return bounds is not None and bounds[0] <= drafted


def _fit(per_position: tuple[float, ...], mean: float | None) -> bool:
    """Whether these are shares of all rounds: then they sum up to what was accepted a round."""
    error = _SHARE_ERROR * len(per_position) + _MEAN_ERROR
    return is_falling(per_position) and (mean is None or abs(sum(per_position) - (mean - 1)) <= error)


def _seconds(items: dict[str, str], accepted: int, drafted: int) -> float | None:
    """The stretch of time, from counts and their throughputs of two decimals; None where too coarse."""
    low, high = 0.0, math.inf
    for count, name in ((accepted, "Accepted throughput"), (drafted, "Drafted throughput")):
        throughput = _finite(items.get(name))
        if throughput is not None and throughput > 2 * _THROUGHPUT_ERROR:
            low = max(low, count / (throughput + _THROUGHPUT_ERROR))
            high = min(high, count / (throughput - _THROUGHPUT_ERROR))
    return round((low + high) / 2, 1) if low <= high <= _TELLING * low else None

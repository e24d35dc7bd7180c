"""What command-line tools print at their end: the core library's timings, and summaries of speculation."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.formats.events import Event, ProblemKind, Request
from tui.formats.forms import Form, number
from tui.formats.llamacpp.block import Block
from tui.formats.llamacpp.lines import EVAL, PROMPT, DraftCounts, Timing, is_possible
from tui.formats.problems import problem

if TYPE_CHECKING:
    from tui.formats.llamacpp.counters import Counted
    from tui.formats.prefixes import Line

_TIMINGS = re.compile(
    r"(print_timings|llama_print_timings|llama_perf_(?:context_|sampler_)?print|common_perf_print): +"
    r"([a-z ]+?) *="
)
_SERVER = "print_timings"
"""The function that printed a server's timings in b1413 to b2258: of one request, not of a process."""
_RUNS = Form("eval time =~{f} ms /~{i} runs~(~{f} ms per token,~{f} tokens per second~)")
_LABELS = frozenset(
    {
        "load time",
        "sample time",
        "sampling time",
        "samplers time",
        "prompt eval time",
        "eval time",
        "total time",
        "unaccounted time",
        "graphs reused",
    }
)
_AFTER_TOTAL = ("unaccounted time", "graphs reused")
_HEADINGS = ("draft:", "target:")
_PASSED = re.compile(r"(encoded|decoded) +(\d{1,9}) tokens in +(\d{1,9}\.\d{3}) seconds, speed: +(\S+) t/s")
_COUNT = re.compile(r"(n_draft|n_predict|n_drafted|n_accept) += (\d{1,9})")
_ACCEPT = re.compile(r"accept += (-?nan(?:\(ind\))?|\d{1,3}\.\d{3})%")
_SPEEDS = re.compile(r"\[ Prompt: (\d{1,9}\.\d) t/s \| Generation: (\d{1,9}\.\d) t/s \]")
_NEAR = 600
"""Bytes between a line and the next of the same print, blank and prefixed ones included."""
_PERCENT_ERROR = 0.000501
_MOST_RAW = 40
_LOOKAHEAD = "llama-lookahead does not print how much it drafted"


@dataclass(slots=True)
class _Timings:
    """One print of timings so far.

    Attributes:
        section: it is a part of a summary.
        served: a server's, of one request.
    """

    line: Line
    section: bool
    served: bool
    seen: set[str] = field(default_factory=set)
    prompt: Timing | None = None
    decode: Timing | None = None
    raw: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Summary:
    """One summary of speculation so far; `whole`: its last line was read."""

    line: Line
    prompt: Timing | None = None
    decode: Timing | None = None
    counts: dict[str, int] = field(default_factory=dict)
    percent: float | None = None
    whole: bool = False
    statistics: list[Counted] = field(default_factory=list)
    raw: list[str] = field(default_factory=list)


class Runs:
    """Puts such prints together. A line counts only in its place: text that a model wrote is around it."""

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: port, container or unit name.
        """
        self._source = source
        self._stream = stream
        self._timings: _Timings | None = None
        self._summary: _Summary | None = None
        self._heading: int | None = None

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether such a tool prints such a line."""
        timings = _TIMINGS.match(text)
        return bool(
            (timings and timings[2] in _LABELS)
            or _PASSED.fullmatch(text)
            or _COUNT.fullmatch(text)
            or _SPEEDS.fullmatch(text)
        )

    def forget(self) -> None:
        """Bytes were left out: what was begun will not be whole."""
        self._timings = self._summary = self._heading = None

    def drop_timings(self) -> bool:
        """The timings just read are told in another way: whether there were any."""
        timings, self._timings = self._timings, None
        return timings is not None

    def end(self, done: list[Block | Request], out: list[Event]) -> None:
        """Nothing more comes of what was begun.

        Args:
            done: where finished generations go.
            out: where problems go.
        """
        timings, self._timings = self._timings, None
        # Batches that verify a draft are booked as prompt: one run is no generation, but for a server.
        decoded = timings.decode.tokens if timings and timings.decode else 0
        if timings and not timings.section and decoded > (0 if timings.served else 1):
            block = Block(None, None, timings.line, rate_over="n", raw=timings.raw)
            block.prompt, block.decode = timings.prompt, timings.decode
            done.append(block)
        summary, self._summary = self._summary, None
        if summary is not None and (kind := self._finish(summary, done)):
            out.append(problem(self._source, "llama.cpp", summary.line, kind))

    def takes(self, counted: Counted) -> bool:
        """Whether a drafter's counters belong to a summary just read; then they are kept with it."""
        if self._summary is None or not self._summary.whole:
            return False
        self._summary.statistics.append(counted)
        return True

    def read(self, line: Line, done: list[Block | Request], out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            done: where finished generations go.
            out: where problems go.

        Returns:
            Whether such a tool prints such lines.
        """
        text = line.text.strip()
        if text in _HEADINGS:
            self._heading = line.offset
            if text == "target:" or self._summary is None:
                self.end(done, out)
        elif found := _TIMINGS.match(text):
            self._on_timings(line, text[found.start(2) :], found, done, out)
        elif found := _PASSED.fullmatch(text):
            self._on_passed(line, found, done, out)
        elif found := _COUNT.fullmatch(text):
            self._on_count(line, found[1], int(found[2]), done, out)
        elif found := _ACCEPT.fullmatch(text):
            self._on_accept(line, number(found[1]), out)
        elif found := _SPEEDS.fullmatch(text):
            self.end(done, out)
            done.append(
                Request(
                    source=self._source,
                    stream=self._stream,
                    engine="llama.cpp",
                    time=line.time,
                    clock_s=line.clock_s,
                    rate_tok_s=number(found[2]),
                    raw=(text,),
                )
            )
        else:
            return False
        return True

    def _on_timings(
        self, line: Line, text: str, found: re.Match[str], done: list[Block | Request], out: list[Event]
    ) -> None:
        label = found[2]
        if label not in _LABELS:
            return
        timings = self._timings
        if (
            timings is None
            or label in timings.seen
            or ("total time" in timings.seen and label not in _AFTER_TOTAL)
        ):
            self.end(done, out)
            section = self._heading is not None and line.offset - self._heading <= _NEAR
            timings = self._timings = _Timings(line, section, found[1] == _SERVER)
        timings.seen.add(label)
        timings.line = line
        if len(timings.raw) < _MOST_RAW:
            timings.raw.append(line.text.rstrip())
        if label == "prompt eval time":
            timings.prompt = _timing(PROMPT, text)
        elif label == "eval time":
            timings.decode = _timing(_RUNS, text) or _timing(EVAL, text)
        else:
            if timings.served and label == "total time":
                self.end(done, out)
            return
        if (timings.prompt if label == "prompt eval time" else timings.decode) is None:
            cut = any(form.ends_inside(text) for form in (PROMPT, _RUNS, EVAL))
            out.append(problem(self._source, "llama.cpp", line, "cut" if cut else "renamed"))

    def _on_passed(
        self, line: Line, found: re.Match[str], done: list[Block | Request], out: list[Event]
    ) -> None:
        timing = Timing(round(float(found[3]) * 1000, 3), int(found[2]), None, number(found[4]))
        summary = self._near(line)
        if found[1] == "encoded" or summary is None or summary.decode is not None or summary.counts:
            self.end(done, out)
            summary = self._summary = _Summary(line)
        if found[1] == "encoded":
            summary.prompt = timing
        else:
            summary.decode = timing
        self._keep(summary, line)

    def _on_count(
        self, line: Line, name: str, count: int, done: list[Block | Request], out: list[Event]
    ) -> None:
        summary = self._near(line)
        if name == "n_draft" and (summary is None or summary.counts):
            self.end(done, out)
            summary = self._summary = _Summary(line)
        needed = {"n_drafted": "n_predict", "n_accept": "n_predict"}.get(name)
        if summary is None or name in summary.counts or (needed is not None and needed not in summary.counts):
            out.append(problem(self._source, "llama.cpp", line, "unattached"))
            return
        summary.counts[name] = count
        self._keep(summary, line)

    def _on_accept(self, line: Line, percent: float | None, out: list[Event]) -> None:
        summary = self._near(line)
        if summary is None or not {"n_accept", "n_drafted"} <= summary.counts.keys():
            out.append(problem(self._source, "llama.cpp", line, "unattached"))
            return
        summary.percent, summary.whole = percent, True
        self._keep(summary, line)

    def _near(self, line: Line) -> _Summary | None:
        """The summary that goes on with this line."""
        summary = self._summary
        if summary is None or summary.whole or line.offset - summary.line.offset > _NEAR:
            return None
        return summary

    @staticmethod
    def _keep(summary: _Summary, line: Line) -> None:
        summary.line = line
        summary.raw.append(line.text.rstrip())

    def _finish(self, summary: _Summary, done: list[Block | Request]) -> ProblemKind | None:
        """The generation that a summary tells of; what is wrong with it, if anything is."""
        counts, decode = summary.counts, summary.decode
        tokens, accepted, drafted = (counts.get(name) for name in ("n_predict", "n_accept", "n_drafted"))
        lookahead = drafted is None
        if tokens is None or accepted is None or not (summary.whole or lookahead):
            return "unattached"
        if (decode is not None and decode.tokens != tokens) or accepted > tokens:
            return "impossible"
        block = Block(None, None, summary.line, rate_over="n", raw=summary.raw)
        block.prompt, block.decode = summary.prompt, decode or Timing(None, tokens, None, None)
        block.depth, block.most_rounds = counts.get("n_draft"), tokens - accepted
        block.statistics = summary.statistics
        kind: ProblemKind | None = None
        if drafted is None:
            block.doubt = _LOOKAHEAD
        else:
            ratio = None if summary.percent is None else round(summary.percent / 100, 7)
            block.drafts = DraftCounts(ratio, accepted, drafted, None, None, "")
            block.sound = is_possible(block.drafts)
            kind = None if block.sound else "impossible"
        done.append(block)
        return kind


def _timing(form: Form, text: str) -> Timing | None:
    if not (found := form.match(text)):
        return None
    return Timing(number(found[1]), int(found[2]), number(found[3]), number(found[4]))

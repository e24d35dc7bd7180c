"""Programs around llama.cpp: its command-line tools, KoboldCpp, and Ollama's own runner."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from tui.formats.events import Event, Request
from tui.formats.llamacpp.runs import Runs
from tui.formats.llamacpp.startup import Startup
from tui.formats.prefixes import stamp_seconds
from tui.formats.problems import problem

if TYPE_CHECKING:
    from tui.formats.llamacpp.block import Block
    from tui.formats.llamacpp.counters import Counted
    from tui.formats.prefixes import Line

_SECONDS = r"(\d{1,9}\.\d\d)s"
_SPEED = r"\((?:\d{1,9}\.\dms/T = )?(\d{1,9}\.\d\d)T/s\)"
_KOBOLD = re.compile(
    r"(?:\[\d\d:\d\d:\d\d\] )?CtxLimit:(\d{1,9})/\d{1,9}, "
    rf"(?:Amt:(\d{{1,9}})/\d{{1,9}}, )?(?:Init:{_SECONDS}, )?"
    rf"(?:Process:|Processed:(\d{{1,9}}) in ){_SECONDS} {_SPEED}, "
    rf"(?:Generate:|Generated:(\d{{1,9}})/\d{{1,9}} in ){_SECONDS} {_SPEED}, Total:{_SECONDS}(?: \(.*\))?"
)
"""Context, generated (older), start-up, processed (newer), its time and speed, generated (newer), its time
and speed, total."""
_KOBOLD_BEGUN = re.compile(r"(?:\[\d\d:\d\d:\d\d\] )?CtxLimit:")
_KOBOLD_DRAFTS = re.compile(r"\(Draft Results - Success:(\d{1,9}), Failure:(\d{1,9})\)")
_KOBOLD_START = re.compile(r"Welcome to KoboldCpp - Version (\S{1,40})")
_KOBOLD_WORKS = ("Processing Prompt", "Input: ", "Generating (")
"""What it prints when a request comes: text that a model wrote ends there at the latest."""
_KOBOLD_OUTPUT = "Output: "
_ONLY_WHEN_DEBUGGING = "KoboldCpp tells what it drafted only in debug mode"
_NOT_DRAFTED = "KoboldCpp does not tell how much it drafted"

_MLX = re.compile(
    r"time=(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:?\d\d)? level=[A-Z]{4,5} "
    r'(?:source=\S{1,80} )?msg="speculative decode stats"((?: \w{1,40}=(?:"[^"]*"|[^\s"]{1,80}))+)'
)
_MLX_MESSAGE = ' msg="speculative decode stats"'
_PAIR = re.compile(r" (\w+)=(\d{1,12}(?:\.\d{1,9})?)(?= |$)")
_MEAN_ERROR = 0.00501


class Kin:
    """Reads the lines of such programs. None of them is printed by a llama-server of today."""

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: container or unit name.
        """
        self._source = source
        self._runs = Runs(source, stream)
        self._kobold: Request | None = None
        self._written = False
        self._debugging = False

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether such a program prints such a line."""
        return bool(
            Runs.recognises(text) or _KOBOLD_BEGUN.match(text) or _KOBOLD_START.match(text) or is_mlx(text)
        )

    def forget(self) -> None:
        """Bytes were left out: what was begun will not be whole."""
        self._runs.forget()
        self._kobold = None
        self._written = False

    def takes(self, counted: Counted) -> bool:
        """Whether a drafter's counters belong to a summary just read; then they are kept with it."""
        return self._runs.takes(counted)

    def end(self, done: list[Block | Request], out: list[Event]) -> None:
        """Nothing more comes of what was begun.

        Args:
            done: where finished generations go.
            out: where problems go.
        """
        self._runs.end(done, out)
        if self._kobold is not None:
            done.append(self._kobold)
            self._kobold = None

    def start(self, text: str) -> Startup | None:
        """The start that a line is; None when it is none."""
        if not (found := _KOBOLD_START.match(text)):
            return None
        self._written = self._debugging = False
        return Startup(build=f"KoboldCpp {found[1]}")

    def read(self, line: Line, done: list[Block | Request], out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            done: where finished generations go.
            out: where problems go.

        Returns:
            Whether such a program prints such lines.
        """
        text = line.text.strip()
        if _KOBOLD_BEGUN.match(text):
            self._on_kobold(line, done, out)
        elif found := _KOBOLD_DRAFTS.fullmatch(text):
            if self._kobold is None:
                out.append(problem(self._source, "llama.cpp", line, "unattached"))
                return True
            raw = (*self._kobold.raw, text)
            self._kobold = replace(self._kobold, accepted=int(found[1]), doubt=_NOT_DRAFTED, raw=raw)
            self.end(done, out)
        elif text.startswith((_KOBOLD_OUTPUT, *_KOBOLD_WORKS)):
            self.end(done, out)
            self._written = text.startswith(_KOBOLD_OUTPUT)
        else:
            return self._runs.read(line, done, out)
        return True

    def _on_kobold(self, line: Line, done: list[Block | Request], out: list[Event]) -> None:
        if self._written:
            out.append(problem(self._source, "llama.cpp", line, "unattached"))
            return
        # Where it debugs, it prints the core library's timings of all generations so far before its own.
        self._debugging = self._runs.drop_timings() or self._debugging
        self.end(done, out)
        self._kobold = read_kobold(line, self._source, debugging=self._debugging)
        if self._kobold is None:
            out.append(problem(self._source, "llama.cpp", line, "cut"))


def read_kobold(line: Line, source: str, *, debugging: bool) -> Request | None:
    """The summary of one generation by KoboldCpp; None when it is not whole.

    Args:
        line: without its wrappers.
        source: name that the event carries.
        debugging: its debug lines are there: without results of drafting nothing was drafted.
    """
    if not (found := _KOBOLD.fullmatch(line.text.strip())):
        return None
    context, old, _, evaluated, process, _, new, generate, speed, _ = found.groups()
    tokens = int(old or new or 0)
    if not (old or new):
        return None
    return Request(
        source=source,
        stream=line.stream,
        engine="llama.cpp",
        time=line.time,
        prompt_tokens=int(context) - tokens if int(context) >= tokens else None,
        prompt_evaluated_tokens=int(evaluated) if evaluated else None,
        prompt_ms=round(float(process) * 1000, 3),
        tokens=tokens,
        decode_ms=round(float(generate) * 1000, 3),
        rate_tok_s=float(speed) if tokens > 1 and float(speed) else None,
        rate_over="n" if tokens > 1 and float(speed) else None,
        doubt=None if debugging else _ONLY_WHEN_DEBUGGING,
        raw=(line.text.strip(),),
    )


def read_mlx(line: Line, source: str) -> Request | None:
    """One generation by Ollama's own runner; None when the line is not whole, or contradicts itself.

    Its iterations are passes of the target, those without a draft included: they bound the rounds.
    """
    if not (found := _MLX.fullmatch(line.text.strip())):
        return None
    said = {name: float(value) for name, value in _PAIR.findall(found[5])}
    try:
        passes, drafted, accepted = (int(said[name]) for name in ("iterations", "drafted", "accepted"))
    except KeyError:
        return None
    average, deepest = said.get("avg_draft"), int(said.get("max_draft", 0))
    if (
        accepted > drafted
        or not passes
        or (average is not None and abs(drafted / passes - average) > _MEAN_ERROR)
    ):
        return None
    low = -(-drafted // deepest) if deepest else 1
    high = min(passes, drafted)
    known = bool(drafted) and low <= high
    rounds = low if known and low == high else None
    return Request(
        source=source,
        stream=line.stream,
        engine="Ollama",
        time=line.time if line.time is not None else stamp_seconds(found[1], found[2], found[3], found[4]),
        drafted=drafted,
        accepted=accepted,
        acceptance_ratio=accepted / drafted if drafted else None,
        rounds=rounds,
        rounds_range=(low, high) if known and low != high else None,
        rounds_from="printed" if rounds else None,
        mean_accepted_length=1 + accepted / rounds if rounds else None,
        raw=(line.text.strip(),),
    )


def is_mlx(text: str) -> bool:
    """Whether a line is one of Ollama's own runner about speculation."""
    return text.startswith("time=") and _MLX_MESSAGE in text

"""SGLang's decode lines: one every so many steps, all requests together."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from tui.formats.events import Event, Interval, ProblemKind, ServerStart
from tui.formats.keywords import ENGINES
from tui.formats.prefixes import stamp_seconds
from tui.formats.problems import problem

if TYPE_CHECKING:
    from tui.formats.prefixes import Line

_HEAD = re.compile(
    r"\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)((?: [A-Z]{1,8}\d{1,6}){0,6})\] (?:INFO [\w./-]{1,80}:\d{1,6}: )?"
)
_DECODE = re.compile(r"Decode batch(?: \[\d{1,12}\])?[.,] (?=#running-req: )")
_PREFILL = re.compile(r"Prefill batch(?: \[\d{1,12}\])?[.,] (?=#new-seq: )")
_ARGUMENTS = "server_args=ServerArgs("
_ARGUMENT = re.compile(r"(?<=[(\s])(\w+)=(?:'([^']*)'|\"([^\"]*)\"|(\w+))(?=[,)])")
_RATE = "gen throughput (token/s)"
_LAST = "#queue-req"
_LENGTH = "accept len"
_USAGE = "token usage"
_TWO_DECIMALS = re.compile(r"\d{1,12}\.\d\d")
_COUNT = re.compile(r"\d{1,12}")
_MOST_RANKS = 1024
_ONE_OF_SEVERAL = "of one rank of several"
_WAITED = "its time began before there was work"


class SglangStream:
    """Reads one stream of SGLang lines. An interval is one line, so nothing waits for the next."""

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
        self._busy: set[str] = set()
        self._ranks: set[str] = set()
        self._depth: int | None = None
        self._drafts: int | None = None

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether SGLang prints such a line."""
        found = _HEAD.match(text)
        rest = text[found.end() :] if found else text
        return bool(_DECODE.match(rest) or _PREFILL.match(rest) or rest.startswith(_ARGUMENTS))

    def forget(self) -> None:
        """Bytes were left out: whether the server waited meanwhile is not known."""
        self._busy.clear()

    def idle(self, out: list[Event]) -> None:
        """Nothing waits."""

    def close(self, out: list[Event]) -> None:
        """Nothing waits."""

    def read(self, line: Line, out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            out: where events go.

        Returns:
            Whether SGLang prints such lines.
        """
        head = _HEAD.match(line.text)
        text = (line.text[head.end() :] if head else line.text).strip()
        if not text.startswith(("Decode batch", "Prefill batch", _ARGUMENTS)):
            return False
        if self._headed and head is None:
            self.refuse(line, out)
            return True
        self._headed = head is not None
        rank = ""
        if head is not None:
            rank = head[3]
            if line.time is None:
                line.time = stamp_seconds(head[1], head[2], None, None)
        if text.startswith(_ARGUMENTS):
            self._on_start(line, text, out)
        elif found := _DECODE.match(text):
            self._on_decode(line, rank, text[found.end() :], out)
        elif found := _PREFILL.match(text):
            if _items(text[found.end() :]).get("#running-req") == "0":
                self._busy.discard(rank)
        elif text.startswith("Decode batch"):
            self._problem(line, "renamed" if "#" in text else "cut", out)
        return True

    def refuse(self, line: Line, out: list[Event]) -> None:
        """Report data that belongs to nothing here."""
        self._problem(line, "unattached", out)

    def _on_start(self, line: Line, text: str, out: list[Event]) -> None:
        said = {name: a or b or c for name, a, b, c in _ARGUMENT.findall(text)}
        algorithm = said.get("speculative_algorithm")
        self._depth = _count(said.get("speculative_num_steps"))
        self._drafts = _count(said.get("speculative_num_draft_tokens"))
        self._busy.clear()
        self._ranks.clear()
        out.append(
            ServerStart(
                source=self._source,
                stream=self._stream,
                engine="SGLang",
                time=line.time,
                model=said.get("model_path"),
                draft_model=_named(said.get("speculative_draft_model_path")),
                spec_types=None if algorithm is None else () if algorithm == "None" else (algorithm,),
                depth=self._depth,
            )
        )

    def _on_decode(self, line: Line, rank: str, text: str, out: list[Event]) -> None:
        items = _items(text)
        rate, length = items.get(_RATE), items.get(_LENGTH)
        if _LAST not in items or rate is None:
            self._problem(line, "renamed" if _LAST in items else "cut", out)
            return
        mean = _real(length)
        if (
            _real(rate) is None
            or (length is not None and mean is None)
            or not _COUNT.fullmatch(items["#running-req"])
        ):
            self._problem(line, "renamed", out)
            return
        if mean is not None and not 1 <= mean <= 1 + (self._depth or math.inf):
            self._problem(line, "impossible", out)
            mean = None
        waited = rank not in self._busy
        if len(self._busy) < _MOST_RANKS:
            self._busy.add(rank)
            self._ranks.add(rank)
        several = len(self._ranks) > 1
        out.append(
            Interval(
                source=self._source,
                stream=self._stream,
                engine="SGLang",
                time=line.time,
                mean_accepted_length=mean,
                acceptance_ratio=self._ratio(mean),
                rate_tok_s=_real(rate),
                running=None if several else int(items["#running-req"]),
                queued=None if several else _count(items[_LAST]),
                kv_usage=None if several else _real(items.get(_USAGE)),
                doubt=_ONE_OF_SEVERAL if several else _WAITED if waited else None,
            )
        )

    def _ratio(self, mean: float | None) -> float | None:
        """Accepted over drafted; None where the drafts' length is not known.

        The printed rate has had three definitions, two of them with the target's own token in it.
        """
        if mean is None or not self._drafts or self._drafts < 2:
            return None
        return round((mean - 1) / (self._drafts - 1), 5)

    def _problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        out.append(problem(self._source, "SGLang", line, kind))


def _items(text: str) -> dict[str, str]:
    return dict(item.strip().split(": ", 1) for item in text.split(",") if ": " in item.strip())


def _count(text: str | None) -> int | None:
    return int(text) if text and _COUNT.fullmatch(text) else None


def _real(text: str | None) -> float | None:
    return float(text) if text and _TWO_DECIMALS.fullmatch(text) else None


def _named(text: str | None) -> str | None:
    return None if text in (None, "None") else text

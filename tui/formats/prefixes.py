"""What stands before a server's own words: clocks, ports, containers, journals, viewers."""

from __future__ import annotations

import datetime as dt
import functools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

LONGEST = 8192
"""Most characters of a message that are looked at: no known form is longer."""
_DEEPEST = 8
_PATIENCE = 1024

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]")
_OWN = re.compile(r"(\d{1,9}\.\d\d\.\d{3}\.\d{3}) (?:([IWED]) )?")
_PORT = re.compile(r"\[ *(\d{1,5})\] ?")
_STAMP = re.compile(
    r"(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)(?:[.,](\d{1,9}))?(Z|[+-]\d\d:?\d\d)?"
    r"(?: (stdout|stderr) ([FP])\S*(?: |$)| \| ?|[ :]|$)"
)
_JOURNAL = re.compile(
    r"([A-Z][a-z]{2}) ([ \d]\d) (\d\d:\d\d:\d\d)(?:\.(\d{1,9}))? \S+ ([^\s\[:]+)(?:\[\d+\])?: ?"
)
_IDENT = re.compile(r"\S+ ([^\s\[:]+)\[\d+\]: ?")
_COMPOSE = re.compile(r"([A-Za-z0-9][\w.-]*) +\| ?")
_VLLM = re.compile(
    r"(?:\([\w ]{1,40} pid=\d{1,9}\) )?INFO (\d\d)-(\d\d) (\d\d:\d\d:\d\d) \[?[\w./-]{1,80}:\d{1,6}\] "
    r"(?=Spec(?:Decoding|ulative) metrics: |(?:Engine \d{1,6}: )?Avg prompt"
    r"|Initializing an? (?:V\d )?LLM engine)"
)
"""vLLM's own prefix; only before its own lines, so that nobody else's can come in under it."""
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_JOURNAL_NAMES = ("CONTAINER_NAME", "_SYSTEMD_USER_UNIT", "_SYSTEMD_UNIT", "SYSLOG_IDENTIFIER")


@dataclass(slots=True)
class Line:
    """One line without its wrappers.

    Attributes:
        text: what the server itself said.
        offset: where the line starts in its source, bytes.
        clock: the server's own clock as printed, or whole microseconds.
        prefixed: whether the server's own clock or level was before the text.
        debug: whether the server's own level says so; such lines can hold users' text.
        stream: port, container or unit names that were before it, outermost first, joined by "/".
        shape: the wrappers that were before it, outermost first, a letter each.
        time: seconds since the epoch, from the innermost stamp of a wrapper.
        tagless: whether this source has shown no tag or prefix of llama.cpp before.
    """

    text: str
    offset: int
    clock: str | None = None
    prefixed: bool = False
    debug: bool = False
    stream: str | None = None
    shape: str = ""
    time: float | None = None
    tagless: bool = False

    @property
    def clock_s(self) -> float | None:
        """The server's own clock, seconds."""
        if self.clock is None:
            return None
        minutes, _, rest = self.clock.partition(".")
        if not rest:
            return int(minutes) / 1e6
        return int(minutes) * 60 + int(rest.replace(".", "")) / 1e6


class Unwrapper:
    """Takes the wrappers off lines, one after the other as they are nested; joins partial records.

    Attributes:
        partial: records that have begun and whose rest is still to come.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        """Start without partial records.

        Args:
            now: the present, seconds since the epoch; a stamp without a year is its nearest past.
        """
        self._now = now
        self.partial: dict[tuple[str, ...], str] = {}
        self._waited = 0

    def forget(self) -> None:
        """Drop partial records: their rest will not come."""
        self.partial.clear()

    def read(self, text: str, offset: int) -> Line | None:
        """The line behind the wrappers; None while only a part of it is known, or when it is no text."""
        if "\x1b" in text:
            text = _ESCAPES.sub("", text)
        if self.partial:
            self._waited += 1
            if self._waited > _PATIENCE:
                self.forget()
        elif found := _OWN.match(text):
            return Line(text[found.end() :], offset, found[1], True, found[2] == "D")
        line = Line(text, offset)
        names: list[str] = []
        depth = 0
        while depth < _DEEPEST and self._peel(line, names):
            depth += 1
        if depth == _DEEPEST or line.text is _UNREADABLE:
            return None
        if names:
            line.stream = "/".join(names)
        return line

    def _peel(self, line: Line, names: list[str]) -> bool:
        """Take one wrapper off; False when there is none left."""
        text = line.text
        first = text[:1]
        if first.isdigit():
            return self._peel_digits(line, text, names)
        if first == "{":
            return self._peel_json(line, text, names)
        if first == "[":
            if not (found := _PORT.match(text)):
                return False
            names.append(found[1])
            line.shape += "p"
        elif found := _VLLM.match(text) if first in "(I" else None:
            line.shape += "v"
            # Its clock knows neither year nor zone: any other stamp tells more.
            if line.time is None:
                line.time = self._undated(int(found[1]), int(found[2]), found[3], None)
        elif found := _JOURNAL.match(text) if first.isupper() else None:
            names.append(found[5])
            line.shape += "j"
            month = _MONTHS.index(found[1]) + 1 if found[1] in _MONTHS else 0
            line.time = self._undated(month, int(found[2]), found[3], found[4])
        elif found := _COMPOSE.match(text):
            names.append(found[1])
            line.shape += "c"
        elif text[1:2] == " " and first in "IWED":
            line.text, line.prefixed, line.debug = text[2:], True, first == "D"
            return False
        else:
            return False
        line.text = text[found.end() :]
        return True

    def _peel_digits(self, line: Line, text: str, names: list[str]) -> bool:
        if found := _OWN.match(text):
            line.text, line.clock, line.prefixed = text[found.end() :], found[1], True
            line.debug = found[2] == "D"
            return False
        if not (found := _STAMP.match(text)):
            return self._peel_named(line, text, names)
        line.time = stamp_seconds(found[1], found[2], found[3], found[4])
        line.shape += "s"
        rest = text[found.end() :]
        if found[5]:
            joined = self._join(("cri", *names, found[5]), rest, whole=found[6] == "F")
            if joined is None:
                line.text = _UNREADABLE
                return False
            rest = joined
        elif ident := _IDENT.match(rest):
            names.append(ident[1])
            rest = rest[ident.end() :]
        line.text = rest
        return True

    @staticmethod
    def _peel_named(line: Line, text: str, names: list[str]) -> bool:
        if found := _COMPOSE.match(text):
            names.append(found[1])
            line.shape += "c"
            line.text = text[found.end() :]
        return found is not None

    def _peel_json(self, line: Line, text: str, names: list[str]) -> bool:
        try:
            record = json.loads(text)
        except (ValueError, RecursionError):
            return False
        if not isinstance(record, dict):
            return False
        if isinstance(record.get("log"), str):
            inner = self._docker(line, record, names)
        elif "MESSAGE" in record:
            inner = self._journald(line, record, names)
        elif record.get("type") == "log" and isinstance(record.get("msg"), str):
            inner = _first_line(record["msg"])
            line.prefixed = True
            line.debug = record.get("level") == "debug"
            if isinstance(clock := record.get("time"), int) and 0 < clock < 10**15:
                line.clock = str(clock)
        else:
            return False
        if inner is None:
            line.text = _UNREADABLE
            return False
        line.shape += "J"
        line.text = _ESCAPES.sub("", inner) if "\x1b" in inner else inner
        return not line.prefixed

    def _docker(self, line: Line, record: dict[str, Any], names: list[str]) -> str | None:
        if isinstance(stamp := record.get("time"), str) and (found := _STAMP.match(stamp)):
            line.time = stamp_seconds(found[1], found[2], found[3], found[4])
        text: str = record["log"]
        return self._join(("docker", *names, str(record.get("stream"))), text, whole=text.endswith("\n"))

    def _journald(self, line: Line, record: dict[str, Any], names: list[str]) -> str | None:
        message = record["MESSAGE"]
        if isinstance(message, list):
            try:
                message = bytes(message).decode(errors="replace")
            except (TypeError, ValueError):
                return None
        if not isinstance(message, str):
            return None
        stamp = record.get("__REALTIME_TIMESTAMP")
        if isinstance(stamp, str) and stamp.isdecimal() and len(stamp) < 20:
            line.time = int(stamp) / 1e6
        name = next((record[key] for key in _JOURNAL_NAMES if isinstance(record.get(key), str)), None)
        if name:
            names.append(name)
        whole = record.get("_LINE_BREAK") != "line-max" and record.get("CONTAINER_PARTIAL_MESSAGE") != "true"
        return self._join(("journal", *names), message, whole=whole)

    def _join(self, key: tuple[str, ...], text: str, *, whole: bool) -> str | None:
        """A record's text with the parts before it; None while it goes on. Only its beginning is kept."""
        if self.partial:
            text = self.partial.pop(key, "") + text
        if whole:
            return _first_line(text)
        if not self.partial:
            self._waited = 0
        self.partial[key] = text[:LONGEST]
        return None

    def _undated(self, month: int, day: int, clock: str, fraction: str | None) -> float | None:
        now = self._now()
        seconds = _nearest_past(month, day, clock, int(now // 3600))
        return seconds if seconds is None or not fraction else seconds + int(fraction) / 10 ** len(fraction)


_UNREADABLE = "\0"


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def stamp_seconds(date: str, clock: str, fraction: str | None, zone: str | None) -> float | None:
    """Seconds since the epoch of a dated stamp; local time where it has no zone, None where it is no time."""
    seconds = _dated(date, clock, zone)
    return seconds if seconds is None or not fraction else seconds + int(fraction) / 10 ** len(fraction)


@functools.lru_cache(maxsize=256)
def _dated(date: str, clock: str, zone: str | None) -> float | None:
    try:
        return dt.datetime.fromisoformat(f"{date}T{clock}{zone or ''}").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


@functools.lru_cache(maxsize=256)
def _nearest_past(month: int, day: int, clock: str, hour: int) -> float | None:
    """The latest such local time that is not past `hour` (hours since the epoch) by more than a day."""
    if not 1 <= month <= 12:
        return None
    latest = hour * 3600.0 + 86400
    year = dt.datetime.fromtimestamp(latest).year
    for candidate in range(year, year - 9, -1):
        try:
            moment = dt.datetime.fromisoformat(f"{candidate:04}-{month:02}-{day:02}T{clock}").timestamp()
        except (ValueError, OverflowError, OSError):
            continue
        if moment <= latest:
            return moment
    return None

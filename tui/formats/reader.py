"""From blocks of whole lines to events: one reader a source, the dialect is recognised by itself."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING

from tui.formats.events import Event, Problem, ProblemKind, harmless
from tui.formats.halogen import HalogenStream
from tui.formats.llamacpp import LlamaStream
from tui.formats.prefixes import LONGEST, Line, Unwrapper

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_SLICE = 1 << 20
_LONGEST_LINE = 1 << 20

_START_MARKS = (b"loading model", b"build")
_KEYWORDS = (
    b"print_timing",
    b"eval time =",
    b"draft acceptance",
    b"statistics ",
    b"| processing task",
    b"stop processing",
    b"slots are idle",
    b"draft tokens",
    b"cancel task",
    b"send_error",
    b"new prompt, ",
    b"restored context checkpoint",
    *_START_MARKS,
    b"serve_api: ",
    b" tok in ",
    b"halogen-flash-server ",
    b" stdout P",
    b" stderr P",
)
"""What every line that matters holds; a line without any is never decoded."""
_START_KEYWORDS = (b"speculative ", b"n_max=", b"n_max = ", b"listening on", b"draft model", b"n_slots = ")
"""Looked for only while a server starts."""
_JSON_KEYWORDS = (b'"MESSAGE":[', b'"MESSAGE": [', b'"line-max"', b"CONTAINER_PARTIAL_MESSAGE")
_DOCKER_PARTIAL = re.compile(rb'(?:[^n]|[^\\]n|\\\\n)", ?"stream": ?"std')
_QUOTING = (b"D srv ", b"request:  {", b'"level":"debug"')
_TAGS = re.compile(rb"(?:slot|srv|que|res|spec|cmn) +[\w()]{1,12}: |\d\.\d\d\.\d{3}\.\d{3} [IWED] ")

Dialect = LlamaStream | HalogenStream


class LogReader:
    """Reads one source. Never raises on any input; yields the same events however the lines are chunked."""

    def __init__(self, source: str, now: Callable[[], float] = time.time) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            now: the present, seconds since the epoch; stamps without a year are the nearest past of it.
        """
        self._source = source
        self._unwrapper = Unwrapper(now)
        self._streams: dict[str | None, Dialect] = {}
        self._next = 0
        self._quoting = False
        self._tagless = True

    def feed(self, data: bytes, offset: int) -> list[Event]:
        """Read whole lines.

        Args:
            data: lines with their line ends; the very last line of a source may lack it.
            offset: where `data` starts in its source. A jump forgets what needs neighbours (cumulative
                counters, open blocks); 0 after more than 0 is a new file.
        """
        out: list[Event] = []
        if offset == 0 and self._next > 0:
            self._renew(out)
        elif offset != self._next:
            self._jump()
        self._next = offset + len(data)
        if offset == 0 and data[:2] in (b"\xff\xfe", b"\xfe\xff"):
            self._problem("encoding", "UTF-16", 0, out)
        start = 0
        while start < len(data):
            end = len(data)
            if end - start > _SLICE:
                end = data.rfind(b"\n", start, start + _SLICE) + 1 or data.find(b"\n", start) + 1 or len(data)
            self._read(data[start:end], offset + start, out)
            start = end
        return out

    def idle(self) -> list[Event]:
        """The source has been silent for a second: what waited for its next line is complete."""
        out: list[Event] = []
        for stream in self._streams.values():
            stream.idle(out)
        return out

    def close(self) -> list[Event]:
        """The source has ended."""
        out: list[Event] = []
        for stream in self._streams.values():
            stream.close(out)
        return out

    def _renew(self, out: list[Event]) -> None:
        out.extend(self.close())
        self._streams.clear()
        self._unwrapper.forget()
        self._quoting = False
        self._tagless = True

    def _jump(self) -> None:
        self._unwrapper.forget()
        for stream in self._streams.values():
            stream.forget()

    def _read(self, data: bytes, offset: int, out: list[Event]) -> None:
        quoting_from = -1 if self._quoting else _first(data, _QUOTING)
        tags_from = self._tags_from(data)
        for start, end, only_starting in self._lines(data):
            raw = data[start:end]
            if len(raw) > _LONGEST_LINE:
                if not only_starting:
                    self._problem("oversize", raw[:LONGEST].decode(errors="replace"), offset + start, out)
                continue
            text, sound = _decode(raw)
            line = self._unwrapper.read(text, offset + start)
            if line is None:
                continue
            stream = self._streams.get(line.stream)
            if only_starting and (stream is None or not stream.starting):
                continue
            if not sound:
                self._problem("encoding", text, offset + start, out)
            line.quoting = quoting_from < start
            line.tagless = tags_from > start
            stream = stream or self._recognise(line)
            if stream is not None:
                stream.read(line, out)
        self._quoting = self._quoting or quoting_from < len(data)
        self._tagless = tags_from >= len(data)

    def _tags_from(self, data: bytes) -> int:
        """Where the first tag or prefix of a llama.cpp server stands; the length where there is none."""
        found = _TAGS.search(data) if self._tagless else None
        return found.start() if found else len(data) if self._tagless else -1

    def _lines(self, data: bytes) -> Iterator[tuple[int, int, bool]]:
        """The lines that may matter, in order; every line while a partial record waits for its rest."""
        position = 0
        for start, (end, only_starting) in [
            *_hits(data, starting=self._starting(data)),
            (len(data), (-1, False)),
        ]:
            while self._unwrapper.waiting and position < start:
                stop = _line_end(data, position)
                yield position, stop, False
                position = stop + 1
            if position <= start < end:
                yield start, end, only_starting
                position = end + 1

    def _starting(self, data: bytes) -> bool:
        return any(stream.starting for stream in self._streams.values()) or any(
            keyword in data for keyword in _START_MARKS
        )

    def _recognise(self, line: Line) -> Dialect | None:
        """The dialect of a stream that speaks for the first time; it keeps it."""
        for dialect in (LlamaStream, HalogenStream):
            if dialect.recognises(line.text):
                stream = self._streams[line.stream] = dialect(self._source, line.stream)
                return stream
        return None

    def _problem(self, kind: ProblemKind, text: str, offset: int, out: list[Event]) -> None:
        out.append(Problem(source=self._source, problem=kind, text=harmless(text), offset=offset))


def _first(data: bytes, keywords: tuple[bytes, ...]) -> int:
    """Where the first of the keywords stands; the length where none does."""
    return min((at for keyword in keywords if (at := data.find(keyword)) >= 0), default=len(data))


def _line_end(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def _decode(raw: bytes) -> tuple[str, bool]:
    """The beginning of a line as text, and whether its bytes were sound."""
    sound = b"\0" not in raw
    if len(raw) > LONGEST and not raw.startswith(b"{"):
        raw = raw[:LONGEST]
    try:
        text = raw.decode()
    except UnicodeDecodeError as fault:
        # A character that the limit cut in two is no fault of the line.
        sound = sound and len(raw) == LONGEST and fault.start >= LONGEST - 3
        text = raw.decode(errors="replace")
    if not sound:
        text = text.replace("\0", "")
    return (text.replace("\r", "") if "\r" in text else text), sound


def _hits(data: bytes, *, starting: bool) -> list[tuple[int, tuple[int, bool]]]:
    """The lines that hold a keyword, in order: start, end, and whether it is one of a start only."""
    lines: dict[int, tuple[int, bool]] = {}
    if starting:
        for keyword in _START_KEYWORDS:
            _note_lines(data, keyword, lines, only_starting=True)
    if data.startswith(b"{") or b"\n{" in data:
        for keyword in _JSON_KEYWORDS:
            _note_lines(data, keyword, lines, in_json=True)
        for found in _DOCKER_PARTIAL.finditer(data):
            start = data.rfind(b"\n", 0, found.start()) + 1
            if data.startswith(b"{", start):
                lines[start] = _line_end(data, found.end()), False
    for keyword in _KEYWORDS:
        _note_lines(data, keyword, lines)
    return sorted(lines.items())


def _note_lines(
    data: bytes,
    keyword: bytes,
    lines: dict[int, tuple[int, bool]],
    *,
    only_starting: bool = False,
    in_json: bool = False,
) -> None:
    at = data.find(keyword)
    while at >= 0:
        start = data.rfind(b"\n", 0, at) + 1
        end = _line_end(data, at)
        if not in_json or data.startswith(b"{", start):
            lines[start] = end, only_starting
        at = data.find(keyword, end)

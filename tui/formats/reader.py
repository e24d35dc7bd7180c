"""From blocks of whole lines to events: one reader a source, the dialect is recognised by itself."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING

from tui.formats.events import Event, Problem, ProblemKind, harmless
from tui.formats.halogen import HalogenStream
from tui.formats.llamacpp import LlamaStream
from tui.formats.prefixes import LONGEST, Line, Unwrapper

if TYPE_CHECKING:
    from collections.abc import Callable

_SLICE = 1 << 20
_NO_LINE = (-1, False)
_NOT_ASCII = bytes(range(0x80, 0x100))
_LONGEST_LINE = 1 << 20
_MOST_STREAMS = 1024

_START_MARKS = (b"loading model '", b"build")
_KEYWORDS: tuple[bytes, ...] = (
    b"slot print_timing: id",
    b"eval time = ",
    b"draft acceptance",
    b"#calls",
    b"processing",
    b"all slots are idle",
    b" draft tokens",
    b"send_error: task id",
    b"request:  {",
    b"new prompt, n_ctx_slot",
    b"restored context checkpoint",
    *_START_MARKS,
    b"serve_api: ",
    b" tok in ",
    b"halogen-flash-server ",
)
"""What every line that matters holds; a line without any is never decoded."""
_START_KEYWORDS = (b"speculative ", b"n_max", b"listening on", b"draft model", b"n_slots = ")
"""Looked for only while a server starts."""
_CRI_KEYWORDS = (b" stdout P", b" stderr P")
_JSON_KEYWORDS = (b'"MESSAGE":[', b'"MESSAGE": [', b'"line-max"', b"CONTAINER_PARTIAL_MESSAGE")
_DOCKER_PARTIAL = re.compile(rb'(?:[^n]|[^\\]n|\\\\n)", ?"stream": ?"std')
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP]")
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
        self._shapes: set[str] = set()
        self._next = 0
        self._keywords = _KEYWORDS
        self._tags_from = math.inf

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
        if self._next == 0 and _CRI.match(data):
            self._keywords = _KEYWORDS + _CRI_KEYWORDS
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
        """The source was replaced: nothing of the old one holds."""
        out.extend(self.close())
        self._streams.clear()
        self._shapes.clear()
        self._unwrapper.forget()
        self._next = 0
        self._keywords = _KEYWORDS
        self._tags_from = math.inf

    def _jump(self) -> None:
        """Bytes were left out, before or after what was read."""
        self._unwrapper.forget()
        self._tags_from = -1 if self._tags_from < math.inf else math.inf
        for stream in self._streams.values():
            stream.forget()

    def _read(self, data: bytes, offset: int, out: list[Event]) -> None:
        """Read the lines that hold a keyword; all of them while a partial record waits for its rest."""
        if self._tags_from == math.inf and (found := _TAGS.search(data)):
            self._tags_from = offset + found.start()
        partial = self._unwrapper.partial
        position = 0
        for start, (end, only_starting) in [
            *_hits(data, self._keywords, starting=self._starting(data)),
            (len(data), _NO_LINE),
        ]:
            while partial and position < start:
                stop = _line_end(data, position)
                self._take(data[position:stop], offset + position, False, out)
                position = stop + 1
            if position <= start < end:
                self._take(data[start:end], offset + start, only_starting, out)
                position = end + 1

    def _take(self, raw: bytes, offset: int, only_starting: bool, out: list[Event]) -> None:
        """Read one line, unless it matters only in a start and its stream is not starting."""
        if len(raw) > _LONGEST_LINE:
            if not only_starting:
                self._problem("oversize", raw[:LONGEST].decode(errors="replace"), offset, out)
            return
        text, sound = _decode(raw)
        line = self._unwrapper.read(text, offset)
        if line is None:
            return
        stream = self._streams.get(line.stream)
        if only_starting and (stream is None or not stream.starting):
            return
        if not sound:
            self._problem("encoding", text, offset, out)
        line.tagless = self._tags_from > offset
        if stream is None or line.shape not in self._shapes:
            stream = self._admit(line, stream, out)
        if stream is not None and not stream.read(line, out):
            dialect = _recognised(line)
            if dialect is not None and not isinstance(stream, dialect):
                stream.refuse(line, out)

    def _admit(self, line: Line, stream: Dialect | None, out: list[Event]) -> Dialect | None:
        """The stream of a line that comes under a new name or in new wrappers; None where it is not taken.

        Where a server prints users' text, wrappers that were not there before may be part of it.
        """
        dialect = type(stream) if stream is not None else _recognised(line)
        if dialect is None:
            return None
        if line.shape not in self._shapes:
            streams = self._streams.values()
            if any(known.quoting for known in streams) and any(known.serving for known in streams):
                dialect(self._source, line.stream).refuse(line, out)
                return None
            self._shapes.add(line.shape)
        if stream is None:
            if len(self._streams) >= _MOST_STREAMS:
                self._streams.clear()
            stream = self._streams[line.stream] = dialect(self._source, line.stream)
        return stream

    def _starting(self, data: bytes) -> bool:
        return any(stream.starting for stream in self._streams.values()) or any(
            keyword in data for keyword in _START_MARKS
        )

    def _problem(self, kind: ProblemKind, text: str, offset: int, out: list[Event]) -> None:
        out.append(Problem(source=self._source, problem=kind, text=harmless(text), offset=offset))


def _recognised(line: Line) -> type[Dialect] | None:
    """The dialect that prints such a line."""
    return next((dialect for dialect in (LlamaStream, HalogenStream) if dialect.recognises(line.text)), None)


def _line_end(data: bytes, position: int) -> int:
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def _decode(raw: bytes) -> tuple[str, bool]:
    """The beginning of a line as text, and whether its bytes were sound."""
    if len(raw) > LONGEST and not raw.startswith(b"{"):
        # A character that the limit cuts in two is no fault of the line.
        raw = raw[:LONGEST].rstrip(_NOT_ASCII)
    try:
        text = raw.decode()
        sound = "\0" not in text
    except UnicodeDecodeError:
        text = raw.decode(errors="replace")
        sound = False
    if not sound:
        text = text.replace("\0", "")
    return (text.replace("\r", "") if "\r" in text else text), sound


def _hits(data: bytes, keywords: tuple[bytes, ...], *, starting: bool) -> list[tuple[int, tuple[int, bool]]]:
    """The lines that hold a keyword, in order: start, end, and whether it is one of a start only."""
    lines: dict[int, tuple[int, bool]] = {}
    if starting:
        for keyword in _START_KEYWORDS:
            _note_lines(data, keyword, lines, only_starting=True)
    if b"{" in data and (data.startswith(b"{") or b"\n{" in data):
        for keyword in _JSON_KEYWORDS:
            _note_lines(data, keyword, lines, in_json=True)
        for found in _DOCKER_PARTIAL.finditer(data):
            start = data.rfind(b"\n", 0, found.start()) + 1
            if data.startswith(b"{", start):
                lines[start] = _line_end(data, found.end()), False
    for keyword in keywords:
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

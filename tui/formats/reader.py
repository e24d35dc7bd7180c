"""From blocks of whole lines to events: one reader a source, the dialect is recognised by itself."""

from __future__ import annotations

import math
import re
import time
from typing import TYPE_CHECKING

from tui.formats.events import Event, Problem, ProblemKind, harmless
from tui.formats.halogen import HalogenStream
from tui.formats.keywords import (
    ALWAYS,
    CRI,
    EVERY_GROUP,
    GAPS,
    JSON,
    KIN,
    MORE,
    STARTING,
    line_end,
    lines_with_keywords,
)
from tui.formats.llamacpp import LlamaStream
from tui.formats.prefixes import LONGEST, Line, Unwrapper
from tui.formats.sglang import SglangStream
from tui.formats.vllm import VllmStream

if TYPE_CHECKING:
    from collections.abc import Callable

_SLICE = 1 << 18
_NOT_ASCII = bytes(range(0x80, 0x100))
_LONGEST_LINE = 1 << 20
_MOST_STREAMS = 1024

_DOCKER_PARTIAL = re.compile(rb'(?:[^n\n]|[^\\\n]n|\\\\n)", ?"stream": ?"std')
_CRI = re.compile(rb"\d{4}-\d\d-\d\dT\S+ (?:stdout|stderr) [FP]")
_DROPPED = re.compile("\N{EM DASH} \\d{1,15} bytes dropped \N{EM DASH}")
_TAGS = re.compile(rb"(?:slot|srv|que|res|spec|cmn) +[\w()]{1,12}: |\d\.\d\d\.\d{3}\.\d{3} [IWED] ")

Dialect = LlamaStream | HalogenStream | VllmStream | SglangStream
_DIALECTS: tuple[type[Dialect], ...] = (LlamaStream, HalogenStream, VllmStream, SglangStream)


class LogReader:
    """Reads one source. Never raises on any input; yields the same events however the lines are chunked."""

    def __init__(self, source: str, now: Callable[[], float] = time.time, build: str | None = None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            now: the present, seconds since the epoch; stamps without a year are the nearest past of it.
            build: what the server says it is; it holds until the log tells of a start.
        """
        self._source = source
        self._build = build
        self._unwrapper = Unwrapper(now)
        self._streams: dict[str | None, Dialect] = {}
        self._shapes: set[str] = set()
        self._lead: Dialect | None = None
        self._mixed = self._more = False
        self._next = 0
        self._parts = JSON
        self._tags_from = math.inf

    @property
    def knows_it(self) -> bool:
        """Whether it has seen a line of any server that it knows."""
        return bool(self._streams)

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
            self._parts = JSON | CRI
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
        self._lead, self._mixed, self._more = None, False, False
        self._next = 0
        self._parts = JSON
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
        for start, end, groups in [*self._lines(data), (len(data), -1, 0)]:
            while partial and position < start:
                stop = line_end(data, position)
                self._take(data[position:stop], offset + position, ALWAYS, out)
                position = stop + 1
            if position <= start < end:
                if partial or groups >= CRI:
                    groups |= ALWAYS
                # What nobody wants is not even unwrapped: a part of a record would wait for its rest.
                if groups & ALWAYS or groups & self._wanted(*self._streams.values()):
                    self._take(data[start:end], offset + start, groups, out)
                    position = end + 1

    def _take(self, raw: bytes, offset: int, groups: int, out: list[Event]) -> None:
        """Read one line, unless nothing of its groups can come now."""
        if len(raw) > _LONGEST_LINE:
            if groups & ALWAYS:
                self._problem("oversize", raw[:LONGEST].decode(errors="replace"), offset, out)
            return
        text, sound = _decode(raw)
        line = self._unwrapper.read(text, offset)
        if line is None:
            return
        stream = self._streams.get(line.stream)
        if groups != ALWAYS:
            groups &= ALWAYS | (self._wanted() if stream is None else self._wanted(stream))
            if not groups:
                return
        if not sound:
            self._problem("encoding", text, offset, out)
        if not groups & GAPS or not self._gap(line, stream, out):
            self._hand(line, stream, groups, out)

    def _hand(self, line: Line, stream: Dialect | None, groups: int, out: list[Event]) -> None:
        """Have a line read by its stream, or by a new one."""
        line.tagless = self._tags_from > line.offset
        if stream is None or line.shape not in self._shapes:
            stream = self._admit(line, stream, out)
            if stream is None:
                return
        if groups & KIN & stream.wants:
            self._more = True
        if not stream.read(line, out):
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
            if self._build is not None and isinstance(stream, LlamaStream):
                stream.told_build(self._build)
            if self._lead is None:
                self._lead, self._mixed = stream, line.stream is not None
        return stream

    def _gap(self, line: Line, stream: Dialect | None, out: list[Event]) -> bool:
        """Whether bytes were left out in this line; then it is no line, and its neighbours tell nothing."""
        if not _DROPPED.search(line.text) or (stream is not None and stream.quoting):
            return False
        if stream is not None:
            stream.forget()
        self._problem("cut", line.text, line.offset, out)
        return True

    def _lines(self, data: bytes) -> list[tuple[int, int, int]]:
        """The lines of a slice that can matter, as `lines_with_keywords` tells them."""
        wanted = self._wanted()
        groups = ALWAYS | STARTING | wanted | (MORE if wanted & KIN else 0)
        lines = lines_with_keywords(data, groups | self._parts)
        if b'"stream"' in data and (data.startswith(b"{") or b"\n{" in data):
            found = {line[0]: line for line in lines}
            for cut in _DOCKER_PARTIAL.finditer(data):
                start = data.rfind(b"\n", 0, cut.start()) + 1
                if data.startswith(b"{", start):
                    end = line_end(data, cut.end())
                    found[start] = (start, end, JSON | found.get(start, (0, 0, 0))[2])
            lines = sorted(found.values())
        return lines

    def _wanted(self, *streams: Dialect) -> int:
        """The groups of which a line of one of these streams is read, beside those that always are.

        Where names stand before the lines, anything may come under the next name. Otherwise there is one
        server, which has told by now what it is. What is wanted never grows but by a start.
        """
        groups = EVERY_GROUP if self._lead is None or self._mixed else self._lead.wants | GAPS
        groups = groups | MORE if self._more else groups & ~MORE
        starting = any(stream.starting for stream in streams)
        return groups | STARTING if starting else groups & ~STARTING

    def _problem(self, kind: ProblemKind, text: str, offset: int, out: list[Event]) -> None:
        out.append(Problem(source=self._source, problem=kind, text=harmless(text), offset=offset))


def _recognised(line: Line) -> type[Dialect] | None:
    """The dialect that prints such a line."""
    return next((dialect for dialect in _DIALECTS if dialect.recognises(line.text)), None)


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

"""From chunks of bytes to blocks of whole lines, in bounded memory; and whole files read in one go."""

from __future__ import annotations

import codecs
import gzip
import io
import os
import stat
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

from tui.feeds.protocol import Block, FeedError, Notice
from tui.feeds.sources import otherwise
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import BinaryIO

LINE_LIMIT = 1 << 20
"""Bytes of the longest line that is kept, its line end included; also the size of the largest block."""
CHUNK = 1 << 18
"""Bytes read at once."""

UTF16_MARKS = {codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE}
_GZIP = b"\x1f\x8b"


class LineSplitter:
    r"""Cuts a stream of bytes at line ends.

    The same blocks' contents, offsets and notices come out however the bytes are chunked. A line longer than
    the limit is left out whole, since a piece of it must not pass for a line. A stream that starts with an
    UTF-16 byte order mark (PowerShell's `>`) is turned into UTF-8, and its offsets count that; all else,
    NUL bytes, `\r\n` and invalid UTF-8 included, passes untouched.
    """

    def __init__(self, source: str, offset: int = 0, limit: int = LINE_LIMIT) -> None:
        """Start at a line's start.

        Args:
            source: name that blocks and notices carry.
            offset: where the first byte stands in the source.
            limit: longest line, longest block, bytes.
        """
        self._source = source
        self._limit = limit
        self._offset = offset  # of the first pending byte
        self._pending = bytearray()
        self._skipping = False
        self._mark: bytes | None = b"" if offset == 0 else None
        self._decoder: codecs.IncrementalDecoder | None = None

    @property
    def pending(self) -> int:
        """Bytes held back until their line ends; at most the limit."""
        return len(self._pending)

    def feed(self, data: bytes) -> list[Block | Notice]:
        """Take the next bytes; give the lines that are whole now."""
        if self._mark is not None:
            data = self._look_for_mark(self._mark + data)
        if self._decoder:
            data = self._decoder.decode(data).encode("utf-8", "replace")
        items: list[Block | Notice] = []
        for start in range(0, len(data), self._limit):
            self._take(data[start : start + self._limit], items)
        return items

    def jump(self, offset: int) -> None:
        """Go on at another offset, a line's start; an unfinished line is dropped."""
        self._offset = offset
        self._pending.clear()
        self._skipping = False
        self._mark = None

    def close(self) -> list[Block | Notice]:
        """The source has ended: give the last line, which lacks its line end."""
        items: list[Block | Notice] = []
        if self._mark:
            self._take(self._mark, items)
        elif self._decoder:
            self._take(self._decoder.decode(b"", final=True).encode(), items)
        if self._pending:
            items.append(self._block(bytes(self._pending)))
            self._pending.clear()
        return items

    def _look_for_mark(self, data: bytes) -> bytes:
        if len(data) < 2 and any(mark.startswith(data) for mark in UTF16_MARKS):
            self._mark = data
            return b""
        self._mark = None
        if data[:2] in UTF16_MARKS:
            self._decoder = codecs.getincrementaldecoder("utf-16")(errors="replace")
        return data

    def _take(self, piece: bytes, items: list[Block | Notice]) -> None:
        """Take a piece no longer than the limit, so that only its first line can exceed it."""
        if self._skipping:
            end = piece.find(b"\n") + 1
            self._offset += end or len(piece)
            if not end:
                return
            self._skipping = False
            piece = piece[end:]
        first = piece.find(b"\n") + 1
        if len(self._pending) + (first or len(piece)) > self._limit:
            items.append(self._oversize(piece))
            self._offset += len(self._pending)
            self._pending.clear()
            self._skipping = True
            self._take(piece, items)
            return
        last = piece.rfind(b"\n") + 1
        if last:
            if len(self._pending) + last > self._limit:
                items.append(self._block(bytes(self._pending) + piece[:first]))
                items.append(self._block(piece[first:last]))
            else:
                items.append(self._block(bytes(self._pending) + piece[:last]))
            self._pending.clear()
        self._pending += piece[last:]

    def _block(self, data: bytes) -> Block:
        block = Block(self._source, data, self._offset)
        self._offset += len(data)
        return block

    def _oversize(self, piece: bytes) -> Notice:
        start = (bytes(self._pending[:80]) + piece[:80])[: min(80, self._limit)]
        text = f"a line longer than {self._limit} bytes was left out; it begins: "
        return Notice(
            self._source, "oversize", text + harmless(start.decode("utf-8", "replace")), self._offset
        )


def read_stream(
    source: str, stream: BinaryIO | io.RawIOBase, ranges: Iterable[tuple[int, int]] | None = None
) -> Iterator[Block | Notice]:
    """Read a stream to its end; gzip is recognised by its first bytes and unpacked.

    Args:
        source: name that blocks and notices carry.
        stream: bytes; closed by the caller. Of a pipe, lines are given as soon as they have come.
        ranges: (start, end) in bytes, each starting at a line's start; None for everything. Needs a stream
            that can seek.

    Yields:
        Blocks of whole lines and notices. A gzip file without its end gives its whole lines and then a
        `failed` notice; the last line of other streams may lack its line end.
    """
    head = io.BufferedReader(stream)  # type: ignore[type-var]  # any readable stream will do
    try:
        if head.peek(2)[:2] == _GZIP:
            yield from _read_plain(source, gzip.GzipFile(fileobj=head, mode="rb"), ranges)
        else:
            yield from _read_plain(source, head, ranges)
    except (EOFError, zlib.error, gzip.BadGzipFile):
        yield Notice(source, "failed", "the gzip file is cut or damaged; it was read as far as possible")
    finally:
        head.detach()


def _read_plain(
    source: str, stream: io.BufferedIOBase, ranges: Iterable[tuple[int, int]] | None
) -> Iterator[Block | Notice]:
    splitter = LineSplitter(source)
    for start, end in [(0, None)] if ranges is None else ranges:
        if start:
            stream.seek(start)
            splitter.jump(start)
        left = CHUNK if end is None else end - start
        while data := stream.read1(min(CHUNK, left)):
            yield from splitter.feed(data)
            left -= 0 if end is None else len(data)
        if end is not None and stream.read1(1):
            splitter.jump(end)  # the range's last line goes on behind it: not whole
    yield from splitter.close()


def read_file(
    source: str, path: str | os.PathLike[str], ranges: Iterable[tuple[int, int]] | None = None
) -> Iterator[Block | Notice]:
    """Read a whole file, plain or gzip, or a pipe that has a path.

    Args:
        source: name that blocks and notices carry.
        path: the file.
        ranges: see `read_stream`.

    Yields:
        Blocks of whole lines and notices.

    Raises:
        FeedError: the file is missing, a directory, or cannot be read.
    """
    try:
        with Path(path).open("rb", buffering=0) as stream:
            if ranges is None and (start := first_data(stream.fileno())):
                ranges = [(start, os.fstat(stream.fileno()).st_size)]
            yield from read_stream(source, stream, ranges)
    except OSError as error:
        raise FeedError(why_unreadable(path, error)) from error


def first_data(fd: int) -> int:
    """Where a file's content starts, past a hole at its start, bytes.

    A server that does not append leaves such a hole when its log is truncated in place: it goes on writing at
    its old offset, and everything before reads as NUL bytes.
    """
    try:
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            return 0
        start = os.lseek(fd, 0, os.SEEK_DATA)
        os.lseek(fd, 0, os.SEEK_SET)
    except OSError:  # empty, or a file system that cannot tell
        return 0
    return start


def why_unreadable(path: str | os.PathLike[str], error: OSError) -> str:
    """Why a file cannot be read, and what to do about it; safe to print."""
    name = harmless(os.fspath(path), 300)
    match error:
        case FileNotFoundError():
            return f"{name}: there is no such file; check the name and the directory{otherwise(name)}"
        case IsADirectoryError():
            return f"{name} is a directory; name the logs in it, as in '{name.rstrip('/')}/*.log'"
        case PermissionError():
            return f"{name} may not be read by this user; run as one who may, or change its permissions"
        case _:
            return f"{name} cannot be read: {error.strerror or error}"

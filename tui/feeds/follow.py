"""One file followed by name, through rotation, truncation and deletion; every step is a look at the disk."""

from __future__ import annotations

import os
import stat
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.feeds.lines import CHUNK, LINE_LIMIT, UTF16_MARKS, LineSplitter, first_data, why_unreadable
from tui.feeds.protocol import Block, Notice
from tui.feeds.sources import otherwise
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

Identity = tuple[int, int]
"""Device and inode."""

PACKED = (".gz", ".xz", ".zst", ".bz2")
"""Names of compressed logs, which have ended and are not followed."""

_TAIL = 1024
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Position:
    """How far a file was read, and the last bytes before that point."""

    identity: Identity
    offset: int
    tail: bytes

    def fits(self, fd: int, identity: Identity) -> bool:
        """Whether this file is the one read, or a copy of it, and has what was read of it."""
        if not self.tail or (identity != self.identity and len(self.tail) < _TAIL):
            return False
        return os.pread(fd, len(self.tail), self.offset - len(self.tail)) == self.tail


class Follower:
    """Follows one path. `step` never waits and reads at most one chunk.

    A file in place of another is known by its device and inode, a file truncated in place by the bytes before
    the offset, which are read again with every chunk: one that has grown past the old offset since is found
    too, unless it repeats the same bytes there.
    """

    def __init__(self, source: str, path: str, read_before: Sequence[Position] = ()) -> None:
        """Nothing is opened yet.

        Args:
            source: name that blocks and notices carry.
            path: what is followed.
            read_before: how far files were read under other names; if this is one of them, or a copy, it is
                read from there.
        """
        self.path = path
        self.behind = False
        """Whether the last step left something to read."""
        self._source = source
        self._read_before = read_before
        self._fd: int | None = None
        self._told: Notice | None = None
        self._left: list[Position] = []
        self._caught_up = False
        self._identity: Identity = (0, 0)
        self._offset = 0
        self._tail = b""
        self._splitter = LineSplitter(source)
        self._ranges: deque[tuple[int, int | None]] = deque([(0, None)])

    @property
    def position(self) -> Position | None:
        """How far the present file was read; None while there is none."""
        return None if self._fd is None else Position(self._identity, self._offset, self._tail)

    def take_left(self) -> list[Position]:
        """How far files were read that were left, or truncated, since the last call."""
        left, self._left = self._left, []
        return left

    def size(self) -> int:
        """Size of the open file, bytes."""
        return 0 if self._fd is None else os.fstat(self._fd).st_size

    def read_at(self, offset: int, length: int) -> bytes:
        """Bytes of the open file, fewer at its end; says nothing about what was read by steps."""
        return b"" if self._fd is None else os.pread(self._fd, length, offset)

    def plan(self, ranges: Sequence[tuple[int, int]], size: int) -> None:
        """Read only these ranges of the file just opened, and then what came after them.

        Args:
            ranges: (start, end) in bytes, ascending, each starting at a line's start.
            size: how long the file was when they were chosen; it may have grown since.
        """
        if self._fd is None or self.read_at(0, 2) in UTF16_MARKS:
            return
        resume = self._line_start(size)
        self._ranges = deque(ranges)
        if ranges and ranges[-1][1] >= resume:
            self._ranges[-1] = (ranges[-1][0], None)
        else:
            self._ranges.append((resume, None))
        self._jump(self._ranges[0][0])

    def step(self) -> list[Block | Notice]:
        """Look at the file once and read at most one chunk of it."""
        if self._fd is None:
            return self._open("opened")
        try:
            named = os.stat(self.path)  # noqa: PTH116  # several times a second
        except OSError:
            named = None
        items = self._read(self._fd)
        if self.behind:
            return items
        # All that was written before the look at the name has been read: the file can be left.
        nameless = _nameless(self._fd)
        if named is None:
            if nameless:
                items += self._leave()
                items.append(Notice(self._source, "gone", f"{self._name} was deleted; waiting for a new one"))
                self._told = self._waiting()
        elif (named.st_dev, named.st_ino) != self._identity and (named.st_size or nameless):
            # While the new file is empty the server may still write to the old one.
            items += self._leave(nameless=nameless)
            items += self._open("rotated")
        return items

    def close(self) -> None:
        """Let go of the file."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    @property
    def _name(self) -> str:
        return harmless(self._source, 300)

    def _open(self, kind: Literal["opened", "rotated"]) -> list[Block | Notice]:
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)  # a named pipe must not block here
        except FileNotFoundError:
            return self._tell(self._waiting())
        except OSError as error:
            return self._tell(Notice(self._source, "failed", why_unreadable(self._source, error)))
        found = os.fstat(fd)
        if fault := self._not_followed(found.st_mode):
            os.close(fd)
            return self._tell(Notice(self._source, "failed", fault))
        self._fd = fd
        self._identity = (found.st_dev, found.st_ino)
        self._told = None
        start = max((p.offset for p in self._read_before if p.fits(fd, self._identity)), default=0)
        self._read_before = ()
        self._restart(start)
        self.behind = True
        if kind == "rotated":
            return [Notice(self._source, kind, f"{self._name} was replaced; the new file is read", start)]
        self._caught_up = False
        return [Notice(self._source, kind, "", start)]

    def _read(self, fd: int) -> list[Block | Notice]:
        if not self._offset and self._ranges[0] == (0, None) and (start := first_data(fd)):
            self._jump(start)
        end = self._ranges[0][1]
        want = CHUNK if end is None else max(0, min(CHUNK, end - self._offset))
        before = min(_TAIL, self._offset)
        try:
            got = os.pread(fd, before + want, self._offset - before)
        except OSError as error:
            self.behind = False
            return self._tell(Notice(self._source, "failed", why_unreadable(self._source, error)))
        if len(got) < before or got[:before] != self._tail:
            return self._truncated()
        items = self._splitter.feed(got[before:])
        self._offset += len(got) - before
        self._tail = got[-_TAIL:]
        self.behind = len(got) == before + want
        if end is not None and (self._offset >= end or not self.behind):
            self._ranges.popleft()
            self._jump(self._ranges[0][0])
            self.behind = True
        if not self.behind and not self._caught_up:
            self._caught_up = True
            items.append(Notice(self._source, "caught_up", "", self._offset))
        return items

    def _truncated(self) -> list[Block | Notice]:
        text = f"{self._name} was truncated in place; what was written last before that may be lost"
        if self._splitter.pending:
            text += ", the beginning of an unfinished line is"
        self._left.append(Position(self._identity, self._offset, self._tail))
        notice = Notice(self._source, "truncated", text, self._offset)
        self._restart(0)
        self.behind = True
        return [notice]

    def _leave(self, *, nameless: bool = True) -> list[Block | Notice]:
        """Close a file read to its end; its last line may lack its line end."""
        if not nameless:
            self._left.append(Position(self._identity, self._offset, self._tail))
        self.close()
        return self._splitter.close()

    def _restart(self, offset: int) -> None:
        self._splitter = LineSplitter(self._source, offset)
        self._ranges = deque([(offset, None)])
        self._jump(offset)

    def _jump(self, offset: int) -> None:
        self._offset = offset
        if offset:
            self._splitter.jump(offset)
        before = min(_TAIL, offset)
        self._tail = self.read_at(offset - before, before)

    def _line_start(self, at: int) -> int:
        """Where the line starts that is unfinished at an offset; not further back than a line may be long.

        From there a longer line exceeds the limit, and so is left out by the splitter.
        """
        floor = max(0, at - LINE_LIMIT)
        while at > floor:
            begin = max(floor, at - _PIECE)
            cut = self.read_at(begin, at - begin).rfind(b"\n")
            if cut >= 0:
                return begin + cut + 1
            at = begin
        return at

    def _tell(self, notice: Notice) -> list[Block | Notice]:
        """A lasting state is told once."""
        if notice == self._told:
            return []
        self._told = notice
        return [notice]

    def _waiting(self) -> Notice:
        there = os.path.isdir(os.path.dirname(self.path) or ".")  # noqa: PTH112, PTH120
        what = "there is no such file yet" if there else "its directory does not exist yet"
        return Notice(self._source, "waiting", f"waiting for {self._name}: {what}{otherwise(self._source)}")

    def _not_followed(self, mode: int) -> str | None:
        if stat.S_ISDIR(mode):
            return why_unreadable(self._source, IsADirectoryError())
        if not stat.S_ISREG(mode):
            return f"{self._name} is not a regular file; pipe it instead: `spectop - < FILE`"
        if self.path.endswith(PACKED):
            return f"{self._name} is compressed and cannot be followed; `spectop replay` reads it"
        return None


def _nameless(fd: int) -> bool:
    """Whether an open file was deleted."""
    try:
        return os.fstat(fd).st_nlink == 0
    except OSError:  # a stale handle of a network file system
        return True

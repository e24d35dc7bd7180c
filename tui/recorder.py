"""Recording files: written while watching, read back to replay."""

from __future__ import annotations

import gzip
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, cast

from tui import __version__
from tui.feeds.lines import read_file
from tui.feeds.protocol import Block, FeedError
from tui.formats.events import Event, harmless
from tui.formats.recording import Entry, Gap, check_header, decode, encode, header, is_header

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator
    from types import TracebackType


class Recorder:
    """Writes what comes to a new file, each entry out of our hands before the next.

    A process that is killed loses at most the line being written, of a compressed file too. A file that
    cannot be written any more ends the recording, not the watch.

    Attributes:
        notice: why the recording has ended before its time, for people; empty while it goes on.
    """

    def __init__(self, path: str | os.PathLike[str], clock: Callable[[], float] = time.time) -> None:
        """Create the file; a name that ends in .gz makes it a gzip file.

        Args:
            path: where nothing may be yet: a recording is never overwritten.
            clock: the present, seconds since the epoch.

        Raises:
            FeedError: the file exists or cannot be written.
        """
        self.notice = ""
        self._path = Path(path)
        self._name = harmless(str(self._path), 300)
        self._clock = clock
        self._written = 0
        try:
            if self._path.suffix == ".gz":
                self._file = cast("BinaryIO", gzip.open(self._path, "xb"))  # noqa: SIM115  # closed by close
            else:
                self._file = self._path.open("xb")
            self._put(header(__version__))
        except FileExistsError:
            raise FeedError(
                f"{self._name} exists already and is not overwritten: name another file"
            ) from None
        except OSError as error:
            raise FeedError(f"cannot record to {self._name}: {error.strerror or error}") from None

    def __enter__(self) -> Recorder:
        """The recorder itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close the file."""
        self.close()

    def write(self, events: Iterable[Event]) -> None:
        """Keep events that have just come."""
        for event in events:
            self._keep(event)

    def gap(self, source: str) -> None:
        """Keep that bytes of a source were left out."""
        self._keep(Gap(source))

    def close(self) -> None:
        """End the file."""
        try:
            self._file.close()
        except OSError as error:
            self._end(error)

    def _keep(self, what: Event | Gap) -> None:
        if self.notice:
            return
        try:
            self._put(encode(Entry(self._clock(), what)))
            self._written += 1
        except OSError as error:
            self._end(error)
            with suppress(OSError):
                self._file.close()

    def _put(self, line: bytes) -> None:
        self._file.write(line)
        self._file.flush()

    def _end(self, error: OSError) -> None:
        why = error.strerror or error
        self.notice = (
            f"recording stopped: {why}; {self._name} holds the {self._written:,} entries before that"
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """What a recording holds; `notes` say for people what could not be read."""

    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()


def is_recording(path: str | os.PathLike[str]) -> bool:
    """Whether a file is a recording, by its first line.

    Raises:
        FeedError: it cannot be read.
    """
    return is_header(next(_lines(path), b"") or b"")


def read_recording(path: str | os.PathLike[str]) -> Recording:
    """Read a recording as far as it goes: one cut by a crash, to its last whole line.

    Raises:
        FeedError: it cannot be read, or is no recording that this version knows.
    """
    lines = _lines(path)
    try:
        check_header(next(lines, b"") or b"")
    except ValueError as error:
        raise FeedError(f"{harmless(str(path), 300)}: {error}") from None
    entries: list[Entry] = []
    unread, cut = 0, False
    for line in lines:
        cut = line is None or not line.endswith(b"\n")
        try:
            entries.append(decode(line or b""))
        except ValueError:
            unread += not cut
        else:
            cut = False
    notes = []
    if cut:
        notes.append(f"the recording is cut: read to its last whole line, {len(entries):,} entries")
    if unread:
        notes.append(f"{unread:,} lines of the recording could not be read and are left out")
    return Recording(tuple(entries), tuple(notes))


def _lines(path: str | os.PathLike[str]) -> Iterator[bytes | None]:
    """The lines of a file, an empty one for a line too long; None at last where a gzip file has no end."""
    for item in read_file(str(path), path):
        if isinstance(item, Block):
            yield from item.data.splitlines(keepends=True)
        elif item.kind == "oversize":
            yield b"\n"
        elif item.kind == "failed":
            yield None

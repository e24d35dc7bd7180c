"""Where to start in a log too long to read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Read = Callable[[int, int], bytes]

_CHUNK = _MEBIBYTE = 1 << 20
_FURTHER = 64 << 20
_BEFORE_MODEL = 16 << 10
_OVERLAP = 64

_RELEASE = b"stop processing"
_PROMPT = b"prompt eval time"
_HALOGEN = b" tok in "
_STARTS = (
    b"loading model '",
    b"halogen-flash-server ",
    b"serve_api: version ",
    b" LLM engine (v",
    b"server_args=ServerArgs(",
)
_FIRST_WORDS = (b"build: ", b"build_info: ", b"print_info: build ")
_READY = (b"listening on", b"serve_api: version ")


def ranges(read: Read, size: int, *, requests: int = 200, limit: int = 64 << 20) -> list[tuple[int, int]]:
    """The byte ranges to read of a log, in order, each from a line's start; they do not overlap.

    The newest requests, and before them the newest start of a server. The work does not grow with the file.

    Args:
        read: gives the bytes at an offset, a number of them; fewer only at the end.
        size: bytes in the file.
        requests: finished requests wanted.
        limit: most bytes of them.

    Returns:
        (start, end) pairs; one for a small file, none for an empty one.
    """
    if size <= _MEBIBYTE:
        return [(0, size)] if size else []
    start = _window(read, size, requests, max(0, size - limit))
    if start == 0:
        return [(0, size)]
    first, last = _start_up(read, start)
    return [(first, size)] if last >= start else [(first, last), (start, size)]


def has_start(read: Read, begin: int, size: int) -> bool:
    """Whether a server starts in a stretch of a log, from an offset to its end."""
    return any(
        data.find(mark, 0, length + len(mark) - 1) >= 0
        for _, length, data in _backwards(read, size, begin)
        for mark in (*_STARTS, *_FIRST_WORDS)
    )


def _window(read: Read, size: int, requests: int, floor: int) -> int:
    """Where the newest requests begin."""
    released: list[int] = []
    printed: list[int] = []
    halogen: list[int] = []
    for base, length, data in _backwards(read, size, floor):
        for mark, places in ((_RELEASE, released), (_PROMPT, printed), (_HALOGEN, halogen)):
            end = length + len(mark) - 1
            while len(places) <= requests and (end := data.rfind(mark, 0, end)) >= 0:
                places.append(base + end)
        for places in (released, halogen):
            if len(places) > requests:
                return _next_line(read, places[requests], size)
        if not released and len(printed) > requests:
            return _line_start(read, printed[requests - 1]) if requests else size
    return _next_line(read, floor - 1, size) if floor else 0


def _start_up(read: Read, before: int) -> tuple[int, int]:
    """The newest start of a server before an offset; the file's beginning where none is near."""
    for base, length, data in _backwards(read, before, max(0, before - _FURTHER)):
        at = max(data.rfind(mark, 0, length + len(mark) - 1) for mark in _STARTS)
        if at >= 0:
            return _first_line(read, base + at), _ready(read, base + at, before)
    return 0, min(before, _next_line(read, _MEBIBYTE, before))


def _first_line(read: Read, mark: int) -> int:
    """Where the first line of a start stands: llama.cpp names its build before the model."""
    start = max(0, mark - _BEFORE_MODEL)
    data = read(start, mark - start)
    at = max(data.rfind(words) for words in _FIRST_WORDS)
    return _line_start(read, mark if at < 0 else start + at)


def _ready(read: Read, mark: int, before: int) -> int:
    """Where the line ends that says the server is ready; a mebibyte on where none does."""
    data = read(mark, min(_MEBIBYTE, before - mark))
    at = min((found for words in _READY if (found := data.find(words)) >= 0), default=len(data))
    return _next_line(read, mark + at, before)


def _backwards(read: Read, end: int, floor: int) -> Iterator[tuple[int, int, bytes]]:
    """Chunks from the end down: offset, length, and the bytes with a little of what follows them."""
    while end > floor:
        base = max(floor, end - _CHUNK)
        yield base, end - base, read(base, end - base + _OVERLAP)
        end = base


def _line_start(read: Read, at: int) -> int:
    """Where the line that holds an offset begins; where the search ends in a line without an end."""
    floor = max(0, at - _FURTHER)
    for base, length, data in _backwards(read, at, floor):
        found = data.rfind(b"\n", 0, length)
        if found >= 0:
            return base + found + 1
    return floor


def _next_line(read: Read, at: int, end: int) -> int:
    """Where the line after an offset begins; `end` where none begins within reach."""
    for base in range(at, min(end, at + _FURTHER), _CHUNK):
        found = read(base, min(_CHUNK, end - base)).find(b"\n")
        if found >= 0:
            return base + found + 1
    return end

"""Recordings: the events of a watch as JSON Lines, each with the moment it came.

The first line names the format and the program's version. Every other line is an event as `spectop events`
prints it, plus `at` (seconds since the epoch), or a gap: bytes of a source that were left out. Lines that a
request was read from (`Request.raw`) are not recorded.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import functools
import json
import math
import types
import typing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from tui.formats.events import Event, Interval, Problem, Progress, Request, ServerStart, Statistics

if TYPE_CHECKING:
    from collections.abc import Callable

T = TypeVar("T")

FORMAT = 1
_MARK = "spectop_recording"
_EVENTS: dict[str, type[Event]] = {
    c.kind: c for c in (Request, Progress, Statistics, Interval, ServerStart, Problem)
}
_GAP = "gap"
_LARGEST = 2**63


@dataclass(frozen=True, slots=True)
class Gap:
    """Bytes of a source were left out here: what comes next is not what followed."""

    source: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that came while watching, `at` seconds since the epoch; None when that was not recorded."""

    at: float | None
    what: Event | Gap


def header(version: str) -> bytes:
    """The first line of a recording, written by this version of the program."""
    return _line({_MARK: FORMAT, "version": version})


def encode(entry: Entry) -> bytes:
    """One line of a recording."""
    if isinstance(entry.what, Gap):
        row: dict[str, Any] = {"event": _GAP, "source": entry.what.source}
    else:
        row = entry.what.to_json()
    return _line({**row, "at": entry.at})


def is_header(line: bytes) -> bool:
    """Whether a recording of some format starts with this line."""
    return line.startswith(f'{{"{_MARK}":'.encode())


def check_header(line: bytes) -> None:
    """See that a recording can be read by this program.

    Raises:
        ValueError: with words for people; it is none, or of a later format.
    """
    try:
        row = json.loads(line)
    except (ValueError, RecursionError):
        row = None
    made = row.get(_MARK) if isinstance(row, dict) else None
    if type(made) is not int:
        raise ValueError("not a recording made by spectop --record")
    if made != FORMAT:
        raise ValueError(f"a recording of format {made}, made by a later spectop: install that one")


def decode(line: bytes) -> Entry:
    """Read one line back; names that this version does not know are passed over.

    Raises:
        ValueError: it is no whole line of a recording.
    """
    try:
        row = json.loads(line, parse_constant=lambda _: None)
        return _entry(row)
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError("not a line of a recording") from error


def _line(row: dict[str, Any]) -> bytes:
    return json.dumps(row).encode("ascii") + b"\n"


def _entry(row: dict[str, Any]) -> Entry:
    at = _reader(float | None)(row["at"])
    kind = row["event"]
    if kind == _GAP:
        return Entry(at, Gap(_typed(str, row["source"])))
    event = _EVENTS[kind]
    if event is Problem:
        row["problem"] = row["kind"]
    if row.get("time") is not None:
        row["time"] = dt.datetime.fromisoformat(row["time"]).timestamp()
    return Entry(at, _build(event, row))


def _build(cls: Any, row: dict[str, Any]) -> Any:
    return cls(**{name: read(row[name]) for name, read in _fields(cls) if name in row})


@functools.cache
def _fields(cls: Any) -> tuple[tuple[str, Callable[[Any], Any]], ...]:
    """A dataclass's public fields, each with what reads its value."""
    hints = typing.get_type_hints(cls)
    public = [field.name for field in dataclasses.fields(cls) if not field.metadata.get("internal")]
    return tuple((name, _reader(hints[name])) for name in public)


@functools.cache
def _reader(hint: Any) -> Callable[[Any], Any]:
    """What turns a JSON value into what a field of this type holds; ValueError if it is of another type."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        known = _reader(inner[0])
        return lambda value: None if value is None else known(value)
    if origin is tuple and inner[-1] is Ellipsis:
        item = _reader(inner[0])
        return lambda value: tuple(map(item, _typed(list, value)))
    if origin is tuple:
        items = tuple(map(_reader, inner))
        return lambda value: tuple(read(v) for read, v in zip(items, _typed(list, value), strict=True))
    if origin is typing.Literal:
        return functools.partial(_one_of, inner)
    if dataclasses.is_dataclass(hint):
        return functools.partial(_build, hint)
    return {float: _number, int: _count}.get(hint, functools.partial(_typed, hint))


def _typed(kind: type[T], value: Any) -> T:
    if type(value) is not kind:
        raise ValueError(f"{value!r} is no {kind.__name__}")
    return value


def _one_of(allowed: tuple[str, ...], value: Any) -> Any:
    if value not in allowed:
        raise ValueError(f"{value!r} is none of {allowed}")
    return value


def _number(value: Any) -> float:
    number = float(value) if type(value) is int else _typed(float, value)
    if not math.isfinite(number):
        raise ValueError(f"{value!r} is not finite")
    return number


def _count(value: Any) -> int:
    if abs(_typed(int, value)) >= _LARGEST:
        raise ValueError("a number beyond any counter")
    return int(value)

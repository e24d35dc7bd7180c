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
from typing import Any

from tui.formats.events import Event, Interval, Problem, Progress, Request, ServerStart, Statistics

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
    at = _value(float | None, row["at"])
    kind = row["event"]
    if kind == _GAP:
        return Entry(at, Gap(_value(str, row["source"])))
    event = _EVENTS[kind]
    if event is Problem:
        row["problem"] = row["kind"]
    if row.get("time") is not None:
        row["time"] = dt.datetime.fromisoformat(row["time"]).timestamp()
    return Entry(at, _build(event, row))


def _build(cls: Any, row: dict[str, Any]) -> Any:
    hints = _hints(cls)
    return cls(**{name: _value(hint, row[name]) for name, hint in hints.items() if name in row})


@functools.cache
def _hints(cls: Any) -> dict[str, Any]:
    """The types of a dataclass's public fields."""
    hints = typing.get_type_hints(cls)
    return {f.name: hints[f.name] for f in dataclasses.fields(cls) if not f.metadata.get("internal")}


def _value(hint: Any, value: Any) -> Any:
    """A JSON value as a field's type has it.

    Raises:
        ValueError: it is of another type.
    """
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return None if value is None else _value(inner[0], value)
    if origin is tuple and isinstance(value, list):
        kinds = [inner[0]] * len(value) if inner[-1] is Ellipsis else inner
        return tuple(_value(kind, item) for kind, item in zip(kinds, value, strict=True))
    if dataclasses.is_dataclass(hint):
        return _build(hint, value)
    if hint is float and type(value) in (int, float):
        value = float(value)
    fits = value in inner if origin is typing.Literal else type(value) is hint
    finite = hint is not float or math.isfinite(value)
    if fits and finite and (hint is not int or abs(value) < _LARGEST):
        return value
    raise ValueError(f"{value!r} is no {hint}")

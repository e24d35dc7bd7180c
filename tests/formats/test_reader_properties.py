"""Whatever the bytes: nothing is raised, and the cut of the blocks changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.formats.reading import IDLE, LISTENING, LOADING, NOW, block, counters, launch, lines, release
from tests.formats.test_halogen import LINES as HALOGEN_LINES
from tests.formats.test_halogen import START as HALOGEN_START
from tests.formats.test_llamacpp_eras import E3, E5, E7, E9, E11
from tests.formats.test_llamacpp_flight import TRACE_START
from tests.formats.test_problems import QUOTE
from tests.formats.test_wrappers import WRAPPERS, wrapped
from tui.formats.reader import LogReader

if TYPE_CHECKING:
    from tui.formats.events import Event

FEW = settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.too_slow])

LLAMA = lines(
    TRACE_START.rstrip("\n"),
    launch(0, 1),
    launch(1, 2),
    block(0, 1, drafted=90, accepted=30, rounds=30),
    counters("draft-simple", 2, 40, 120, 50, 90.0),
    release(0, 1),
    "0.02.500.000 D srv  log_server_r: request:  {",
    QUOTE.rstrip("\n"),
    block(1, 2, drafted=60, accepted=20, rounds=20),
    release(1, 2),
    IDLE,
)
HALOGEN = HALOGEN_START + "".join(f"{text}\n" for text, _ in HALOGEN_LINES.values())
LOGS = [LLAMA, E3, E5, E7, E9, E11, HALOGEN, lines(LOADING, LISTENING) + E11 + QUOTE]
SHAPED = [
    wrapped(log, name)
    for log in LOGS
    for name in ("none", "colours", "router", "journald json", "compose", "crlf")
]
FRAGMENTS = [
    "slot print_timing: id  0 | task 1 | ",
    "draft acceptance = ",
    "prompt eval time = 1.00 ms / ",
    "       eval time =",
    "#calls(b,g,a) =",
    "serve_api: mtp ",
    " tok in ",
    '{"log":"',
    '","stream":"stderr"}',
    '{"MESSAGE":[1,2]',
    "2026-08-05T10:00:00Z stdout P ",
    "0.01.002.003 I ",
    "build: 9",
    "srv    load_model: loading model '",
    "stop processing",
    "9" * 5000,
    "nan",
    "\0",
    "\r",
    "\x1b[31m",
    "\n",
    "é",
    "{" * 60,
]


def whole(data: bytes) -> list[Event]:
    reader = LogReader("p.log", now=lambda: NOW)
    return [*reader.feed(data, 0), *reader.close()]


@FEW
@given(st.lists(st.one_of(st.sampled_from(FRAGMENTS).map(str.encode), st.binary(max_size=40)), max_size=40))
def test_arbitrary_bytes_never_raise(parts: list[bytes]) -> None:
    for event in whole(b"".join(parts)):
        json.dumps(event.to_json(), allow_nan=False)


@FEW
@given(st.sampled_from(SHAPED), st.data())
def test_mutated_logs_never_raise(log: str, data: st.DataObject) -> None:
    raw = bytearray(log.encode())
    for _ in range(data.draw(st.integers(1, 12))):
        at = data.draw(st.integers(0, len(raw) - 1))
        span = data.draw(st.integers(0, 30))
        raw[at : at + span] = data.draw(
            st.one_of(st.binary(max_size=12), st.sampled_from(FRAGMENTS).map(str.encode))
        )
        if not raw:
            break
    half = raw.find(b"\n", len(raw) // 2) + 1
    reader = LogReader("p.log", now=lambda: NOW)
    events = [*reader.feed(bytes(raw[:half]), 0), *reader.idle(), *reader.feed(bytes(raw[half:]), half + 7)]
    for event in [*events, *reader.idle(), *reader.close()]:
        json.dumps(event.to_json(), allow_nan=False)


@FEW
@given(st.lists(st.sampled_from(SHAPED), min_size=1, max_size=3), st.data())
def test_the_same_events_however_the_lines_are_cut_into_blocks(logs: list[str], data: st.DataObject) -> None:
    rows = "".join(logs).encode().splitlines(keepends=True)
    for _ in range(data.draw(st.integers(0, 4))):
        rows.insert(
            data.draw(st.integers(0, len(rows))), data.draw(st.sampled_from(FRAGMENTS)).encode() + b"\n"
        )
    raw = b"".join(rows)
    cuts = sorted(data.draw(st.sets(st.integers(0, len(rows)), max_size=8)))
    reader = LogReader("p.log", now=lambda: NOW)
    events: list[Event] = []
    offset = 0
    for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        piece = b"".join(rows[start:end])
        if piece:
            events += reader.feed(piece, offset)
        offset += len(piece)
    events += reader.close()
    assert events == whole(raw)


def test_every_wrapper_is_among_those_that_are_cut() -> None:
    """One line a block, for each wrapper."""
    for name in WRAPPERS:
        raw = wrapped(LLAMA, name).encode()
        reader = LogReader("p.log", now=lambda: NOW)
        events: list[Event] = []
        offset = 0
        for row in raw.splitlines(keepends=True):
            events += reader.feed(row, offset)
            offset += len(row)
        assert [*events, *reader.close()] == whole(raw)


def test_a_log_larger_than_a_slice_is_read_like_a_small_one() -> None:
    filler = "0.00.000.100 I load: some tensor of the model\n" * 40_000
    once = whole((TRACE_START + E11).encode())
    assert [e for e in whole((TRACE_START + filler + E11).encode()) if e.kind != "problem"] == once

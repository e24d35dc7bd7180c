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
from tests.formats.test_llamacpp_records import FORK, as_json, as_text, request
from tests.formats.test_llamacpp_tools import (
    KOBOLD_DEBUG,
    KOBOLD_NEW,
    MLX,
    OLLAMA,
    SECTIONS,
    SUMMARY,
    TIMINGS,
)
from tests.formats.test_mixed_streams import GAP, LOOK_ALIKES
from tests.formats.test_problems import QUOTE
from tests.formats.test_sglang import DECODE, PREFILL, STAMP
from tests.formats.test_sglang import START as SGLANG_START
from tests.formats.test_vllm import DRAFTING, HEAD, THROUGHPUT, THROUGHPUT_HEAD, totals
from tests.formats.test_vllm import START as VLLM_START
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
OLD = lines(*request(as_text, 0, 1), *request(as_json, 1, 2), *FORK)
TOOLS = lines(
    *TIMINGS, *SUMMARY, *SECTIONS, "[ Prompt: 196.3 t/s | Generation: 47.6 t/s ]", *SUMMARY, *TIMINGS
)
KOBOLD = lines(
    "Welcome to KoboldCpp - Version 1.99.2",
    *TIMINGS,
    KOBOLD_DEBUG,
    "(Draft Results - Success:101, Failure:37)",
    "Output: x",
    KOBOLD_NEW,
    "Processing Prompt",
    KOBOLD_NEW,
)
ENGINES = lines(
    VLLM_START,
    THROUGHPUT_HEAD + THROUGHPUT,
    HEAD + DRAFTING,
    HEAD + totals(60, 100, 64),
    HEAD + totals(90, 140, 104),
    DRAFTING,
)
SGLANG = lines(SGLANG_START, STAMP + PREFILL.format(running=0), STAMP + DECODE, STAMP + DECODE, DECODE)
LOGS = [
    LLAMA,
    E3,
    E5,
    E7,
    E9,
    E11,
    HALOGEN,
    lines(LOADING, LISTENING) + E11 + QUOTE,
    OLD,
    TOOLS,
    KOBOLD,
    lines(*OLLAMA, MLX.format(88, 240, 139, 240 / 88)),
    ENGINES,
    SGLANG,
]
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
    "SpecDecoding metrics: ",
    "Speculative metrics: Draft acceptance rate: 0.6, ",
    "Avg prompt throughput: 1.0 tokens/s, ",
    "INFO 06-01 10:00:20 [metrics.py:1] ",
    "[2026-03-01 08:00:00] ",
    "Decode batch, #running-req: ",
    "server_args=ServerArgs(",
    "Initializing a V1 LLM engine (v1) with config: ",
    '{"tid":"1","timestamp":1,"level":"INFO","function":"print_timings","msg":"generation eval time"',
    'INFO [           print_timings] generation eval time = | tid="1" timestamp=1 ',
    "print_timings: ",
    "common_perf_print: eval time = ",
    "decoded  161 tokens in    3.200 seconds, speed: ",
    "n_drafted = 240",
    "accept    = nan%",
    "draft:",
    "CtxLimit:1/2, ",
    "Output: ",
    "Welcome to KoboldCpp - Version ",
    'time=2026-08-01T10:00:03Z level=INFO msg="speculative decode stats" iterations=',
    GAP,
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


FOREIGN = [line for line in LOOK_ALIKES.splitlines() if line]


@FEW
@given(st.lists(st.tuples(st.integers(0, 200), st.sampled_from(FOREIGN)), max_size=30))
def test_no_line_of_another_program_counts_in_a_log_of_today(inserted: list[tuple[int, str]]) -> None:
    """Wherever a user's text stands among the server's own lines, once it has shown what it is."""
    rows = LLAMA.splitlines()
    served = 1 + next(n for n, row in enumerate(rows) if "launch_slot_" in row)
    for at, line in inserted:
        rows.insert(served + at % (len(rows) - served), line)
    events = whole(lines(*rows).encode())
    assert [e.to_json() for e in events if e.kind != "problem"] == EXPECTED
    assert {getattr(e, "problem", None) for e in events} <= {None, "unattached"}


EXPECTED = [e.to_json() for e in whole(LLAMA.encode()) if e.kind != "problem"]

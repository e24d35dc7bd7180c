"""Damaged lines are told, hostile text is not counted, and neither becomes a number."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import tracemalloc

import pytest

from tests.formats.reading import (
    IDLE,
    LISTENING,
    LOADING,
    Read,
    block,
    counters,
    launch,
    lines,
    read,
    release,
)
from tui.formats.events import Problem
from tui.formats.reader import LogReader

TAG = "0.02.000.000 I slot print_timing: id  0 | task 1 | "
DECODE = f"{TAG}       eval time =    2000.00 ms /   101 tokens (   20.00 ms per token,    50.00 tokens per second)"


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (f"{TAG}prompt eval time =     100.00 ms /    5", "cut"),
        (f"{TAG}       eval time =    2000.00 ms /   101 tokens (   20.00 ms per to", "cut"),
        (f"{TAG}      total time =    2100.00 m", "cut"),
        (f"{TAG}draft acceptance = 0.33333 (   30 accepted /    9", "cut"),
        (f"{TAG}draft acceptance = 0.33333 (   30 accepted /    90 generated), mean len =  2.0", "cut"),
        (f"{TAG}     acc per pos = (0.600, 0.30", "cut"),
        (f"{TAG}n_gen =   1204, tg =  61.9", "cut"),
        (".02.000.000 I slot print_timing: id  0 | task 1 | n_gen =   1204, tg =  61.90 t/s", "cut"),
        ("0.02.000.500 I spec common_specu: statistics     draft-simple: #calls(b,g,a) =    5    400", "cut"),
        (f"{TAG}prompt eval time =     100.00 ms /    50 pieces (    2.00 ms per piece)", "renamed"),
        (f"{TAG}draft acceptance percentage = 33 (30 of 90)", "renamed"),
        (f"{TAG}draft acceptance = 0.33333 (   30 accepted /    90 generated), mean size = 2.00", "renamed"),
        (f"{TAG}draft acceptance = 0.33333 (   30 accepted /    90 drafted)", "renamed"),
        (f"{TAG}n_decoded_tokens = 5", None),
        (
            f"{TAG}draft acceptance = 1.33333 (   40 accepted /    30 generated), mean len =  2.00",
            "impossible",
        ),
        (
            f"{TAG}draft acceptance = 0.90000 (   30 accepted /    90 generated), mean len =  2.00",
            "impossible",
        ),
        (
            f"{TAG}draft acceptance = 0.33333 (   30 accepted /    90 generated), mean len =  1.02",
            "impossible",
        ),
        (f"{TAG}     acc per pos = (0.300, 0.600)", "impossible"),
        (f"{TAG}     acc per pos = (1.200, 0.600)", "impossible"),
    ],
)
def test_a_damaged_line_is_told(line: str, problem: str | None) -> None:
    result = read(lines(DECODE, line))
    assert result.problems == ([problem] if problem else [])
    assert result.request.tokens == 101
    assert result.request.rounds is None


def test_impossible_counts_keep_what_was_printed_but_nothing_is_built_on_them() -> None:
    log = lines(
        DECODE, f"{TAG}draft acceptance = 1.33333 (   40 accepted /    30 generated), mean len =  2.00"
    )
    request = read(log).request
    assert (request.decode_ms, request.drafted, request.accepted) == (2000.0, 30, 40)
    assert (request.acceptance_ratio, request.rounds, request.mean_accepted_length) == (None, None, None)


@pytest.mark.parametrize(
    "figures",
    [
        "   0.00 ms /   101 tokens (   20.00 ms per token,    50.00 tokens per second)",
        "   1.00 ms /  5000 tokens (   57.35 ms per token,    17.44 tokens per second)",
        "2000.00 ms /   101 tokens (    0.20 ms per token,     5.00 tokens per second)",
    ],
)
def test_a_time_that_contradicts_its_own_rate_is_no_time(figures: str) -> None:
    result = read(lines(launch(0, 1), f"{TAG}       eval time = {figures}", release(0, 1)))
    assert result.problems == ["impossible"]
    assert result.request.decode_ms is None
    assert result.request.rate_tok_s is None


def test_a_problem_says_where_and_what_harmlessly() -> None:
    bad = f"{TAG}draft acceptance percentage = \x1b[31m[/x] 33\x07\u202e"
    log = lines(LOADING, LISTENING, bad)
    (problem,) = [event for event in read(log).events if isinstance(event, Problem)]
    assert problem.offset == log.index("0.02.000.000")
    assert problem.text.isprintable()
    assert problem.text.startswith("slot print_timing: id  0 | task 1 | draft acceptance percentage")
    assert problem.to_json()["kind"] == "renamed"


def test_bytes_that_are_no_text_are_told_and_read_around() -> None:
    clean = block(0, 1).encode()
    for bad in (
        clean.replace(b"prompt eval", b"\0\0prompt eval"),
        clean.replace(b"50 tokens", b"50 tokens", 1) + b"\xff\xfe",
    ):
        result = read(bad + b"\n")
        assert result.request.tokens == 101
        assert result.problems == ["encoding"]


def test_holes_of_zeros_before_a_line_are_read_around() -> None:
    result = read(b"\0" * 3000 + block(0, 1).encode() + b"\n")
    assert (result.request.prompt_ms, result.problems) == (100.0, ["encoding"])


def test_utf_16_is_told() -> None:
    assert read("slot print_timing: id  0".encode("utf-16")).problems == ["encoding"]


def test_a_long_debug_line_is_no_fault_and_is_not_read() -> None:
    quoted = "0.01.000.000 D srv  log_server_r: request:  {" + "ü" * 9000 + DECODE + "}"
    assert read(lines(LOADING, LISTENING, quoted)).problems == []


def test_a_line_without_an_end_is_oversize() -> None:
    assert read(DECODE.encode() + b"x" * (3 << 20)).problems == ["oversize"]


QUOTE = lines(
    "draft acceptance = 0.91000 (   91 accepted /   100 generated), mean len =  3.73",
    "draft acceptance rate = 0.91000 (   91 accepted /   100 generated)",
    "prompt eval time =     120.00 ms /    40 tokens (    3.00 ms per token,   333.33 tokens per second)",
    "       eval time =    2000.00 ms /   100 tokens (   20.20 ms per token,    49.50 tokens per second)",
    "      total time =    2120.00 ms /   140 tokens",
    "serve_api: mtp 80 tok in 2.00s = 40.00 t/s | 44 rounds, commit 1.80/round | prompt 12, prefill 0.20s",
    "statistics     draft-simple: #calls(b,g,a) =    1     40     40, #gen drafts =     40, #acc drafts =    30,"
    " #gen tokens =    100, #acc tokens =    91, dur(b,g,a) = 0.010, 90.000, 0.020 ms",
    "slot print_timing: id  0 | task 1 |        eval time =      10.00 ms /   999 tokens"
    " (    0.01 ms per token, 99900.00 tokens per second)",
    "slot      release: id  0 | task 1 | stop processing: n_tokens = 9, truncated = 0",
    "0.01.000.000 I slot print_timing: id  9 | task 999 | draft acceptance = 0.91000"
    " (   91 accepted /   100 generated), mean len =  3.73",
    "0.00.000.001 I slot print_timing: id  0 | task 1 | draft acceptance = 0.91000"
    " (   91 accepted /   100 generated), mean len =  3.73",
    "2026-01-01 00:00:00 | 9.00.000.000 I slot launch_slot_: id  0 | task 700 | processing task, is_child = 0",
    "2026-01-01 00:00:00 | 9.00.000.000 I slot print_timing: id  0 | task 700 | draft acceptance = 0.91000"
    " (   91 accepted /   100 generated), mean len =  3.73",
    "[ 8088] slot launch_slot_: id  0 | task 700 | processing task",
    "[ 8088] slot print_timing: id  0 | task 700 | draft acceptance = 0.91000 (   91 accepted /   100 generated)",
    "fake-1  | serve_api: mtp 80 tok in 2.00s = 40.00 t/s | 44 rounds, commit 1.80/round | prompt 12, prefill 0.20s",
)


def test_quoted_statistics_of_any_kind_are_not_counted() -> None:
    log = lines(
        LOADING,
        LISTENING,
        "0.50.000.000 I slot launch_slot_: id  0 | task 1 | processing task, is_child = 0",
        '0.50.100.000 D srv  log_server_r: request:  {"prompt":"Explain:',
        QUOTE.rstrip("\n"),
        'what is it?"}',
        "0.50.200.000 D srv  update_chat_: Parsing chat message: draft acceptance = 0.5 (5 accepted / 10 generated)",
        "0.52.000.000 I slot print_timing: id  0 | task 1 |        eval time =    2000.00 ms /   101 tokens"
        " (   20.00 ms per token,    50.00 tokens per second)",
        "0.52.000.100 I slot      release: id  0 | task 1 | stop processing: n_tokens = 88, truncated = 0",
    )
    result = read(log)
    request = result.request
    assert (request.task, request.tokens, request.drafted, request.finish) == (1, 101, None, "done")
    assert result.statistics == []
    assert set(result.problems) == {"unattached"}
    assert len(result.problems) == sum("total time" not in line for line in QUOTE.splitlines())


def test_look_alikes_inside_other_lines_are_passed_over_in_silence() -> None:
    inside = [f"0.01.500.000 I srv  params_from_: note: {line}" for line in QUOTE.splitlines()]
    result = read(lines(LOADING, LISTENING, launch(0, 1), *inside, release(0, 1), IDLE))
    assert [r.finish for r in result.requests] == ["cancelled"]
    assert result.problems == []


def test_quoted_text_in_json_lines_is_not_counted() -> None:
    log = (
        '{"type":"log","time":5,"level":"debug","msg":"srv  log_server_r: request:  {}\\n'
        'slot print_timing: id  0 | task 1 | draft acceptance = 0.5 (    5 accepted /    10 generated)\\n"}\n'
    )
    assert read(log).requests == []


def test_a_router_that_prints_debug_lines_may_start_further_children() -> None:
    child = lines(launch(0, 1), block(0, 1), release(0, 1)).splitlines()
    log = lines(
        "0.00.001.000 D srv  llama_server: starting",
        *(f"[41001] {line}" for line in child),
        *(f"[41002] {line}" for line in child),
    )
    assert [r.stream for r in read(log).requests] == ["41001", "41002"]


def test_bare_lines_after_any_tag_are_not_counted_even_in_a_later_block() -> None:
    head = lines(LOADING, LISTENING).encode()
    reader = LogReader("test.log")
    events = (
        reader.feed(head, 0) + reader.feed(QUOTE.splitlines()[2].encode() + b"\n", len(head)) + reader.close()
    )
    assert Read(events).problems == ["unattached"]


def test_the_dialect_of_a_stream_stays() -> None:
    halogen = (
        "serve_api: mtp 80 tok in 2.00s = 40.00 t/s | 44 rounds, commit 1.80/round | prompt 12, prefill 0.20s"
    )
    result = read(lines(halogen, *block(0, 1).splitlines(), halogen))
    assert [r.engine for r in result.requests] == ["halogen", "halogen"]
    assert set(result.problems) == {"unattached"}


def test_no_pasted_acceptance_replaces_the_printed_one() -> None:
    log = lines(
        "slot print_timing: id  0 | task 1 | ",
        "       eval time =    2000.00 ms /   100 tokens (   20.00 ms per token,    50.00 tokens per second)",
        "draft acceptance rate = 0.50000 (   40 accepted /    80 generated)",
        "draft acceptance rate = 0.91000 (   91 accepted /   100 generated)",
    )
    result = read(log)
    assert (result.request.accepted, result.problems) == (40, ["unattached"])


def test_memory_does_not_follow_invented_names_and_slots() -> None:
    reader = LogReader("test.log")
    offset = 0

    def peak_of(numbers: range) -> int:
        nonlocal offset
        tracemalloc.reset_peak()
        for some in range(numbers.start, numbers.stop, 50):
            text = "".join(
                f"name{n}  | {launch(n, n)}\n{launch(n, n)}\n{counters(f'x-{n}', 1, 1, 1, 1, 1.0)}\n"
                for n in range(some, some + 50)
            )
            reader.feed(text.encode(), offset)
            offset += len(text)
        return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    first = peak_of(range(1100))
    later = peak_of(range(1100, 3300))
    tracemalloc.stop()
    assert later < 1.5 * first

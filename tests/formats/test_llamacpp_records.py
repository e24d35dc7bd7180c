"""Servers that print structured records, and the fork that still does beside its tagged lines."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.formats.reading import lines, read


def as_text(function: str, message: str, **fields: Any) -> str:
    pairs = "".join(f" {name}={json.dumps(value)}" for name, value in fields.items())
    return f'INFO [{function:>24}] {message} | tid="140012" timestamp=1712345681{pairs}'


def as_json(function: str, message: str, **fields: Any) -> str:
    record = {"tid": "140012", "timestamp": 1712345681, "level": "INFO", "function": function, "line": 313}
    return json.dumps({**record, "msg": message, **fields}, separators=(",", ":"))


def as_sorted_json(function: str, message: str, **fields: Any) -> str:
    return json.dumps(json.loads(as_json(function, message, **fields)), sort_keys=True, separators=(",", ":"))


def as_older_json(function: str, message: str, **fields: Any) -> str:
    return as_json(function, message, **fields).replace('"msg":', '"message":')


def request(
    write: Any, slot: int, task: int, *, tokens: int = 101, ms: float = 2000.0, old: bool = False
) -> list[str]:
    """The records of one request, in the naming of before or since b2297 and b2357."""
    place = {"slot_id": slot, "task_id": task} if old else {"id_slot": slot, "id_task": task}
    size = "num_prompt_tokens_processed" if old else "n_prompt_tokens_processed"
    per, rate = ms / tokens, 1000 * tokens / ms
    return [
        write("launch_slot_with_task", "slot is processing task", **place),
        write(
            "print_timings",
            "prompt eval time     =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)",
            **place,
            t_prompt_processing=100.0,
            **{size: 50},
            t_token=2.0,
            n_tokens_second=500.0,
        ),
        write(
            "print_timings",
            f"generation eval time = {ms:10.2f} ms / {tokens:5} runs   ({per:8.2f} ms per token, {rate:8.2f} tokens per second)",
            **place,
            t_token_generation=ms,
            n_decoded=tokens,
            t_token=per,
            n_tokens_second=rate,
        ),
        write(
            "print_timings",
            f"          total time = {ms + 100:10.2f} ms",
            **place,
            t_prompt_processing=100.0,
            t_token_generation=ms,
            t_total=ms + 100,
        ),
        write("update_slots", "slot released", **place, n_ctx=4096, n_past=150, truncated=False),
        write("update_slots", "all slots are idle"),
    ]


WRITERS = {"text": as_text, "json": as_json, "sorted json": as_sorted_json, "older json": as_older_json}


@pytest.mark.parametrize("form", WRITERS)
@pytest.mark.parametrize("old", [False, True])
def test_three_records_are_one_request(form: str, old: bool) -> None:
    result = read(lines(*request(WRITERS[form], 1, 37, old=old)))
    done = result.request
    assert (done.slot, done.task, done.tokens, done.decode_ms) == (1, 37, 101, 2000.0)
    assert (done.prompt_evaluated_tokens, done.prompt_ms, done.rate_over) == (50, 100.0, "n")
    assert done.rate_tok_s == pytest.approx(50.5)
    assert (done.drafted, done.accepted, done.finish, done.doubt) == (None, None, "done", None)
    assert done.time == 1712345681.0
    assert result.problems == []


@pytest.mark.parametrize("form", WRITERS)
def test_its_start_tells_the_build(form: str) -> None:
    write = WRITERS[form]
    log = lines(
        write("main", "build info", build=3509, commit="ecf6b7f2"),
        write("main", "HTTP server listening", n_threads_http="7", port="8080", hostname="127.0.0.1"),
        *request(write, 0, 0),
    )
    result = read(log)
    (start,) = result.starts
    assert (start.build, start.listening, start.engine) == ("b3509", "http://127.0.0.1:8080", "llama.cpp")
    assert result.request.concurrency == 1


def test_overlap_and_cancelling_are_told_by_records_too() -> None:
    idle = as_text("update_slots", "all slots are idle")
    first, second = request(as_text, 0, 5), request(as_text, 1, 6)
    result = read(lines(idle, first[0], second[0], *first[1:5], second[4], idle, *request(as_text, 0, 9)))
    assert [(r.task, r.finish, r.concurrency) for r in result.requests] == [
        (5, "done", 2),
        (6, "cancelled", 2),
        (9, "done", 1),
    ]


def test_values_that_are_no_numbers_are_unknown() -> None:
    record = as_json("x", "y").replace('"y"', '"generation eval time = nan"')
    broken = record.replace('"x"', '"print_timings"').replace(
        "}",
        ',"id_slot":0,"id_task":4,"t_token_generation":null,"n_decoded":1,"t_token":null,"n_tokens_second":null}',
    )
    done = read(lines(broken)).request
    assert (done.tokens, done.decode_ms, done.rate_tok_s) == (1, None, None)


@pytest.mark.parametrize("write", [as_text, as_json])
def test_a_cut_record_is_told(write: Any) -> None:
    decode = request(write, 1, 37)[2]
    result = read(lines(*request(write, 0, 1), decode[: len(decode) - 70]))
    assert result.problems == ["cut"]
    assert len(result.requests) == 1


def test_a_record_that_lacks_its_numbers_is_told() -> None:
    bare = as_text("print_timings", "generation eval time =    2000.00 ms /   101 runs", id_slot=0, id_task=3)
    assert read(lines(bare)).problems == ["cut"]


NAMED = (
    "",
    "print_timings: prompt eval time =     512.00 ms /    64 tokens (    8.00 ms per token,   125.00 tokens per second)",
    "print_timings:        eval time =    4000.00 ms /   125 runs   (   32.00 ms per token,    31.25 tokens per second)",
    "print_timings:       total time =    4512.00 ms",
)


def test_timings_behind_the_functions_name_are_one_request_each() -> None:
    one = NAMED[2].replace("  125 runs", "    1 runs")
    result = read(lines(as_older_json("main", "build info", build=1500), *NAMED, *NAMED[:2], one, NAMED[3]))
    first, second = result.requests
    assert (first.tokens, first.decode_ms, first.prompt_ms, first.rate_over) == (125, 4000.0, 512.0, "n")
    assert (first.slot, first.task, first.concurrency) == (None, None, None)
    assert (second.tokens, second.rate_tok_s) == (1, None)
    assert [start.build for start in result.starts] == ["b1500"]
    assert result.problems == []


FORK = (
    as_text("launch_slot_with_task", "slot is processing task", id_slot=0, id_task=88),
    "slot print_timing: id  0 | task 88 | ",
    "prompt eval time =     500.00 ms /   250 tokens (    2.00 ms per token,   500.00 tokens per second)",
    "       eval time =    3800.00 ms /   190 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "      total time =    4300.00 ms /   440 tokens",
    "draft acceptance rate = 0.55000 (  110 accepted /   200 generated)",
    "statistics mtp: #calls(b,g,a) = 1 78 78, #gen drafts = 78, #acc drafts = 60, #gen tokens = 200, #acc tokens = 110,"
    " dur(b,g,a) = 0.003, 640.500, 0.050 ms",
    as_text("release_slots", "slot released", id_slot=0, id_task=88, n_ctx=4096, n_past=439, truncated=False),
    as_text("update_slots", "all slots are idle"),
)


def test_a_fork_mixes_both() -> None:
    again = [line.replace("88", "190").replace("= 1 78 78", "= 2 156 156") for line in FORK]
    again[6] = again[6].replace("drafts = 78", "drafts = 156").replace("tokens = 200", "tokens = 400")
    result = read(lines(as_text("main", "build info", build=4123), FORK[-1], *FORK, *again))
    first, second = result.requests
    assert (first.task, first.tokens, first.accepted, first.rounds, first.drafter) == (
        88,
        190,
        110,
        78,
        "mtp",
    )
    assert (first.concurrency, second.concurrency, second.rounds) == (1, 1, 78)
    assert result.problems == []


def test_its_own_build_numbers_cast_no_doubt() -> None:
    """The fork counts its builds for itself: 5100 of them is not llama.cpp's b5100."""
    start = as_text("main", "build info", build=5100)
    assert read(lines(start, *FORK)).request.doubt is None


def test_a_cancelled_request_of_the_fork() -> None:
    result = read(lines(FORK[-1], FORK[0], *FORK[-2:]))
    assert [(r.task, r.finish) for r in result.requests] == [(88, "cancelled")]


TODAY = (
    "slot launch_slot_: id  0 | task 7 | processing task, is_child = 0",
    "slot print_timing: id  0 | task 7 |        eval time =    2000.00 ms /   101 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "slot      release: id  0 | task 7 | stop processing: n_tokens = 150, truncated = 0",
)


@pytest.mark.parametrize("write", [as_text, as_json])
def test_records_quoted_in_a_log_of_today_are_no_requests(write: Any) -> None:
    quoted = request(write, 0, 9)
    unprefixed = read(lines(*TODAY, *quoted))
    assert [r.task for r in unprefixed.requests] == [7]
    prefixed = read(lines(*(f"0.01.000.000 I {line}" for line in TODAY), *quoted))
    assert [r.task for r in prefixed.requests] == [7]
    quoting = read(lines("D srv  log_server_r: request:  {", *TODAY[:1], *quoted))
    assert quoting.requests == []
    assert set(quoting.problems) == {"unattached"}


def test_timings_quoted_between_tagged_ones_are_refused() -> None:
    result = read(lines(*FORK[:-2], *request(as_text, 0, 9)[1:4], *FORK[-2:]))
    assert [r.task for r in result.requests] == [88]
    assert result.problems == ["unattached"] * 3

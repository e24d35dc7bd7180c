"""Streams in which lines of several programs stand together, or bytes are missing."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import pytest

from tests.formats.reading import IDLE, LISTENING, LOADING, Read, block, launch, lines, read, release
from tests.formats.test_llamacpp_records import FORK, as_json, as_text, request
from tests.formats.test_llamacpp_tools import KOBOLD, MLX, SUMMARY, TIMINGS
from tests.formats.test_sglang import DECODE, STAMP
from tests.formats.test_vllm import DRAFTING, HEAD, THROUGHPUT, THROUGHPUT_HEAD, totals
from tui.formats.reader import LogReader

OLLAMAS_OWN = MLX.format(88, 240, 139, 240 / 88)
LOOK_ALIKES = lines(
    *request(as_text, 0, 700),
    *request(as_json, 0, 701),
    "print_timings:        eval time =    4000.00 ms /   125 runs   (   32.00 ms per token,    31.25 tokens per second)",
    *TIMINGS,
    *SUMMARY,
    KOBOLD,
    "(Draft Results - Success:101, Failure:37)",
    OLLAMAS_OWN,
    "[ Prompt: 196.3 t/s | Generation: 47.6 t/s ]",
    THROUGHPUT_HEAD + THROUGHPUT,
    HEAD + DRAFTING,
    totals(600, 1000, 640),
    STAMP + DECODE,
)
SERVED = lines(
    LOADING, LISTENING, launch(0, 1), block(0, 1, drafted=90, accepted=30, rounds=30), release(0, 1)
)
HALOGEN = (
    "serve_api: mtp 80 tok in 2.00s = 40.00 t/s | 44 rounds, commit 1.80/round | prompt 12, prefill 0.20s\n"
)
GENUINE = {
    "of today": SERVED,
    "of today, with debug lines": SERVED + "0.02.100.000 D srv  log_server_r: request:  {\n",
    "without prefixes": lines(
        launch(0, 1).split(" I ")[1],
        *(line.split(" I ")[1] for line in block(0, 1).splitlines()),
        release(0, 1).split(" I ")[1],
    ),
    "halogen": HALOGEN,
    "fork": lines(*FORK),
}


@pytest.mark.parametrize("server", GENUINE)
def test_what_other_programs_print_is_never_counted_in_a_servers_log(server: str) -> None:
    genuine = read(GENUINE[server])
    # Without prefixes it can be Ollama's log, where its own runner prints beside llama-server.
    ollama = server in ("without prefixes", "fork")
    others = [line for line in LOOK_ALIKES.splitlines() if not (ollama and line == OLLAMAS_OWN)]
    result = read(GENUINE[server] + lines(*others))
    assert [(r.task, r.tokens) for r in result.requests if r.finish == "done"] == [
        (r.task, r.tokens) for r in genuine.requests
    ]
    assert result.intervals == []
    assert set(result.problems) - set(genuine.problems) <= {"unattached"}


@pytest.mark.parametrize("engine", [HEAD + DRAFTING, STAMP + DECODE])
def test_what_others_print_is_never_counted_in_an_engines_log(engine: str) -> None:
    others = "".join(
        f"{line}\n" for line in LOOK_ALIKES.splitlines() if not line.startswith((HEAD[:20], STAMP[:20]))
    )
    result = read(lines(engine) + others + SERVED + HALOGEN + lines(engine))
    assert (len(result.intervals), result.requests) == (2, [])
    assert set(result.problems) == {"unattached"}


def test_look_alikes_are_told_where_they_are_found() -> None:
    quoted = [TIMINGS[2], "print_timings: prompt eval time =     512.00 ms /    64 tokens", DRAFTING]
    assert read(SERVED + lines(*quoted)).problems == ["unattached"] * 2
    assert set(read(GENUINE["without prefixes"] + LOOK_ALIKES).problems) == {"unattached"}


GAP = "\N{EM DASH} 4096 bytes dropped \N{EM DASH}"


def test_bytes_left_out_are_told_and_make_neighbours_unknown() -> None:
    log = lines(
        LOADING,
        LISTENING,
        launch(0, 1),
        GAP,
        launch(1, 2),
        block(1, 2),
        release(1, 2),
        IDLE,
        launch(1, 3),
        block(1, 3),
        release(1, 3),
    )
    result = read(log)
    assert [(r.task, r.concurrency) for r in result.requests] == [(2, None), (3, 1)]
    assert result.problems == ["cut"]


def test_a_line_with_a_hole_is_no_line() -> None:
    decode = block(0, 1).splitlines()[1]
    result = read(
        SERVED + lines(launch(0, 2), f"{decode[:60]}{GAP}{decode[60:]}".replace("task 1", "task 2"))
    )
    assert [r.task for r in result.requests] == [1]
    assert result.problems == ["cut"]


def test_a_hole_in_a_users_text_is_none() -> None:
    log = lines(
        LOADING, LISTENING, "0.00.900.000 D srv  log_server_r: request:  {", launch(0, 1), GAP, block(0, 1)
    )
    result = read(log)
    assert (result.request.concurrency, result.problems) == (1, [])


def test_a_hole_before_anything_is_told() -> None:
    assert read(lines(GAP)).problems == ["cut"]


def later(line: str, seconds: int) -> str:
    return line.replace("0.01.", f"0.{seconds:02}.").replace("0.02.", f"0.{seconds + 1:02}.")


def test_two_servers_in_one_stream_are_not_taken_for_alone() -> None:
    """Their clocks differ: what ran beside a request of one may have been the other's."""
    one = [launch(0, 1), block(0, 1), release(0, 1)]
    other = [later(line, 40) for line in (launch(1, 9), block(1, 9), release(1, 9))]
    alone = read(lines(LOADING, LISTENING, *one, *one)).requests
    assert [r.concurrency for r in alone] == [1, 1]
    mixed = read(
        lines(LOADING, LISTENING, one[0], *other, *one[1:], launch(0, 2), block(0, 2), release(0, 2))
    )
    assert [(r.task, r.concurrency) for r in mixed.requests] == [(9, 2), (1, 2), (2, None)]


def test_a_line_that_a_router_cut_in_two_is_no_line_in_its_second_half() -> None:
    """The rest of a long line comes under the port too, and can begin with anything."""
    child = lines(launch(0, 1), block(0, 1), release(0, 1)).splitlines()
    rest = [
        "draft acceptance rate = 0.91000 (   91 accepted /   100 generated)",
        "       eval time =    2000.00 ms /   100 tokens (   20.20 ms per token,    49.50 tokens per second)",
        *TIMINGS,
        HEAD + DRAFTING,
    ]
    result = read(lines(*(f"[41001] {line}" for line in (*child, *rest))))
    assert [(r.stream, r.tokens, r.accepted) for r in result.requests] == [("41001", 101, None)]
    assert result.intervals == []


def test_a_routers_children_of_several_ages_are_read_by_port() -> None:
    log = lines(
        *(f"[41001] {line}" for line in (launch(0, 1), *block(0, 1).splitlines(), release(0, 1))),
        *(f"[41002] {line}" for line in FORK),
        "[41001] cmd_child_to_router:ready",
    )
    assert [(r.stream, r.task) for r in read(log).requests] == [("41001", 1), ("41002", 88)]


def test_other_words_are_looked_for_only_until_it_is_known_what_prints_the_log() -> None:
    """So that a large log of one server takes no longer for all that others print."""
    reader = LogReader("test.log")
    data = SERVED.encode()
    events = reader.feed(data, 0) + reader.feed(lines(DRAFTING).encode(), len(data))
    assert Read(events).problems == []
    named = "".join(f"llama-1  | {line}\n" for line in SERVED.splitlines()).encode()
    reader = LogReader("test.log")
    late = f"vllm-1  | {HEAD}{DRAFTING}\n".encode()
    events = reader.feed(named, 0) + reader.feed(late, len(named))
    assert [i.stream for i in Read(events).intervals] == ["vllm-1"]


def test_a_record_that_goes_on_makes_every_line_matter_wherever_the_blocks_are_cut() -> None:
    rows = ["2026-08-05T10:00:00Z stdout P half of a", *SERVED.splitlines(), DECODE, DRAFTING]
    data = [f"{row}\n".encode() for row in rows]
    whole = read(b"".join(data))
    for cut in range(1, len(data)):
        reader = LogReader("test.log")
        head = b"".join(data[:cut])
        events = reader.feed(head, 0) + reader.feed(b"".join(data[cut:]), len(head)) + reader.close()
        assert events == whole.events

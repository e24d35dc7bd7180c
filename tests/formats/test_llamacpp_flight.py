"""Requests in flight: concurrency, cancelled and failed ones, starts of a server."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import pytest

from tests.formats.reading import IDLE, LISTENING, LOADING, NOW, Read, block, launch, lines, read, release
from tui.formats.reader import LogReader

START = lines(LOADING, LISTENING)


def concurrency(log: str) -> list[int | None]:
    return [request.concurrency for request in read(log).requests]


def test_a_request_counts_itself_and_the_most_beside_it() -> None:
    log = START + lines(
        launch(0, 1),
        launch(1, 2),
        launch(2, 3),
        block(1, 2),
        release(1, 2),
        block(2, 3),
        release(2, 3),
        launch(1, 4),
        block(0, 1),
        release(0, 1),
        block(1, 4),
        release(1, 4),
    )
    assert concurrency(log) == [3, 3, 3, 2]


def test_a_log_that_begins_in_the_middle_knows_nothing_until_all_slots_are_idle() -> None:
    request = lines(launch(0, 1), block(0, 1), release(0, 1))
    assert concurrency(request + lines(IDLE) + request.replace("task 1", "task 2")) == [None, 1]


def test_a_release_without_a_launch_shows_that_something_ran_unseen() -> None:
    log = START + lines(
        launch(0, 1), release(3, 77), block(0, 1), release(0, 1), launch(0, 2), block(0, 2), release(0, 2)
    )
    assert concurrency(log) == [None, None]


def test_every_slot_seen_is_as_good_as_idle() -> None:
    slots = (
        "0.00.250.000 I srv    load_model: initializing, n_slots = 2, n_ctx_slot = 4096, kv_unified = 'true'"
    )
    start = lines(LOADING, slots, LISTENING).encode()
    later = lines(
        launch(0, 5),
        block(0, 5),
        release(0, 5),
        release(1, 4),
        launch(0, 6),
        block(0, 6),
        release(0, 6),
    ).encode()
    reader = LogReader("test.log")
    events = reader.feed(start, 0) + reader.feed(later, 10_000)
    assert [r.concurrency for r in Read(events).requests] == [None, 1]


def test_a_cancelled_request_has_no_block() -> None:
    log = START + lines(
        launch(3, 8),
        "0.01.500.000 W srv          stop: cancel task, id_task = 8",
        release(3, 8),
        launch(3, 9),
        block(3, 9),
        release(3, 9),
    )
    first, second = read(log).requests
    assert (first.slot, first.task, first.finish, first.tokens, first.concurrency) == (
        3,
        8,
        "cancelled",
        None,
        1,
    )
    assert (second.task, second.finish) == (9, "done")


def test_a_failed_request_is_named_by_its_error() -> None:
    log = START + lines(
        launch(1, 5),
        "0.01.400.000 E srv    send_error: task id = 5, error: request (9000 tokens) exceeds the context size",
        release(1, 5),
        "0.01.400.200 W srv          stop: cancel task, id_task = 5",
        IDLE,
    )
    assert read(log).request.finish == "failed"


def test_the_release_before_the_block_of_old_builds_is_no_cancellation() -> None:
    log = lines(
        "slot launch_slot_: id  0 | task 2 | processing task",
        "slot      release: id  0 | task 2 | stop processing: n_past = 40, truncated = 0",
        "slot print_timing: id  0 | task 2 | ",
        "       eval time =     400.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)",
        "slot launch_slot_: id  0 | task 3 | processing task",
        "slot      release: id  0 | task 3 | stop processing: n_past = 40, truncated = 0",
        "srv  update_slots: all slots are idle",
    )
    assert [(r.task, r.finish, r.tokens) for r in read(log).requests] == [
        (2, "done", 20),
        (3, "cancelled", None),
    ]


def test_a_release_after_another_line_does_not_end_the_request_twice() -> None:
    log = START + lines(launch(0, 1), launch(1, 2), block(0, 1), block(1, 2), release(0, 1), release(1, 2))
    assert [(r.task, r.finish) for r in read(log).requests] == [(1, "done"), (2, "done")]


def test_silence_completes_a_block_and_its_release_adds_nothing() -> None:
    reader = LogReader("test.log")
    head = (START + lines(launch(0, 1), block(0, 1))).encode()
    tail = lines(release(0, 1), IDLE).encode()
    events = reader.feed(head, 0)
    assert Read(events).requests == []
    assert [r.finish for r in Read(reader.idle()).requests] == ["done"]
    assert Read([*reader.feed(tail, len(head)), *reader.idle(), *reader.close()]).requests == []


def test_silence_after_the_tag_waits_for_the_lines() -> None:
    reader = LogReader("test.log")
    head = b"slot print_timing: id  0 | task 2 | \n"
    tail = b"       eval time =     400.00 ms /    20 tokens (   20.00 ms per token,    50.00 tokens per second)\n"
    assert reader.feed(head, 0) + reader.idle() == []
    assert reader.feed(tail, len(head)) == []
    assert [r.tokens for r in Read(reader.idle()).requests] == [20]


def test_streams_have_their_own_slots_and_tasks() -> None:
    log = "".join(
        f"[{port}] {line}\n"
        for line in lines(LOADING, LISTENING, launch(0, 1), block(0, 1), release(0, 1)).splitlines()
        for port in ("41001", "41002")
    )
    result = read(log)
    assert [(r.stream, r.slot, r.task, r.concurrency) for r in result.requests] == [
        ("41001", 0, 1, 1),
        ("41002", 0, 1, 1),
    ]
    assert [s.stream for s in result.starts] == ["41001", "41002"]


TRACE_START = lines(
    "0.00.003.000 I cmn  common_param: common_params_print_info: build 11111 (9f8e7d6c5) with GNU 14.2.0 for Linux",
    "0.00.010.000 I srv    load_model: loading model '/m/target.gguf'",
    "0.00.100.000 I common_speculative_init_result: loading draft model '/m/draft.gguf'",
    "0.00.200.000 I spec common_specu: adding speculative implementation 'ngram-mod'",
    "0.00.200.050 I spec common_specu: - n_match=6, n_max=16, n_min=4",
    "0.00.200.100 I spec common_specu: adding speculative implementation 'draft-simple'",
    "0.00.200.200 I spec common_specu: - n_max=3, n_min=0, p_min=0.000000",
    "0.00.300.000 I srv  llama_server: listening on http://127.0.0.1:9000",
)


def test_a_start_tells_what_the_server_is() -> None:
    (start,) = read(TRACE_START).starts
    assert (start.build, start.model, start.draft_model) == ("b11111", "/m/target.gguf", "/m/draft.gguf")
    assert (start.spec_types, start.depth) == (("ngram-mod", "draft-simple"), 16)
    assert (start.synthetic, start.listening, start.clock_s) == (False, "http://127.0.0.1:9000", 0.3)


def test_synthetic_acceptance_is_told() -> None:
    warning = (
        "0.00.210.000 W spec common_specu: synthetic speculative acceptance is enabled for benchmarking;"
        " generated output is not valid\n"
        "0.00.210.100 I spec common_specu: synthetic acceptance: n_max = 3, mean length = 2.5, rates = [0.7, 0.5, 0.3]\n"
    )
    (start,) = read(TRACE_START.replace("0.00.300.000", warning + "0.00.300.000")).starts
    assert start.synthetic is True


def test_a_quiet_new_build_leaves_most_unknown() -> None:
    (start,) = read(START).starts
    assert (start.build, start.spec_types, start.depth, start.draft_model) == (None, None, None, None)
    assert start.model == "/m/target.gguf"


@pytest.mark.parametrize(
    ("line", "build"),
    [
        ("build: 6123 (ab12cd34) with cc (GCC) 13.2.0 for x86_64-linux-gnu", "b6123"),
        ("build_info: b8901-0a1b2c3d4", "b8901"),
        ("build: 1 (ab12cd34) with cc (GCC) 13.2.0 for x86_64-linux-gnu", "ab12cd34"),
        ("build: 0 (unknown) with cc (GCC) 13.2.0 for x86_64-linux-gnu", None),
    ],
)
def test_builds(line: str, build: str | None) -> None:
    log = lines(line, "main: server is listening on http://127.0.0.1:8080 - starting the main loop")
    (start,) = read(log).starts
    assert (start.build, start.listening) == (build, "http://127.0.0.1:8080")


def test_a_start_that_never_says_it_is_ready_is_told_when_it_works() -> None:
    result = read(lines(LOADING, launch(0, 1), block(0, 1), release(0, 1)))
    assert [event.kind for event in result.events] == ["server_start", "request"]
    assert result.starts[0].listening is None
    assert result.starts[0].synthetic is None


def test_one_event_a_start_and_requests_know_their_model() -> None:
    again = TRACE_START.replace("target.gguf", "other.gguf")
    log = (TRACE_START + lines(launch(0, 1), block(0, 1), release(0, 1))) + (
        again + lines(launch(0, 1), block(0, 1), release(0, 1))
    )
    result = read(log)
    assert [s.model for s in result.starts] == ["/m/target.gguf", "/m/other.gguf"]
    assert [(r.model, r.drafter) for r in result.requests] == [
        ("/m/target.gguf", "ngram-mod+draft-simple"),
        ("/m/other.gguf", "ngram-mod+draft-simple"),
    ]


def test_a_detected_type_names_the_drafter() -> None:
    detected = "0.00.150.000 I spec common_specu: auto-detected speculative type 'draft-eagle3' from the draft model metadata"
    log = lines(LOADING, detected, LISTENING, launch(0, 1), block(0, 1, drafted=90, accepted=30, rounds=30))
    result = read(log)
    assert result.starts[0].spec_types == ("draft-eagle3",)
    assert result.request.drafter == "draft-eagle3"


def test_what_the_start_told_survives_a_jump() -> None:
    reader = LogReader("test.log", now=lambda: NOW)
    events = reader.feed(TRACE_START.encode(), 0)
    events += reader.feed(lines(launch(0, 9), block(0, 9), release(0, 9)).encode(), 1_000_000)
    assert Read(events).request.model == "/m/target.gguf"
    assert Read(events).request.drafter == "ngram-mod+draft-simple"


def test_an_open_block_does_not_survive_a_jump() -> None:
    reader = LogReader("test.log")
    head = lines(launch(0, 1), block(0, 1)).encode()
    events = (
        reader.feed(head, 0) + reader.feed(lines(launch(0, 9), IDLE).encode(), 1_000_000) + reader.close()
    )
    assert Read(events).requests == []


def test_the_whole_prompt_and_its_cached_part() -> None:
    prompt = "0.01.100.000 I slot   operator(): id  0 | task 1 | new prompt, n_ctx_slot = 4096, n_keep = 0, task.n_tokens = 75"
    request = read(START + lines(launch(0, 1), prompt, block(0, 1), release(0, 1))).request
    assert (request.prompt_tokens, request.prompt_evaluated_tokens, request.prompt_cached_tokens) == (
        75,
        50,
        25,
    )

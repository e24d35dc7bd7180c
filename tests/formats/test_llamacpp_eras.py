"""Golden lines of every era of llama-server's end-of-request block, E3 to E11."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.reading import lines, read

E3 = lines(
    "slot launch_slot_: id  1 | task 9 | processing task",
    "slot      release: id  1 | task 9 | stop processing: n_past = 260, truncated = 0",
    "slot print_timing: id  1 | task 9 | ",
    "\rprompt eval time =     351.40 ms /   140 tokens (    2.51 ms per token,   398.41 tokens per second)",
    "\r       eval time =    2420.00 ms /   121 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "\r      total time =    2771.40 ms /   261 tokens",
    "srv  update_slots: all slots are idle",
)
E4 = E3.replace("\r", "")
E5 = lines(
    "slot launch_slot_: id  0 | task 30 | processing task",
    "slot update_slots: id  0 | task 30 | new prompt, n_ctx_slot = 4096, n_keep = 0, n_prompt_tokens = 90",
    "slot      release: id  0 | task 30 | stop processing: n_past = 170, truncated = 0",
    "slot print_timing: id  0 | task 30 | ",
    "prompt eval time =     120.00 ms /    60 tokens (    2.00 ms per token,   500.00 tokens per second)",
    "       eval time =    1600.00 ms /    81 tokens (   19.75 ms per token,    50.63 tokens per second)",
    "      total time =    1720.00 ms /   141 tokens",
    "slot print_timing: id  0 | task 30 | ",
    "draft acceptance rate = 0.62500 (   50 accepted /    80 generated)",
)
E6 = lines(
    "slot launch_slot_: id  2 | task 4 | processing task",
    "slot print_timing: id  2 | task 4 | ",
    "prompt eval time =      90.00 ms /    45 tokens (    2.00 ms per token,   500.00 tokens per second)",
    "       eval time =    3000.00 ms /   150 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "      total time =    3090.00 ms /   195 tokens",
    "srv  log_server_r: request: POST /v1/chat/completions 192.0.2.9 200",
    "draft acceptance rate = 0.40000 (   60 accepted /   150 generated)",
    "slot      release: id  2 | task 4 | stop processing: n_tokens = 194, truncated = 0",
)
E7 = lines(
    "0.10.000.100 I slot launch_slot_: id  3 | task 12 | processing task, is_child = 0",
    "0.14.000.000 I slot print_timing: id  3 | task 12 | ",
    "prompt eval time =     500.00 ms /   250 tokens (    2.00 ms per token,   500.00 tokens per second)",
    "       eval time =    3800.00 ms /   190 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "      total time =    4300.00 ms /   440 tokens",
    "draft acceptance rate = 0.55000 (  110 accepted /   200 generated)",
    "0.14.000.200 I statistics draft-mtp: #calls(b,g,a) = 1 78 78, #gen drafts = 78, #acc drafts = 60,"
    " #gen tokens = 200, #acc tokens = 110, dur(b,g,a) = 0.003, 640.500, 0.050 ms",
    "0.14.000.400 I slot      release: id  3 | task 12 | stop processing: n_tokens = 439, truncated = 0",
)
TAG = "1.02.345.678 I slot print_timing: id  1 | task 57 | "
TIMES = (
    f"{TAG}prompt eval time =     240.00 ms /   120 tokens (    2.00 ms per token,   500.00 tokens per second)",
    f"{TAG}       eval time =    2010.00 ms /   201 tokens (   10.00 ms per token,   100.00 tokens per second)",
    f"{TAG}      total time =    2250.00 ms /   321 tokens",
    f"{TAG}   graphs reused =         77",
)
RELEASE = "1.02.346.000 I slot      release: id  1 | task 57 | stop processing: n_tokens = 320, truncated = 0"
E8 = lines(*TIMES, f"{TAG}draft acceptance = 0.60000 (  120 accepted /   200 generated)", RELEASE)
E9 = lines(
    *TIMES,
    f"{TAG}draft acceptance = 0.60000 (  120 accepted /   200 generated), mean acceptance length =  2.67,"
    " acceptance rate per position = (0.806, 0.556, 0.306)",
    RELEASE,
)
E10 = lines(
    *TIMES,
    f"{TAG}draft acceptance = 0.60000 (  120 accepted /   200 generated), mean len =  2.67",
    f"{TAG}     acc per pos = (0.806, 0.556, 0.306)",
    RELEASE,
)
E11 = E10.replace(
    "201 tokens (   10.00 ms per token,   100.00", "201 tokens (   10.05 ms per token,    99.50"
)

GOLDEN: dict[str, tuple[str, dict[str, Any]]] = {
    "E3": (E3, {"slot": 1, "task": 9, "tokens": 121, "decode_ms": 2420.0, "prompt_evaluated_tokens": 140}),
    "E4": (
        E4,
        {"slot": 1, "task": 9, "rate_tok_s": 50.0, "rate_over": "n", "prompt_ms": 351.4, "drafted": None},
    ),
    "E5": (
        E5,
        {
            "accepted": 50,
            "drafted": 80,
            "acceptance_ratio": 0.625,
            "prompt_tokens": 90,
            "prompt_cached_tokens": 30,
        },
    ),
    "E6": (E6, {"slot": 2, "task": 4, "tokens": 150, "accepted": 60, "drafted": 150, "rounds": None}),
    "E7": (
        E7,
        {
            "accepted": 110,
            "rounds": 78,
            "rounds_from": "statistics",
            "draft_ms": 640.5,
            "plain_steps": 1,
            "clock_s": 14.0,
        },
    ),
    "E8": (
        E8,
        {"tokens": 201, "rate_over": "n", "accepted": 120, "drafted": 200, "mean_accepted_length": None},
    ),
    "E9": (E9, {"mean_accepted_length": 2.67, "accepted_per_position": (0.806, 0.556, 0.306), "rounds": 72}),
    "E10": (
        E10,
        {"mean_accepted_length": 2.67, "accepted_per_position": (0.806, 0.556, 0.306), "rounds": 72},
    ),
    "E11": (
        E11,
        {"rate_tok_s": 99.5, "rate_over": "n-1", "rounds_from": "mean_length", "clock_s": 62.345678},
    ),
}


@pytest.mark.parametrize("era", GOLDEN)
def test_a_block_of_every_era_becomes_one_request(era: str) -> None:
    log, expected = GOLDEN[era]
    result = read(log)
    assert result.request.finish == "done"
    assert {name: getattr(result.request, name) for name in expected} == expected
    assert result.problems == []


@pytest.mark.parametrize("era", GOLDEN)
def test_the_lines_of_a_request_are_kept(era: str) -> None:
    raw = read(GOLDEN[era][0]).request.raw
    assert any("eval time =" in line for line in raw)
    assert all("\r" not in line for line in raw)


def test_trailing_blank_of_the_empty_tag_may_be_lost() -> None:
    stripped = "".join(line.rstrip(" ") for line in E4.splitlines(keepends=True)).replace("| \n", "|\n")
    assert read(stripped).request.tokens == 121


def test_a_blank_before_a_closing_bracket_is_read() -> None:
    assert read(E8.replace("per second)", "per second )")).request.tokens == 201


def test_bare_lines_belong_to_the_tag_before_them() -> None:
    log = (
        "slot print_timing: id  0 | task 1 | \n"
        + E4.split("| \n")[1].removesuffix("srv  update_slots: all slots are idle\n")
        + "slot print_timing: id  1 | task 2 | \n"
        + E4.split("| \n")[1].replace("121 tokens", "122 tokens")
    )
    assert [(r.slot, r.task, r.tokens) for r in read(log).requests] == [(0, 1, 121), (1, 2, 122)]


def test_a_stream_without_any_tag_is_read_by_the_sequence_of_its_lines() -> None:
    bare = lines(
        "prompt eval time =     800.00 ms /   400 tokens (    2.00 ms per token,   500.00 tokens per second)",
        "       eval time =    5000.00 ms /   250 tokens (   20.00 ms per token,    50.00 tokens per second)",
        "      total time =    5800.00 ms /   650 tokens",
        "draft acceptance rate = 0.70000 (  140 accepted /   200 generated)",
    )
    result = read(bare + bare.replace("250 tokens", "251 tokens"))
    assert [(r.slot, r.tokens, r.accepted) for r in result.requests] == [(None, 250, 140), (None, 251, 140)]


def test_a_bare_prompt_line_alone_is_no_request_but_is_told() -> None:
    result = read(
        "prompt eval time =     800.00 ms /   400 tokens (    2.00 ms per token,   500.00 tokens per second)\n"
    )
    assert result.requests == []
    assert result.problems == ["unattached"]


@pytest.mark.parametrize("printed", ["inf", "nan", "-nan", "-nan(ind)", "1000000.00", "0.00"])
def test_a_one_token_answer_has_no_rate(printed: str) -> None:
    log = lines(
        "slot print_timing: id  0 | task 3 | ",
        "prompt eval time =      18.00 ms /     4 tokens (    4.50 ms per token,   222.22 tokens per second)",
        f"       eval time =       0.00 ms /     1 tokens (    0.00 ms per token, {printed} tokens per second)",
        "      total time =      18.00 ms /     5 tokens",
    )
    result = read(log)
    assert result.request.tokens == 1
    assert result.request.rate_tok_s is None
    assert result.request.rate_over is None
    assert result.problems == []


@pytest.mark.parametrize("printed", ["inf", "nan", "1000000.00"])
def test_what_is_no_rate_never_becomes_one(printed: str) -> None:
    log = E8.replace("  100.00 tokens per second", f"{printed} tokens per second")
    assert read(log).request.rate_tok_s is None


@pytest.mark.parametrize(
    ("per_token", "rate", "tokens", "ms", "over"),
    [
        ("   20.00", "   50.00", 100, 2000.00, "n"),
        ("   20.20", "   49.50", 100, 2000.00, "n-1"),
        ("    0.30", " 3333.33", 3000, 900.00, "n"),
        ("   31.00", "   32.00", 100, 2000.00, None),
    ],
)
def test_over_how_many_tokens_the_rate_is(
    per_token: str, rate: str, tokens: int, ms: float, over: str | None
) -> None:
    log = (
        f"slot print_timing: id  0 | task 3 |        eval time = {ms:10.2f} ms / {tokens:5} tokens"
        f" ({per_token} ms per token, {rate} tokens per second)\n"
    )
    assert read(log).request.rate_over == over


def test_the_definition_is_unknown_where_both_print_the_same() -> None:
    log = (
        "slot print_timing: id  0 | task 3 |        eval time = 2000000.00 ms / 100000 tokens"
        " (   20.00 ms per token,    50.00 tokens per second)\n"
    )
    assert read(log).request.rate_over is None


PROGRESS = {
    "b9151": ("n_decoded =    171, tg =  23.90 t/s", (171, 23.9, None)),
    "b9706": ("n_decoded =    260, tg =  25.40 t/s, tg_3s =  26.10 t/s", (260, 25.4, 26.1)),
    "b10406": ("n_gen =   1204, tg =  61.90 t/s, tg_3s =  58.03 t/s", (1204, 61.9, 58.03)),
}


@pytest.mark.parametrize("build", PROGRESS)
def test_progress_lines(build: str) -> None:
    text, expected = PROGRESS[build]
    (progress,) = read(f"0.31.007.411 I slot print_timing: id  2 | task 8 | {text}\n").progress
    assert (progress.tokens, progress.rate_tok_s, progress.rate_recent_tok_s) == expected
    assert (progress.slot, progress.task, progress.clock_s) == (2, 8, 31.007411)


def test_progress_after_the_release_names_no_task_and_makes_no_request() -> None:
    log = E8 + "1.02.347.000 I slot print_timing: id  1 | task -1 | n_decoded =    262, tg =  25.31 t/s\n"
    result = read(log)
    assert len(result.requests) == 1
    assert result.progress[0].task is None


def test_prompt_progress_is_no_part_of_a_block() -> None:
    log = lines(
        "0.12.090.077 I slot print_timing: id  2 | task 8 | prompt processing, n_tokens =   8192, progress = 0.41,"
        " t =   4.02 s / 2037.81 tokens per second"
    )
    assert read(log).events == []


def test_a_block_that_lacks_lines_is_done_with_nulls() -> None:
    result = read(lines(f"{TAG}draft acceptance = 0.60000 (  120 accepted /   200 generated)", RELEASE))
    assert (result.request.accepted, result.request.tokens, result.request.finish) == (120, None, "done")


def test_no_acceptance_line_leaves_drafting_unknown() -> None:
    request = read(lines(*TIMES, RELEASE)).request
    assert (request.drafted, request.accepted, request.rounds, request.plain_steps) == (
        None,
        None,
        None,
        None,
    )


def test_two_blocks_of_one_task_are_two_requests() -> None:
    """Two runs of a server in one file, both beginning with the same task number."""
    assert [r.tokens for r in read(E8.replace(RELEASE + "\n", "") * 2).requests] == [201, 201]


def test_per_round_lines_count_where_the_start_was_seen() -> None:
    log = lines(
        "0.08.000.000 I slot launch_slot_: id  0 | task 3 | processing task, is_child = 0",
        "0.08.100.012 I slot   operator(): id  0 | task 3 | accepted  2/ 3 draft tokens",
        "0.08.131.950 I slot   operator(): id  0 | task 3 | accepted  3/ 3 draft tokens",
        "0.08.170.004 I slot   operator(): id  0 | task 3 | accepted  0/ 2 draft tokens",
        "0.08.200.000 I slot print_timing: id  0 | task 3 |        eval time =     180.00 ms /    10 tokens"
        " (   18.00 ms per token,    55.56 tokens per second)",
    )
    request = read(log).request
    assert (request.rounds, request.rounds_from) == (3, "per_round_lines")
    assert (request.accepted, request.drafted, request.plain_steps) == (5, 8, 1)
    assert request.mean_accepted_length == pytest.approx(1 + 5 / 3)
    late = read(log.split("\n", 1)[1]).request
    assert (late.rounds, late.accepted, late.drafted) == (None, None, None)


def test_per_round_lines_of_debug_count_only_if_they_agree_with_the_totals() -> None:
    rounds = [
        "0.08.100.012 D slot update_slots: id  0 | task 3 | accepted 2/3 draft tokens, new n_tokens = 911",
        "0.08.131.950 D slot update_slots: id  0 | task 3 | accepted 1/3 draft tokens, new n_tokens = 913",
    ]
    tag = "0.08.200.000 I slot print_timing: id  0 | task 3 | "
    decode = f"{tag}       eval time =     180.00 ms /    10 tokens (   18.00 ms per token,    55.56 tokens per second)"
    start = "0.08.000.000 I slot launch_slot_: id  0 | task 3 | processing task, is_child = 0"
    agreed = f"{tag}draft acceptance = 0.50000 (    3 accepted /     6 generated)"
    assert read(lines(start, *rounds, decode, agreed)).request.rounds == 2
    assert (
        read(
            lines(start, *rounds, decode, agreed.replace("3 acc", "4 acc").replace("0.5", "0.66667"))
        ).request.rounds
        is None
    )
    assert read(lines(start, *rounds, decode)).request.drafted is None

"""SGLang's decode lines: intervals by length alone, unless the start told how long drafts are."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import datetime as dt

import pytest

from tests.formats.reading import lines, read

STAMP = "[2026-03-01 08:00:00 TP0] "
DECODE = (
    "Decode batch, #running-req: 3, #token: 4120, token usage: 0.06, accept len: 2.80, accept rate: 0.60, cuda graph:"
    " True, gen throughput (token/s): 312.44, #queue-req: 0, "
)
PREFILL = (
    "Prefill batch. #new-seq: 1, #new-token: 28, #cached-token: 0, token usage: 0.00, #running-req: {running},"
    " #queue-req: 0, "
)
START = (
    "[2026-03-01 07:59:00] server_args=ServerArgs(model_path='org/target', tokenizer_path='org/target', port=30000,"
    " speculative_algorithm='EAGLE3', speculative_draft_model_path='org/drafter', speculative_num_steps=3,"
    " speculative_eagle_topk=1, speculative_num_draft_tokens=4, watchdog_timeout=300)"
)


def test_a_decode_line_is_an_interval_without_counts() -> None:
    result = read(lines(STAMP + DECODE, STAMP + DECODE.replace("312.44", "300.00")))
    first, second = result.intervals
    assert (second.engine, second.mean_accepted_length, second.rate_tok_s, second.running) == (
        "SGLang",
        2.8,
        300.0,
        3,
    )
    assert (second.drafted, second.accepted, second.rounds, second.tokens, second.seconds) == (None,) * 5
    assert (second.queued, second.kv_usage) == (0, 0.06)
    assert first.time == dt.datetime(2026, 3, 1, 8, 0, 0).timestamp()
    assert result.problems == []


@pytest.mark.parametrize(
    "line",
    [
        "Decode batch. #running-req: 1, #token: 900, token usage: 0.01, accept len: 2.80, gen throughput (token/s):"
        " 151.20, #queue-req: 0, ",
        "Decode batch [812], #running-req: 2, #full token: 900, full token usage: 0.02, #swa token: 700, swa token"
        " usage: 0.02, accept len: 2.80, accept rate: 0.45, cuda graph: False, gen throughput (token/s): 151.20,"
        " #queue-req: 1, ",
        "INFO scheduler.py:1201: Decode batch, #running-req: 1, #full token: 1, mamba num: 1, mamba usage: 0.10, accept"
        " len: 2.80, accept rate: 0.19, pre-allocated usage: 0.00, cpu graph: True, gen throughput (token/s): 151.20,"
        " #queue-req: 0",
    ],
    ids=["oldest", "windows", "newest"],
)
def test_every_form_is_read(line: str) -> None:
    interval = read(lines(STAMP + line)).interval
    assert (interval.mean_accepted_length, interval.rate_tok_s) == (2.8, 151.2)


def test_the_printed_rate_has_had_several_meanings_so_the_ratio_is_worked_out_or_unknown() -> None:
    assert read(lines(STAMP + DECODE)).interval.acceptance_ratio is None
    started = read(lines(START, STAMP + DECODE))
    assert started.interval.acceptance_ratio == 0.6
    nothing = DECODE.replace("len: 2.80", "len: 1.00").replace("rate: 0.60", "rate: 0.25")
    assert read(lines(START, STAMP + nothing)).interval.acceptance_ratio == 0.0


def test_without_drafting_only_the_rate_is_known() -> None:
    interval = read(lines(STAMP + DECODE.replace("accept len: 2.80, accept rate: 0.60, ", ""))).interval
    assert (interval.rate_tok_s, interval.mean_accepted_length) == (312.44, None)


def test_a_start_tells_models_algorithm_and_depth() -> None:
    (start,) = read(lines(START)).starts
    assert (start.engine, start.model, start.draft_model, start.spec_types, start.depth) == (
        "SGLang",
        "org/target",
        "org/drafter",
        ("EAGLE3",),
        3,
    )
    none = START.replace("'EAGLE3'", "None").replace("'org/drafter'", "None").replace("steps=3", "steps=None")
    (start,) = read(lines(none)).starts
    assert (start.spec_types, start.draft_model, start.depth) == ((), None, None)


def test_the_first_interval_after_a_start_or_a_wait_has_a_doubtful_rate() -> None:
    log = lines(
        START,
        STAMP + PREFILL.format(running=0),
        STAMP + DECODE.replace("312.44", "0.39"),
        STAMP + DECODE,
        STAMP + PREFILL.format(running=2),
        STAMP + DECODE,
        STAMP + PREFILL.format(running=0),
        STAMP + DECODE.replace("312.44", "8.20"),
        STAMP + DECODE,
    )
    intervals = read(log).intervals
    assert [i.rate_tok_s for i in intervals if i.doubt] == [0.39, 8.2]
    assert [i.doubt is None for i in intervals] == [False, True, True, False, True]
    assert all(i.mean_accepted_length == 2.8 for i in intervals)


def test_of_several_ranks_neither_rate_nor_load_is_the_servers() -> None:
    other = STAMP.replace("TP0", "DP1 TP1")
    intervals = read(lines(STAMP + DECODE, *[STAMP + DECODE, other + DECODE] * 2)).intervals
    assert [i.doubt for i in intervals[1:]] == [None] + ["of one rank of several"] * 3
    assert [i.running for i in intervals] == [3, 3, None, None, None]
    assert all((i.queued, i.kv_usage) == (None, None) for i in intervals[2:])
    assert all(i.mean_accepted_length == 2.8 for i in intervals)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (STAMP + DECODE[:150], "cut"),
        (STAMP + DECODE.replace("#queue-req: 0, ", ""), "cut"),
        (STAMP + DECODE.replace("312.44", "fast"), "renamed"),
        (STAMP + DECODE.replace("len: 2.80", "len: long"), "renamed"),
        (STAMP + DECODE.replace("#running-req: 3", "#running-req: few"), "renamed"),
        (STAMP + "Decode batch #7: 3 requests", "renamed"),
        (DECODE, "unattached"),
    ],
)
def test_a_damaged_or_quoted_line_is_told_and_is_no_interval(line: str, problem: str) -> None:
    result = read(lines(STAMP + DECODE, line))
    assert result.problems == [problem]
    assert len(result.intervals) == 1


@pytest.mark.parametrize("length", ["0.40", "4.01", "9.00"])
def test_an_impossible_length_is_told_and_not_kept(length: str) -> None:
    result = read(lines(START, STAMP + DECODE.replace("len: 2.80", f"len: {length}")))
    assert result.problems == ["impossible"]
    assert (result.interval.mean_accepted_length, result.interval.acceptance_ratio) == (None, None)


def test_a_prompt_that_holds_a_line_is_no_line() -> None:
    log = lines(STAMP + DECODE, STAMP + "Receive: obj=GenerateReqInput(text='" + STAMP + DECODE + "')")
    assert len(read(log).intervals) == 1

"""vLLM's interval lines in every form; what they cannot say stays unknown, what is no line of its own is told."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from tests.formats.reading import Read, block, lines, read
from tui.formats.reader import LogReader

HEAD = "(APIServer pid=77) INFO 06-01 10:00:20 [metrics.py:101] "
THROUGHPUT_HEAD = "(APIServer pid=77) INFO 06-01 10:00:20 [loggers.py:259] "
DRAFTING = (
    "SpecDecoding metrics: Mean acceptance length: 2.50, Accepted throughput: 30.00 tokens/s,"
    " Drafted throughput: 60.00 tokens/s, Accepted: 300 tokens, Drafted: 600 tokens,"
    " Per-position acceptance rate: 0.800, 0.450, 0.250, Avg Draft acceptance rate: 50.0%"
)
THROUGHPUT = (
    "Engine 000: Avg prompt throughput: 120.5 tokens/s, Avg generation throughput: 52.4 tokens/s,"
    " Running: 3 reqs, Waiting: 1 reqs, GPU KV cache usage: 4.2%, Prefix cache hit rate: 11.0%"
)
TOTALS = (
    "Speculative metrics: Draft acceptance rate: {ratio:.3f}, System efficiency: 0.500, Number of speculative"
    " tokens: 4, Number of accepted tokens: {accepted}, Number of draft tokens: {drafted}, Number of emitted"
    " tokens: {emitted}."
)


def totals(accepted: int, drafted: int, emitted: int) -> str:
    return TOTALS.format(ratio=accepted / drafted, accepted=accepted, drafted=drafted, emitted=emitted)


FORMS: dict[str, tuple[str, dict[str, Any]]] = {
    "counts": (
        "INFO 04-18 09:00:10 [metrics.py:63] SpecDecoding metrics: Draft acceptance rate: 58.3%, Accepted: 700 tokens,"
        " Drafted: 1200 tokens",
        {"accepted": 700, "drafted": 1200, "rounds": None, "mean_accepted_length": None, "seconds": None},
    ),
    "means": (
        "INFO 07-18 09:00:10 [metrics.py:86] SpecDecoding metrics: Draft acceptance rate: 50.0%, Mean acceptance length:"
        " 2.50, Accepted: 300 tokens, Drafted: 600 tokens, Per-position acceptance rate: 0.800, 0.450, 0.250",
        {"accepted": 300, "drafted": 600, "rounds": 200, "accepted_per_position": (0.8, 0.45, 0.25)},
    ),
    "throughput": (
        HEAD + DRAFTING,
        {"accepted": 300, "drafted": 600, "rounds": 200, "mean_accepted_length": 2.5, "seconds": 10.0},
    ),
    "nothing accepted": (
        HEAD
        + "SpecDecoding metrics: Mean acceptance length: 1.00, Accepted throughput: 0.00 tokens/s, Drafted"
        " throughput: 6.00 tokens/s, Accepted: 0 tokens, Drafted: 60 tokens, Per-position acceptance rate: 0.000,"
        " 0.000, Avg Draft acceptance rate: 0.0%",
        {"accepted": 0, "drafted": 60, "mean_accepted_length": 1.0, "seconds": 10.0},
    ),
    "nothing drafted": (
        HEAD + "SpecDecoding metrics: Draft acceptance rate: nan%, Accepted: 0 tokens, Drafted: 0 tokens",
        {"accepted": 0, "drafted": 0, "rounds": None},
    ),
    "before brackets": (
        "INFO 02-03 11:12:13 metrics.py:439] " + totals(600, 1000, 640),
        {"accepted": 600, "drafted": 1000, "rounds": None, "mean_accepted_length": 2.56, "tokens": None},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_becomes_an_interval(form: str) -> None:
    log, expected = FORMS[form]
    result = read(lines(log))
    assert result.problems == []
    assert result.interval.engine == "vLLM"
    assert {name: getattr(result.interval, name) for name in expected} == expected


def test_a_throughput_line_and_the_drafting_line_after_it_are_one_interval() -> None:
    log = lines(THROUGHPUT_HEAD + THROUGHPUT, HEAD + DRAFTING)
    interval = read(log).interval
    assert (interval.rate_tok_s, interval.running, interval.drafted) == (52.4, 3, 600)
    assert (interval.queued, interval.kv_usage) == (1, 0.042)
    assert (interval.tokens, interval.requests, interval.doubt) == (None, None, None)


def test_throughput_without_drafting_is_an_interval_of_its_own() -> None:
    later = THROUGHPUT_HEAD.replace("10:00:20", "10:00:30")
    result = read(lines(THROUGHPUT_HEAD + THROUGHPUT, later + THROUGHPUT, later + DRAFTING))
    assert [(i.rate_tok_s, i.drafted) for i in result.intervals] == [(52.4, None), (52.4, 600)]


def test_engines_of_one_server_are_told_together_when_the_last_has_printed() -> None:
    def printed(second: int, engine: int, rate: float, running: int, kv: float) -> tuple[str, str]:
        head = THROUGHPUT_HEAD.replace("10:00:20", f"10:00:{second}")
        text = THROUGHPUT.replace("Engine 000", f"Engine 00{engine}").replace(" 52.4 ", f" {rate} ")
        text = text.replace("Running: 3", f"Running: {running}").replace("usage: 4.2%", f"usage: {kv}%")
        return head + text, head + DRAFTING

    result = read(
        lines(
            *printed(20, 0, 110.0, 2, 10.0),
            *printed(20, 1, 55.0, 1, 30.0),
            *printed(30, 0, 100.0, 2, 10.0),
            *printed(30, 1, 20.0, 0, 0.0),
            *printed(40, 0, 90.0, 1, 10.0),
            *printed(40, 1, 5.0, 2, 20.0),
        )
    )
    told = [(i.rate_tok_s, i.running, i.kv_usage, i.doubt) for i in result.intervals]
    assert told[1::2] == [(165.0, 3, 0.3, None), (120.0, 2, 0.1, None), (95.0, 3, 0.2, None)]
    assert told[2::2] == [(rate, None, None, "of one engine of several") for rate in (100.0, 90.0)]
    assert sum(i.drafted or 0 for i in result.intervals) == 3600
    (start,) = read(lines(*printed(20, 0, 1.0, 1, 1.0)[:1])).intervals
    assert start.doubt is None


def test_a_throughput_line_is_complete_after_a_silence() -> None:
    reader = LogReader("test.log")
    assert reader.feed(lines(THROUGHPUT_HEAD + THROUGHPUT).encode(), 0) == []
    (event,) = Read(reader.idle()).intervals
    assert event.rate_tok_s == 52.4


def test_drafting_that_was_counted_over_longer_is_not_given_another_lines_time() -> None:
    slow = (
        DRAFTING.replace("30.00", "5.00").replace("60.00", "10.00"),
        DRAFTING.replace("30.00", "0.39").replace("60.00", "0.78"),
        DRAFTING.replace("30.00", "0.04").replace("60.00", "0.08"),
    )
    assert [i.seconds for i in read(lines(*(HEAD + line for line in slow))).intervals] == [60.0, 769.3, None]


def test_rounds_that_the_numbers_leave_open_are_unknown() -> None:
    many = (
        DRAFTING.replace("300 tokens", "300017 tokens")
        .replace("600 tokens", "600031 tokens")
        .replace("30.00", "30001.70")
        .replace("60.00", "60003.10")
    )
    interval = read(lines(HEAD + many)).interval
    assert (interval.rounds, interval.mean_accepted_length, interval.drafted) == (None, 2.5, 600031)


def test_shares_of_other_than_all_rounds_are_left_out() -> None:
    other = DRAFTING.replace("0.800, 0.450, 0.250", "0.800, 0.563, 0.556")
    interval = read(lines(HEAD + other)).interval
    assert (interval.accepted_per_position, interval.accepted) == (None, 300)


def test_cumulative_lines_become_differences_and_a_restart_begins_anew() -> None:
    head = "INFO 02-03 11:12:13 metrics.py:439] "
    log = lines(head + totals(600, 1000, 640), head + totals(700, 1200, 760), head + totals(30, 80, 44))
    assert [(i.drafted, i.accepted, i.mean_accepted_length) for i in read(log).intervals] == [
        (1000, 600, 2.56),
        (200, 100, 2.4),
        (80, 30, 2.2),
    ]


def test_cumulative_lines_tell_their_depth_once() -> None:
    starts = read(lines(totals(600, 1000, 640), totals(700, 1200, 760))).starts
    assert [(start.depth, start.running) for start in starts] == [(4, True)]


def test_repeated_totals_are_no_interval() -> None:
    log = lines(totals(600, 1000, 640), totals(600, 1000, 640))
    assert len(read(log).intervals) == 1


START = (
    "(EngineCore_DP0 pid=178) INFO 06-01 09:59:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config:"
    " model='org/target-8b', speculative_config=SpeculativeConfig(method='eagle3', model='org/drafter-1b',"
    " num_spec_tokens=3), tokenizer='org/target-8b', seed=0"
)


def test_a_start_tells_version_models_method_and_depth() -> None:
    (start,) = read(lines(START)).starts
    assert (start.engine, start.build, start.model, start.draft_model) == (
        "vLLM",
        "0.11.0",
        "org/target-8b",
        "org/drafter-1b",
    )
    assert (start.spec_types, start.depth) == (("eagle3",), 3)


def test_a_start_without_drafting_says_so_and_one_that_hides_it_does_not() -> None:
    plain = START.replace(
        "SpeculativeConfig(method='eagle3', model='org/drafter-1b', num_spec_tokens=3)", "None"
    )
    hidden = START.split(", speculative_config")[0]
    assert [s.spec_types for s in read(lines(plain, hidden)).starts] == [(), None]


def test_engines_of_one_server_start_once_and_a_restart_starts_again() -> None:
    other = START.replace("DP0 pid=178", "DP1 pid=179")
    log = lines(START, other, HEAD + DRAFTING, START)
    assert len(read(log).starts) == 2


def test_the_first_interval_after_a_start_or_after_idling_has_a_doubtful_rate() -> None:
    idle = THROUGHPUT.replace("Running: 3", "Running: 0")
    later = [THROUGHPUT_HEAD.replace("10:00:20", f"10:00:{second}") for second in (30, 40, 50)]
    log = lines(
        START, THROUGHPUT_HEAD + THROUGHPUT, later[0] + THROUGHPUT, later[1] + idle, later[2] + THROUGHPUT
    )
    doubts = [i.doubt is not None for i in read(log).intervals]
    assert doubts == [True, False, True, True]
    assert all(i.rate_tok_s == 52.4 for i in read(log).intervals)


def test_its_stamp_lacks_a_year_and_yields_to_a_better_one() -> None:
    assert read(lines(HEAD + DRAFTING)).interval.time == dt.datetime(2026, 6, 1, 10, 0, 20).timestamp()
    stamped = f"vllm-1  | 2026-06-01T08:00:20.5Z {HEAD}{DRAFTING}"
    interval = read(lines(stamped)).interval
    assert interval.stream == "vllm-1"
    assert interval.time == dt.datetime(2026, 6, 1, 8, 0, 20, 500000, dt.UTC).timestamp()


def test_a_day_that_is_none_is_no_time() -> None:
    assert read(lines(HEAD.replace("06-01", "13-41") + DRAFTING)).interval.time is None


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (DRAFTING[:-60], "cut"),
        (DRAFTING.removesuffix(", Avg Draft acceptance rate: 50.0%"), "cut"),
        (DRAFTING.split(", Drafted: ")[0], "cut"),
        (DRAFTING.replace("Accepted: 300 tokens", "Accepted: many tokens"), "renamed"),
        (DRAFTING.replace("300 tokens", "601 tokens"), "impossible"),
        (DRAFTING.replace("50.0%", "61.0%"), "impossible"),
        (DRAFTING.replace("length: 2.50", "length: 1.20"), "impossible"),
        ("SpecDecoding metrics: 50 % of the drafts were kept", "renamed"),
        ("Engine 000: Avg prompt throughput: 120.5 tokens/s, Avg generation thr", "cut"),
        ("Avg prompt throughput: 120.5 tokens/s, Avg generation throughput: 3 bananas", "renamed"),
        (totals(1200, 1000, 1300), "impossible"),
    ],
)
def test_a_damaged_line_is_told_and_is_no_interval(line: str, problem: str) -> None:
    result = read(lines(HEAD + DRAFTING, HEAD + line))
    assert result.problems == [problem]
    assert len(result.intervals) == 1


def test_a_quoted_line_is_no_interval() -> None:
    """What a user pastes stands without the server's own prefix, or inside another line."""
    log = lines(
        HEAD + DRAFTING,
        DRAFTING,
        "(APIServer pid=77) INFO 06-01 10:00:25 [logger.py:39] Received request x: prompt: '"
        + DRAFTING
        + "'",
        THROUGHPUT,
    )
    result = read(log)
    assert len(result.intervals) == 1
    assert result.problems == ["unattached", "unattached"]


def test_another_engines_lines_in_its_log_are_told_and_not_counted() -> None:
    result = read(lines(HEAD + DRAFTING) + block(0, 1) + "\n")
    assert result.requests == []
    assert set(result.problems) == {"unattached"}


def test_containers_of_several_engines_are_told_apart() -> None:
    log = lines(
        *(f"llama-1  | {line}" for line in block(0, 1).splitlines()),
        f"vllm-1  | {HEAD}{DRAFTING}",
        "sglang-1  | [2026-06-01 10:00:20 TP0] Decode batch, #running-req: 1, #token: 90, token usage: 0.01,"
        " accept len: 2.10, accept rate: 0.37, cuda graph: True, gen throughput (token/s): 70.00, #queue-req: 0, ",
    )
    result = read(log)
    assert [(e.engine, e.stream) for e in [*result.requests, *result.intervals]] == [
        ("llama.cpp", "llama-1"),
        ("vLLM", "vllm-1"),
        ("SGLang", "sglang-1"),
    ]
    assert result.problems == []


def test_no_line_takes_long_to_refuse() -> None:
    """Long runs of one character, where a careless pattern would try every place."""
    long = [
        HEAD + "SpecDecoding metrics: " + "A" * 8000,
        HEAD + "SpecDecoding metrics: " + "Accepted: 3 tokens" + " " * 8000 + "x",
        START.replace("method='eagle3'", "a" * 7000),
    ]
    assert len(read(lines(*long * 20)).problems) == 40

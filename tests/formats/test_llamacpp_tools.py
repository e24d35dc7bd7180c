"""What command-line tools print at their end, KoboldCpp after each answer, and Ollama's own runner."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import datetime as dt

import pytest

from tests.formats.reading import counters, lines, read

TIMINGS = (
    "llama_perf_sampler_print:    sampling time =      40.00 ms /   220 runs   (    0.18 ms per token,  5500.00 tokens per second)",
    "llama_perf_context_print:        load time =    1834.20 ms",
    "llama_perf_context_print: prompt eval time =      60.00 ms /    20 tokens (    3.00 ms per token,   333.33 tokens per second)",
    "llama_perf_context_print:        eval time =    5000.00 ms /   200 runs   (   25.00 ms per token,    40.00 tokens per second)",
    "llama_perf_context_print:       total time =    5200.00 ms /   220 tokens",
)
SUMMARY = (
    "encoded   20 tokens in    0.100 seconds, speed:  200.000 t/s",
    "decoded  161 tokens in    3.200 seconds, speed:   50.313 t/s",
    "",
    "n_draft   = 4",
    "n_predict = 161",
    "n_drafted = 240",
    "n_accept  = 100",
    "accept    = 41.667%",
    "",
)
SECTIONS = (
    "draft:",
    "",
    *(line.replace("60.00 ms /    20", "90.00 ms /    30") for line in TIMINGS[1:]),
    "",
    "target:",
    "",
    "common_perf_print:    sampling time =      18.00 ms",
    "common_perf_print:    samplers time =       7.00 ms /   161 tokens",
    "common_perf_print:        load time =     969.35 ms",
    "common_perf_print: prompt eval time =     785.00 ms /   100 tokens (    7.85 ms per token,   127.39 tokens per second)",
    "common_perf_print:        eval time =     900.00 ms /    30 runs   (   30.00 ms per token,    33.33 tokens per second)",
    "common_perf_print:       total time =    3471.78 ms /   130 tokens",
    "common_perf_print: unaccounted time =       1.00 ms /    0.0 %",
    "common_perf_print:    graphs reused =         91",
)


@pytest.mark.parametrize(
    "name",
    ["llama_print_timings", "llama_perf_context_print", "llama_perf_print", "common_perf_print"],
)
def test_the_librarys_timings_are_one_request(name: str) -> None:
    log = lines("What a model wrote.", *(line.replace("llama_perf_context_print", name) for line in TIMINGS))
    done = read(log).request
    assert (done.tokens, done.decode_ms, done.rate_tok_s, done.rate_over) == (200, 5000.0, 40.0, "n")
    assert (done.prompt_evaluated_tokens, done.prompt_ms) == (20, 60.0)
    assert (done.drafted, done.slot, done.task) == (None, None, None)


def test_each_run_is_told_once() -> None:
    second = [line.replace("200 runs", "150 runs") for line in TIMINGS]
    assert [r.tokens for r in read(lines(*TIMINGS, *second)).requests] == [200, 150]


def test_a_run_that_generated_nothing_is_none() -> None:
    none = (
        TIMINGS[3].replace("5000.00 ms /   200", "   0.00 ms /     1").replace("   40.00 tok", "     inf tok")
    )
    result = read(lines(*TIMINGS[:3], none, TIMINGS[4]))
    assert (result.requests, result.problems) == ([], [])


def test_a_summary_is_one_request_and_its_sections_are_none() -> None:
    result = read(lines(*TIMINGS, *SUMMARY, *SECTIONS))
    plain, done = result.requests
    assert (plain.tokens, plain.drafted) == (200, None)
    assert (done.tokens, done.decode_ms, done.rate_tok_s) == (161, 3200.0, 50.313)
    assert (done.prompt_evaluated_tokens, done.prompt_ms) == (20, 100.0)
    assert (done.drafted, done.accepted, done.acceptance_ratio) == (240, 100, 0.41667)
    assert (done.rounds, done.rounds_range, done.plain_steps) == (None, (60, 61), None)
    assert result.problems == []


def test_a_summary_tells_its_depth_and_is_a_process_of_its_own() -> None:
    other = [line.replace("n_draft   = 4", "n_draft   = 5") for line in SUMMARY]
    result = read(lines(*SUMMARY, *other, *TIMINGS))
    kinds = [(e.kind, getattr(e, "depth", None)) for e in result.events]
    assert kinds == [
        ("server_start", 4),
        ("request", None),
        ("server_start", 5),
        ("request", None),
        ("server_start", None),
        ("request", None),
    ]


def test_the_build_printed_first_belongs_to_the_run() -> None:
    log = lines("build: 5200 (abcdef12) with cc (GCC) 14 for x86_64-linux-gnu", *SUMMARY)
    result = read(log)
    assert [(s.build, s.depth) for s in result.starts] == [("b5200", 4)]
    assert result.request.doubt == "up to b5624 drafts thrown away for --draft-min count as drafted"


def test_rounds_are_exact_where_every_draft_was_full_or_counters_tell() -> None:
    full = [line.replace("161", "160").replace("50.313", "50.000") for line in SUMMARY]
    assert read(lines(*full)).request.rounds == 60
    told = counters("draft-simple", 1, 61, 240, 100, 900.0, tagged=False)
    result = read(lines(*SUMMARY, "draft:", "", told, "", *SECTIONS[SECTIONS.index("target:") :]))
    done = result.request
    assert (done.rounds, done.rounds_from, done.drafter, done.draft_ms) == (
        61,
        "statistics",
        "draft-simple",
        900.0,
    )
    assert done.mean_accepted_length == pytest.approx(1 + 100 / 61)


def test_prefixes_of_newer_builds_change_nothing() -> None:
    log = lines(*(f"0.09.001.000 I {line}" for line in (*SUMMARY, *SECTIONS)))
    assert (read(log).request.accepted, read(log).request.clock_s) == (100, 9.001)


@pytest.mark.parametrize("printed", ["nan", "-nan", "-nan(ind)"])
def test_nothing_drafted_is_no_ratio(printed: str) -> None:
    log = lines(
        *(line.replace("240", "0").replace("= 100", "= 0").replace("41.667", printed) for line in SUMMARY)
    )
    result = read(log)
    done = result.request
    assert (done.drafted, done.accepted, done.acceptance_ratio, done.rounds) == (0, 0, None, None)
    assert (done.tokens, done.doubt, result.problems) == (161, None, [])


def test_a_lookup_prints_wider_names_and_its_own_times() -> None:
    log = lines(
        *SUMMARY[:3],
        "n_draft      = 4",
        "n_predict    = 161",
        "n_drafted    = 240",
        "t_draft_flat = 1.20 ms",
        "t_draft      = 30.00 ms, 125.00 us per token, 8000.00 tokens per second",
        "n_accept     = 100",
        "accept       = 41.667%",
    )
    assert (read(log).request.drafted, read(log).request.accepted) == (240, 100)


def test_lookahead_does_not_tell_what_it_drafted() -> None:
    log = lines(
        *SUMMARY[:3], "W = 15", "N =  5", "G = 15", "", "n_predict = 161", "n_accept  = 100", *SECTIONS[7:]
    )
    done = read(log).request
    assert (done.tokens, done.drafted, done.accepted) == (161, None, None)
    assert done.doubt is not None


def test_the_speeds_alone_are_shown_and_counted_nowhere() -> None:
    result = read(
        lines("build: 7400 (abcdef12) with cc for x86_64", "[ Prompt: 196.3 t/s | Generation: 47.6 t/s ]")
    )
    done = result.request
    assert (done.rate_tok_s, done.rate_over, done.tokens, done.decode_ms) == (47.6, None, None, None)
    assert [e.kind for e in result.events] == ["server_start", "request"]


@pytest.mark.parametrize(
    "changed",
    [
        ("n_accept  = 100", "n_accept  = 99"),
        ("decoded  161", "decoded  160"),
        ("n_accept  = 100", "n_accept  = 162"),
        ("accept    = 41.667%", "accept    = 55.000%"),
    ],
)
def test_a_summary_that_contradicts_itself_is_told(changed: tuple[str, str]) -> None:
    result = read(lines(*SUMMARY).replace(*changed))
    assert result.problems == ["impossible"]
    assert [(r.rounds, r.acceptance_ratio) for r in result.requests if not r.doubt] == []


def test_more_accepted_than_drafted_is_kept_and_doubted() -> None:
    log = lines(*SUMMARY).replace("n_drafted = 240", "n_drafted = 80").replace("41.667%", "125.000%")
    done = read(log).request
    assert (done.drafted, done.accepted, done.doubt) == (80, 100, "more accepted than drafted")


@pytest.mark.parametrize(
    "pasted",
    [
        "accept    = 91.000%",
        "n_accept  = 91",
        "n_drafted = 100",
        "decoded  900 tokens in    1.000 seconds, speed:  900.000 t/s",
        "n_draft   = 9",
        "n_predict = 900",
    ],
)
def test_a_fragment_among_written_text_is_no_run(pasted: str) -> None:
    result = read(lines(*SUMMARY, "The tool prints", pasted, "at its end." + "x" * 700))
    assert [(r.tokens, r.accepted) for r in result.requests] == [(161, 100)]
    assert result.problems == ["unattached"]


def test_a_summary_in_a_servers_log_is_no_run() -> None:
    served = "slot launch_slot_: id  0 | task 7 | processing task, is_child = 0"
    for log in (lines(served, *SUMMARY, *TIMINGS), lines(f"0.01.000.000 I {served}", *SUMMARY, *TIMINGS)):
        assert read(log).requests == []
    assert set(read(lines(served, *SUMMARY, *TIMINGS)).problems) == {"unattached"}


def test_unprefixed_lines_in_a_prefixed_log_are_written_by_the_model() -> None:
    started = (
        "0.00.010.000 I cmn  common_param: common_params_print_info: build 9300 (abcdef12) with cc for x86"
    )
    result = read(lines(started, *SUMMARY, *(f"0.09.001.000 I {line}" for line in SUMMARY)))
    assert [r.clock_s for r in result.requests] == [9.001]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (TIMINGS[3][:80], "cut"),
        (TIMINGS[2].replace("tokens (", "pieces ("), "renamed"),
    ],
)
def test_damaged_timings_are_told(line: str, problem: str) -> None:
    assert read(lines(*TIMINGS[:2], line)).problems == [problem]


KOBOLD = "[14:02:11] CtxLimit:1202/8192, Amt:180/512, Init:0.02s, Process:0.61s (1311.40T/s), Generate:5.12s (35.16T/s), Total:5.73s"
KOBOLD_NEW = "[14:02:11] CtxLimit:1202/8192, Init:0.02s, Processed:800 in 0.61s (1311.48T/s), Generated:180/512 in 5.12s (35.16T/s), Total:5.75s"
KOBOLD_DEBUG = "[14:02:11] CtxLimit:1202/8192, Amt:180/512, Init:0.02s, Process:0.61s (0.8ms/T = 1311.40T/s), Generate:5.12s (28.4ms/T = 35.16T/s), Total:5.73s (31.41T/s)"


@pytest.mark.parametrize(
    ("line", "evaluated"),
    [(KOBOLD, None), (KOBOLD_NEW, 800), (KOBOLD_DEBUG, None), (KOBOLD.removeprefix("[14:02:11] "), None)],
)
def test_koboldcpp_tells_each_answer_in_one_line(line: str, evaluated: int | None) -> None:
    result = read(lines("Processing Prompt [BLAS] (800 / 800 tokens)\rGenerating (180 / 512 tokens)", line))
    done = result.request
    assert (done.tokens, done.decode_ms, done.rate_tok_s, done.rate_over) == (180, 5120.0, 35.16, "n")
    assert (done.prompt_ms, done.prompt_tokens, done.prompt_evaluated_tokens) == (610.0, 1022, evaluated)
    assert (done.drafted, done.rounds) == (None, None)
    assert done.doubt is not None
    assert result.problems == []


def test_koboldcpp_tells_accepted_drafts_only_when_debugging() -> None:
    log = lines("", *TIMINGS[1:], KOBOLD_DEBUG, "(Draft Results - Success:101, Failure:37)", "Output: fine")
    done = read(log).request
    assert (done.tokens, done.accepted, done.drafted) == (180, 101, None)
    assert done.doubt == "KoboldCpp does not tell how much it drafted"
    undrafted = read(lines(*TIMINGS[1:], KOBOLD_DEBUG)).request
    assert (undrafted.tokens, undrafted.doubt) == (180, None)


def test_koboldcpps_start_tells_its_version() -> None:
    result = read(lines("***", "Welcome to KoboldCpp - Version 1.99.2", KOBOLD))
    assert [e.kind for e in result.events] == ["server_start", "request"]
    assert result.starts[0].build == "KoboldCpp 1.99.2"


def test_what_a_model_wrote_in_koboldcpp_is_not_read() -> None:
    log = lines(
        KOBOLD, "", "Output: As the log says:", KOBOLD.replace("180", "999"), "", "Input: {}", KOBOLD_NEW
    )
    result = read(log)
    assert [r.tokens for r in result.requests] == [180, 180]
    assert result.problems == ["unattached"]


def test_a_cut_line_of_koboldcpp_is_told() -> None:
    result = read(lines(KOBOLD, KOBOLD[:90]))
    assert len(result.requests) == 1
    assert result.problems == ["cut"]


MLX = (
    'time=2026-08-01T10:00:03.120Z level=INFO source=speculate_stats.go:62 msg="speculative decode stats" iterations={0}'
    ' drafted={1} accepted={2} acceptance=0.58 avg_draft={3:.2f} max_draft=5 avg_accepted=1.58 depth_over_time="1.0/2 3.1/5"'
)
OLLAMA = (
    "slot launch_slot_: id  0 | task 5 | processing task, is_child = 0",
    "slot print_timing: id  0 | task 5 |        eval time =    2000.00 ms /   101 tokens (   20.00 ms per token,    50.00 tokens per second)",
    "slot print_timing: id  0 | task 5 | draft acceptance = 0.50000 (   60 accepted /   120 generated), mean len =  2.50",
    "slot print_timing: id  0 | task 5 |      acc per pos = (0.800, 0.450, 0.250)",
    "spec common_specu: statistics        draft-mtp: #calls(b,g,a) =    1     40     40, #gen drafts =     40, #acc drafts =    32,"
    " #gen tokens =    120, #acc tokens =    60, dur(b,g,a) = 0.010, 410.200, 0.080 ms",
    "slot      release: id  0 | task 5 | stop processing: n_tokens = 150, truncated = 0",
)


def test_ollamas_runners_are_read_beside_each_other() -> None:
    slog = 'time=2026-08-01T10:00:01.120Z level=INFO source=server.go:10 msg="llama runner started in 2.00 seconds"'
    result = read(lines(slog, *OLLAMA, MLX.format(88, 240, 139, 240 / 88), slog))
    first, second = result.requests
    assert (first.engine, first.rounds, first.accepted, first.clock_s) == ("llama.cpp", 40, 60, None)
    assert (second.engine, second.drafted, second.accepted) == ("Ollama", 240, 139)
    assert second.acceptance_ratio == pytest.approx(139 / 240)
    assert second.time == dt.datetime(2026, 8, 1, 10, 0, 3, 120000, dt.UTC).timestamp()
    assert result.problems == []


def test_its_passes_bound_the_rounds() -> None:
    """Passes without a draft are among them."""
    open_ = read(lines(MLX.format(88, 240, 139, 240 / 88))).request
    assert (open_.rounds, open_.rounds_range, open_.mean_accepted_length) == (None, (48, 88), None)
    full = read(lines(MLX.format(48, 240, 139, 5))).request
    assert (full.rounds, full.rounds_range) == (48, None)
    assert full.mean_accepted_length == pytest.approx(1 + 139 / 48)
    none = read(lines(MLX.format(50, 0, 0, 0))).request
    assert (none.drafted, none.rounds, none.acceptance_ratio) == (0, None, None)


@pytest.mark.parametrize(
    "line",
    [
        MLX.format(88, 139, 240, 139 / 88),
        MLX.format(88, 240, 139, 9.5),
        MLX.format(0, 0, 0, 0),
        MLX.format(88, 240, 139, 2.73).split(" accepted=")[0],
    ],
)
def test_its_line_is_told_when_it_cannot_be(line: str) -> None:
    result = read(lines(MLX.format(88, 240, 139, 240 / 88), line))
    assert len(result.requests) == 1
    assert result.problems == ["renamed"]


def test_its_line_quoted_in_another_servers_log_is_not_counted() -> None:
    quoted = MLX.format(88, 240, 139, 240 / 88)
    quoting = read(lines("D srv  log_server_r: request:  {", *OLLAMA[:1], quoted))
    assert (quoting.requests, quoting.problems) == ([], ["unattached"])
    assert read(lines(f"0.01.000.000 I {OLLAMA[0]}", quoted)).requests == []

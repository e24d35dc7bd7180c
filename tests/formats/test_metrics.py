"""Counters into intervals, over every oddity that /metrics has had."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.formats.metrics_texts import halogen, llamacpp
from tui.formats.events import Event, Interval, Progress, ServerStart
from tui.formats.metrics import engine_of, read_counters
from tui.formats.polled import PATIENCE_S, PolledServer
from tui.formats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.formats.events import Engine

URL = "http://127.0.0.1:8080"
PROPS = {"build_info": "b11434-9f8e7d6c5", "model_path": "/srv/models/target-q4.gguf"}
HEALTH = {"version": {"api": "0.17.4"}, "drafter_default": "mtp", "model": "flash"}


def look(text: str | None, at: float = 0.0, engine: Engine | None = "llama.cpp", **other: Any) -> Sample:
    about = HEALTH if engine == "halogen" else PROPS
    return Sample(URL, None, at, engine, text, **{"about": about, **other})


def read_all(looks: Iterable[Sample]) -> list[Event]:
    server = PolledServer(URL)
    return [event for sample in looks for event in server.read(sample)]


def intervals(events: list[Event]) -> list[Interval]:
    return [event for event in events if isinstance(event, Interval) and event.tokens]


def starts(events: list[Event]) -> list[ServerStart]:
    return [event for event in events if isinstance(event, ServerStart)]


def test_the_first_look_counts_since_the_start_and_the_next_what_came() -> None:
    first = llamacpp(1000, 20.0, 900, 450, 300, (240, 150, 60))
    second = llamacpp(1261, 22.0, 1200, 600, 400, (320, 200, 80), running=2)
    one, two = intervals(read_all([look(first, 5.0), look(second, 7.0), look(second, 9.0)]))
    assert (one.tokens, one.seconds, one.drafted, one.accepted, one.rounds) == (1000, 20.0, 900, 450, 300)
    assert (two.tokens, two.seconds, two.drafted, two.accepted, two.rounds) == (261, 2.0, 300, 150, 100)
    assert two.accepted_per_position == (0.8, 0.5, 0.2)
    assert (two.running, two.requests, two.time) == (2, None, 7.0)


def test_facts_are_told_once_and_completed() -> None:
    slots = [{"id": 0, "speculative": True, "is_processing": False}]
    drafting = [{**slots[0], "params": {"speculative.types": "ngram-mod,draft-mtp"}}]
    told = starts(
        read_all(
            [
                look(llamacpp(), 0, slots=slots),
                look(llamacpp(), 2, slots=slots),
                look(llamacpp(10, 1, 9, 3, 3, (2, 1, 0)), 4, slots=drafting),
            ]
        )
    )
    assert [start.running for start in told] == [True, True]
    assert (told[0].build, told[0].model) == ("b11434", "/srv/models/target-q4.gguf")
    assert (told[0].depth, told[0].spec_types) == (None, None)
    assert (told[1].depth, told[1].spec_types) == (3, ("ngram-mod", "draft-mtp"))


def test_slots_that_cannot_draft_are_known_not_to() -> None:
    (start,) = starts(read_all([look(llamacpp(), slots=[{"id": 0, "speculative": False}])]))
    assert start.spec_types == ()


def test_a_shallow_clones_build_number_is_no_build() -> None:
    (start,) = starts(read_all([look(llamacpp(), about={**PROPS, "build_info": "b1-abcdef12"})]))
    assert start.build is None


def test_a_fall_is_a_restart_told_with_its_first_request() -> None:
    before = llamacpp(1000, 20.0, 900, 450, 300, (240, 150, 60))
    after = llamacpp(40, 1.0, 30, 15, 10, (8, 5, 2))
    events = read_all([look(before, 0), look(llamacpp(), 2), look(after, 4)])
    assert [start.running for start in starts(events)] == [True, False]
    assert starts(events)[1].depth == 3
    assert [interval.tokens for interval in intervals(events)] == [1000, 40]
    assert events.index(starts(events)[1]) < events.index(intervals(events)[1])


def test_another_process_is_a_restart_though_its_counters_are_higher() -> None:
    events = read_all([look(llamacpp(100, 1), 0, process="7"), look(llamacpp(150, 2), 2, process="8")])
    assert [interval.tokens for interval in intervals(events)] == [100, 150]
    assert [start.running for start in starts(events)] == [True, False]


def test_looks_without_counters_are_neither_progress_nor_restart() -> None:
    text = llamacpp(100, 1)
    events = read_all([look(text, 0), look(None, 2), look(text, 4), look(llamacpp(130, 2), 6)])
    assert [interval.tokens for interval in intervals(events)] == [100, 30]
    assert len(starts(events)) == 1


def test_six_digits_wait_until_the_difference_is_worth_telling() -> None:
    def text(tokens: int) -> str:
        return llamacpp(tokens, 50_000 + tokens / 100, None)

    looks = [look(text(1_234_560 + 30 * n), 2.0 * n) for n in range(30)]
    found = intervals(read_all(looks))
    assert "1.23456e+06" in text(1_234_560)
    for interval in found[1:]:
        assert interval.tokens is not None
        assert interval.tokens >= 500
    assert found[1:]
    # Nothing is lost or counted twice on the way, but for the last printed digit.
    assert sum(i.tokens or 0 for i in found) == pytest.approx(1_234_560 + 30 * 29, abs=520)


def test_a_slow_server_is_told_in_the_end() -> None:
    looks = [look(llamacpp(1_234_560, 5e4, None), 0)]
    looks += [look(llamacpp(1_234_600, 5e4, None), at) for at in (2.0, PATIENCE_S, PATIENCE_S + 2.0)]
    assert [interval.tokens for interval in intervals(read_all(looks))] == [1_234_560, 40]


def test_what_was_not_told_yet_is_told_before_a_restart() -> None:
    looks = [
        look(llamacpp(2_000_000, 5e4, None), 0),
        look(llamacpp(2_000_100, 5e4, None), 2),
        look(llamacpp(5, 1, None), 4),
    ]
    assert [interval.tokens for interval in intervals(read_all(looks))] == [2_000_000, 100, 5]


def test_builds_without_drafting_counters_leave_them_unknown() -> None:
    (interval,) = intervals(read_all([look(llamacpp(100, 2.0, drafted=None))]))
    assert (interval.drafted, interval.accepted, interval.rounds) == (None, None, None)
    assert interval.accepted_per_position is None


def test_a_body_in_json_quotes_is_read() -> None:
    text = json.dumps(llamacpp(100, 2.0))
    assert engine_of(text) == "llama.cpp"
    (interval,) = intervals(read_all([look(text)]))
    assert interval.tokens == 100


def test_halogen_by_its_counters_never_by_its_gauges() -> None:
    first = halogen(requests=5, tokens=1000, seconds=25.0, drafted=600, accepted=400, gauge=77.0)
    second = halogen(requests=6, tokens=1200, seconds=30.0, drafted=700, accepted=460, gauge=0.0)
    events = read_all([look(first, 0, "halogen"), look(second, 2, "halogen")])
    _, interval = intervals(events)
    assert (interval.requests, interval.tokens, interval.seconds) == (1, 200, 5.0)
    assert (interval.drafted, interval.accepted, interval.rounds) == (100, 60, None)
    (start,) = starts(events)
    assert (start.build, start.model, start.spec_types) == ("0.17.4", "flash", ("mtp",))
    assert engine_of(first) == "halogen"


@pytest.mark.parametrize(
    ("version", "counts"),
    [("0.13.8", True), ("0.14.0", False), ("0.15.3", False), ("0.16.0", True), (None, False)],
)
def test_halogen_versions_that_miscount_have_no_drafted_tokens(version: str | None, counts: bool) -> None:
    about = {} if version is None else {"version": {"api": version}}
    text = halogen(requests=5, tokens=1000, seconds=25.0, drafted=600, accepted=700)
    (interval,) = intervals(read_all([look(text, 0, "halogen", about=about)]))
    assert interval.drafted == (600 if counts else None)


def test_a_serial_halogen_has_drafted_nothing_and_a_million_seconds_are_read() -> None:
    looks = [halogen(9000, 50_000_000, 1_234_560.0), halogen(9500, 53_000_000, 1_334_560.0, 0, 0)]
    assert "seconds_total 1.23456e+06" in looks[0]
    first, second = intervals(read_all([look(text, 900.0 * at, "halogen") for at, text in enumerate(looks)]))
    assert (first.seconds, first.drafted, first.accepted) == (1_234_560.0, 0, 0)
    assert (second.tokens, second.seconds, second.requests) == (3_000_000, 100_000.0, 500)


@pytest.mark.parametrize(
    ("says", "drafters"),
    [
        ({"drafter_weights_loaded": True}, ("mtp",)),
        ({"drafter_default": "serial"}, ()),
        ({"drafter_weights_loaded": False}, ()),
        ({"drafter_weights_loaded": False, "version": None}, ("mtp",)),
        ({"capability_probe": "failed"}, None),
        ({"drafter_default": None}, None),
    ],
)
def test_what_drafts_in_halogen_is_what_it_vouches_for(
    says: dict[str, Any], drafters: tuple[str, ...] | None
) -> None:
    (start,) = starts(read_all([look(halogen(), 0, "halogen", about={**HEALTH, **says})]))
    assert start.spec_types == drafters


def loads(looks: Iterable[Sample]) -> list[tuple[int | None, int | None, float | None]]:
    events = [event for event in read_all(looks) if isinstance(event, Interval)]
    return [(event.running, event.queued, event.kv_usage) for event in events]


def test_load_is_told_when_it_changes() -> None:
    looks = [look(llamacpp(running=n), 2.0 * at) for at, n in enumerate((0, 2, 2, 1))]
    assert loads(looks) == [(0, 0, None), (2, 0, None), (1, 0, None)]


def test_halogens_pool_is_as_its_cache_says_while_that_is_fresh() -> None:
    pool = {"pool": {"positions": 262144, "usage_ratio": 0.2512, "busy_regions": 1}}
    caches: list[dict[str, Any]] = [
        {},
        pool,
        {**pool, "stale_s": 12.5},
        {"pool": {"usage_ratio": 7}},
        {"pool": 3},
    ]
    looks = [look(halogen(running=1), 2.0 * at, "halogen", cache=cache) for at, cache in enumerate(caches)]
    assert loads(looks) == [(1, 0, None), (1, 0, 0.25), (1, 0, None)]


def test_a_halogen_without_metrics_tells_its_load_itself() -> None:
    about = {"version": {"api": "0.7.2"}, "in_flight": 2, "queued": 1, "busy": True}
    assert loads([look(None, 0, "halogen", about=about)]) == [(2, 1, None)]


def test_of_several_vllm_engines_the_fullest_cache_counts() -> None:
    rows = ["vllm:generation_tokens_total 0"]
    rows += [f'vllm:num_requests_running{{engine="{e}"}} {e + 1}.0' for e in (0, 1)]
    rows += [f'vllm:num_requests_waiting{{engine="{e}"}} {4 * e}.0' for e in (0, 1)]
    rows += [f'vllm:kv_cache_usage_perc{{engine="{e}"}} {0.25 + e / 2}' for e in (0, 1)]
    assert loads([look("\n".join(rows), engine=None)]) == [(3, 4, 0.75)]


def test_vllms_rate_is_that_of_all_requests_while_it_has_work() -> None:
    def text(tokens: int, running: int) -> str:
        return f"vllm:generation_tokens_total {tokens}\nvllm:num_requests_running {running}\n"

    told = [(1000, 2), (1300, 2), (1600, 1), (1650, 0), (1650, 0), (1700, 1), (1950, 1), (1950, 1), (2300, 1)]
    looks = [look(text(*each), 2.0 * at, engine=None) for at, each in enumerate(told)]
    assert [(i.tokens, i.rate_tok_s) for i in intervals(read_all(looks))] == [
        (1000, None),
        (300, 150.0),
        (300, 150.0),
        (50, None),
        (50, None),
        (250, 125.0),
        (350, None),
    ]


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_counters_that_come_with_the_first_request_are_no_fault_before_it(engine: str) -> None:
    name = {"vllm": "num_requests_running", "sglang": "num_running_reqs"}[engine]
    gauges = f"{engine}:{name} 0\n"
    events = read_all(
        [
            look(gauges, 0, engine=None),
            look(f"{gauges}{engine}:generation_tokens_total 120\n", 2, engine=None),
            look(gauges, 4, engine=None),
            look(f"{gauges}{engine}:generation_tokens_total 50\n", 6, engine=None),
        ]
    )
    assert [start.running for start in starts(events)] == [True, False]
    assert [interval.tokens for interval in intervals(events)] == [120, 50]


@pytest.mark.parametrize("value", ["-5", "NaN", "+Inf"])
def test_what_no_counter_can_be_is_none(value: str) -> None:
    text = halogen(5, 1000, 20.0, 600, 400)
    for name in ("halogen:draft_tokens_total 600", "halogen:draft_tokens_accepted_total 400"):
        text = text.replace(name, f"{name.split()[0]} {value}")
    (interval,) = intervals(read_all([look(text, 0, "halogen")]))
    assert (interval.tokens, interval.drafted, interval.accepted) == (1000, None, None)
    with pytest.raises(ValueError, match="tokens_predicted_total"):
        read_counters(
            text.replace("tokens_predicted_total 1000", f"tokens_predicted_total {value}"), "halogen"
        )


def test_sglangs_load_and_no_mean_of_means() -> None:
    rows = ["sglang:generation_tokens_total 500", "sglang:num_running_reqs 2", "sglang:num_queue_reqs 3"]
    rows += ["sglang:token_usage 0.07"]
    rows += [
        f'sglang:spec_accept_length{{dp_rank="{rank}"}} {length}' for rank, length in enumerate((2.5, 3.1))
    ]
    (interval,) = intervals(read_all([look("\n".join(rows), engine=None)]))
    assert (interval.running, interval.queued, interval.kv_usage) == (2, 3, 0.07)
    assert interval.mean_accepted_length is None


def test_halogens_long_seconds_wait_too() -> None:
    looks = [
        look(halogen(requests=n, tokens=10**7 + 100 * n, seconds=123_456 + 2 * n), 2.0 * n, "halogen")
        for n in range(30)
    ]
    found = intervals(read_all(looks))[1:]
    assert found
    for interval in found:
        assert (interval.tokens or 0) / (interval.seconds or 1) == pytest.approx(50, rel=0.03)


def test_time_that_falls_by_itself_is_no_restart_and_no_time() -> None:
    events = read_all([look(llamacpp(100, 50.0), 0), look(llamacpp(150, 3.0), 2)])
    assert len(starts(events)) == 1
    assert [(i.tokens, i.seconds) for i in intervals(events)] == [(100, 50.0), (50, None)]


@pytest.mark.parametrize("seconds", [1.2345e15, 1e6])
def test_a_time_that_was_never_set_is_no_time(seconds: float) -> None:
    events = read_all(
        [look(llamacpp(100, 5.0), 0), look(llamacpp(150, seconds), 2), look(llamacpp(200, seconds), 99)]
    )
    assert [(i.tokens, i.seconds) for i in intervals(events)] == [(100, 5.0), (50, None), (50, None)]


@pytest.mark.parametrize(
    ("slots", "depth"),
    [
        ([{"speculative": True, "params": {"speculative.n_max": 16}}, {"speculative": True}], 16),
        ([{"speculative": False, "params": {"speculative.n_max": 16}}], None),
        ([{"speculative": True, "params": {"speculative.n_max": "16"}}], None),
        ([{"speculative": True, "params": {"speculative.n_max": 0}}], None),
    ],
)
def test_old_builds_tell_the_depth_with_their_slots(slots: list[dict[str, Any]], depth: int | None) -> None:
    (start,) = starts(read_all([look(llamacpp(), slots=slots)]))
    assert start.depth == depth


def test_vllm_labels_are_summed_and_its_histograms_left_alone() -> None:
    name = "vllm:spec_decode_num_"
    rows = [
        f'{name}drafts_total{{engine="{e}",model_name="m"}} 50.0\n'
        f'{name}draft_tokens_total{{engine="{e}",model_name="m"}} 150.0\n'
        f'{name}accepted_tokens_total{{engine="{e}",model_name="m"}} 75.0\n'
        f'{name}accepted_tokens_per_pos_total{{engine="{e}",model_name="m",position="0"}} 45.0\n'
        f'{name}accepted_tokens_per_pos_total{{engine="{e}",model_name="m",position="1"}} 30.0\n'
        f'vllm:generation_tokens_total{{engine="{e}",model_name="m"}} 140.0\n'
        f'vllm:request_success_total{{engine="{e}",finished_reason="stop",model_name="m"}} 2.0\n'
        f'vllm:e2e_request_latency_seconds_bucket{{engine="{e}",le="0.3"}} 1.0\n'
        for e in (0, 1)
    ]
    text = "".join(rows)
    assert engine_of(text) == "vLLM"
    (interval,) = intervals(read_all([look(text, engine=None)]))
    assert interval.engine == "vLLM"
    assert (interval.rounds, interval.drafted, interval.accepted, interval.requests) == (100, 300, 150, 4)
    assert interval.accepted_per_position == (0.9, 0.6)
    assert interval.seconds is None


def test_sglang_tells_a_mean_length() -> None:
    text = "sglang:generation_tokens_total 500\nsglang:spec_accept_length 2.5\nsglang:num_running_reqs 2\n"
    (interval,) = intervals(read_all([look(text, engine=None)]))
    assert (interval.engine, interval.mean_accepted_length, interval.drafted) == ("SGLang", 2.5, None)
    (plain,) = intervals(read_all([look(text.replace("2.5", "0.0"), engine=None)]))
    assert plain.mean_accepted_length is None


def test_an_answer_without_counters_is_refused_and_changes_nothing() -> None:
    server = PolledServer(URL)
    server.read(look(llamacpp(100, 1), 0))
    for text in ("", "\0" * 9, '{"a": 1}', "# HELP llamacpp:tokens_predicted_total Words"):
        with pytest.raises(ValueError, match="tokens_predicted_total"):
            server.read(look(text, 2))
    assert [e.tokens for e in server.read(look(llamacpp(130, 2), 4)) if isinstance(e, Interval)] == [30]


def test_nobody_known_says_nothing() -> None:
    assert engine_of("nginx_up 1\n") is None
    assert read_all([look("nginx_up 1\n", engine=None)]) == []


def slot(task: int, tokens: int, **other: Any) -> dict[str, Any]:
    return {"id": 1, "id_task": task, "is_processing": True, "next_token": [{"n_decoded": tokens}], **other}


def test_slots_tell_what_is_in_flight_with_its_rate() -> None:
    looks = [
        look(llamacpp(running=1), 0.0, slots=[slot(7, 10)]),
        look(llamacpp(running=1), 2.0, slots=[slot(7, 50)]),
        look(llamacpp(running=1), 4.0, slots=[slot(9, 5)]),
        look(llamacpp(), 6.0, slots=[slot(9, 5, is_processing=False)]),
    ]
    found = [event for event in read_all(looks) if isinstance(event, Progress)]
    assert [(p.slot, p.task, p.tokens, p.rate_recent_tok_s) for p in found] == [
        (1, 7, 10, None),
        (1, 7, 50, 20.0),
        (1, 9, 5, None),
    ]


def test_slots_of_older_builds_are_understood() -> None:
    old = {"id": 0, "task_id": 3, "state": 1, "next_token": {"n_decoded": 12}}
    found = [event for event in read_all([look(llamacpp(), slots=[old])]) if isinstance(event, Progress)]
    assert [(p.slot, p.task, p.tokens) for p in found] == [(0, 3, 12)]


def test_a_routers_child_tells_its_drafter_by_its_command_line() -> None:
    args = ("llama-server", "--port", "41000", "--spec-type", "draft-mtp", "--model-draft", "d.gguf")
    (start,) = starts(read_all([look(llamacpp(), args=args)]))
    assert (start.spec_types, start.draft_model, start.depth) == (("draft-mtp",), "d.gguf", None)
    (start,) = starts(read_all([look(llamacpp(), args=(*args, "--draft-max", "5"))]))
    assert start.depth == 5


@example(noise="{, =0}")
@given(st.text(alphabet='lamcp:_tokens{}"=,0123456789.e+-nax #\n\\', max_size=300))
def test_any_text_is_read_or_refused_with_a_value_error(noise: str) -> None:
    name = "llamacpp:tokens_predicted_total"
    for text in (noise, f"{name}{noise}", f"{name} {noise}", f'"{noise}'):
        try:
            counters = read_counters(text, "llama.cpp")
        except ValueError:
            continue
        assert all(count.value == count.value for count in counters.values())

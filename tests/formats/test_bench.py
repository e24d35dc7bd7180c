"""Batch benches as people have them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.formats.bench import LARGEST_FILE, Bench, BenchError, read_bench

SETUP = (
    "llama_batched_bench: n_kv_max = 4096, n_batch = 2048, n_ubatch = 512, flash_attn = -1, "
    "is_pp_shared = 0, is_tg_separate = {separate}, n_gpu_layers = 99, n_threads = 8, n_threads_batch = 8"
)
HEADING = """
|    PP |     TG |    B |   N_KV |   T_PP s | S_PP t/s |   T_TG s | S_TG t/s |      T s |    S t/s |
|-------|--------|------|--------|----------|----------|----------|----------|----------|----------|
"""


def row(n: int, seconds: float, *, prompt: int = 128, tokens: int = 32) -> str:
    made = n * tokens
    return (
        f"|{prompt:6d} | {tokens:6d} | {n:4d} | {n * (prompt + tokens):6d} | {0.1:8.3f} | {1280.0:8.2f} | "
        f"{seconds:8.3f} | {made / seconds:8.2f} | {seconds + 0.1:8.3f} | {100.0:8.2f} |"
    )


def table(*rows: str, separate: int = 0) -> bytes:
    return (SETUP.format(separate=separate) + "\n" + HEADING + "\n".join(rows) + "\n").encode()


def batched(n: int, seconds: float, **more: Any) -> dict[str, Any]:
    return {
        "n_kv_max": 8192,
        "n_batch": 2048,
        "flash_attn": 1,
        "pp": 128,
        "tg": 32,
        "pl": n,
        "n_kv": 160 * n,
        "t_pp": 0.1,
        "t_tg": seconds,
        "speed_tg": 32 * n / seconds,
        **more,
    }


def benched(**fields: Any) -> dict[str, Any]:
    return {
        "build_commit": "ab12cd34",
        "build_number": 9001,
        "gpu_info": "Some GPU",
        "model_filename": "models/demo.gguf",
        "model_type": "demo 7B Q4_0",
        "n_batch": 2048,
        "n_ubatch": 512,
        "n_prompt": 0,
        "n_gen": 0,
        "n_depth": 0,
        "test_time": "2026-01-01T00:00:00Z",
        "stddev_ns": 1000,
        "samples_ns": [1],
        **fields,
    }


def lines(*records: dict[str, Any]) -> bytes:
    return "\n\n".join(json.dumps(record) for record in records).encode()


def only(bench: Bench) -> Any:
    (profile,) = bench.profiles
    return profile


def test_batched_bench_table() -> None:
    bench = read_bench(table(row(1, 0.64), row(2, 0.70), row(4, 1.28)), "run.md")
    profile = only(bench)
    assert profile.name == "run.md"
    assert profile.batch == (1, 2, 4)
    assert profile.target_step_ms == pytest.approx(20.0)
    assert profile.time_ratio == pytest.approx((1.0, 0.70 / 0.64, 2.0), rel=1e-4)
    assert profile.key.context == 144
    assert bench.notes == ()


def test_a_fast_target_keeps_its_digits() -> None:
    """T_TG has three decimals; S_TG tells the same time with more."""
    profile = only(read_bench(table(row(1, 0.00842), row(2, 0.01296)), "x"))
    assert profile.target_step_ms == pytest.approx(0.00842 / 32 * 1000, rel=1e-5)
    assert profile.time_ratio[1] == pytest.approx(0.01296 / 0.00842, rel=1e-4)


def test_table_inside_a_log() -> None:
    prefixed = b"\n".join(b"0.01.002.003 I " + line for line in table(row(1, 0.6), row(3, 0.9)).splitlines())
    assert only(read_bench(b"load_model: done\r\n" + prefixed, "x")).batch == (1, 3)


def test_one_profile_for_each_prompt_length() -> None:
    data = table(row(1, 0.6), row(2, 0.7), row(1, 0.8, prompt=4000), row(2, 1.0, prompt=4000))
    short, long = read_bench(data, "x").profiles
    assert (short.name, long.name) == ("x pp 128", "x pp 4000")
    assert (short.key.context, long.key.context) == (144, 4016)
    assert short.notes == ()
    assert "own context" in long.notes[0]


def test_runs_of_one_size_become_their_mean() -> None:
    profile = only(read_bench(table(row(1, 0.6), row(2, 0.7), row(2, 0.9)), "x"))
    assert profile.time_ratio[1] == pytest.approx(0.8 / 0.6, rel=1e-3)


def test_sequences_run_one_by_one_are_no_batch() -> None:
    with pytest.raises(BenchError, match="is_tg_separate"):
        read_bench(table(row(1, 0.6), row(2, 1.2), separate=1), "x")


def test_columns_that_contradict_each_other_are_left_aside() -> None:
    wrong = row(4, 0.8).replace("0.800", "0.200")
    bench = read_bench(table(row(1, 0.6), row(2, 0.7), wrong), "x")
    assert only(bench).batch == (1, 2)
    assert bench.notes == ("left aside 1 results without generation (TG) or with an impossible time",)


def test_batched_bench_json_lines() -> None:
    bench = read_bench(lines(batched(1, 0.64), batched(2, 0.80), batched(3, 1.20)), "run.jsonl")
    assert only(bench).time_ratio == pytest.approx((1.0, 1.25, 1.875))
    assert only(bench).target_step_ms == pytest.approx(20.0)


def test_a_cut_line_is_told() -> None:
    data = lines(batched(1, 0.64), batched(2, 0.80)) + b'\n{"pl": 3, "t_t'
    bench = read_bench(data, "x")
    assert only(bench).batch == (1, 2)
    assert bench.notes == ("left aside 1 lines that are cut or no JSON",)


@pytest.mark.parametrize("bad", [0, -1.0, None, True, "nan", 1e999])
def test_impossible_times_never_enter_a_profile(bad: Any) -> None:
    data = lines(batched(1, 0.64), batched(2, 0.80), {**batched(3, 1.0), "t_tg": bad})
    bench = read_bench(data, "x")
    assert only(bench).batch == (1, 2)
    assert "impossible time" in bench.notes[0]


def test_different_settings_are_never_one_profile() -> None:
    data = lines(*(batched(n, s, flash_attn=fa) for fa in (0, 1) for n, s in ((1, 0.6 + fa), (2, 0.7 + fa))))
    bench = read_bench(data, "x")
    assert [profile.name for profile in bench.profiles] == ["x flash_attn 0", "x flash_attn 1"]
    assert bench.profiles[1].time_ratio[1] == pytest.approx(1.7 / 1.6)


def test_llama_bench_by_prompt_size() -> None:
    records = [benched(n_prompt=n, avg_ns=ns) for n, ns in ((1, 30e6), (2, 33e6), (8, 60e6), (512, 900e6))]
    bench = read_bench(json.dumps([*records, benched(n_gen=128, avg_ns=128 * 31e6)]).encode(), "x")
    profile = only(bench)
    assert profile.batch == (1, 2, 8)
    assert profile.target_step_ms == pytest.approx(30.0)
    assert profile.time_ratio == pytest.approx((1.0, 1.1, 2.0))
    assert (profile.key.model, profile.key.device, profile.key.build) == (
        "models/demo.gguf",
        "Some GPU",
        "b9001",
    )
    assert profile.key.context == 0
    assert "more than 65 tokens" in bench.notes[0]


def test_llama_bench_by_micro_batch() -> None:
    """A long prompt in passes of n tokens tells T(n) too, generation T(1) where no prompt of one does."""
    passes = ((2, 18.0), (4, 23.0))
    records = [benched(n_prompt=256, n_ubatch=n, avg_ns=256 / n * ms * 1e6) for n, ms in passes]
    profile = only(read_bench(lines(*records, benched(n_gen=64, avg_ns=64 * 6e6)), "x"))
    assert profile.batch == (1, 2, 4)
    assert profile.time_ratio == pytest.approx((1.0, 3.0, 23 / 6))


def test_llama_bench_without_small_sizes_is_refused() -> None:
    data = json.dumps([benched(n_prompt=512, avg_ns=9e8), benched(n_gen=128, avg_ns=4e9)]).encode()
    with pytest.raises(BenchError, match="only n = 1"):
        read_bench(data, "x")


@pytest.mark.parametrize(
    "text", ["1.0, 0.58, 0.47\n", "1\n.58\n.47", "[1.0, 0.58, 0.47]", "\ufeff1.0;0.58 0.47"]
)
def test_plain_lists(text: str) -> None:
    profile = only(read_bench(text.encode(), "x"))
    assert profile.cost_per_token == pytest.approx((1.0, 0.58, 0.47))
    assert profile.target_step_ms is None
    assert profile.notes == ()


def test_a_list_that_looks_like_step_times_is_warned_of() -> None:
    profile = only(read_bench(b"1.0 1.1 1.3 1.6", "x"))
    assert "time_ratio" in profile.notes[0]


@pytest.mark.parametrize(
    "text", ["0.58, 0.47", "[1.0, 0.58, 0.4", "1.0, 0.58, -0.4", "1.0, fast", "1.0", "[[1.0]]"]
)
def test_lists_that_are_none(text: str) -> None:
    with pytest.raises(BenchError):
        read_bench(text.encode(), "x")


STATED = {
    "batch": [1, 2, 4],
    "ms_per_batch": [20.0, 22.0, 30.0],
    "target": "some model",
    "hardware": "some box",
    "quantity": "ms per forward",
}


@pytest.mark.parametrize(
    ("columns", "step"),
    [
        ({"ms_per_batch": [20.0, 22.0, 30.0]}, 20.0),
        ({"tok_s": [50.0, 1000 * 2 / 22.0, 1000 * 4 / 30.0]}, 20.0),
        ({"relative_cost_per_token": [1.0, 0.55, 0.375]}, None),
        ({"time_ratio": [1.0, 1.1, 1.5], "target_step_ms": 20.0}, 20.0),
    ],
)
def test_objects_that_state_sizes(columns: dict[str, Any], step: float | None) -> None:
    profile = only(read_bench(json.dumps({"batch": [1, 2, 4], **columns}).encode(), "x"))
    assert profile.time_ratio == pytest.approx((1.0, 1.1, 1.5))
    assert profile.target_step_ms == (None if step is None else pytest.approx(step))


def test_sizes_in_any_order() -> None:
    value = {"batch": [4, 1, 2], "ms_per_batch": [30.0, 20.0, 22.0], "relative_step_cost": [1.5, 1.0, 1.1]}
    assert only(read_bench(json.dumps(value).encode(), "x")).time_ratio == pytest.approx((1.0, 1.1, 1.5))


def test_what_an_object_says_of_its_setup_is_kept() -> None:
    profile = only(read_bench(json.dumps(STATED).encode(), "x"))
    assert (profile.key.model, profile.key.device) == ("some model", "some box")
    assert not profile.includes_draft


@pytest.mark.parametrize(
    "quantity",
    ["ms per round (draft included)", "ms per step = AL * TPOT", "ms per engine step = length / rate"],
)
def test_whole_rounds_are_known_as_such(quantity: str) -> None:
    assert only(read_bench(json.dumps({**STATED, "quantity": quantity}).encode(), "x")).includes_draft


def test_further_columns_are_profiles_of_their_own() -> None:
    value = {**STATED, "other_columns": {"two devices": [31.0, 40.0, 62.0]}}
    first, second = read_bench(json.dumps(value).encode(), "x").profiles
    assert (first.name, second.name) == ("x", "x, two devices")
    assert second.time_ratio[2] == pytest.approx(2.0)


def test_several_named_profiles() -> None:
    value = {"one": {"relative_cost": [1.0, 0.6]}, "two": {"batch": [2, 4], "ms_per_batch": [3, 4]}}
    bench = read_bench(json.dumps(value).encode(), "x")
    assert only(bench).name == "x one"
    assert bench.notes[0].startswith("x two: no batch of 1")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"quantity": "microseconds of one matmul"}, "one kernel"),
        ({"batch": [4, 6, 8]}, "no batch of 1"),
        ({"batch": [1, 2]}, "2 batch sizes but 3 values"),
        ({"batch": [1, 2, 2]}, "different sizes"),
        ({"batch": "1,2,4"}, "different sizes"),
        ({"ms_per_batch": [20.0, None, 30.0]}, "list of numbers above 0"),
        ({"relative_step_cost": [1.0, 2.0, 3.0]}, "contradict"),
    ],
)
def test_objects_that_are_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(BenchError, match=words):
        read_bench(json.dumps({**STATED, **change}).encode(), "x")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"   \n",
        b"hello",
        b"{}",
        b"[]",
        b"null",
        b'{"a": 1}',
        b'{"batch": [1, 2]}',
        b"\x00\xff\xfe\x80" * 50,
        b"[" * 200_000,
        b'{"pl": 1, "t_tg": ' + b"9" * 6000 + b"}",
        b'[{"pl": 1}, 3]',
        b'{"profiles": []}',
        b'{"profiles": [1]}',
        b"| 1 | 2 | 3 |",
        b'{"batch": [1, 2, 1000000000], "ms_per_batch": [1, 2, 3]}',
        b"1 " * 300_000,
    ],
    ids=lambda data: repr(data[:20]),
)
def test_no_bench_at_all(data: bytes) -> None:
    with pytest.raises(BenchError) as caught:
        read_bench(data, "x")
    assert str(caught.value)


def test_a_file_too_large_is_not_read() -> None:
    with pytest.raises(BenchError, match="MiB"):
        read_bench(b"1" * (LARGEST_FILE + 1), "x")


def test_outside_text_is_made_harmless() -> None:
    value = {**STATED, "target": "\x1b[2Jmodel\u202e", "other_columns": {"\x1b]0;x\x07": [30, 31, 32]}}
    bench = read_bench(json.dumps({"p\x1b[1m": value}).encode(), "run\x1b[0m")
    for profile in bench.profiles:
        assert profile.name.isprintable()
        assert profile.key.model is not None
        assert profile.key.model.isprintable()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["batch", "pl", "tg", "t_tg", "avg_ns", "n_prompt", "profiles", "time_ratio", "x"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


def answered(data: bytes) -> bool:
    """Whether there is a profile, or a reason in words."""
    try:
        return bool(read_bench(data, "x").profiles)
    except BenchError as error:
        return bool(str(error))


@given(JSON)
def test_any_json_gives_a_profile_or_a_reason(value: Any) -> None:
    assert answered(json.dumps(value).encode())


@given(st.binary(max_size=300) | st.text("|{}[]0123456789., \n-e", max_size=200).map(str.encode))
def test_any_bytes_give_a_profile_or_a_reason(data: bytes) -> None:
    assert answered(data)

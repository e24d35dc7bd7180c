from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.preflight.headers import Value, header
from tui.preflight.footprint import Footprint, Setup, footprint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.preflight.gguf import Header

LAYERS = 4
BASE: dict[str, Value] = {
    "context_length": 8192,
    "embedding_length": 64,
    "block_count": LAYERS,
    "feed_forward_length": 256,
    "attention.head_count": 8,
    "attention.head_count_kv": 2,
}


def layers(names: Sequence[str] = ("attn_k",), count: int = LAYERS) -> dict[str, Sequence[int]]:
    return {f"blk.{layer}.{name}.weight": (1,) for layer in range(count) for name in names}


def made(
    more: Mapping[str, Value] | None = None,
    *,
    architecture: str = "llama",
    tensors: Mapping[str, Sequence[int]] | None = None,
) -> Header:
    return header(architecture, {**BASE, **(more or {})}, tensors or layers(), tokens=100)


def cache(model: Header, **setup: object) -> int:
    found = footprint(model, Setup(**{"context": 4096, **setup})).cache  # type: ignore[arg-type]  # Setup's own
    assert found is not None
    return found


def test_keys_and_values_of_every_layer_are_counted() -> None:
    # 4096 tokens * 4 layers * 2 heads * (8 + 8) elements * 2 bytes
    assert cache(made()) == 4096 * 4 * 2 * 16 * 2


@pytest.mark.parametrize(("kind", "size"), [("f32", 4), ("f16", 2), ("q8_0", 34 / 32), ("q4_0", 18 / 32)])
def test_the_cache_type_scales_it(kind: str, size: float) -> None:
    assert cache(made(), cache_type=kind) == 4096 * 4 * 2 * 16 * size


def test_head_sizes_and_heads_by_layer_are_taken_from_the_header() -> None:
    model = made({"attention.key_length": 10, "attention.value_length": 6, "attention.head_count_kv": [1, 3]})
    assert cache(model) == 4096 * (1 + 3 + 1 + 3) * 16 * 2


def test_a_draft_has_its_own_cache_type_and_the_target_context() -> None:
    setup = Setup(context=4096, cache_type="q8_0", draft_cache_type="f16")
    assert footprint(made(), setup, draft=True).cache == 4096 * 4 * 2 * 16 * 2


def test_without_a_context_the_trained_one_counts() -> None:
    found = footprint(made(), Setup())
    assert found.context == 8192
    assert found.cache == 8192 * 4 * 2 * 16 * 2
    nothing = footprint(made({"context_length": 0}), Setup())
    assert nothing.cache is None
    assert nothing.need(on_host=True) is None
    assert any("context" in note for note in nothing.notes)


def windowed(pattern: Value | None, architecture: str = "llama") -> Header:
    more: dict[str, Value] = {"attention.sliding_window": 512}
    if pattern is not None:
        more["attention.sliding_window_pattern"] = pattern
    return made(more, architecture=architecture)


ONE_LAYER = 2 * 16 * 2  # bytes a token


@pytest.mark.parametrize(
    ("model", "in_window"),
    [
        (windowed([True, False]), 2),
        (windowed([1, 1, 1, 0]), 3),
        (windowed(4), 3),
        (windowed(None, "gpt-oss"), 2),
        (windowed(None, "gemma3"), 4),
    ],
)
def test_a_window_bounds_the_layers_that_use_it(model: Header, in_window: int) -> None:
    # one shared cache for four slots holds four windows and a batch: 4*512 + 512 = 2560 cells
    full = LAYERS - in_window
    assert cache(model, slots=4, unified=True) == ONE_LAYER * (4096 * full + 2560 * in_window)


def test_slots_with_caches_of_their_own_hold_a_window_each() -> None:
    # 4096/4 cells are as many as a window and a batch
    assert cache(windowed(2), slots=4, unified=False) == ONE_LAYER * 4 * (1024 * 2 + 1024 * 2)
    assert cache(windowed(2), slots=2, unified=False) == ONE_LAYER * 2 * (2048 * 2 + 1024 * 2)


def test_a_window_without_a_pattern_is_an_upper_bound_and_says_so() -> None:
    found = footprint(windowed(None), Setup(context=4096))
    assert found.cache == ONE_LAYER * 4096 * LAYERS
    assert any("window" in note for note in found.notes)


def test_latent_attention_keeps_one_key_and_no_value() -> None:
    more: dict[str, Value] = {
        "attention.head_count_kv": 1,
        "attention.key_length": 576,
        "attention.value_length": 512,
        "attention.key_length_mla": 192,
    }
    model = made(more, architecture="deepseek2", tensors=layers(["attn_kv_a_mqa"]))
    assert cache(model) == 4096 * 4 * 576 * 2


def test_layers_without_attention_keep_a_state_instead() -> None:
    more: dict[str, Value] = {
        "ssm.conv_kernel": 4,
        "ssm.inner_size": 128,
        "ssm.state_size": 16,
        "ssm.group_count": 2,
    }
    shapes = layers(["attn_qkv", "ssm_conv1d"], 3) | {"blk.3.attn_k.weight": (1,)}
    state = 3 * (128 + 2 * 2 * 16) + 128 * 16
    assert cache(made(more, tensors=shapes), slots=2) == 4096 * ONE_LAYER + 4 * 3 * state * 2


def test_mtp_layers_and_layers_that_share_a_cache_keep_none_of_their_own() -> None:
    assert cache(made({"nextn_predict_layers": 1})) == 4096 * ONE_LAYER * 3
    assert cache(made({"attention.shared_kv_layers": 2})) == 4096 * ONE_LAYER * 2


def test_embeddings_stay_in_host_memory_unless_they_are_the_output_too() -> None:
    untied = made(tensors=layers() | {"token_embd.weight": (64, 100), "output.weight": (64, 100)})
    tied = made(tensors=layers() | {"token_embd.weight": (64, 100)})
    setup = Setup(context=4096)
    assert footprint(untied, setup).host_weights == 64 * 100 * 4
    assert footprint(tied, setup).host_weights == 0
    need = footprint(untied, setup)
    on_host, on_device = need.need(on_host=True), need.need(on_host=False)
    assert on_host is not None
    assert on_device is not None
    assert on_host[0] - on_device[0] == 64 * 100 * 4


def compute(model: Header, **setup: object) -> Footprint:
    return footprint(model, Setup(**{"context": 4096, **setup}))  # type: ignore[arg-type]  # Setup's own


def test_the_compute_margin_grows_with_context_batch_and_vocabulary() -> None:
    low, high = compute(made()).compute
    # the mask (2 bytes a cell and token) and what a token carries through a layer
    assert low == 4096 * 512 * 2 + 512 * 4 * (64 + 4 * 256)
    assert high == low + 512 * 4 * 100
    assert compute(made(), context=8192).compute[0] - low == 4096 * 512 * 2
    experts = made({"expert_used_count": 8, "expert_feed_forward_length": 100})
    assert compute(experts).compute[0] > low


def test_numbers_of_the_wrong_kind_are_no_crash() -> None:
    odd = made({"block_count": "many", "attention.head_count": [0], "feed_forward_length": 0.5})
    assert compute(odd).cache == 0


def test_a_small_gemma_is_as_large_as_its_server_said() -> None:
    keys: dict[str, Value] = {
        "embedding_length": 640,
        "block_count": 18,
        "feed_forward_length": 2048,
        "attention.head_count": 4,
        "attention.head_count_kv": 1,
        "attention.key_length": 256,
        "attention.value_length": 256,
        "attention.sliding_window": 512,
        "vocab_size": 262_144,
    }
    found = footprint(header("gemma3", keys, layers(count=18)), Setup(context=4096))
    assert found.cache == 49.5 * 2**20
    low, high = found.compute
    assert low == pytest.approx(24.78 * 2**20, rel=0.1)
    assert high > 80.78 * 2**20  # what it took with n-gram drafts of 16 tokens

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tui.preflight.serverlog import MIB, read_server_log, scan

if TYPE_CHECKING:
    from pathlib import Path

START = """\
srv    load_model: loading model '/m/big.gguf'
llama_model_loader: loaded meta data with 31 kv and 400 tensors from /m/big.gguf (version GGUF V3 (latest))
load_tensors:        CUDA0 model buffer size =  7000.25 MiB
load_tensors:   CPU_Mapped model buffer size =   500.50 MiB
load_tensors:   CPU_REPACK model buffer size =   100.00 MiB
llama_context: n_seq_max             = 2
llama_context: n_ctx                 = 16384
llama_context: n_ctx_seq             = 8192
llama_context: kv_unified            = false
llama_context:  CUDA_Host  output buffer size =     1.16 MiB
llama_kv_cache:      CUDA0 KV buffer size =   800.00 MiB
llama_memory_recurrent:      CUDA0 RS buffer size =    50.00 MiB
llama_context:      CUDA0 compute buffer size =   300.00 MiB
llama_context:  CUDA_Host compute buffer size =    20.00 MiB
common_speculative_init_result: loading draft model '/m/small.gguf'
llama_model_loader: loaded meta data with 25 kv and 90 tensors from /m/small.gguf (version GGUF V3 (latest))
load_tensors:        CUDA0 model buffer size =   400.00 MiB
llama_kv_cache:      CUDA0 KV buffer size =    64.00 MiB
sched_reserve:      CUDA0 compute buffer size =   120.00 MiB
spec common_specu: adding speculative implementation 'draft-simple'
spec common_specu: - n_max=5, n_min=0, p_min=0.000000
"""

WRAPPINGS = {
    "bare": "{}",
    "stamped": "0.01.313.703 I {}",
    "journald": "Oct 12 10:00:00 box llama-server[812]: 0.01.313.703 I {}",
    "docker": "2026-10-12T10:00:00.000000000Z 0.01.313.703 I {}",
    "json": '{{"type":"log","time":22431,"level":"info","msg":"{}\\n"}}',
}


def lines(text: str, wrapping: str = "bare") -> list[bytes]:
    return [WRAPPINGS[wrapping].format(line).encode() + b"\n" for line in text.splitlines()]


@pytest.mark.parametrize("wrapping", WRAPPINGS)
def test_memory_lines_are_read_whatever_stands_before_them(wrapping: str) -> None:
    log = scan(lines(START, wrapping))
    target, draft = log.models
    assert target.path.endswith("/m/big.gguf")
    assert target.weights == 7500.75 * MIB  # a repacked copy is no other weight
    assert target.cache == 850 * MIB
    assert target.compute == 320 * MIB
    assert (target.context, target.slots, target.unified) == (16384, 2, False)
    assert (draft.weights, draft.cache, draft.compute) == (400 * MIB, 64 * MIB, 120 * MIB)
    assert log.spec_types == ("draft-simple",)
    assert log.depth == 5


def test_old_builds_name_no_kind_for_weights() -> None:
    text = """\
llama_model_loader: loaded meta data with 20 key-value pairs and 291 tensors from m.gguf (version GGUF V2)
llm_load_tensors:        CPU buffer size =    70.31 MiB
llm_load_tensors:      CUDA0 buffer size =  3847.55 MiB
llama_kv_cache_init:      CUDA0 KV buffer size =   256.00 MiB
llama_new_context_with_model:      CUDA0 compute buffer size =    82.22 MiB
"""
    (model,) = scan(lines(text)).models
    assert model.weights == pytest.approx((70.31 + 3847.55) * MIB)
    assert model.cache == 256 * MIB


def test_the_last_start_counts() -> None:
    log = scan([*lines(START), *lines("srv    load_model: loading model '/m/other.gguf'")])
    assert log.models == []
    assert log.spec_types is None


def test_rehearsals_of_the_memory_fit_are_left_out() -> None:
    rehearsal = """\
llama_model_loader: loaded meta data with 31 kv and 400 tensors from /m/big.gguf (version GGUF V3)
print_info: no_alloc              = 1
load_tensors:        CUDA0 model buffer size =     0.00 MiB
"""
    first, rest = START.split("\n", 1)
    log = scan(lines(f"{first}\n{rehearsal}{rest}"))
    assert [model.weights for model in log.models] == [7500.75 * MIB, 400 * MIB]


def test_an_mtp_context_on_the_target_is_a_model_of_its_own() -> None:
    text = (
        START.split("common_speculative_init_result")[0]
        + """\
common_speculative_init_result: creating MTP draft context against the target model '/m/big.gguf'
llama_kv_cache:      CUDA0 KV buffer size =    32.00 MiB
spec common_specu: adding speculative implementation 'draft-mtp'
"""
    )
    log = scan(lines(text))
    assert [model.cache for model in log.models] == [850 * MIB, 32 * MIB]
    assert log.spec_types == ("draft-mtp",)


def test_a_server_without_drafting_says_so_and_a_quiet_one_says_nothing() -> None:
    plain = scan(lines("spec common_specu: no implementations specified for speculative decoding"))
    assert plain.spec_types == ()
    quiet = scan(lines("srv    load_model: loading model '/m/big.gguf'\nslot release: id 0 | task 3"))
    assert quiet.spec_types is None


def test_a_file_with_noise_and_endless_lines_is_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    noise = b"\xff\xfe\x00 buffer size = x MiB\n" + b"n_ctx  = 5\n" + b"x" * 300_000 + b" KV buffer size\n"
    path.write_bytes(noise + START.encode() + b"n_max=999999999999\nKV buffer size = 1.2.3 MiB\n")
    assert len(read_server_log(path).models) == 2

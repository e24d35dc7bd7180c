from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.preflight.headers import header
from tui.preflight.devices import HOST, Device
from tui.preflight.fit import Model, against_log, fit, setup_from_log, size
from tui.preflight.footprint import Setup
from tui.preflight.serverlog import Loaded, ServerLog

if TYPE_CHECKING:
    from tui.preflight.findings import Finding

MIB = 2**20


def model(role: str, weights: int = 100) -> Model:
    """A model of that many MiB, with 16 MiB of cache for 4,096 tokens."""
    shapes = {"blk.0.attn_k.weight": (weights * MIB // 8,), "output.weight": (weights * MIB // 8,)}
    keys = {"embedding_length": 1024, "block_count": 1, "attention.head_count": 8, "context_length": 4096}
    return Model(role, f"{role}.gguf", header("llama", keys, shapes, tokens=10))


def device(free: int, backend: str = "CUDA", name: str = "CUDA0") -> Device:
    return Device(name, backend, free * MIB, None, "a tool")


TARGET, DRAFT = model("target", 100), model("drafter", 20)
# 100 + 16 and 20 + 16 MiB, and a little above 6 for each compute margin


def judged(*devices: Device, target_runs: bool = False) -> list[Finding]:
    found = fit([TARGET, DRAFT], Setup(context=4096), devices, target_runs=target_runs)
    return [each for each in found if " fit on " in each.question]


def test_the_parts_are_shown_as_an_estimate() -> None:
    target, draft = fit([TARGET, DRAFT], Setup(context=4096), [], target_runs=False)
    assert "weights 100.0 MiB + cache 16.0 MiB (4096 tokens, f16, 4 slots) + compute margin" in target.answer
    assert "weights 20.0 MiB + cache 16.0 MiB" in draft.answer
    assert target.answer.startswith("about ")
    assert (target.sure, target.ok) == ("likely", None)
    assert "estimate" in target.advice


@pytest.mark.parametrize(("free", "ok"), [(300, True), (100, False)])
def test_both_must_fit_on_a_device(free: int, ok: bool) -> None:
    (finding,) = judged(device(free))
    assert (finding.ok, finding.sure) == (ok, "likely")
    assert finding.question == "Do the target and drafter fit on CUDA0?"
    assert bool(finding.advice) is not ok


def test_between_the_smallest_and_the_largest_need_nobody_knows() -> None:
    shapes = {"output.weight": (25 * MIB,), "blk.0.attn_k.weight": (1,)}
    keys = {"embedding_length": 1024, "block_count": 1, "attention.head_count": 8}
    wide = Model("target", "wide.gguf", header("llama", keys, shapes, tokens=100_000))
    tight = fit([wide], Setup(context=4096), [device(200)], target_runs=False)[-1]
    assert (tight.ok, tight.sure) == (None, "unknown")
    assert tight.answer.startswith("tight")


def test_beside_a_running_target_only_the_drafter_counts() -> None:
    (finding,) = judged(device(60), target_runs=True)
    assert finding.ok is True
    assert finding.question == "Does the drafter fit on CUDA0?"


def test_cards_of_one_backend_are_also_taken_together() -> None:
    first, second, together = judged(device(100), device(100, name="CUDA1"))
    assert (first.ok, second.ok, together.ok) == (False, False, True)
    assert "all 2 CUDA devices together" in together.question
    assert len(judged(device(100), device(100, "Vulkan", "Vulkan0"), device(9000, HOST, "host memory"))) == 3


def test_without_a_context_the_drafter_gets_the_target_trained_one() -> None:
    keys = {"context_length": 512, "embedding_length": 1024, "block_count": 1, "attention.head_count": 8}
    short = Model("drafter", "d", header("llama", keys, {"blk.0.attn_k.weight": (1,)}, tokens=10))
    _, draft = fit([TARGET, short], Setup(), [], target_runs=False)
    assert "(4096 tokens" in draft.answer


def test_unknown_weights_give_no_verdict() -> None:
    nothing = Model("target", "t", header("llama", {"block_count": 1}, {}))
    found = fit([nothing], Setup(), [device(100)], target_runs=False)
    assert [each.sure for each in found] == ["unknown"]
    assert "cache --" in found[0].answer


def loaded(weights: float, cache: float) -> Loaded:
    return Loaded("m.gguf", {"model": weights * MIB, "KV": cache * MIB, "RS": 0.0, "compute": 7.0 * MIB})


def test_an_estimate_within_a_tenth_agrees_with_the_server() -> None:
    log = ServerLog(models=[loaded(104, 16), loaded(20, 20)])
    target, draft = against_log([TARGET, DRAFT], Setup(context=4096), log, "server.log")
    assert (target.ok, target.sure) == (True, "certain")
    assert "weights 100.0 MiB (log 104.0 MiB)" in target.answer
    assert draft.ok is False
    assert "take the log's figures" in draft.advice


def test_a_log_without_memory_lines_is_not_compared() -> None:
    assert against_log([TARGET], Setup(), ServerLog(), "server.log") == ()
    quiet = ServerLog(models=[loaded(0, 0)])
    assert against_log([TARGET], Setup(), quiet, "server.log") == ()


def test_what_was_not_given_comes_from_the_log() -> None:
    one = loaded(1, 1)
    one.context, one.slots, one.unified = 16384, 2, False
    log = ServerLog(models=[one], depth=5)
    seen = setup_from_log(Setup(), log)
    assert (seen.context, seen.slots, seen.unified, seen.depth) == (16384, 2, False, 5)
    given = setup_from_log(Setup(context=1024, slots=8), log)
    assert (given.context, given.slots, given.unified) == (1024, 8, True)


def test_sizes_for_people() -> None:
    assert [size(None), size(0), size(1.5 * MIB), size(3 * 2**30)] == ["--", "0.0 MiB", "1.5 MiB", "3.0 GiB"]

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.preflight.headers import Value, header
from tui.preflight.drafter_class import belongs, carries_mtp, classify, spec_type_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tui.preflight.findings import Finding
    from tui.preflight.gguf import Header

TARGET = header("qwen35", {"embedding_length": 2048, "block_count": 40}, tokens=500)


def eagle(width: int = 2048, layers: Sequence[int] = (2, 20, 37), tokens: int = 500) -> Header:
    keys: dict[str, Value] = {"target_hidden_size": width, "target_layers": list(layers), "block_count": 1}
    return header("eagle3", keys | {"embedding_length": 512}, tokens=tokens)


def dflash(more: Mapping[str, Sequence[int]] | None = None, fused: int = 5 * 2048) -> Header:
    keys: dict[str, Value] = {"target_layers": [1, 9, 17, 25, 33], "block_count": 5}
    return header("dflash", keys, {"fc.weight": (fused, 1024), **(more or {})}, tokens=500)


MTP_TARGET = header(
    "qwen35",
    {"embedding_length": 2048, "block_count": 41, "nextn_predict_layers": 1},
    {"blk.40.nextn.eh_proj.weight": (4096, 2048)},
    tokens=500,
)
ASSISTANT = header(
    "gemma4-assistant",
    {"embedding_length": 256, "embedding_length_out": 2048, "block_count": 4, "nextn_predict_layers": 4},
    tokens=500,
)


@pytest.mark.parametrize(
    ("draft", "spec_type"),
    [
        (eagle(), "draft-eagle3"),
        (dflash(), "draft-dflash"),
        (dflash({"markov_w1.weight": (8, 8)}), "draft-dspark"),
        (MTP_TARGET, "draft-mtp"),
        (ASSISTANT, "draft-mtp"),
        (header("llama", {"block_count": 2}), "draft-simple"),
        (header("qwen35", {"block_count": 2, "nextn_predict_layers": 1}), "draft-simple"),
    ],
)
def test_the_header_tells_what_a_file_is_made_for(draft: Header, spec_type: str) -> None:
    assert spec_type_of(draft) == spec_type
    finding = classify(draft, [], "d.gguf")[-1]
    assert f"made for {spec_type}" in finding.answer
    assert ("plain" if spec_type == "draft-simple" else "head") in finding.answer
    assert finding.ok is None


@pytest.mark.parametrize(
    ("name", "words"),
    [("draft-simple", "plain drafter"), ("draft-mtp", "trained head"), ("ngram-mod", "no model at all")],
)
def test_the_class_follows_from_the_spec_type(name: str, words: str) -> None:
    (finding,) = classify(None, [name], "")
    assert words in finding.answer
    assert finding.sure == "certain"


def test_an_unheard_of_type_is_unknown() -> None:
    assert classify(None, ["draft-magic"], "")[0].sure == "unknown"


@pytest.mark.parametrize(
    ("types", "ok"), [(["draft-eagle3"], True), (["ngram-mod"], None), (["draft-mtp"], False)]
)
def test_a_file_for_another_type_is_told(types: list[str], ok: bool | None) -> None:
    finding = classify(eagle(), types, "d.gguf")[-1]
    assert finding.ok is ok
    assert ("--spec-type draft-eagle3" in finding.advice) is (ok is False)


def verdict(draft: Header, target: Header = TARGET) -> Finding:
    (finding,) = belongs(draft, target, "d.gguf")
    return finding


@pytest.mark.parametrize("head", [eagle(), dflash(), ASSISTANT, MTP_TARGET])
def test_a_head_of_this_target_has_nothing_against_it(head: Header) -> None:
    finding = verdict(head)
    assert (finding.ok, finding.sure) == (True, "likely")
    assert "hidden size 2048" in finding.answer
    assert "only acceptance" in finding.advice


@pytest.mark.parametrize(
    ("head", "words"),
    [
        (eagle(width=4096), "hidden size 4096, the target has 2048"),
        (dflash(fused=5 * 4096), "hidden size 4096, the target has 2048"),
        (eagle(tokens=600), "vocabulary 600, the target has 500"),
        (eagle(layers=(2, 30, 58)), "deepest target layer 58, the target has 40"),
    ],
)
def test_a_head_of_another_checkpoint_is_told_by_what_differs(head: Header, words: str) -> None:
    finding = verdict(head)
    assert (finding.ok, finding.sure) == (False, "certain")
    assert finding.answer == f"no, it was trained for another checkpoint: {words}"


def test_a_head_that_tells_nothing_is_unknown() -> None:
    finding = verdict(header("eagle3", {"block_count": 1}))
    assert (finding.ok, finding.sure) == (None, "unknown")


def test_a_plain_drafter_belongs_to_no_checkpoint() -> None:
    assert belongs(header("llama", {"block_count": 2}), TARGET, "d.gguf") == ()


def test_a_target_with_its_own_mtp_layers() -> None:
    assert carries_mtp(MTP_TARGET, "t.gguf").ok is True
    assert carries_mtp(TARGET, "t.gguf").ok is False

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest

from tests.preflight.headers import Value, header
from tests.tiny_models import Vocabulary, write_tiny_model
from tui.preflight.gguf import GgufError
from tui.preflight.ranges import open_header
from tui.preflight.tokenizer import Tokenizer, compare, describe, judge, read_tokenizer

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


def tiny(folder: Path, vocabulary: Vocabulary = "bytes", padding: int = 0, **options: Any) -> Tokenizer:
    path = folder / f"{vocabulary}-{padding}-{options}.gguf"
    write_tiny_model(path, vocabulary=vocabulary, padding_tokens=padding, **options)
    return read_tokenizer(open_header(str(path)))


def made(tokens: Sequence[bytes], kinds: Sequence[int] | None = None, **more: Value) -> Tokenizer:
    metadata: dict[str, Value] = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": list(tokens)}
    if kinds is not None:
        metadata["tokenizer.ggml.token_type"] = list(kinds)
    metadata |= {f"tokenizer.ggml.{key}": value for key, value in more.items()}
    return read_tokenizer(header("llama", metadata))


def test_what_a_header_says(tmp_path: Path) -> None:
    plain, pairs = tiny(tmp_path), tiny(tmp_path, "pairs")
    assert (plain.vocab_size, plain.merges, plain.model, plain.pre) == (265, 0, "llama", None)
    assert plain.special_ids == {"bos": 1, "eos": 2, "unknown": 0}
    assert (pairs.vocab_size, pairs.merges, pairs.model, pairs.pre) == (268, 10, "gpt2", "gpt-2")


def test_the_digest_is_over_length_and_bytes_of_the_first_2000_tokens() -> None:
    tokens = [b"%d" % number for number in range(2500)]
    digest = hashlib.sha256()
    for token in tokens[:2000]:
        digest.update(len(token).to_bytes(8, "little"))
        digest.update(token)
    assert made(tokens).sha256_first_2000 == digest.hexdigest()[:16]
    assert made([*tokens[:2000], b"other"]).sha256_first_2000 == digest.hexdigest()[:16]
    assert made([b"01", *tokens[1:]]).sha256_first_2000 != digest.hexdigest()[:16]


def test_two_models_with_the_same_vocabulary_are_interchangeable(tmp_path: Path) -> None:
    result = compare(tiny(tmp_path), tiny(tmp_path, seed=1, layers=1))
    assert result.interchangeable
    assert result.first_difference is None
    assert result.only_special_tokens_differ is None
    assert describe(result) == "all token ids are interchangeable"


def test_byte_order_does_not_matter(tmp_path: Path) -> None:
    assert compare(tiny(tmp_path), tiny(tmp_path, big_endian=True)).interchangeable


def test_a_differing_word_is_named_with_both_strings(tmp_path: Path) -> None:
    result = compare(tiny(tmp_path), tiny(tmp_path, "other-word"))
    assert not result.interchangeable
    assert result.only_special_tokens_differ is False
    first = result.first_difference
    assert first is not None
    assert (first.id, first.target, first.draft) == (262, "▁sat", "▁dog")
    assert "'▁sat'" in describe(result)
    assert "'▁dog'" in describe(result)


def test_a_difference_behind_the_hashed_tokens_is_found() -> None:
    tokens = [b"%d" % number for number in range(3000)]
    one, other = made(tokens), made([*tokens[:2999], b"\xff"])
    assert one.sha256_first_2000 == other.sha256_first_2000
    result = compare(one, other)
    assert result.first_difference is not None
    assert (result.first_difference.id, result.first_difference.draft) == (2999, "\\xff")


def test_bytes_that_look_the_same_as_text_still_differ() -> None:
    composed, decomposed = b"\xc3\xa9", b"e\xcc\x81"
    assert not compare(made([composed]), made([decomposed])).interchangeable


def test_differing_special_tokens_are_told_apart(tmp_path: Path) -> None:
    result = compare(tiny(tmp_path), tiny(tmp_path, "other-special"))
    assert not result.interchangeable
    assert result.only_special_tokens_differ is True
    assert describe(result).startswith("only special tokens differ")


def test_without_token_types_nobody_knows_which_are_special() -> None:
    assert compare(made([b"a", b"<s>"]), made([b"a", b"<t>"])).only_special_tokens_differ is None


@pytest.mark.parametrize(("kind", "special"), [(1, False), (3, True), (4, False), (5, True)])
def test_tokens_at_the_end_of_one_side_count_too(kind: int, special: bool) -> None:
    result = compare(made([b"a"], [1]), made([b"a", b"b"], [1, kind]))
    assert not result.interchangeable
    assert result.only_special_tokens_differ is special
    assert result.first_difference is not None
    assert result.first_difference.target is None
    assert "none in the target" in describe(result)


def test_moved_special_ids_are_named() -> None:
    one = made([b"a", b"b"], bos_token_id=0, eos_token_id=1)
    other = made([b"a", b"b"], bos_token_id=0, eos_token_id=0, eot_token_id=1)
    assert compare(one, other).special_ids_differ == ("eos", "eot")


def test_hostile_tokens_are_shown_harmless() -> None:
    result = compare(made([b"\x1b[31m[red]\n"]), made([b"\xe2\x80\xae"]))
    shown = describe(result)
    assert shown.isprintable()
    assert "\\x1b" in shown


def test_a_file_without_a_vocabulary_is_told() -> None:
    with pytest.raises(GgufError, match="no vocabulary"):
        read_tokenizer(header("llama", {}))
    with pytest.raises(GgufError, match="no vocabulary"):
        read_tokenizer(header("llama", {"tokenizer.ggml.tokens": [1, 2]}))


WORDS = [b"w%d" % number for number in range(300)]


def test_a_pair_is_judged_as_llamacpp_does() -> None:
    same = judge(made(WORDS), made(WORDS), "a and b")
    assert (same.ok, same.sure) == (True, "certain")
    wrong = judge(made(WORDS), made([*WORDS[:-1], b"x"]), "a and b")
    assert (wrong.ok, wrong.sure) == (False, "certain")
    assert "tokens that both have differ" in wrong.answer
    kinds = judge(made(WORDS), made(WORDS, model="llama"), "a and b")
    assert kinds.ok is False


@pytest.mark.parametrize(("more", "ok"), [(128, True), (129, False)])
def test_llamacpp_takes_up_to_128_ids_more(more: int, ok: bool) -> None:
    finding = judge(made(WORDS), made([*WORDS, *(b"p%d" % n for n in range(more))]), "a and b")
    assert finding.ok is ok
    assert "not interchangeable" in finding.answer


@pytest.mark.parametrize(("token", "ok"), [(4, True), (5, False)])
def test_llamacpp_lets_the_first_five_ids_differ(token: int, ok: bool) -> None:
    other = [*WORDS]
    other[token] = b"other"
    assert judge(made(WORDS), made(other), "a and b").ok is ok


def test_bos_must_match_where_it_is_added() -> None:
    def pair(adds: bool) -> bool | None:
        one = made(WORDS, add_bos_token=adds, bos_token_id=1)
        return judge(one, made(WORDS, add_bos_token=adds, bos_token_id=2), "a and b").ok

    assert pair(adds=True) is False
    assert pair(adds=False) is True
    lone = judge(made(WORDS, add_bos_token=True), made(WORDS, add_bos_token=False), "a and b")
    assert lone.ok is False

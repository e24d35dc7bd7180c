"""Tiny random models that llama.cpp loads in milliseconds; the same arguments give the same file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from gguf import GGUFEndian, GGUFWriter, TokenType

if TYPE_CHECKING:
    from pathlib import Path

Vocabulary = Literal["bytes", "other-word", "other-special", "pairs"]
"""`bytes`: sentencepiece with a token for each byte. `other-word`: the same but for one ordinary token.
`other-special`: the same but for the names of two control tokens. `pairs`: byte-level BPE with merges."""

_WORDS = ("▁the", "▁cat", "▁sat", "▁on", "▁mat")


def write_tiny_model(
    path: Path,
    *,
    seed: int = 0,
    layers: int = 2,
    width: int = 64,
    heads: int = 4,
    kv_heads: int | None = None,
    feed_forward: int | None = None,
    context: int = 4096,
    vocabulary: Vocabulary = "bytes",
    padding_tokens: int = 0,
    big_endian: bool = False,
) -> Path:
    """Write a llama-architecture GGUF with 32-bit float weights.

    Args:
        path: where to write.
        seed: decides every weight; two seeds give two models that disagree.
        layers: transformer blocks.
        width: hidden size, a multiple of `heads`.
        heads: attention heads.
        kv_heads: key and value heads, a divisor of `heads`; as many when not given.
        feed_forward: inner size of the feed-forward part; twice the width when not given.
        context: context length the header names.
        vocabulary: which tokens it speaks.
        padding_tokens: that many ordinary tokens more at the end.
        big_endian: write in big-endian byte order (no server of a little-endian machine loads it).

    Returns:
        The path.
    """
    rng = np.random.default_rng(seed)
    kv_heads = heads if kv_heads is None else kv_heads
    feed_forward = 2 * width if feed_forward is None else feed_forward
    head_size = width // heads
    order = GGUFEndian.BIG if big_endian else GGUFEndian.LITTLE
    writer = GGUFWriter(path, "llama", endianess=order)
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(width)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(head_size)
    writer.add_file_type(0)
    size = _add_vocabulary(writer, vocabulary, padding_tokens)

    def add(name: str, *shape: int) -> None:
        weights = rng.standard_normal(shape) * 0.2
        writer.add_tensor(f"{name}.weight", weights.astype(np.float32))

    def add_norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(width, dtype=np.float32))

    add("token_embd", size, width)
    add("output", size, width)
    add_norm("output_norm")
    for layer in range(layers):
        block = f"blk.{layer}"
        add_norm(f"{block}.attn_norm")
        add_norm(f"{block}.ffn_norm")
        add(f"{block}.attn_q", width, width)
        add(f"{block}.attn_k", kv_heads * head_size, width)
        add(f"{block}.attn_v", kv_heads * head_size, width)
        add(f"{block}.attn_output", width, width)
        add(f"{block}.ffn_gate", feed_forward, width)
        add(f"{block}.ffn_up", feed_forward, width)
        add(f"{block}.ffn_down", width, feed_forward)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_vocabulary(writer: GGUFWriter, vocabulary: Vocabulary, padding_tokens: int) -> int:
    """Write tokens, kinds, special ids and merges; returns the number of tokens."""
    merges: list[str] = []
    if vocabulary == "pairs":
        letters = _byte_letters()
        merges = [f"{first} {second}" for first, second in zip("thinonatre", "hinonatres", strict=True)]
        words = letters + [merge.replace(" ", "") for merge in merges]
        specials = ["<|begin|>", "<|end|>"]
        tokens = words + specials
        kinds = [TokenType.NORMAL] * len(words) + [TokenType.CONTROL] * 2
        begin, end = len(words), len(words) + 1
        writer.add_tokenizer_model("gpt2")
        writer.add_tokenizer_pre("gpt-2")
    else:
        specials = ["<unk>", "<s>", "</s>"]
        if vocabulary == "other-special":
            specials = ["<unk>", "<|begin|>", "<|end|>"]
        words = ["▁", *_WORDS]
        if vocabulary == "other-word":
            words[3] = "▁dog"
        tokens = specials + [f"<0x{byte:02X}>" for byte in range(256)] + words
        kinds = [TokenType.UNKNOWN] + [TokenType.CONTROL] * 2
        kinds += [TokenType.BYTE] * 256 + [TokenType.NORMAL] * len(words)
        begin, end = 1, 2
        writer.add_tokenizer_model("llama")
        writer.add_unk_token_id(0)
    tokens += [f"pad{number:06d}" for number in range(padding_tokens)]
    kinds += [TokenType.NORMAL] * padding_tokens
    writer.add_vocab_size(len(tokens))
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    if merges:
        writer.add_token_merges(merges)
    else:
        writer.add_token_scores([-float(number) for number in range(len(tokens))])
    writer.add_bos_token_id(begin)
    writer.add_eos_token_id(end)
    return len(tokens)


def _byte_letters() -> list[str]:
    """The printable letter that byte-level BPE writes for each byte, in byte order."""
    plain = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = (chr(0x100 + number) for number in range(256 - len(plain)))
    return [chr(byte) if byte in plain else next(others) for byte in range(256)]

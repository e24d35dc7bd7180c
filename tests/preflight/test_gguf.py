from __future__ import annotations

import struct
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.preflight.headers import Value, file, pair, string, tensor
from tests.tiny_models import write_tiny_model
from tui.preflight.gguf import FIRST_READ, MAX_HEADER, GgufError, Header, read_header

if TYPE_CHECKING:
    from pathlib import Path

SAMPLE = file(
    {
        "general.architecture": "llama",
        "llama.block_count": 2,
        "llama.scale": 0.5,
        "tokenizer.ggml.add_bos_token": True,
        "tokenizer.ggml.tokens": [b"a", b"\xff\xfe", b""],
        "tokenizer.ggml.token_type": [1, 1, 3],
    },
    {"token_embd.weight": (8, 3), "output_norm.weight": (8,)},
)


def parse(raw: bytes) -> Header:
    return read_header(lambda offset, length: raw[offset : offset + length], len(raw))


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("order", ["<", ">"])
def test_versions_and_byte_orders_read_the_same(version: int, order: str) -> None:
    metadata: dict[str, Value] = {
        "general.architecture": "llama",
        "a.number": 70000,
        "a.words": [b"\x00\xff", b"x"],
        "a.half": 0.5,
    }
    header = parse(file(metadata, {"t": (4, 2)}, version=version, order=order))
    assert (header.version, header.big_endian) == (version, order == ">")
    assert header.architecture == "llama"
    assert header.number("a.number") == 70000
    assert header.array("a.words") == (b"\x00\xff", b"x")
    assert header.metadata["a.half"] == 0.5
    assert header.tensors["t"].shape == (4, 2)
    assert header.weights == 32


@pytest.mark.parametrize("big_endian", [False, True])
def test_a_written_model_is_read_whole(tmp_path: Path, big_endian: bool) -> None:
    path = write_tiny_model(
        tmp_path / "m.gguf", layers=3, width=32, vocabulary="pairs", big_endian=big_endian
    )
    raw = path.read_bytes()
    header = parse(raw)
    assert header.number("llama.block_count") == 3
    assert len(header.tensors) == 3 + 3 * 9
    assert header.missing == 0
    assert len(raw) - header.data_offset - 31 <= (header.weights or 0) <= len(raw) - header.data_offset


def test_a_cut_download_is_missing_its_weights(tmp_path: Path) -> None:
    raw = write_tiny_model(tmp_path / "m.gguf").read_bytes()[:-1000]
    assert parse(raw).missing == 1000


def test_every_cut_of_a_header_says_so() -> None:
    for length in range(len(SAMPLE)):
        with pytest.raises(GgufError, match=r"cut short|not a GGUF"):
            parse(SAMPLE[:length])


def test_weights_of_an_unknown_type_come_from_the_file_size() -> None:
    start = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + tensor("t", (64,), kind=999)
    padded = start + bytes(-len(start) % 32) + bytes(500)
    assert parse(padded).weights == 500
    assert read_header(lambda offset, length: padded[offset : offset + length]).weights is None


HUGE = 2**62


def claiming(tensors: int, keys: int, rest: bytes = b"", version: int = 3) -> bytes:
    """A header that claims so much, with these bytes behind it."""
    return b"GGUF" + struct.pack("<IQQ", version, tensors, keys) + rest


def array(kind: int, count: int, rest: bytes = b"") -> bytes:
    """One key with an array that claims so many elements."""
    return claiming(0, 1, string("k") + struct.pack("<IIQ", 9, kind, count) + rest)


HOSTILE = {
    "no magic": b"GGML" + bytes(40),
    "a web page": b"<!DOCTYPE html>" + bytes(40),
    "version 1": claiming(0, 0, version=1),
    "version 4": claiming(0, 0, version=4),
    "tensors without end": claiming(HUGE, 0),
    "keys without end": claiming(0, HUGE),
    "a key longer than the file": claiming(0, 1, struct.pack("<Q", 60000) + b"abc"),
    "a key of exabytes": claiming(0, 1, struct.pack("<Q", HUGE)),
    "a string of exabytes": claiming(0, 1, string("k") + struct.pack("<IQ", 8, HUGE)),
    "an array without end": array(5, HUGE),
    "an array beyond the file": array(12, 2**20),
    "strings beyond the file": array(8, 2**20),
    "a string in an array of exabytes": array(8, 1, struct.pack("<Q", HUGE)),
    "arrays in arrays": array(9, 1, struct.pack("<IQ", 9, 1) * 500),
    "an unknown type": claiming(0, 1, string("k") + struct.pack("<I", 13)),
    "an unknown element type": array(14, 1, bytes(40)),
    "a key twice": claiming(0, 2, pair("k", 1) + pair("k", 2)),
    "a key that is no text": claiming(0, 1, string(b"\xff\xff") + bytes(20)),
    "a tensor twice": claiming(2, 0, tensor("t", (1,)) * 2),
    "five dimensions": claiming(1, 0, tensor("t", (1, 1, 1, 1, 1))),
    "dimensions without end": claiming(1, 0, string("t") + b"\xff" * 40),
    "a tensor of yottabytes": claiming(1, 0, tensor("t", (2**60, 2**60))),
    "an alignment of 7": claiming(0, 1, pair("general.alignment", 7)),
    "an alignment of 0": claiming(0, 1, pair("general.alignment", 0)),
    "an alignment that is text": claiming(0, 1, pair("general.alignment", "32")),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_header_is_refused_with_words_and_costs_nothing(name: str) -> None:
    raw = HOSTILE[name]
    tracemalloc.start()
    try:
        with pytest.raises(GgufError) as refusal:
            parse(raw)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(str(refusal.value)) > 10
    assert peak < 200_000


def test_an_endless_source_is_left_after_what_a_header_may_have() -> None:
    start, element = array(8, 2**20), string(bytes(1000))
    fetched = 0

    def endless(offset: int, length: int) -> bytes:
        nonlocal fetched
        fetched += length
        behind = offset - len(start)
        whole = element * (length // len(element) + 2)
        if behind < 0:
            return (start[offset:] + whole)[:length]
        return whole[behind % len(element) :][:length]

    with pytest.raises(GgufError, match="64 MiB"):
        read_header(endless)
    assert fetched == MAX_HEADER


def test_more_is_read_only_when_the_header_needs_it() -> None:
    reads: list[tuple[int, int]] = []
    small = file({"general.architecture": "llama"}) + bytes(3 * FIRST_READ)
    large = file({"k": [bytes(1000)] * 10_000}) + bytes(3 * FIRST_READ)

    def reader(raw: bytes, offset: int, length: int) -> bytes:
        reads.append((offset, length))
        return raw[offset : offset + length]

    read_header(lambda offset, length: reader(small, offset, length), len(small))
    assert reads == [(0, FIRST_READ)]
    reads.clear()
    read_header(lambda offset, length: reader(large, offset, length), len(large))
    assert 10_080_000 <= sum(length for _, length in reads) < 2 * FIRST_READ


def damaged(recipe: bytes) -> bytes:
    """The sample with bytes overwritten, cut out or put in, all decided by one draw: that is fast."""
    raw = bytearray(SAMPLE)
    while len(recipe) > 3:
        place = 4 + int.from_bytes(recipe[:2], "big") % (len(SAMPLE) - 4)
        removed, added = recipe[2] % 10, recipe[3] % 10
        raw[place : place + removed] = recipe[4 : 4 + added]
        recipe = recipe[4 + added :]
    return bytes(raw[: 4 + recipe[0] * 2]) if recipe else bytes(raw)


@settings(max_examples=2000, deadline=None)
@given(st.binary(min_size=1, max_size=40))
def test_no_damage_hangs_or_crashes_the_reader(recipe: bytes) -> None:
    try:
        header = parse(damaged(recipe))
    except GgufError:
        return
    assert header.weights is None or header.weights >= 0
    assert header.missing >= 0


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=300))
def test_noise_behind_the_magic_is_refused_or_read(noise: bytes) -> None:
    try:
        parse(b"GGUF\x03\0\0\0" + noise)
    except GgufError as error:
        assert "\n" not in str(error)  # noqa: PT017 # most noise is refused, some is a header

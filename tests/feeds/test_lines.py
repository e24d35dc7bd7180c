from __future__ import annotations

import gzip
import io
import os
import tracemalloc
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.feeds.items import Items, data, kinds, notice, offsets
from tui.feeds.lines import LINE_LIMIT, LineSplitter, read_file, read_stream, why_unreadable
from tui.feeds.protocol import Block, FeedError, Notice

if TYPE_CHECKING:
    from pathlib import Path

lines_of_bytes = st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\0", b"\xff", b"a", b"draft", b"x" * 9, "é".encode(), b"\xff\xfe"])
).map(b"".join)


def split(chunks: list[bytes], limit: int) -> Items:
    splitter = LineSplitter("log", limit=limit)
    items = [item for chunk in chunks for item in splitter.feed(chunk)]
    return items + splitter.close()


def by_line(items: Items) -> list[object]:
    """The lines with their offsets, and the notices: what must not depend on the chunks."""
    rows: list[object] = []
    for item in items:
        if isinstance(item, Notice):
            rows.append(item)
            continue
        at = item.offset
        for line in io.BytesIO(item.data):
            rows.append((at, line))
            at += len(line)
    return rows


@given(lines_of_bytes, st.lists(st.integers(0, 60)), st.integers(4, 16))
def test_chunks_do_not_matter(content: bytes, cuts: list[int], limit: int) -> None:
    edges = sorted({0, len(content), *(c for c in cuts if c < len(content))})
    chunks = [content[a:b] for a, b in pairwise(edges)]
    assert by_line(split(chunks, limit)) == by_line(split([content], limit))


@given(lines_of_bytes.filter(lambda c: c[:2] != b"\xff\xfe"), st.integers(4, 16))
def test_lines_come_untouched_with_their_offsets_and_long_ones_are_told(content: bytes, limit: int) -> None:
    expected: list[tuple[int, bytes]] = []
    oversize: list[int] = []
    at = 0
    for line in io.BytesIO(content):
        if len(line) <= limit:
            expected.append((at, line))
        else:
            oversize.append(at)
        at += len(line)
    items = split([content], limit)
    rows = by_line(items)
    assert [row for row in rows if isinstance(row, tuple)] == expected
    assert [row.offset for row in rows if isinstance(row, Notice)] == oversize
    assert all(len(item.data) <= limit for item in items if isinstance(item, Block))


def test_an_unfinished_line_waits_for_its_end() -> None:
    splitter = LineSplitter("log")
    assert splitter.feed(b"draft accep") == []
    assert splitter.feed(b"tance = 0.5") == []
    assert splitter.feed(b"5\nnext") == [Block("log", b"draft acceptance = 0.55\n", 0)]
    assert splitter.close() == [Block("log", b"next", 24)]


def test_a_line_of_20_mb_is_left_out_in_bounded_memory(tmp_path: Path) -> None:
    log = tmp_path / "log"
    before, after = b"first\n", b"second\nthird\n"
    with log.open("wb") as file:
        file.write(before)
        for _ in range(20):
            file.write(b"y" * 1_000_000)
        file.write(b"\n" + after)
    tracemalloc.start()
    items = list(read_file("log", log))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert data(items) == before + after
    assert offsets(items) == [0, len(before) + 20_000_001]
    assert notice(items, "oversize").offset == len(before)
    assert "yyy" in notice(items, "oversize").text
    assert peak < 6 * LINE_LIMIT


def test_a_20_mb_line_without_an_end_is_not_held() -> None:
    splitter = LineSplitter("log")
    items = [item for _ in range(200) for item in splitter.feed(b"z" * 100_000)]
    assert kinds(items) == ["oversize"]
    assert splitter.pending == 0
    assert splitter.feed(b"the rest\ngood\n") == [Block("log", b"good\n", 20_000_009)]


def test_an_oversize_line_is_shown_harmless() -> None:
    items = split([b"\x1b]0;owned\x07" + b"x" * 100 + b"\n"], 64)
    assert "\x1b" not in notice(items, "oversize").text
    assert r"\x1b" in notice(items, "oversize").text


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
def test_utf16_with_a_mark_becomes_utf8(codec: str) -> None:
    text = "draft acceptance = 0.5 é\r\nsecond\n"
    content = ("\ufeff" + text).encode(codec)
    single = [content[i : i + 1] for i in range(len(content))]
    assert data(split(single, 1000)) == text.encode()
    assert by_line(split(single, 1000)) == by_line(split([content], 1000))


def test_a_missing_file_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="no such file; check"):
        list(read_file("log", tmp_path / "log"))


def test_a_directory_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match=r"is a directory; name the logs in it, as in '.*/\*\.log'"):
        list(read_file("log", tmp_path))


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (PermissionError(13, "Permission denied"), "log may not be read by this user; run as one who may"),
        (OSError(5, "Input/output error"), "log cannot be read: Input/output error"),
    ],
)
def test_other_reasons_are_told_in_words(error: OSError, words: str) -> None:
    assert words in why_unreadable("log", error)


def test_a_hostile_name_is_harmless_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(FeedError) as caught:
        list(read_file("log", tmp_path / "a\x1b[2Jb"))
    assert "\x1b" not in str(caught.value)


def test_gzip_is_unpacked_whatever_its_name(tmp_path: Path) -> None:
    content = b"one\r\ntwo\0\n" * 1000 + b"last"
    for name in ("log.gz", "log"):
        (tmp_path / name).write_bytes(gzip.compress(content))
        items = list(read_file("log", tmp_path / name))
        assert data(items) == content
        assert kinds(items) == []


def test_a_cut_gzip_is_read_to_its_last_whole_line() -> None:
    whole = b"".join(b"line %d %d\n" % (i, i * i) for i in range(50_000))
    packed = gzip.compress(whole)
    items = list(read_stream("log", io.BytesIO(packed[: len(packed) // 2])))
    got = data(items)
    assert len(got) > len(whole) // 4
    assert got == whole[: len(got)]
    assert got.endswith(b"\n")
    assert kinds(items) == ["failed"]


def test_ranges_give_their_lines_only(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"aa\nbb\ncc\ndd\nee\n")
    items = list(read_file("log", log, [(0, 4), (6, 11)]))
    assert [(b.offset, b.data) for b in items if isinstance(b, Block)] == [(0, b"aa\n"), (6, b"cc\n")]
    assert data(read_file("log", log, [(9, 15)])) == b"dd\nee\n"


def test_a_pipe_with_a_path_can_be_read(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"one\ntwo\n")
    os.close(writer)
    try:
        assert data(read_file("log", f"/dev/fd/{reader}")) == b"one\ntwo\n"
    finally:
        os.close(reader)


def test_the_hole_that_truncation_leaves_is_not_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    with log.open("wb") as file:
        file.seek(50 << 20)
        file.write(b"after the hole\nnext\n")
    items = list(read_file("log", log))
    if kinds(items):
        pytest.skip("this file system cannot tell holes")
    assert data(items).lstrip(b"\0") == b"after the hole\nnext\n"
    assert offsets(items)[0] + len(data(items)) == log.stat().st_size

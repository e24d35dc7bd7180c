"""Which parts of a huge log are read first."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import itertools

import pytest

from tests.formats.reading import Read, block, launch, lines, release
from tests.formats.test_llamacpp_flight import TRACE_START
from tui.formats.reader import LogReader
from tui.formats.window import ranges

MEBIBYTE = 1 << 20
NOISE = (
    b"0.01.000.000 I load: a line that tells nothing about any request, only long enough to take room\n" * 200
)


def request(task: int) -> bytes:
    return lines(launch(0, task), block(0, task), release(0, task)).encode()


class File:
    """A file that counts what is read of it."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.taken = 0

    def read(self, offset: int, length: int) -> bytes:
        assert offset >= 0
        part = self.data[offset : offset + length]
        self.taken += len(part)
        return part

    def ranges(self, **options: int) -> list[tuple[int, int]]:
        found = ranges(self.read, len(self.data), **options)
        for start, end in found:
            assert 0 <= start < end <= len(self.data)
            assert start == 0 or self.data[start - 1 : start] == b"\n"
        assert all(before[1] < after[0] for before, after in itertools.pairwise(found))
        return found

    def events(self, **options: int) -> Read:
        reader = LogReader("w.log")
        events = []
        for start, end in self.ranges(**options):
            events += reader.feed(self.data[start:end], start)
        return Read([*events, *reader.close()])


def big(requests: int, spacing: int = 1, head: bytes = TRACE_START.encode(), before: int = 0) -> bytes:
    body = b"".join(request(task) + NOISE * spacing for task in range(1, requests + 1))
    return NOISE * before + head + body


def test_a_small_file_is_read_whole() -> None:
    assert File(request(1)).ranges() == [(0, len(request(1)))]
    assert File(b"").ranges() == []


def test_a_file_with_few_requests_is_read_whole() -> None:
    data = big(80)
    assert len(data) > MEBIBYTE
    assert File(data).ranges() == [(0, len(data))]


def test_the_newest_requests_and_the_start_before_them() -> None:
    file = File(big(300, before=80))
    result = file.events(requests=20)
    assert [r.task for r in result.requests] == list(range(281, 301))
    assert [s.model for s in result.starts] == ["/m/target.gguf"]
    assert {r.model for r in result.requests} == {"/m/target.gguf"}


def test_no_requests_wanted_leaves_the_start() -> None:
    result = File(big(300)).events(requests=0)
    assert [event.kind for event in result.events] == ["server_start"]


def test_the_newest_start_is_taken() -> None:
    again = TRACE_START.replace("target.gguf", "newer.gguf").encode()
    data = big(100) + again + big(200, head=b"")
    result = File(data).events(requests=20)
    assert [s.model for s in result.starts] == ["/m/newer.gguf"]
    both = File(data).events(requests=220)
    assert [s.model for s in both.starts] == ["/m/target.gguf", "/m/newer.gguf"]


def test_bytes_bound_the_window_where_requests_are_long() -> None:
    file = File(big(60, spacing=10))
    size = len(file.data)
    found = file.ranges(limit=2 * MEBIBYTE)
    assert size - found[-1][0] <= 2 * MEBIBYTE
    assert size - found[-1][0] > 1.9 * MEBIBYTE


def test_without_a_start_in_reach_the_beginning_is_read() -> None:
    found = File(big(300, head=b"")).ranges(requests=20)
    assert found[0][0] == 0
    assert MEBIBYTE <= found[0][1] < MEBIBYTE + 200
    assert len(found) == 2


def test_ranges_that_meet_are_one() -> None:
    data = request(0) + NOISE * 80 + b"".join(request(task) for task in range(1, 30))
    assert File(data).ranges(requests=29) == [(0, len(data))]


def test_the_work_does_not_grow_with_the_file() -> None:
    small, large = File(big(300)), File(big(1500))
    small.ranges(requests=20)
    large.ranges(requests=20, limit=4 * MEBIBYTE)
    near = File(big(1500) + TRACE_START.encode() + big(100, head=b""))
    near.ranges(requests=20)
    assert near.taken < small.taken + 2 * MEBIBYTE
    assert near.taken < len(near.data) / 4


def test_halogen_requests_are_counted_by_their_lines() -> None:
    line = b"serve_api: mtp %d tok in 2.00s = 40.00 t/s | 44 rounds, commit 1.80/round | prompt 12, prefill 0.20s\n"
    start = (
        b"halogen: halogen-flash-server 0.17.4, mode all\nserve_api: version 0.17.4, engine version 0.17.4\n"
    )
    data = start + b"".join(line % n + NOISE for n in range(70, 170))
    result = File(data).events(requests=5)
    assert [r.tokens for r in result.requests] == [165, 166, 167, 168, 169]
    assert [s.build for s in result.starts] == ["0.17.4"]


def test_a_filtered_log_without_releases_is_counted_by_its_blocks() -> None:
    file = File(b"".join(block(0, task).encode() + b"\n" + NOISE for task in range(100)))
    start, end = file.ranges(requests=5)[-1]
    reader = LogReader("w.log")
    found = Read([*reader.feed(file.data[start:end], start), *reader.close()])
    assert [r.task for r in found.requests] == [95, 96, 97, 98, 99]
    assert found.problems == []


@pytest.mark.parametrize("end", [b"\n", b""])
def test_one_line_without_an_end_is_survived(end: bytes) -> None:
    assert File(b"x" * (3 * MEBIBYTE) + end).ranges() == [(0, 3 * MEBIBYTE + len(end))]


def test_the_newest_start_of_an_engine_is_read_too() -> None:
    engines = (
        b"(EngineCore_DP0 pid=7) INFO 06-01 09:59:00 [core.py:77] Initializing a V1 LLM engine (v0.11.0) with config:"
        b" model='org/target', speculative_config=None\n",
        b"[2026-03-01 07:59:00] server_args=ServerArgs(model_path='org/target', port=30000,"
        b" speculative_algorithm=None, watchdog_timeout=300)\n",
    )
    for start in engines:
        file = File(NOISE * 120 + start + NOISE * 250)
        found = file.ranges(limit=2 << 20)
        assert len(found) == 2
        assert [s.model for s in file.events(limit=2 << 20).starts] == ["org/target"]

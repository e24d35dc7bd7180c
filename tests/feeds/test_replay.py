"""The pace of a replay, on a clock that only the replay moves."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pytest

from tests.feeds.items import Items, data, kinds, offsets
from tui.feeds.protocol import Block, FeedError
from tui.feeds.replay import ReplayFeed

if TYPE_CHECKING:
    from pathlib import Path


class Clock:
    """Stands still but for sleeps."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


def clock_of(line: bytes) -> float | None:
    head = line.split(b" ")[0]
    return float(head) if head.replace(b".", b"").isdigit() else None


async def replay(recording: bytes | Path, speed: float | None = 1.0) -> list[tuple[float, bytes]]:
    """What comes when, seconds since the start."""
    clock = Clock()
    feed = ReplayFeed("log", recording, clock_of, speed=speed, clock=clock, sleep=clock.sleep)
    return [(round(clock.now - 1000, 6), item.data) async for item in feed.read() if isinstance(item, Block)]


LOG = b"10.0 a\n10.0 b\n  more of b\n11.5 c\n12.0 d\n"


async def test_lines_come_at_the_pace_of_their_own_clock() -> None:
    assert await replay(LOG) == [
        (0, b"10.0 a\n10.0 b\n  more of b\n"),
        (1.5, b"11.5 c\n"),
        (2.0, b"12.0 d\n"),
    ]


async def test_speed_divides_the_pauses() -> None:
    assert [at for at, _ in await replay(LOG, speed=5)] == [0, 0.3, 0.4]


async def test_at_full_speed_there_are_no_pauses() -> None:
    assert await replay(LOG, speed=None) == [(0, LOG)]


async def test_a_long_pause_is_shortened() -> None:
    log = b"1 a\n2 b\n3602 c\n3603 d\n"
    assert [at for at, _ in await replay(log)] == [0, 1, 6, 7]
    assert [at for at, _ in await replay(log, speed=10)] == [0, 0.1, 5.1, 5.2]


async def test_a_clock_that_starts_again_makes_no_pause() -> None:
    assert [at for at, _ in await replay(b"100 a\n101 b\n0 c\n2 d\n")] == [0, 1, 3]


async def test_lines_without_any_clock_come_at_once() -> None:
    assert await replay(b"a\nb\nc\n") == [(0, b"a\nb\nc\n")]


async def test_many_small_pauses_add_up() -> None:
    log = b"".join(b"%d.%03d x\n" % divmod(i, 1000) for i in range(0, 3000, 5))
    came = await replay(log)
    assert came[-1][0] == pytest.approx(2.995, abs=0.03)
    assert b"".join(part for _, part in came) == log


async def test_nothing_is_lost_and_offsets_are_true(tmp_path: Path) -> None:
    log = b"".join(b"%d a line of the log\r\n" % i for i in range(50)) + b"  last\0"
    for recording in (log, gzip.compress(log)):
        (tmp_path / "log").write_bytes(recording)
        for given in (recording, tmp_path / "log"):
            clock = Clock()
            feed = ReplayFeed("log", given, clock_of, clock=clock, sleep=clock.sleep)
            items: Items = [item async for item in feed.read()]
            assert data(items) == log
            at = 0
            for offset, block in zip(offsets(items), [i for i in items if isinstance(i, Block)], strict=True):
                assert offset == at
                at += len(block.data)
            assert kinds(items) == ["opened", "caught_up", "ended"]


async def test_a_missing_recording_is_told(tmp_path: Path) -> None:
    with pytest.raises(FeedError, match="no such file"):
        await replay(tmp_path / "none")

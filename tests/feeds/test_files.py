"""Many files and globs, by events and without."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.feeds.items import Items, Running, data, kinds, notice, offsets, running
from tui.feeds.files import FilesFeed
from tui.feeds.protocol import Block

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

LINE = b"a line that is one of many in a log that has more than a kilobyte of them\n"


async def silent(
    directories: Sequence[str], wanted: Callable[[str], bool], stop: asyncio.Event
) -> AsyncIterator[object]:
    """A file system that tells no changes."""
    await stop.wait()
    for change in list[object]():
        yield change


async def failing(
    directories: Sequence[str], wanted: Callable[[str], bool], stop: asyncio.Event
) -> AsyncIterator[object]:
    """A system with no watches left."""
    raise OSError(24, "Too many open files")
    yield


def polled(*patterns: str | Path, **more: object) -> FilesFeed:
    return FilesFeed([str(p) for p in patterns], poll_s=0.01, watch=silent, **more)  # type: ignore[arg-type]  # passed on


def append(path: Path, content: bytes) -> None:
    with path.open("ab") as file:
        file.write(content)


def got(content: bytes, source: Path | str | None = None) -> Callable[[Items], bool]:
    return lambda items: data(items, None if source is None else str(source)) == content


def told(kind: str, times: int = 1) -> Callable[[Items], bool]:
    return lambda items: kinds(items).count(kind) == times


async def test_events_alone_are_enough(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"")
    async with running(FilesFeed([str(log)], poll_s=3600)) as run:
        await run.until(told("caught_up"))
        await run.until(lambda items: LINE in data(items), do=lambda: append(log, LINE))
        log.rename(tmp_path / "log.1")
        await run.until(lambda items: data(items).endswith(b"new\n"), do=lambda: append(log, b"new\n"))
        assert kinds(run.items).count("rotated") == 1


async def test_a_link_target_in_another_directory_gives_events(tmp_path: Path) -> None:
    target = tmp_path / "runs" / "log"
    target.parent.mkdir()
    target.write_bytes(b"")
    link = tmp_path / "links" / "latest"
    link.parent.mkdir()
    link.symlink_to(target)
    async with running(FilesFeed([str(link)], poll_s=3600)) as run:
        await run.until(told("caught_up"))
        await run.until(lambda items: LINE in data(items), do=lambda: append(target, LINE))


@pytest.mark.parametrize("watch", [silent, failing])
async def test_nothing_depends_on_events(tmp_path: Path, watch: object) -> None:
    log = tmp_path / "later" / "log"
    feed = FilesFeed([str(log)], poll_s=0.01, watch=watch)  # type: ignore[arg-type]  # one of two
    async with running(feed) as run:
        await run.until(told("waiting"))
        log.parent.mkdir()
        log.write_bytes(b"one\n")
        await run.until(got(b"one\n"))
        append(log, b"two")
        append(log, b"\n")
        await run.until(got(b"one\ntwo\n"))
        log.rename(log.with_suffix(".1"))
        append(log.with_suffix(".1"), b"late\n")
        log.write_bytes(b"three\n")
        await run.until(got(b"one\ntwo\nlate\nthree\n"))
        log.write_bytes(b"four, and longer\n")
        await run.until(told("truncated"))
        log.unlink()
        await run.until(told("gone"))
        log.write_bytes(b"five\n")
        await run.until(got(b"one\ntwo\nlate\nthree\nfour, and longer\nfive\n"))


async def test_many_files_keep_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in "abc":
        Path(name).write_bytes(name.encode() + b"\n")
    async with running(polled("a", "./b", tmp_path / "c", "a")) as run:
        await run.until(told("caught_up", 3))
        assert {b.source for b in run.items if isinstance(b, Block)} == {"a", "./b", str(tmp_path / "c")}
        append(Path("b"), b"more\n")
        await run.until(got(b"b\nmore\n", "./b"))
        assert data(run.items, "a") == b"a\n"


async def test_new_files_that_match_a_glob_are_followed(tmp_path: Path) -> None:
    pattern = tmp_path / "*.log"
    async with running(polled(pattern)) as run:
        await run.until(told("waiting"))
        assert notice(run.items, "waiting").source == str(pattern)
        (tmp_path / "a.log").write_bytes(b"one\n")
        (tmp_path / "other").write_bytes(b"not asked for\n")
        (tmp_path / "old.log.gz").write_bytes(b"\x1f\x8b\n")
        await run.until(got(b"one\n"))
        (tmp_path / "b.log").write_bytes(b"two\n")
        await run.until(got(b"two\n", tmp_path / "b.log"))
        append(tmp_path / "a.log", b"more\n")
        await run.until(got(b"one\nmore\n", tmp_path / "a.log"))
        assert kinds(run.items).count("waiting") == 1


async def test_a_name_with_glob_characters_is_a_name_if_there_is_such_a_file(tmp_path: Path) -> None:
    log = tmp_path / "run[1].log"
    log.write_bytes(b"one\n")
    (tmp_path / "run1.log").write_bytes(b"other\n")
    async with running(polled(log)) as run:
        await run.until(told("caught_up"))
        assert data(run.items) == b"one\n"


async def test_a_glob_reads_a_rotated_log_once_and_goes_on_under_its_new_name(tmp_path: Path) -> None:
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.write_bytes(b"one\n")
    async with running(polled(tmp_path / "log*")) as run:
        await run.until(got(b"one\n"))
        log.rename(old)
        log.write_bytes(b"two\n")
        await run.until(told("caught_up", 2))
        append(old, b"late\n")
        append(log, b"three\n")
        await run.until(got(b"one\ntwo\nthree\n", log))
        await run.until(got(b"late\n", old))


async def test_a_glob_does_not_read_the_copy_that_copytruncate_makes(tmp_path: Path) -> None:
    log, old = tmp_path / "log", tmp_path / "log.1"
    log.write_bytes(LINE * 50)
    async with running(polled(tmp_path / "log*")) as run:
        await run.until(got(LINE * 50))
        (tmp_path / "copy").write_bytes(LINE * 50 + b"missed by the truncation\n")
        (tmp_path / "copy").rename(old)
        log.write_bytes(b"two\n")
        await run.until(got(LINE * 50 + b"two\n", log))
        await run.until(got(b"missed by the truncation\n", old))


async def test_a_glob_follows_a_file_and_a_link_to_it_once(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_bytes(b"one\n")
    (tmp_path / "latest.log").symlink_to("a.log")
    async with running(polled(tmp_path / "*.log")) as run:
        await run.until(told("caught_up"))
        append(tmp_path / "a.log", b"two\n")
        await run.until(lambda items: b"two\n" in data(items))
        (tmp_path / "b.log").write_bytes(b"three\n")
        await run.until(lambda items: b"three\n" in data(items))
        assert sorted(data(run.items).split()) == [b"one", b"three", b"two"]


async def test_what_is_written_while_the_window_is_looked_for_is_read(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(b"old\none\n")

    def window(read: Callable[[int, int], bytes], size: int) -> list[tuple[int, int]]:
        append(log, b"two\nthree\n")
        return [(4, size)]

    async with running(polled(log, window=window)) as run:
        await run.until(got(b"one\ntwo\nthree\n"))


async def test_the_window_chooses_what_is_read_of_files_that_are_there(tmp_path: Path) -> None:
    there, later = tmp_path / "there.log", tmp_path / "zlater.log"
    there.write_bytes(b"start\nold\nnew\nunfin")
    asked: list[tuple[int, bytes]] = []

    def window(read: Callable[[int, int], bytes], size: int) -> list[tuple[int, int]]:
        asked.append((size, read(6, 3)))
        return [(0, 6), (10, size)]

    async with running(polled(tmp_path / "*.log", window=window)) as run:
        await run.until(told("caught_up"))
        assert data(run.items) == b"start\nnew\n"
        assert offsets(run.items) == [0, 10]
        append(there, b"ished\n")
        later.write_bytes(b"start\nold\nnew\n")
        await run.until(got(b"start\nnew\nunfinished\n", there))
        await run.until(got(b"start\nold\nnew\n", later))
    assert asked == [(19, b"old")]


async def test_a_huge_file_does_not_hold_up_the_loop(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINE * 100_000)
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    beside = asyncio.create_task(other())
    async with running(polled(log)) as run:
        await run.until(told("caught_up"))
    beside.cancel()
    blocks = [len(item.data) for item in run.items if isinstance(item, Block)]
    assert sum(blocks) == len(LINE) * 100_000
    assert max(blocks) <= 1 << 20
    assert turns >= len(blocks) >= 7


def open_files(directory: Path) -> list[Path]:
    """The files of a directory that this process holds open."""
    held = set()
    for fd in Path("/dev/fd").iterdir():
        with contextlib.suppress(OSError):
            found = os.fstat(int(fd.name))
            held.add((found.st_dev, found.st_ino))
    return [p for p in directory.iterdir() if (p.stat().st_dev, p.stat().st_ino) in held]


async def test_cancelling_leaves_nothing_behind(tmp_path: Path) -> None:
    for name in ("a.log", "b.log"):
        (tmp_path / name).write_bytes(LINE)
    run = Running(FilesFeed([str(tmp_path / "*.log"), str(tmp_path / "none")], poll_s=3600))
    await run.until(told("caught_up", 2))
    assert len(open_files(tmp_path)) == 2
    assert len(asyncio.all_tasks()) > 1
    await run.cancel()
    assert open_files(tmp_path) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_leaving_the_loop_closes_the_files(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINE)
    async with contextlib.aclosing(polled(log).read()) as items:  # type: ignore[type-var]  # a generator
        async for item in items:
            if isinstance(item, Block):
                break
    assert open_files(tmp_path) == []


async def test_cancelling_ends_a_search_for_where_to_start(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_bytes(LINE)
    searching, ended = threading.Event(), threading.Event()

    def window(read: Callable[[int, int], bytes], size: int) -> list[tuple[int, int]]:
        try:
            while True:
                read(0, size)
                searching.set()
        finally:
            ended.set()

    run = Running(polled(log, window=window))
    await run.until(lambda _: searching.is_set())
    await run.cancel()
    assert ended.is_set()
    assert open_files(tmp_path) == []

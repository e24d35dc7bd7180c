"""Any number of files and globs followed at once: woken by watchfiles, held right by a slow poll."""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import glob
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING

import watchfiles

from tui.feeds.follow import PACKED, Follower, Position
from tui.feeds.protocol import Block, Notice
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Iterator

Window = Callable[[Callable[[int, int], bytes], int], list[tuple[int, int]]]
"""From a reader (offset, length) -> bytes and a size: the byte ranges (start, end) worth reading."""

Watch = Callable[[Sequence[str], Callable[[str], bool], asyncio.Event], AsyncIterator[object]]
"""From directories, a filter of file names and a stop event: something for each change there."""

_STEP_MS = 250
_DEBOUNCE_MS = 500
_READ_BEFORE = 1000


async def watch_directories(
    directories: Sequence[str], wanted: Callable[[str], bool], stop: asyncio.Event
) -> AsyncIterator[object]:
    """Changes in directories, not below them, as watchfiles tells them.

    Directories are watched since a watch on a file is lost with the file, at its first rotation.
    """
    async for changes in watchfiles.awatch(
        *directories,
        watch_filter=lambda _, path: wanted(os.path.basename(path)),  # noqa: PTH119
        step=_STEP_MS,
        debounce=_DEBOUNCE_MS,
        stop_event=stop,
        recursive=False,
    ):
        yield changes


class FilesFeed:
    """Follows files by name: those that are named, and those that match a glob, now or later."""

    def __init__(
        self,
        patterns: Sequence[str],
        *,
        window: Window | None = None,
        poll_s: float = 1.5,
        watch: Watch = watch_directories,
    ) -> None:
        """Nothing is opened yet.

        Args:
            patterns: paths and globs, as given on the command line.
            window: chooses what is read of the files that are there at the start; None reads them whole.
            poll_s: seconds between looks at the files when no change is told (network file systems, 9p and
                some bind mounts never tell any).
            watch: where changes come from.
        """
        self._patterns = list(dict.fromkeys(patterns))
        self._window = window
        self._poll_s = poll_s
        self._watch = watch
        self._followers: dict[str, Follower] = {}
        self._read_before: deque[Position] = deque(maxlen=_READ_BEFORE)
        self._names: set[str] = set()
        self._told: set[str] = set()

    async def read(self) -> AsyncIterator[Block | Notice]:
        """Yield blocks and notices; never ends by itself.

        Leave it by cancelling the task that iterates, or within `contextlib.aclosing`: both let go of every
        file, task and watch.
        """
        wake = asyncio.Event()
        watcher = _Watcher(self._watch, self._wanted, wake)
        window = self._window
        try:
            while True:
                wake.clear()
                for item in self._match():
                    yield item
                if window:
                    for follower in filter(Follower.size, self._followers.values()):
                        size = follower.size()
                        follower.plan(await _in_thread(window, follower, size), size)
                window = None
                behind = True
                while behind:
                    behind = False
                    for follower in list(self._followers.values()):
                        for item in follower.step():
                            yield item
                        behind = behind or follower.behind
                        self._read_before.extend(follower.take_left())
                        await asyncio.sleep(0)
                await watcher.watch(self._directories())
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._poll_s):
                        await wake.wait()
        finally:
            for follower in self._followers.values():
                follower.close()
            await watcher.stop()

    def _match(self) -> Iterator[Block | Notice]:
        """Start to follow what is named, and what a glob matches now."""
        for pattern in self._patterns:
            if not _is_glob(pattern):
                yield from self._follow(pattern)
                continue
            paths = [p for p in sorted(glob.glob(pattern, recursive=True)) if os.path.isfile(p)]  # noqa: PTH113, PTH207
            for path in paths:
                if not path.endswith(PACKED):
                    yield from self._follow(path, once=True)
            if not paths and pattern not in self._told:
                self._told.add(pattern)
                yield Notice(pattern, "waiting", f"waiting for {harmless(pattern, 300)}: no file matches yet")

    def _follow(self, path: str, *, once: bool = False) -> list[Block | Notice]:
        """Follow a path, if it is not followed already.

        Args:
            path: as given on the command line, or as a glob matched it.
            once: not while the same file is followed under another name, and not again what was read of it
                before it got this name: globs match links to logs, and logs renamed or copied away.
        """
        key = os.path.abspath(path)  # noqa: PTH100
        if key in self._followers:
            return []
        read_before: list[Position] = []
        if once:
            open_now = [f.position for f in self._followers.values() if f.position]
            with contextlib.suppress(OSError):
                found = os.stat(path)  # noqa: PTH116
                if (found.st_dev, found.st_ino) in {p.identity for p in open_now}:
                    return []
            read_before = [*self._read_before, *open_now]
        follower = self._followers[key] = Follower(path, path, read_before)
        return follower.step()

    def _directories(self) -> list[str]:
        """Where changes matter: where the files' names are, and where links lead."""
        named = {*self._followers, *(os.path.abspath(p) for p in self._patterns if _is_glob(p))}  # noqa: PTH100
        paths = named | {os.path.realpath(path) for path in self._followers}
        self._names = {os.path.basename(path) for path in paths}  # noqa: PTH119
        return sorted({os.path.dirname(path) for path in paths})  # noqa: PTH120

    def _wanted(self, name: str) -> bool:
        return name in self._names or any(fnmatch.fnmatch(name, wanted) for wanted in self._names)


class _Watcher:
    """One watch at a time over the directories that are there."""

    def __init__(self, watch: Watch, wanted: Callable[[str], bool], wake: asyncio.Event) -> None:
        self._watch = watch
        self._wanted = wanted
        self._wake = wake
        self._stop = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._watched: dict[str, tuple[int, int]] = {}

    async def watch(self, directories: Sequence[str]) -> None:
        """Watch these directories from now on; one that was made anew is watched anew."""
        there = {}
        for directory in directories:
            with contextlib.suppress(OSError):
                found = os.stat(directory)  # noqa: PTH116
                there[directory] = (found.st_dev, found.st_ino)
        if there == self._watched:
            return
        await self.stop()
        self._watched = there
        self._stop = asyncio.Event()
        if there:
            self._task = asyncio.create_task(self._pump(list(there), self._stop))

    async def stop(self) -> None:
        """End the watch; its thread has ended when this returns."""
        self._stop.set()
        if self._task:
            await self._task
            self._task = None

    async def _pump(self, directories: list[str], stop: asyncio.Event) -> None:
        # Without events (too many watches, an odd file system) the poll alone finds every change.
        with contextlib.suppress(OSError, RuntimeError):
            async for _ in self._watch(directories, self._wanted, stop):
                self._wake.set()


def _is_glob(pattern: str) -> bool:
    return glob.has_magic(pattern) and not os.path.lexists(pattern)


async def _in_thread(window: Window, follower: Follower, size: int) -> list[tuple[int, int]]:
    """Run the search for where to start in a thread, as it may read a lot; a cancelled one ends at once."""
    cancelled = threading.Event()

    def read(offset: int, length: int) -> bytes:
        if cancelled.is_set():
            raise InterruptedError
        return follower.read_at(offset, length)

    search = asyncio.ensure_future(asyncio.to_thread(window, read, size))
    try:
        return await asyncio.shield(search)
    except OSError:  # told by the read that follows
        return [(0, size)]
    finally:
        cancelled.set()
        await asyncio.gather(search, return_exceptions=True)

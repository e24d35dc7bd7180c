"""How soon a what-if key is answered, and how soon the screen stands.

Run `python -m tests.bench.keys`. A machine's milliseconds say little of another's, so each figure is also a
multiple of something that the same machine does: the arithmetic alone, a Textual app with one word.
"""

from __future__ import annotations

import asyncio
import os
import pty
import select
import statistics
import subprocess
import sys
import tempfile
import termios
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.commands import logs
from tests.snapshots import priced, view
from tests.watches import FakeWatch
from tui.app import SpectopApp
from tui.model.whatif import answer
from tui.render import plot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.render.levers import LeverName
    from tui.session.snapshot import View

PRESSES = 200
STARTS = 7
KEYS = ("K", "p", "k", "P")
WITHOUT_MEANING = "x"
SIZES = ((80, 24), (120, 40))
VIEWS = {"measured": view(), "with a cost profile": priced()}
BARE = """
from textual.app import App
from textual.widgets import Static
class Bare(App):
    def compose(self):
        yield Static("commit/round")
Bare().run()
"""


@dataclass(frozen=True, slots=True)
class Timed:
    """Times of one kind, ms."""

    times: Sequence[float]

    @property
    def median(self) -> float:
        """The middle one."""
        return statistics.median(self.times)

    def __str__(self) -> str:
        return f"median {self.median:6.1f} ms  max {max(self.times):6.1f} ms"


async def keys(shown: View, size: tuple[int, int]) -> tuple[Timed, Timed, Timed]:
    """Times of the handler, of whole presses, and of presses of a key without a meaning.

    The answer stands in the pane when the handler returns. A press ends when nothing is left to do, the
    picture included; the driver's own waiting, which is most of it, is that of a key without a meaning.
    """
    app = SpectopApp(FakeWatch(shown))
    handled: list[float] = []
    step = app.main.action_step

    def timed(name: LeverName, direction: int) -> None:
        begin = time.perf_counter()
        step(name, direction)
        handled.append(1000 * (time.perf_counter() - begin))

    app.main.action_step = timed  # type: ignore[method-assign]  # a stop-watch around it
    pressed: dict[str, list[float]] = {"meant": [], "other": []}
    async with app.run_test(size=size) as pilot:
        await pilot.pause(0.5)
        for n in range(PRESSES):
            for kind, key in (("meant", KEYS[n % len(KEYS)]), ("other", WITHOUT_MEANING)):
                begin = time.perf_counter()
                await pilot.press(key)
                pressed[kind].append(1000 * (time.perf_counter() - begin))
        async with asyncio.timeout(10):  # a busy machine may handle the last one after its press
            while len(handled) < PRESSES:
                await pilot.pause(0.05)
    assert len(handled) == PRESSES
    return Timed(handled), Timed(pressed["meant"]), Timed(pressed["other"])


def arithmetic(shown: View) -> Timed:
    """Times of one answer without a screen."""
    assert shown.what_if is not None
    times = []
    for _ in range(PRESSES):
        begin = time.perf_counter()
        answer(shown.what_if)
        times.append(1000 * (time.perf_counter() - begin))
    return Timed(times)


def first_paint(*command: str) -> float:
    """Ms from the start of a command on a terminal of its own until the panels' names stand there."""
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    begin = time.perf_counter()
    environment = {**os.environ, "TERM": "xterm-256color"}
    process = subprocess.Popen(
        command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True, env=environment
    )
    os.close(slave)
    seen = b""
    try:
        while b"commit/round" not in seen:
            if not select.select([master], [], [], 30)[0]:
                raise TimeoutError(f"nothing stood there: {seen[-300:]!r}")
            seen += os.read(master, 65536)
        return 1000 * (time.perf_counter() - begin)
    finally:
        process.kill()
        process.wait()
        os.close(master)


def starts() -> tuple[Timed, Timed, Timed]:
    """Times to the first paint: of spectop on a log, of a bare Textual app; and of Python alone."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "canary.log"
        log.write_text(logs.canary(90.0))
        ours = [
            first_paint(sys.executable, "-m", "tui", str(log), "--incumbent", "30") for _ in range(STARTS)
        ]
        bare = [first_paint(sys.executable, "-c", BARE) for _ in range(STARTS)]
        python = [first_paint(sys.executable, "-c", "print('commit/round')") for _ in range(STARTS)]
    return Timed(ours), Timed(bare), Timed(python)


def main() -> None:
    """Print it all."""
    plot.load()
    for name, shown in VIEWS.items():
        alone = arithmetic(shown)
        for size in SIZES:
            handler, press, idle = asyncio.run(keys(shown, size))
            print(f"{size[0]}x{size[1]}, {name}, {PRESSES} presses of {' '.join(KEYS)}")
            print(f"  arithmetic       {alone}")
            print(f"  handler          {handler}  {handler.median / alone.median:5.1f} x the arithmetic")
            print(f"  whole press      {press}, of which the driver waits")
            print(f"  idle press       {idle}")
            rest = press.median - idle.median
            print(f"  press less idle         {rest:6.1f} ms  {rest / handler.median:19.1f} x the handler")
    ours, bare, python = starts()
    print(f"start to first paint, {STARTS} starts")
    print(f"  spectop LOG      {ours}  {ours.median / bare.median:5.2f} x the bare app")
    print(f"  bare Textual app {bare}  {bare.median / python.median:5.2f} x python")
    print(f"  python           {python}")


if __name__ == "__main__":
    main()

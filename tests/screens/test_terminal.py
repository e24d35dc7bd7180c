"""The app on a terminal of its own: what it leaves behind when it is ended from outside."""

import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

APP = """
import fcntl, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
from tests.snapshots import view
from tests.watches import FakeWatch
from tui.app import SpectopApp
app = SpectopApp(FakeWatch(view()))
app.run()
sys.exit(app.return_code)
"""
LEAVE_ALTERNATE_SCREEN, SHOW_CURSOR, NO_MOUSE = b"\x1b[?1049l", b"\x1b[?25h", b"\x1b[?1000l"


class Terminal:
    """The other end of the app's terminal."""

    def __init__(self, process: subprocess.Popen[bytes], master: int) -> None:
        self.process, self.master, self.seen = process, master, b""

    def read_until(self, words: bytes, within_s: float = 30.0) -> bool:
        end = time.monotonic() + within_s
        while words not in self.seen and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.seen += os.read(self.master, 65536)
                except OSError:  # the app's end is closed
                    break
        return words in self.seen


@contextmanager
def running() -> Iterator[Terminal]:
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (24, 80))
    environment = {**os.environ, "TERM": "xterm-256color", "PYTHONPATH": str(Path(__file__).parents[2])}
    process = subprocess.Popen(
        [sys.executable, "-c", APP],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        start_new_session=True,
        env=environment,
    )
    terminal = Terminal(process, master)
    try:
        os.close(slave)
        assert terminal.read_until(b"commit/round"), terminal.seen[-500:]
        yield terminal
    finally:
        process.kill()
        process.wait()


def test_sigterm_gives_the_terminal_back() -> None:
    with running() as terminal:
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.read_until(LEAVE_ALTERNATE_SCREEN)
        assert terminal.read_until(SHOW_CURSOR)
        assert NO_MOUSE in terminal.seen
        assert terminal.process.wait(10) == 143
        os.close(terminal.master)


def test_a_lost_terminal_ends_the_app() -> None:
    with running() as terminal:
        os.close(terminal.master)
        assert terminal.process.wait(20) == 129

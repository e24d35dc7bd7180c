"""What watching many sources costs: each with a request a second, in share of a core.

usage: python -m tests.bench.many_sources [--sources 20] [--seconds 30] [--kind logs|servers|pairs]
           [--screen fleet|main] [--size 120x40] [--incumbent 30]

A process of its own writes the logs (llama.cpp at default verbosity, with a past of 200 requests) and serves
/metrics. What is measured is the time on the processor, user and system, of the watch with a snapshot twice a
second; or of the whole screen on a terminal of its own, where all that it writes is read.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import pty
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.formats.metrics_texts import llamacpp
from tui.pipeline import Watch
from tui.session.session import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.pilot import Pilot

    from tui.formats.events import Event

PAST = 200
"""Requests that each log holds in the beginning: the pictures and tables are full."""
SETTLED_S = 5.0
"""How long the past is read before anything is measured."""

_LINES = (
    "{c} I slot get_availabl: id  1 | task -1 | selected slot by LRU, t_last = -1\n"
    "{c} I slot launch_slot_: id  1 | task {t} | processing task, is_child = 0\n"
    "{c} I slot print_timing: id  1 | task {t} | n_gen =     64, tg =  40.00 t/s, tg_3s =  40.00 t/s\n"
    "{c} I slot print_timing: id  1 | task {t} | prompt eval time =     100.00 ms /    40 tokens"
    " (    2.50 ms per token,   400.00 tokens per second)\n"
    "{c} I slot print_timing: id  1 | task {t} |        eval time =     800.00 ms /    33 tokens"
    " (   25.00 ms per token,    40.00 tokens per second)\n"
    "{c} I slot print_timing: id  1 | task {t} |       total time =     900.00 ms /    73 tokens\n"
    "{c} I slot print_timing: id  1 | task {t} |    graphs reused =         40\n"
    "{c} I slot print_timing: id  1 | task {t} | draft acceptance = 0.60000 (   18 accepted /    30"
    " generated), mean len =  2.80\n"
    "{c} I slot      release: id  1 | task {t} | stop processing: n_tokens = 73, truncated = 0\n"
)


def load(folder: Path, sources: int) -> None:
    """Write to each log and count for each server once a second, until standard input ends."""
    counts = [0] * sources

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        number = 0

        def do_GET(self) -> None:
            n = counts[self.number]
            body = {
                "/health": '{"status":"ok"}',
                "/props": '{"build_info":"b11434-aa","total_slots":1,"model_path":"/m.gguf"}',
                "/metrics": llamacpp(
                    33 * n, 0.8 * n, 30 * n, 18 * n, 10 * n, (9 * n, 6 * n, 3 * n), running=1
                ),
                "/slots": '[{"id":1,"is_processing":false,"speculative":true}]',
            }[self.path].encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  # the library's name
            pass

    def write(number: int, second: int) -> None:
        clock = f"{second // 60}.{second % 60:02}.000.000"
        with (folder / f"{number}.log").open("a") as log:
            log.write(_LINES.format(c=clock, t=second))

    ports = []
    for number in range(sources):
        for second in range(PAST):
            write(number, second)
        server = ThreadingHTTPServer(("127.0.0.1", 0), type(f"H{number}", (Handler,), {"number": number}))
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        ports.append(server.server_port)
    print(json.dumps(ports), flush=True)
    ended = threading.Event()

    def wait() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    turn = 0
    while not ended.wait(1 / sources):
        number = turn % sources
        write(number, PAST + turn // sources)
        counts[number] += 1
        turn += 1


class Measured:
    """A watch, and what is seen of it."""

    def __init__(self, sources: Sequence[str], incumbent: str | None) -> None:
        """Nothing is opened."""
        self.watch = Watch(sources, Policy(), on_events=self._count)
        if incumbent is not None:
            self.watch.choose(self.watch.read_incumbent(incumbent))
        self._seen: Counter[str] = Counter()

    def _count(self, events: list[Event]) -> None:
        self._seen.update(type(event).__name__ for event in events)

    async def share(self, seconds: float) -> str:
        """Share of a core, and the requests and intervals seen."""
        self._seen.clear()
        began, spent = time.monotonic(), time.process_time()
        await asyncio.sleep(seconds)
        share = (time.process_time() - spent) / (time.monotonic() - began)
        seen = f"{self._seen['Request']} requests and {self._seen['Interval']} intervals"
        return f"{100 * share:.2f} % of a core, {seen} in {seconds:.0f} s"


async def without_screen(measured: Measured, seconds: float) -> str:
    """What the watch costs, with a snapshot twice a second."""

    async def look() -> None:
        while True:
            await asyncio.sleep(0.5)
            measured.watch.snapshot()

    tasks = [asyncio.create_task(measured.watch.run()), asyncio.create_task(look())]
    await asyncio.sleep(SETTLED_S)
    try:
        return await measured.share(seconds)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def with_screen(measured: Measured, seconds: float, page: str, size: tuple[int, int]) -> str:
    """What the screen costs, on a terminal of its own."""
    reading, writing = os.pipe()
    child, terminal = pty.fork()
    if child == 0:
        code = 1
        try:
            os.write(writing, _draw(measured, seconds, page, size).encode())
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    written = 0
    try:
        while data := os.read(terminal, 65536):
            written += len(data)
    except OSError:  # Linux says so when the other side is closed
        pass
    os.waitpid(child, 0)
    with os.fdopen(reading) as said:
        return f"{said.read()}, {written / 1000:.0f} kB written in all"


def _draw(measured: Measured, seconds: float, page: str, size: tuple[int, int]) -> str:
    from tui.app import SpectopApp

    said = []

    async def drive(pilot: Pilot[object]) -> None:
        await asyncio.sleep(SETTLED_S)
        if page == "main":
            await pilot.press("enter")
            await asyncio.sleep(1)
        said.append(await measured.share(seconds))
        pilot.app.exit()

    termios.tcsetwinsize(0, (size[1], size[0]))
    os.environ["TERM"] = "xterm-256color"
    SpectopApp(measured.watch, quiet=True).run(auto_pilot=drive)
    return said[0]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--kind", choices=["logs", "servers", "pairs"], default="logs")
    parser.add_argument("--screen", choices=["fleet", "main"])
    parser.add_argument("--size", default="120x40")
    parser.add_argument("--incumbent")
    parser.add_argument("--load", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        load(arguments.load, arguments.sources)
        return
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "tests.bench.many_sources"]
        command += ["--load", folder, "--sources", str(arguments.sources)]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            ports = json.loads(process.stdout.readline())
            logs = [str(Path(folder, f"{number}.log")) for number in range(arguments.sources)]
            urls = [f"http://127.0.0.1:{port}" for port in ports]
            pairs = [f"{log}@{url}" for log, url in zip(logs, urls, strict=True)]
            sources = {"logs": logs, "servers": urls, "pairs": pairs}[arguments.kind]
            measured = Measured(sources, arguments.incumbent)
            shown = f"{arguments.sources} {arguments.kind}"
            if arguments.screen:
                width, height = map(int, arguments.size.split("x"))
                said = with_screen(measured, arguments.seconds, arguments.screen, (width, height))
                shown += f", the {arguments.screen} page at {arguments.size}"
            else:
                said = asyncio.run(without_screen(measured, arguments.seconds))
            process.stdin.close()
    print(f"{shown}: {said}")


if __name__ == "__main__":
    main()

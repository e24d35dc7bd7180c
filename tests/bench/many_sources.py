"""What watching many sources costs: each with a request a second, in share of a core.

usage: python -m tests.bench.many_sources [--sources 20] [--seconds 30] [--kind logs|servers|pairs] [--screen]

A process of its own writes the logs (llama.cpp at default verbosity) and serves /metrics. What is measured is
the time on the processor of the watch with a snapshot twice a second, or of the whole screen, without a
terminal behind it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from tests.formats.metrics_texts import llamacpp
from tui.pipeline import Watch
from tui.session.session import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence

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

    ports = []
    for number in range(sources):
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
    second = 0
    while not ended.wait(1 / sources):
        number = second % sources
        clock = f"{second // 60}.{second % 60:02}.000.000"
        with (folder / f"{number}.log").open("a") as log:
            log.write(_LINES.format(c=clock, t=second))
        counts[number] += 1
        second += 1


async def watch(sources: Sequence[str], seconds: float, *, screen: bool) -> tuple[float, int, int]:
    """Share of a core, requests and intervals seen."""
    seen = [0, 0]

    def count(events: list[object]) -> None:
        seen[0] += sum(type(event).__name__ == "Request" for event in events)
        seen[1] += sum(type(event).__name__ == "Interval" for event in events)

    watching = Watch(sources, Policy(), on_events=count)  # type: ignore[arg-type]  # events are objects
    if screen:
        from tui.app import SpectopApp

        async with SpectopApp(watching, quiet=True).run_test(size=(120, 40)):
            await asyncio.sleep(5)
            return await _measure(seconds, seen)
    task = asyncio.create_task(watching.run())
    looks = asyncio.create_task(_look(watching))
    await asyncio.sleep(5)
    try:
        return await _measure(seconds, seen)
    finally:
        task.cancel()
        looks.cancel()
        await asyncio.gather(task, looks, return_exceptions=True)


async def _measure(seconds: float, seen: list[int]) -> tuple[float, int, int]:
    seen[:] = [0, 0]
    began, spent = time.monotonic(), time.process_time()
    await asyncio.sleep(seconds)
    share = (time.process_time() - spent) / (time.monotonic() - began)
    return share, seen[0], seen[1]


async def _look(watching: Watch) -> None:
    while True:
        await asyncio.sleep(0.5)
        watching.snapshot()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", type=int, default=20)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--kind", choices=["logs", "servers", "pairs"], default="logs")
    parser.add_argument("--screen", action="store_true")
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
            share, requests, intervals = asyncio.run(
                watch(sources, arguments.seconds, screen=arguments.screen)
            )
            process.stdin.close()
    print(
        f"{arguments.sources} {arguments.kind}{' with the screen' if arguments.screen else ''}: "
        f"{100 * share:.2f} % of a core, {requests} requests and {intervals} intervals"
        f" in {arguments.seconds:.0f} s"
    )


if __name__ == "__main__":
    main()

"""How fast `spectop events` reads logs.

usage: python -m tests.bench.reading [--megabytes 100] [--runs 3] [LOG...]

Each log is repeated until it is that long; without one, a dense trace log of our own. Times are those on the
processor, user and system, which what else runs disturbs least. A machine's seconds say little of another's:
they are also multiples of reading the same lines and doing nothing, which takes turns with it.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.logs import request, startup

REQUESTS = 40
BETWEEN = 60
"""Lines that tell nothing between one request and the next."""
LINES = """
import sys
with open(sys.argv[1], "rb") as log:
    for line in log:
        pass
"""


def trace() -> bytes:
    """A log as dense as those of small models at -lv 4: a request each 7 kB."""
    quiet = "0.10.000.000 I srv          load:    - prompt with length     73, lcp =     12, f_keep = 0.164"
    noise = f"{quiet}, sim = 0.115\n" * BETWEEN
    return "".join([startup(), *(noise + request(number) for number in range(1, REQUESTS))]).encode()


def seconds(*command: str) -> float:
    """What a command costs on the processor, its output thrown away."""
    # Compiled modules are kept, as where it is installed.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(name: str, content: bytes, megabytes: int, runs: int) -> None:
    """Print one log's figures."""
    with tempfile.NamedTemporaryFile(suffix=".log") as log:
        for _ in range(-(-megabytes * 1_000_000 // len(content))):
            log.write(content)
        log.flush()
        size = Path(log.name).stat().st_size / 1e6
        ours, lines = [], []
        for _ in range(runs):
            ours.append(seconds(sys.executable, "-m", "tui", "events", log.name))
            lines.append(seconds(sys.executable, "-c", LINES, log.name))
    best, alone = min(ours), min(lines)
    print(f"{name}: {size:.0f} MB in {best:.2f} s = {size / best:.1f} MB/s, {best / alone:.1f} x its lines")


def main() -> None:
    """Print it all."""
    parser = argparse.ArgumentParser()
    parser.add_argument("logs", nargs="*", type=Path, metavar="LOG")
    parser.add_argument("--megabytes", type=int, default=100)
    parser.add_argument("--runs", type=int, default=3)
    asked = parser.parse_args()
    for name, content in [(log.name, log.read_bytes()) for log in asked.logs] or [("made up", trace())]:
        measure(name, content, asked.megabytes, asked.runs)
    print(f"most memory: {resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()

"""`spectop events --follow` as a script sees it: when it ends, with which code, and what it leaves behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import pytest

from tests.commands import logs
from tests.feeds.stand_ins import stand_in

if TYPE_CHECKING:
    from pathlib import Path

PATIENCE_S = 30
FOLLOW = [sys.executable, "-m", "tui", "events", "--follow"]


def test_a_pipe_that_ends_ends_it() -> None:
    done = subprocess.run(
        [*FOLLOW, "-"],
        input=logs.canary(30.0, 5),
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0
    events = [json.loads(line)["event"] for line in done.stdout.splitlines()]
    assert events.count("request") == 5


def test_sources_that_cannot_be_read_end_it_with_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = subprocess.run(
        [*FOLLOW, "podman:llama"], capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 1
    assert "podman is not on this machine's PATH" in done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_clients_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    docker = stand_in("docker", tmp_path, monkeypatch)
    docker.add(f"2026-10-09T11:22:33.000000001Z {logs.canary(30.0, 1).splitlines()[-1]}")
    running = subprocess.Popen(
        [*FOLLOW, "docker:llama"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        while not (clients := psutil.Process(running.pid).children()):
            assert running.poll() is None
        running.send_signal(number)
        _, stderr = running.communicate(timeout=PATIENCE_S)
    finally:
        running.kill()
        running.communicate()
    assert running.returncode == 128 + number
    assert stderr == ""
    assert psutil.wait_procs(clients, timeout=PATIENCE_S)[1] == []

"""What runs here is found by the process table alone, with what it can be watched by."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from tui.feeds.discovery import Found, discover

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SERVER = """
import socket, subprocess, sys
if "child" in sys.argv:
    sys.argv.remove("child")
    child = subprocess.Popen([sys.executable, __file__, "--port", "1"], stdin=subprocess.PIPE)
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@dataclass
class Process:
    pid: int
    port: int


@contextlib.contextmanager
def server(folder: Path, *words: str, name: str = "llama-server", **other: Any) -> Iterator[Process]:
    """A process that looks like a server: its name, its command line, a port it listens on."""
    script = folder / name
    script.write_text(SERVER)
    process = subprocess.Popen(
        [sys.executable, str(script), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **{"stderr": subprocess.PIPE, **other},
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Process(process.pid, int(process.stdout.readline()))
    finally:
        process.stdin.close()
        process.wait()
        process.stdout.close()
        if process.stderr is not None:
            process.stderr.close()


def look(
    folder: Path,
    process: Process,
    cgroup: str = "0::/\n",
    network: str = "net:[1]",
    stderr: Path | None = None,
) -> Found:
    """What is found of a process whose surroundings are these."""
    place = folder / "proc" / str(process.pid)
    for path, link in ((place / "ns", network), (folder / "proc" / "self" / "ns", "net:[1]")):
        path.mkdir(parents=True)
        (path / "net").symlink_to(link)
    (place / "cgroup").write_text(cgroup)
    if stderr is not None:
        (place / "fd").mkdir()
        (place / "fd" / "2").symlink_to(stderr)
    (found,) = discover(folder / "proc", [process.pid])
    return found


def test_a_log_file_and_a_port_are_one_source(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    words = ("-m", "/srv/models/target-q4.gguf", "--log-file", str(log), "--metrics")
    with server(tmp_path, *words) as process:
        found = look(tmp_path, process)
    assert found.source == f"{log}@http://127.0.0.1:{process.port}"
    assert (found.engine, found.notes) == ("llama.cpp", ())
    assert found.what == f"llama.cpp target-q4.gguf, process {process.pid}"


def test_a_relative_log_lies_where_the_server_was_started(tmp_path: Path) -> None:
    (tmp_path / "server.log").touch()
    with server(tmp_path, "--log-file", "server.log", cwd=tmp_path) as process:
        found = look(tmp_path, process)
    assert found.source == str(tmp_path / "server.log")
    assert any("--metrics" in note for note in found.notes)


def test_a_redirected_standard_error_is_the_log(tmp_path: Path) -> None:
    log = tmp_path / "redirected.log"
    log.touch()
    with server(tmp_path) as process:
        found = look(tmp_path, process, stderr=log)
    assert found.source == str(log)


def test_variables_stand_for_options(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    variables = {
        "LLAMA_ARG_LOG_FILE": str(log),
        "LLAMA_ARG_ENDPOINT_METRICS": "1",
        "LLAMA_API_KEY": "sk-secret",
    }
    with server(tmp_path, env={**os.environ, **variables}) as process:
        found = look(tmp_path, process)
    assert found.source == f"{log}@http://127.0.0.1:{process.port}"
    assert "sk-secret" not in repr(found)


def test_without_a_log_its_counters_are_left(tmp_path: Path) -> None:
    with server(tmp_path, "--metrics", "--api-key", "sk-secret", "--api-prefix", "/api") as process:
        found = look(tmp_path, process, "0::/user.slice/user-1000.slice/session-3.scope\n")
    assert found.source == f"http://127.0.0.1:{process.port}/api"
    assert any("--log-file" in note for note in found.notes)
    assert any("SPECTOP_API_KEY" in note for note in found.notes)
    assert "sk-secret" not in repr(found)


def test_one_with_neither_is_told_with_what_to_do(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        found = look(tmp_path, process, "0::/\n")
    assert found.source is None
    assert len(found.notes) == 2


@pytest.mark.parametrize(
    ("cgroup", "source"),
    [
        ("0::/system.slice/llama.service\n", "journal:llama.service"),
        (
            "0::/user.slice/user-1000.slice/user@1000.service/app.slice/llama.service\n",
            "journal:user/llama.service",
        ),
    ],
)
def test_a_units_lines_are_in_the_journal(tmp_path: Path, cgroup: str, source: str) -> None:
    with server(tmp_path) as process:
        found = look(tmp_path, process, cgroup)
    assert found.source == source


IDENTITY = "0123456789abcdef" * 4


@pytest.mark.parametrize(
    ("cgroup", "program"),
    [
        (f"0::/system.slice/docker-{IDENTITY}.scope\n", "docker"),
        (f"12:cpu:/docker/{IDENTITY}\n1:name=systemd:/docker/{IDENTITY}\n", "docker"),
        (f"0::/machine.slice/libpod-{IDENTITY}.scope/container\n", "podman"),
    ],
)
def test_a_container_is_named_by_its_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cgroup: str, program: str
) -> None:
    client = tmp_path / "bin" / program
    client.parent.mkdir()
    client.write_text(f'#!/bin/sh\n[ "$1 $4" = "inspect {IDENTITY}" ] && echo /llama-canary\n')
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{client.parent}{os.pathsep}{os.environ['PATH']}")
    with server(tmp_path, "--metrics", name="serve_api.py") as process:
        found = look(tmp_path, process, cgroup, "net:[2]")
    assert found.source == f"{program}:llama-canary"
    assert found.engine == "halogen"
    assert any("PUBLISHED" in note for note in found.notes)


def test_a_container_without_its_client_is_named_by_its_id(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with server(tmp_path, "--metrics") as process:
        found = look(tmp_path, process, f"0::/system.slice/docker-{IDENTITY}.scope\n")
    # It shares our network, so its port is ours.
    assert found.source == f"docker:{IDENTITY[:12]}@http://127.0.0.1:{process.port}"


def test_a_log_that_may_not_be_read_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "server.log"
    log.touch()
    monkeypatch.setattr("os.access", lambda path, _: path != str(log))
    with server(tmp_path, "--metrics", "--log-file", str(log)) as process:
        found = look(tmp_path, process)
    assert found.source == f"http://127.0.0.1:{process.port}"
    assert any("may not be read" in note for note in found.notes)


def test_a_routers_children_are_left_to_it(tmp_path: Path) -> None:
    import psutil

    with server(tmp_path, "child") as process:
        children = [child.pid for child in psutil.Process(process.pid).children()]
        assert children
        assert discover(pids=children) == []
        assert look(tmp_path, process).pid == process.pid


def test_who_merely_names_a_server_is_none(tmp_path: Path) -> None:
    with server(tmp_path, "llama-server", name="grep.py") as process:
        assert discover(pids=[process.pid]) == []


def test_the_whole_table_is_looked_through(tmp_path: Path) -> None:
    with server(tmp_path, "--metrics") as process:
        assert process.pid in [found.pid for found in discover()]


def test_a_process_that_has_ended_is_no_trouble(tmp_path: Path) -> None:
    import psutil

    with server(tmp_path) as process:
        gone = psutil.Process(process.pid)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("psutil.process_iter", lambda: [gone])
        assert discover() == []

"""What runs here is found by the process table alone, with what it can be watched by."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
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
def server(
    folder: Path, *words: str, name: str = "llama-server", options: tuple[str, ...] = (), **other: Any
) -> Iterator[Process]:
    """A process that looks like a server: its name, its command line, a port it listens on."""
    script = folder / name
    script.write_text(SERVER)
    process = subprocess.Popen(
        [sys.executable, *options, str(script), *words],
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
    stderr: Path | str | None = "/dev/null",
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
        found = look(tmp_path, process, cgroup, stderr="socket:[4711]")
    assert found.source == source


def test_what_may_not_be_known_is_told_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import psutil

    def deny(_: object, **__: object) -> None:
        raise psutil.AccessDenied

    monkeypatch.setattr("psutil.Process.environ", deny)
    monkeypatch.setattr("psutil.Process.net_connections", deny)
    with server(tmp_path) as process:
        found = look(tmp_path, process, stderr=None)
    assert found.source is None
    assert any("told to its own user" in note for note in found.notes)
    assert any("if a variable turned them on" in note for note in found.notes)
    with server(tmp_path, "--metrics") as process:
        found = look(tmp_path / "second", process, stderr=None)
    assert found.source == "http://127.0.0.1:8080"
    assert any("8080 is the usual one" in note for note in found.notes)


@pytest.mark.parametrize(
    ("host", "source"),
    [("192.0.2.7", "http://127.0.0.1:9000"), ("::", "http://127.0.0.1:9000"), ("/run/llama.sock", None)],
)
def test_no_other_machine_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, host: str, source: str | None
) -> None:
    monkeypatch.setattr("psutil.Process.net_connections", lambda *_, **__: [])
    with server(tmp_path, "--host", host, "--port", "9000", "--metrics") as process:
        found = look(tmp_path, process)
    assert found.source == source
    assert any("socket" in note for note in found.notes) == (source is None)


def test_a_deleted_log_is_told_as_that(tmp_path: Path) -> None:
    with server(tmp_path, "--log-file", "gone.log", cwd=tmp_path) as process:
        found = look(tmp_path, process)
    assert f"its log {tmp_path / 'gone.log'} is not there" in found.notes[0]
    with server(tmp_path) as process:
        found = look(tmp_path / "second", process, stderr=f"{tmp_path}/gone.log (deleted)")
    assert (
        found.notes[0] == f"its log {tmp_path}/gone.log was deleted while it is written: restart the server"
    )


def test_a_log_of_the_same_name_that_is_another_is_not_taken(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.touch()
    with server(tmp_path, "--log-file", str(log)) as process:
        inside = tmp_path / "proc" / str(process.pid) / "root"
        other = inside / log.relative_to("/")
        other.parent.mkdir(parents=True)
        other.touch()
        found = look(tmp_path, process)
    assert found.source is None
    assert "files of the server's own" in found.notes[0]


@pytest.mark.parametrize(
    ("target", "unit", "words"),
    [("pipe:[9]", "", "goes into a pipe"), ("/dev/pts/3", "/system.slice/tmux.service", "goes to no file")],
)
def test_a_log_that_goes_elsewhere_is_not_looked_for_in_the_journal(
    tmp_path: Path, target: str, unit: str, words: str
) -> None:
    with server(tmp_path) as process:
        found = look(tmp_path, process, f"0::{unit}\n", stderr=target)
    assert found.source is None
    assert words in found.notes[0]


def test_what_a_units_program_reads_by_a_pipe_is_in_the_units_journal(tmp_path: Path) -> None:
    with server(tmp_path) as process:
        found = look(tmp_path, process, "0::/system.slice/ollama.service\n", stderr="pipe:[9]")
    assert found.source == "journal:ollama.service"


def test_a_log_that_is_off_is_told(tmp_path: Path) -> None:
    with server(tmp_path, "--log-disable", "--log-file", "x.log") as process:
        found = look(tmp_path, process)
    assert "--log-disable" in found.notes[0]


def test_the_last_of_an_option_given_twice_holds(tmp_path: Path) -> None:
    words = ("-m", "/srv/old.gguf", "--metrics", "-m", "/srv/new.gguf")
    with server(tmp_path, *words) as process:
        assert "new.gguf" in look(tmp_path, process).what


def test_a_variable_that_turns_counters_off_does(tmp_path: Path) -> None:
    with server(tmp_path, env={**os.environ, "LLAMA_ARG_ENDPOINT_METRICS": "0"}) as process:
        found = look(tmp_path, process)
    assert found.source is None
    assert "its counters are off: start it with --metrics" in found.notes


def test_an_interpreters_own_options_are_passed_over(tmp_path: Path) -> None:
    with server(tmp_path, name="serve_api.py", options=("-u", "-E")) as process:
        assert look(tmp_path, process).engine == "halogen"


def test_a_script_around_the_server_leaves_it_to_the_server(tmp_path: Path) -> None:
    import psutil

    binary = tmp_path / "bin" / "llama-server"
    binary.parent.mkdir()
    shutil.copy(shutil.which("sleep") or "sleep", binary)
    script = tmp_path / "llama-server"
    script.write_text(f"#!/bin/sh\n{binary} 60\nexit 0\n")
    script.chmod(0o755)
    with subprocess.Popen(["/bin/sh", str(script)], start_new_session=True) as process:
        try:
            wrapper = psutil.Process(process.pid)
            while not any(str(binary) in child.cmdline() for child in wrapper.children()):
                assert process.poll() is None
            found = discover(pids=[process.pid, *(child.pid for child in wrapper.children())])
        finally:
            os.killpg(process.pid, signal.SIGKILL)
    assert [server.pid for server in found] != [process.pid]
    assert len(found) == 1


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


@pytest.mark.parametrize("script", [None, "#!/bin/sh\necho permission denied >&2\nexit 1\n"])
def test_a_container_whose_client_tells_nothing_is_told_with_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None
) -> None:
    if script is not None:
        (tmp_path / "docker").write_text(script)
        (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with server(tmp_path, "--metrics") as process:
        found = look(tmp_path, process, f"0::/system.slice/docker-{IDENTITY}.scope\n")
    # It shares our network, so its port is ours.
    assert found.source == f"http://127.0.0.1:{process.port}"
    assert IDENTITY[:12] in found.notes[0]
    assert ("permission denied" if script else "not on this machine's PATH") in found.notes[0]


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

"""What runs on this machine that could be watched: llama-server and halogen processes.

Only this machine's own process table is read. No port is tried, no network is asked.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tui.formats.events import Engine

_PROGRAMS: dict[str, Engine] = {
    "llama-server": "llama.cpp",
    "serve_api.py": "halogen",
    "serve_api": "halogen",
}
_INTERPRETERS = re.compile(r"(?:python|pypy)[\d.]*|(?:ba|da|z|k)?sh|env")
_PORTS: dict[Engine, int] = {"llama.cpp": 8080, "halogen": 8731}
_CONTAINER = re.compile(r"(docker|libpod)[-/]([0-9a-f]{64})")
_UNIT = re.compile(r"/([^/\n]+\.service)(?=/|$)", re.MULTILINE)
_SESSION = re.compile(r"user@\d+\.service")
_ENVIRONMENT = {
    "--port": "LLAMA_ARG_PORT",
    "--host": "LLAMA_ARG_HOST",
    "--log-file": "LLAMA_ARG_LOG_FILE",
    "--metrics": "LLAMA_ARG_ENDPOINT_METRICS",
}
"""The only variables that are looked at: others can hold secrets."""
_ASK_S = 5.0


@dataclass(frozen=True, slots=True)
class Found:
    """One server that runs here.

    Attributes:
        what: the server in words, with its model.
        source: what to watch it by (LOG@URL, LOG, URL, docker:NAME, ...); None where nothing can be read.
        notes: what cannot be read, and what to do about it.
    """

    pid: int
    engine: Engine
    what: str
    source: str | None
    notes: tuple[str, ...] = ()


def discover(proc: Path = Path("/proc"), pids: Iterable[int] | None = None) -> list[Found]:
    """The servers that run here, by process id.

    Args:
        proc: where the kernel shows processes; what it does not show is left out.
        pids: look at these alone.
    """
    import psutil

    processes = psutil.process_iter() if pids is None else map(psutil.Process, pids)
    return sorted(filter(None, (_look(process, proc) for process in processes)), key=lambda f: f.pid)


def _look(process: Any, proc: Path) -> Found | None:
    import psutil

    try:
        words: list[str] = process.cmdline()
        engine = _engine_of(words)
        if engine is None:
            return None
        parent = process.parent()
        if parent is not None and _engine_of(parent.cmdline()) == engine:
            return None  # a router's child, which the router speaks for
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return None
    return _Server(process, engine, words, proc / str(process.pid)).found()


def _engine_of(words: Sequence[str]) -> Engine | None:
    """The server that a command line runs, by itself or by an interpreter."""
    names = [PurePath(word).name for word in words[:2]]
    if len(names) == 2 and _INTERPRETERS.fullmatch(names[0]):
        names = names[1:]
    return _PROGRAMS.get(names[0]) if names else None


class _Server:
    """One server process, and what its surroundings tell."""

    def __init__(self, process: Any, engine: Engine, words: Sequence[str], place: Path) -> None:
        self._process = process
        self._engine = engine
        self._words = words
        self._place = place
        self._notes: list[str] = []
        self._environment = self._read_environment()

    def found(self) -> Found:
        """What it can be watched by."""
        cgroup = _read(self._place / "cgroup")
        container = _CONTAINER.search(cgroup)
        log = self._container(container) if container else self._log(cgroup)
        url = self._url(inside=container is not None and not self._shares_network())
        source = f"{log}@{url}" if log and url else log or url
        model = next((m for name in ("-m", "--model", "-hf", "-hfr") if (m := self._option(name))), None)
        named = f" {harmless(PurePath(model).name, 60)}" if model else ""
        what = f"{self._engine}{named}, process {self._process.pid}"
        return Found(self._process.pid, self._engine, what, source, tuple(self._notes))

    def _option(self, name: str) -> str | None:
        """An option's value, from the command line or the variable that stands for it."""
        for place, word in enumerate(self._words[:-1]):
            if word == name:
                return self._words[place + 1]
        return self._environment.get(name)

    def _read_environment(self) -> Mapping[str, str]:
        variables = self._ask(self._process.environ, {})
        return {name: variables[v] for name, v in _ENVIRONMENT.items() if v in variables}

    def _ask(self, question: Callable[[], Any], otherwise: Any) -> Any:
        """What the system says of the process; otherwise where this user may not know, or it has ended."""
        import psutil

        try:
            return question()
        except (psutil.Error, OSError):
            return otherwise

    def _container(self, found: re.Match[str]) -> str:
        program = "docker" if found[1] == "docker" else "podman"
        return f"{program}:{_container_name(program, found[2])}"

    def _log(self, cgroup: str) -> str | None:
        """Where its log goes: the file it was told, the file its errors go to, its unit's journal."""
        path = self._option("--log-file")
        if path is not None and not os.path.isabs(path):  # noqa: PTH117
            folder = self._ask(self._process.cwd, None)
            if folder is None:
                self._notes.append(f"its log {harmless(path)} lies in a folder this user may not know")
                return None
            path = os.path.join(folder, path)  # noqa: PTH118
        path = path or self._redirected()
        if path is not None:
            if os.access(path, os.R_OK):
                return path
            self._notes.append(f"its log {harmless(path)} may not be read by this user")
            return None
        units = [unit for unit in _UNIT.findall(cgroup) if not _SESSION.fullmatch(unit)]
        if units:
            return f"journal:{'user/' if _SESSION.search(cgroup) else ''}{units[-1]}"
        self._notes.append("its log goes to no file: start it with --log-file FILE, or 2> FILE")
        return None

    def _redirected(self) -> str | None:
        """The regular file that standard error, or standard output, goes to."""
        for number in (2, 1):
            try:
                target = os.readlink(self._place / "fd" / str(number))  # noqa: PTH115
            except OSError:
                continue
            if os.path.isabs(target) and os.path.isfile(target):  # noqa: PTH113, PTH117
                return target
        return None

    def _shares_network(self) -> bool:
        try:
            own = os.readlink(self._place.parent / "self" / "ns" / "net")  # noqa: PTH115
            return own == os.readlink(self._place / "ns" / "net")  # noqa: PTH115
        except OSError:
            return False

    def _url(self, *, inside: bool) -> str | None:
        """Where it can be asked; None where asking gives nothing."""
        host, port = self._listening()
        if inside:
            self._notes.append(f"it listens on port {port} in its container: add @http://127.0.0.1:PUBLISHED")
            return None
        if self._engine == "llama.cpp" and not (
            "--metrics" in self._words or "--metrics" in self._environment
        ):
            self._notes.append("its counters are off: start it with --metrics")
            return None
        if "--api-key" in self._words or "--api-key-file" in self._words:
            self._notes.append("it asks for an API key: put it into SPECTOP_API_KEY")
        scheme = "https" if "--ssl-key-file" in self._words else "http"
        return f"{scheme}://{host}:{port}{self._option('--api-prefix') or ''}"

    def _listening(self) -> tuple[str, int]:
        """Host and port, as the system sees them, else as told on the command line."""
        for connection in self._ask(lambda: self._process.net_connections(kind="tcp"), ()):
            if connection.status == "LISTEN":
                return _reachable(connection.laddr.ip), connection.laddr.port
        port = self._option("--port") or ""
        host = self._option("--host") or "127.0.0.1"
        return _reachable(host), int(port) if port.isdecimal() else _PORTS[self._engine]


def _reachable(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _container_name(program: str, identity: str) -> str:
    """A container's name as its client tells it; else the beginning of its id, which serves as well."""
    if shutil.which(program):
        arguments = [program, "inspect", "--format", "{{.Name}}", identity]
        try:
            answer = subprocess.run(arguments, capture_output=True, timeout=_ASK_S, check=False, text=True)
        except (OSError, subprocess.TimeoutExpired):
            return identity[:12]
        if answer.returncode == 0 and (name := answer.stdout.strip().lstrip("/")):
            return harmless(name)
    return identity[:12]

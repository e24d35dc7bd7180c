"""What runs on this machine that could be watched: llama-server and halogen processes.

Only this machine's own process table is read. No port is tried, no network is asked.
"""

from __future__ import annotations

import itertools
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from tui.feeds.sources import is_here
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
    "LLAMA_ARG_MODEL": "--model",
    "LLAMA_ARG_HF_REPO": "-hf",
    "LLAMA_ARG_PORT": "--port",
    "LLAMA_ARG_HOST": "--host",
    "LLAMA_ARG_API_PREFIX": "--api-prefix",
    "LLAMA_ARG_SSL_KEY_FILE": "--ssl-key-file",
    "LLAMA_LOG_FILE": "--log-file",  # until b9359
    "LLAMA_ARG_LOG_FILE": "--log-file",
    "LLAMA_ARG_ENDPOINT_METRICS": "--metrics",
}
"""The only variables that are looked at: others can hold secrets."""
_TRUE = ("1", "true", "on", "enabled")
_DELETED = " (deleted)"
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
        words = _words(process)
        engine = _engine_of(words)
        if engine is None:
            return None
        parent, children = process.parent(), process.children()
    except psutil.Error:
        return None
    if parent is not None and _is_routed(_words(parent), words):
        return None
    if any(_engine_of(child) == engine and not _is_routed(words, child) for child in map(_words, children)):
        return None  # a script around the server, which speaks for itself
    return _Server(process, engine, words, proc / str(process.pid)).found()


def _words(process: Any) -> list[str]:
    """A process's command line; empty where it is not told."""
    import psutil

    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


def _is_routed(parent: Sequence[str], child: Sequence[str]) -> bool:
    """Whether a child is a router's, which the router speaks for."""
    script = bool(parent) and _is_interpreter(parent) and not _is_interpreter(child)
    return _engine_of(parent) == _engine_of(child) and not script


def _engine_of(words: Sequence[str]) -> Engine | None:
    """The server that a command line runs, by itself or by an interpreter."""
    return _PROGRAMS.get(PurePath(_program(words)).name)


def _program(words: Sequence[str]) -> str:
    """What a command line runs; of an interpreter its script or module."""
    if not words:
        return ""
    if not _is_interpreter(words):
        return words[0]
    script = next((word for word in words[1:] if not word.startswith("-") or word == "-c"), "")
    return "" if script == "-c" else script


def _is_interpreter(words: Sequence[str]) -> bool:
    return _INTERPRETERS.fullmatch(PurePath(words[0]).name) is not None


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
        model = self._option("-m", "--model", "-hf", "-hfr", "--hf-repo")
        named = f" {harmless(PurePath(model).name, 60)}" if model else ""
        what = f"{self._engine}{named}, process {self._process.pid}"
        return Found(self._process.pid, self._engine, what, source, tuple(self._notes))

    def _option(self, *names: str) -> str | None:
        """An option's value: the last on the command line, else of the variable that stands for it."""
        value = next((self._environment[name] for name in names if name in self._environment), None)
        for word, following in itertools.pairwise([*self._words, ""]):
            name, equals, inside = word.partition("=")
            if name in names:
                value = inside if equals else following
        return value or None

    def _has(self, *names: str) -> bool:
        """Whether one of these is on the command line."""
        return any(word.partition("=")[0] in names for word in self._words)

    def _read_environment(self) -> Mapping[str, str]:
        variables = self._ask(self._process.environ, None)
        self._sees_all = variables is not None
        return {name: variables[v] for v, name in _ENVIRONMENT.items() if v in (variables or ())}

    def _ask(self, question: Callable[[], Any], otherwise: Any) -> Any:
        """What the system says of the process; otherwise where this user may not know, or it has ended."""
        import psutil

        try:
            return question()
        except (psutil.Error, OSError):
            return otherwise

    def _container(self, found: re.Match[str]) -> str | None:
        program = "docker" if found[1] == "docker" else "podman"
        name, trouble = _container_name(program, found[2])
        if trouble:
            self._notes.append(f"its {program} container {found[2][:12]} cannot be read: {trouble}")
        return f"{program}:{name}" if name else None

    def _log(self, cgroup: str) -> str | None:
        """Where its log goes: the file it was told, the file its errors go to, its unit's journal."""
        if self._has("--log-disable"):
            self._notes.append("its log is off: start it without --log-disable")
            return None
        if (path := self._option("--log-file")) is not None:
            return self._told(path)
        targets = [target for number in (2, 1) if (target := self._stream(number))]
        for target in targets:
            if target.endswith(_DELETED) or os.path.isfile(target):  # noqa: PTH113
                return self._file(target)
        units = [unit for unit in _UNIT.findall(cgroup) if not _SESSION.fullmatch(unit)]
        # Into a pipe within a unit: what started it (Ollama, llama-swap) passes it on to the unit's journal.
        if units and (not targets or any(target.startswith(("socket:", "pipe:")) for target in targets)):
            return f"journal:{'user/' if _SESSION.search(cgroup) else ''}{units[-1]}"
        if not targets:
            self._notes.append("where its log goes is told to its own user and root alone")
        elif targets[0].startswith("pipe:"):
            self._notes.append("its log goes into a pipe: watch the file that it ends in, if there is one")
        else:
            self._notes.append("its log goes to no file: start it with --log-file FILE, or 2> FILE")
        return None

    def _told(self, path: str) -> str | None:
        """The file of --log-file, which is taken from where the server was started."""
        if os.path.isabs(path):  # noqa: PTH117
            return self._file(path)
        folder = self._ask(self._process.cwd, None)
        if folder is None:
            self._notes.append(f"its log {harmless(path)} lies in a folder this user may not know")
            return None
        return self._file(os.path.join(folder, path))  # noqa: PTH118

    def _file(self, path: str) -> str | None:
        """A log's path, if it can be read here."""
        log = f"its log {harmless(path.removesuffix(_DELETED))}"
        try:
            here = os.stat(path)  # noqa: PTH116
        except FileNotFoundError:
            gone = "was deleted while it is written: restart the server"
            lost = "is not there: it was deleted, or lies in files of the server's own"
            self._notes.append(f"{log} {gone if path.endswith(_DELETED) else lost}")
            return None
        except OSError:
            here = None
        there = self._ask(lambda: os.stat(f"{self._place}/root{path}"), here)  # noqa: PTH116
        if here is not None and not os.path.samestat(here, there):
            self._notes.append(f"{log} lies in files of the server's own (a container's)")
            return None
        if here is None or not os.access(path, os.R_OK):
            self._notes.append(f"{log} may not be read by this user")
            return None
        return path

    def _stream(self, number: int) -> str | None:
        """Where standard error (2) or output (1) goes, as the system names it; None where it is not told."""
        target: str | None = self._ask(lambda: os.readlink(self._place / "fd" / str(number)), None)  # noqa: PTH115
        return target

    def _shares_network(self) -> bool:
        try:
            own = os.readlink(self._place.parent / "self" / "ns" / "net")  # noqa: PTH115
            return own == os.readlink(self._place / "ns" / "net")  # noqa: PTH115
        except OSError:
            return False

    def _url(self, *, inside: bool) -> str | None:
        """Where it can be asked; None where asking gives nothing."""
        host, port = self._listening()
        if host.endswith(".sock"):
            self._notes.append(f"it listens on the socket {harmless(host)}, which is not asked")
            return None
        metrics = self._has("--metrics") or self._environment.get("--metrics", "").lower() in _TRUE
        if self._engine == "llama.cpp" and not metrics:
            unless = "" if self._sees_all else " (or add @http://HOST:PORT if a variable turned them on)"
            self._notes.append(f"its counters are off: start it with --metrics{unless}")
            return None
        if inside:
            told = port or _PORTS[self._engine]
            self._notes.append(f"it listens on port {told} in its container: add @http://127.0.0.1:PUBLISHED")
            return None
        if port is None:
            port = _PORTS[self._engine]
            self._notes.append(f"its port is told to its own user and root alone: {port} is the usual one")
        if self._has("--api-key", "--api-key-file"):
            self._notes.append("it asks for an API key: put it into SPECTOP_API_KEY")
        scheme = "https" if self._option("--ssl-key-file") else "http"
        return f"{scheme}://{host}:{port}{self._option('--api-prefix') or ''}"

    def _listening(self) -> tuple[str, int | None]:
        """Host and port, as the system sees them, else as it was told; no port where neither is known."""
        for connection in self._ask(lambda: self._process.net_connections(kind="tcp"), ()):
            if connection.status == "LISTEN":
                return _reachable(connection.laddr.ip), connection.laddr.port
        port = self._option("--port") or ""
        host = self._option("--host") or "127.0.0.1"
        # Anyone may run a process that names another machine; that one is not asked.
        host = _reachable(host) if is_here(host) or host.endswith(".sock") else "127.0.0.1"
        return host, int(port) if port.isdecimal() and int(port) else None


def _reachable(host: str) -> str:
    if host in ("0.0.0.0", "::", ""):
        return "127.0.0.1"
    return f"[{host}]" if ":" in host else host


def _read(path: Path) -> str:
    try:
        return path.read_text("utf-8", "replace")
    except OSError:
        return ""


def _container_name(program: str, identity: str) -> tuple[str | None, str]:
    """A container's name as its client tells it, or why it does not."""
    if not shutil.which(program):
        return None, f"{program} is not on this machine's PATH"
    arguments = [program, "inspect", "--format", "{{.Name}}", identity]
    try:
        answer = subprocess.run(
            arguments, capture_output=True, timeout=_ASK_S, check=False, text=True, errors="replace"
        )
    except subprocess.TimeoutExpired:
        return None, f"{program} does not answer"
    except OSError as error:
        return None, f"{program} cannot be started: {error.strerror or error}"
    name = answer.stdout.strip().lstrip("/")
    if answer.returncode or not name:
        return None, harmless(answer.stderr.strip()) or f"{program} does not know it"
    return name, ""

"""What a llama-server log says about memory and drafting at its last start."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

MIB = 2**20
LONGEST_LINE = 2**13
_KEYWORDS = re.compile(
    rb"buffer size|loaded meta data|load_model: loading|MTP draft context|no_alloc|n_seq_max|n_ctx  |"
    rb"kv_unified  |speculative implementation|no implementations|synthetic acceptance|n_max="
)
_BUFFER = re.compile(
    r"(?<!\S)(\S{1,60})\s{1,20}(?:(model|KV|RS|compute|output) )?"
    r"buffer size {1,9}= {1,20}(\d+(?:\.\d+)?) MiB"
)
_SETTING = re.compile(r"(n_seq_max|n_ctx|kv_unified|no_alloc)\s+=\s+(\w+)")
_FILE = re.compile(r"loaded meta data with .* from (.+) \(version")


@dataclass(slots=True)
class Loaded:
    """One model as the server loaded it; buffers in bytes, by kind ("model", "KV", "compute", ...)."""

    path: str
    buffers: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    context: int | None = None
    slots: int | None = None
    unified: bool | None = None
    rehearsal: bool = False

    @property
    def weights(self) -> float:
        """Weights on all devices; repacked copies are not counted twice."""
        return self.buffers["model"]

    @property
    def cache(self) -> float:
        """Keys, values and recurrent states."""
        return self.buffers["KV"] + self.buffers["RS"]

    @property
    def compute(self) -> float:
        """Compute buffers."""
        return self.buffers["compute"]


@dataclass(slots=True)
class ServerLog:
    """The last start in a log.

    Attributes:
        models: in the order they were loaded, the target first; rehearsals of the memory fit are left out.
        spec_types: drafting implementations it added; None when the log does not tell, () when it said none.
        depth: the largest n_max printed.
    """

    models: list[Loaded] = field(default_factory=list)
    spec_types: tuple[str, ...] | None = None
    depth: int | None = None
    synthetic: bool = False


def read_server_log(path: Path) -> ServerLog:
    """Read a log file.

    Raises:
        OSError: it cannot be read.
    """
    with path.open("rb") as file:
        return scan(iter(lambda: file.readline(LONGEST_LINE), b""))


def scan(lines: Iterable[bytes]) -> ServerLog:
    """Read log lines, whatever stands before the server's own words."""
    log = ServerLog()
    for raw in lines:
        if not _KEYWORDS.search(raw):
            continue
        line = raw.decode("utf-8", "backslashreplace")
        if "load_model: loading model" in line:
            log = ServerLog()
        elif found := _FILE.search(line):
            log.models.append(Loaded(found[1]))
        elif "creating MTP draft context" in line and log.models:
            log.models.append(Loaded(f"{log.models[0].path} (its own MTP layers)"))
        elif found := _BUFFER.search(line):
            _add_buffer(log, *found.groups())
        elif found := _SETTING.search(line):
            _set(log, found[1], found[2])
        _read_drafting(log, line)
    log.models = [model for model in log.models if not model.rehearsal]
    return log


def _add_buffer(log: ServerLog, device: str, kind: str | None, size: str) -> None:
    if log.models and not device.endswith("_REPACK"):
        log.models[-1].buffers[kind or "model"] += float(size) * MIB


def _set(log: ServerLog, name: str, value: str) -> None:
    if not log.models:
        return
    model = log.models[-1]
    if name == "no_alloc":
        model.rehearsal = value in ("1", "true")
    elif name == "kv_unified":
        model.unified = value == "true"
    elif value.isdecimal() and name == "n_ctx":
        model.context = int(value)
    elif value.isdecimal():
        model.slots = int(value)


def _read_drafting(log: ServerLog, line: str) -> None:
    if found := re.search(r"adding speculative implementation '([\w-]+)'", line):
        log.spec_types = (*(log.spec_types or ()), found[1])
    elif "no implementations specified for speculative decoding" in line:
        log.spec_types = ()
    elif found := re.search(r"\bn_max\s*=\s*(\d{1,4})\b", line):
        log.depth = max(log.depth or 0, int(found[1]))
    if "synthetic acceptance" in line:
        log.synthetic = True

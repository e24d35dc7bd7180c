"""Devices and their free memory: by llama-server itself, the vendors' tools, the kernel; and host memory."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tui.formats.events import harmless

Run = Callable[[Sequence[str]], str | None]
"""Runs a command and gives what it printed; None where it is not there, fails or hangs."""

MIB = 2**20
PATIENCE_S = 20
HOST = "host"
_BACKENDS = {"CUDA": "CUDA", "ROCm": "HIP", "HIP": "HIP", "Vulkan": "Vulkan", "SYCL": "SYCL", "MTL": "Metal"}


@dataclass(frozen=True, slots=True)
class Device:
    """One place that holds weights.

    Attributes:
        backend: CUDA, HIP, Vulkan, ... or "host".
        free: bytes. total: bytes; None where unknown.
        source: who said so.
    """

    name: str
    backend: str
    free: int
    total: int | None
    source: str


def run_tool(command: Sequence[str]) -> str | None:
    """Run a command without input and give its output, standard error included."""
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE_S,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.decode("utf-8", "backslashreplace")


def listed_devices(output: str, source: str) -> tuple[Device, ...]:
    """Read what `llama-server --list-devices` prints."""
    rows = re.findall(r"^\s+(\w+): (.+) \((\d+) MiB, (\d+) MiB free\)\s*$", output, re.MULTILINE)
    return tuple(
        Device(harmless(f"{name} ({label})"), backend_of(name), int(free) * MIB, int(total) * MIB, source)
        for name, label, total, free in rows
    )


def backend_of(name: str) -> str:
    """The backend behind a device name such as `CUDA0`, `ROCm1`, `Vulkan0`."""
    stem = re.sub(r"\d+$", "", name)
    return _BACKENDS.get(stem, harmless(stem))


def machine_devices(run: Run = run_tool, root: Path = Path("/")) -> tuple[Device, ...]:
    """What this machine has: NVIDIA cards, AMD cards, and host memory last.

    Args:
        run: runs a command.
        root: where `sys` and `proc` are.
    """
    amd = _rocm_smi(run) or _kernel_cards(root / "sys/class/drm")
    return (*_nvidia_smi(run), *amd, *_host(root / "proc/meminfo"))


def _nvidia_smi(run: Run) -> tuple[Device, ...]:
    query = "--query-gpu=index,name,memory.total,memory.free"
    output = run(["nvidia-smi", query, "--format=csv,noheader,nounits"]) or ""
    rows = re.findall(r"^(\d+), (.+), (\d+), (\d+)$", output, re.MULTILINE)
    return tuple(
        Device(harmless(f"GPU {index} ({name})"), "CUDA", int(free) * MIB, int(total) * MIB, "nvidia-smi")
        for index, name, total, free in rows
    )


def _rocm_smi(run: Run) -> tuple[Device, ...]:
    output = run(["rocm-smi", "--showmeminfo", "vram", "gtt", "--json"])
    try:
        cards: Any = json.loads(output or "{}")
    except ValueError:
        return ()
    if not isinstance(cards, dict):
        return ()
    found = []
    for card, values in cards.items():
        for kind in ("VRAM", "GTT"):
            if isinstance(values, dict) and re.fullmatch(r"card\d+", card):
                total = str(values.get(f"{kind} Total Memory (B)", ""))
                used = str(values.get(f"{kind} Total Used Memory (B)", ""))
                found += _amd(card, kind, total, used, "rocm-smi")
    return tuple(found)


def _kernel_cards(folder: Path) -> tuple[Device, ...]:
    found = []
    for card in sorted(folder.glob("card[0-9]*")):
        for kind in ("VRAM", "GTT"):
            memory = f"device/mem_info_{kind.lower()}"
            total, used = (_text(card / f"{memory}_{part}") for part in ("total", "used"))
            found += _amd(card.name, kind, total, used, str(folder))
    return tuple(found)


def _amd(card: str, kind: str, total: str, used: str, source: str) -> list[Device]:
    """A card's own memory, or the host memory it may use (GTT: what integrated ones work with)."""
    if not (total.strip().isdecimal() and used.strip().isdecimal()):
        return []
    free = max(0, int(total) - int(used))
    backend = "HIP" if kind == "VRAM" else "HIP, host memory"
    return [Device(f"{card} {kind}", backend, free, int(total), source)]


def _host(meminfo: Path) -> tuple[Device, ...]:
    values = dict(re.findall(r"^(\w+):\s+(\d+) kB$", _text(meminfo), re.MULTILINE))
    if "MemAvailable" not in values:
        return ()
    total = int(values["MemTotal"]) * 1024 if "MemTotal" in values else None
    return (Device("host memory", HOST, int(values["MemAvailable"]) * 1024, total, "/proc/meminfo"),)


def _text(path: Path) -> str:
    try:
        return path.read_text("ascii", "replace")
    except OSError:
        return ""

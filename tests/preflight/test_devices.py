from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tui.preflight.devices import Device, machine_devices

if TYPE_CHECKING:
    from collections.abc import Sequence

NVIDIA = "0, NVIDIA GeForce RTX 3090, 24576, 20000\n1, Tesla P40, 24438, 24290\n"
ROCM = """{"card0": {"VRAM Total Memory (B)": "17163091968", "VRAM Total Used Memory (B)": "163091968",
 "GTT Total Memory (B)": "68719476736", "GTT Total Used Memory (B)": "0"},
 "system": {"Driver version": "6"}}"""


def devices(root: Path, nvidia: str | None = None, rocm: str | None = None) -> tuple[Device, ...]:
    def run(command: Sequence[str]) -> str | None:
        return {"nvidia-smi": nvidia, "rocm-smi": rocm}[command[0]]

    return machine_devices(run, root)


def test_nvidia_cards(tmp_path: Path) -> None:
    first, second = devices(tmp_path, NVIDIA)
    assert (first.backend, first.free, first.total) == ("CUDA", 20000 * 2**20, 24576 * 2**20)
    assert second.name == "GPU 1 (Tesla P40)"


def test_amd_cards_by_their_tool(tmp_path: Path) -> None:
    vram, gtt = devices(tmp_path, rocm=ROCM)
    assert (vram.name, vram.backend, vram.free) == ("card0 VRAM", "HIP", 17_000_000_000)
    assert (gtt.name, gtt.free) == ("card0 GTT", 68_719_476_736)
    assert "host memory" in gtt.backend


def test_amd_cards_by_the_kernel_where_the_tool_is_missing(tmp_path: Path) -> None:
    card = tmp_path / "sys/class/drm/card1/device"
    card.mkdir(parents=True)
    (tmp_path / "sys/class/drm/card1-DP-1").mkdir()
    for name, value in (("vram_total", 1000), ("vram_used", 300), ("gtt_total", 8000), ("gtt_used", 9000)):
        (card / f"mem_info_{name}").write_text(f"{value}\n")
    assert [(d.name, d.free) for d in devices(tmp_path)] == [("card1 VRAM", 700), ("card1 GTT", 0)]
    assert [d.source for d in devices(tmp_path, rocm=ROCM)] == ["rocm-smi", "rocm-smi"]


def test_host_memory_is_what_is_available(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    (tmp_path / "proc/meminfo").write_text("MemTotal: 32000 kB\nMemFree: 1000 kB\nMemAvailable: 9000 kB\n")
    (host,) = devices(tmp_path)
    assert (host.backend, host.free, host.total) == ("host", 9000 * 1024, 32000 * 1024)


@pytest.mark.parametrize(
    "rocm", ["not json", "[]", '{"card0": 5}', '{"card0": {"VRAM Total Memory (B)": "x"}}']
)
def test_what_cannot_be_read_is_left_out(tmp_path: Path, rocm: str) -> None:
    assert devices(tmp_path, "No devices were found\n", rocm) == ()


def test_this_machine_has_memory() -> None:
    if Path("/proc/meminfo").exists():
        assert machine_devices()[-1].free > 0

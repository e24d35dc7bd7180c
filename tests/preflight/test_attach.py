from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tui.preflight.attach import build_offers, chain, offered_types, surface
from tui.preflight.devices import run_tool

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tui.preflight.findings import Finding

NEW_HELP = """\
--spec-draft-device, -devd, --device-draft <dev1,dev2,..>
                                        devices for the draft model
--spec-draft-ngl, -ngld, --gpu-layers-draft N
                                        layers of the draft model on devices
--spec-type none,draft-simple,draft-eagle3,draft-mtp,draft-dflash,ngram-simple,ngram-mod
                                        comma-separated list of types
"""
MIDDLE_HELP = "--spec-type [none|ngram-cache|ngram-simple|ngram-mod]\n-ngld, --gpu-layers-draft N\n"
OLD_HELP = "-md,   --model-draft FNAME\n-ngld, --gpu-layers-draft N\n"
CUDA = """\
ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3090, compute capability 8.6, VMM: yes
Available devices:
  CUDA0: NVIDIA GeForce RTX 3090 (24154 MiB, 23892 MiB free)
"""
HIP = """\
ggml_cuda_init: found 1 ROCm devices:
Available devices:
  ROCm0: AMD Radeon(TM) Graphics (110511 MiB, 110357 MiB free)
  Vulkan0: AMD Radeon (RADV) (65536 MiB, 60000 MiB free)
"""


def asking(helped: str | None, listed: str | None, *types: str) -> tuple[list[Finding], list[str]]:
    def run(command: Sequence[str]) -> str | None:
        return {"--help": helped, "--list-devices": listed}[command[1]]

    found, devices = build_offers("llama-server", types, run)
    return list(found), [f"{device.backend} {device.free // 2**20}" for device in devices]


def test_both_spellings_of_the_types_are_read() -> None:
    new = ("draft-simple", "draft-eagle3", "draft-mtp", "draft-dflash", "ngram-simple", "ngram-mod")
    assert offered_types(NEW_HELP) == new
    assert offered_types(MIDDLE_HELP) == ("ngram-cache", "ngram-simple", "ngram-mod")
    assert offered_types(OLD_HELP) == ()


@pytest.mark.parametrize(
    ("helped", "name", "ok"),
    [
        (NEW_HELP, "draft-mtp", True),
        (NEW_HELP, "draft-dspark", False),
        (MIDDLE_HELP, "draft-mtp", False),
        (OLD_HELP, "draft-simple", True),
        (OLD_HELP, "ngram-mod", False),
    ],
)
def test_a_type_is_looked_up_in_the_build(helped: str, name: str, ok: bool) -> None:
    found, _ = asking(helped, "", name)
    wanted = next(each for each in found if each.question == f"Does this build have {name}?")
    assert (wanted.ok, wanted.sure) == (ok, "certain")


def test_the_flags_that_place_a_drafter_are_those_of_the_build() -> None:
    assert "placed by --spec-draft-device and -ngld" in asking(NEW_HELP, "")[0][0].answer
    assert "placed by -- and -ngld" in asking(OLD_HELP, "")[0][0].answer


def test_another_programs_help_tells_nothing() -> None:
    (found,), devices = asking("Usage: ls [OPTION]... [FILE]...\n  -a, --all\n", "bin  lib\n", "draft-mtp")
    assert (found.sure, found.ok, devices) == ("unknown", None, [])
    assert "does not look like a llama-server's" in found.answer


def test_cuda_hip_and_vulkan_are_told_apart() -> None:
    assert asking(NEW_HELP, CUDA)[1] == ["CUDA 23892"]
    found, devices = asking(NEW_HELP, HIP)
    assert devices == ["HIP 110357", "Vulkan 60000"]
    assert "HIP: ROCm0 (AMD Radeon(TM) Graphics)" in found[-1].answer


def test_a_build_for_the_processor_alone_says_so() -> None:
    assert "none but the processor" in asking(NEW_HELP, "Available devices:\n")[0][-1].answer


def test_what_does_not_run_is_unknown() -> None:
    found, devices = asking(None, None)
    assert [(each.sure, each.ok) for each in found] == [("unknown", None)]
    assert devices == []
    assert asking(OLD_HELP, None)[0][-1].sure == "unknown"


def test_a_real_program_is_asked_without_input_and_without_patience_for_failures(tmp_path: Path) -> None:
    tool = tmp_path / "tool.py"
    tool.write_text("import sys; sys.stderr.write('err '); sys.stdout.write(repr(sys.stdin.read()))")
    output = run_tool([sys.executable, str(tool)])
    assert output is not None
    assert sorted(output.split()) == ["''", "err"]
    tool.write_text("raise SystemExit(3)")
    assert run_tool([sys.executable, str(tool)]) is None
    assert run_tool([str(tmp_path / "missing")]) is None


def test_only_loading_tells_whether_a_chain_runs() -> None:
    (finding,) = chain(["draft-mtp", "draft-dflash"])
    assert (finding.sure, finding.ok) == ("unknown", None)
    assert finding.answer.startswith("test at load")
    assert chain(["draft-mtp"]) == ()


def test_engines_by_kind() -> None:
    assert surface("halogen", "x")[0].ok is False
    assert surface("llama.cpp", "x")[0].ok is True
    assert surface(None, "x") == ()

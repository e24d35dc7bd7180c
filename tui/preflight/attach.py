"""Is there a place to attach an external drafter to? By engine, and by what a local llama-server offers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.preflight.devices import listed_devices, run_tool
from tui.preflight.findings import Finding, Sure

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.formats.events import Engine
    from tui.preflight.devices import Device, Run

SURFACE = "Can an external drafter be attached?"
_TYPES = re.compile(r"--spec-type\s+\[?([a-z0-9|,-]+)\]?")
_DEVICE_FLAGS = ("--spec-draft-device", "--device-draft", "-devd")
_LAYER_FLAGS = ("-ngld", "--spec-draft-ngl", "--gpu-layers-draft")


def surface(engine: Engine | None, asked: str) -> tuple[Finding, ...]:
    """What an engine takes, by its kind alone."""
    if engine == "halogen":
        answer = "no: a closed engine, it runs its own drafters only"
        advice = "choose one of its drafters per request or at start; --probe NAME asks for one"
        return (_finding(SURFACE, asked, answer, ok=False, advice=advice),)
    if engine == "llama.cpp":
        answer = (
            "yes: llama.cpp loads one beside the target (-md FILE), placed by --spec-draft-device and -ngld"
        )
        advice = "--llama-server PATH tells which types and devices its build has"
        return (_finding(SURFACE, asked, answer, ok=True, advice=advice),)
    return ()


def build_offers(
    path: str, spec_types: Sequence[str], run: Run = run_tool
) -> tuple[tuple[Finding, ...], tuple[Device, ...]]:
    """Ask a local llama-server for its spec types and devices (`--help`, `--list-devices`).

    Returns:
        The findings, and the devices it lists.
    """
    asked = f"{path} --help"
    text = run([path, "--help"])
    if text is None:
        return (_finding(SURFACE, asked, "it does not run", ok=None),), ()
    types = offered_types(text)
    words = ", ".join(harmless(name) for name in types) or "a draft model only (-md), no --spec-type"
    devices_flag, layers_flag = (_first(flags, text) for flags in (_DEVICE_FLAGS, _LAYER_FLAGS))
    if not types and layers_flag is None:
        return (_finding(SURFACE, asked, "it does not look like a llama-server's", ok=None),), ()
    answer = f"spec types: {words}; placed by {devices_flag or '--'} and {layers_flag or '--'}"
    found = [_finding("Which spec types does this build have?", asked, answer, ok=None)]
    found += [_wanted(name, types, asked) for name in spec_types]
    listing = run([path, "--list-devices"])
    asked = f"{path} --list-devices"
    devices = listed_devices(listing or "", asked)
    answer = "; ".join(f"{device.backend}: {device.name}" for device in devices) or "none but the processor"
    if listing is None:
        answer = "it does not say: a build without --list-devices"
    found.append(_finding("Which devices does this build have?", asked, answer, ok=None))
    return tuple(found), devices


def offered_types(text: str) -> tuple[str, ...]:
    """The spec types that a `--help` names, in either of its spellings; () in builds without the option."""
    found = _TYPES.search(text)
    names = re.split(r"[|,]", found[1]) if found else []
    return tuple(name for name in names if name and name != "none")


def chain(spec_types: Sequence[str]) -> tuple[Finding, ...]:
    """What is known of several types at once: that only loading them tells."""
    if len(spec_types) < 2:
        return ()
    return (
        Finding(
            question=f"Can {harmless(','.join(spec_types))} run as a chain?",
            asked="the spec type",
            answer="test at load: whether a chain of types starts depends on the build and the files",
            sure="unknown",
            ok=None,
            advice="the first member that drafts wins the round; n-gram types are always asked first",
        ),
    )


def _wanted(name: str, offered: Sequence[str], asked: str) -> Finding:
    has = name in offered or (not offered and name in ("draft", "draft-simple"))
    return _finding(
        f"Does this build have {harmless(name)}?",
        asked,
        "yes" if has else "no",
        ok=has,
        advice="" if has else "a newer build, or another type",
    )


def _first(flags: Sequence[str], text: str) -> str | None:
    return next((flag for flag in flags if re.search(rf"(?<![\w-]){re.escape(flag)}(?![\w-])", text)), None)


def _finding(question: str, asked: str, answer: str, *, ok: bool | None, advice: str = "") -> Finding:
    sure: Sure = "unknown" if answer.startswith("it does not") else "certain"
    return Finding(question=question, asked=harmless(asked), answer=answer, sure=sure, ok=ok, advice=advice)

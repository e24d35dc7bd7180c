"""Does the drafter fit beside the target? An estimate with its parts, checked against the server's log."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.preflight.devices import HOST
from tui.preflight.findings import Finding
from tui.preflight.footprint import AUTO_SLOTS, footprint

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.preflight.devices import Device
    from tui.preflight.footprint import Footprint, Setup
    from tui.preflight.gguf import Header
    from tui.preflight.serverlog import Loaded, ServerLog

AGREEMENT = 0.10
"""An estimate agrees with the server when both are within this share."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model under question: its role ("target", "drafter"), where its header came from, the header."""

    role: str
    place: str
    header: Header


def setup_from_log(setup: Setup, log: ServerLog) -> Setup:
    """Fill in what was not given with what the server's log says it runs with."""
    if not log.models:
        return setup
    seen = log.models[0]
    if setup.context is None and seen.context is not None:
        setup = replace(setup, context=seen.context)
    if setup.slots is None and seen.slots is not None:
        setup = replace(setup, slots=seen.slots, unified=seen.unified is not False)
    return setup if log.depth is None else replace(setup, depth=log.depth)


def fit(
    models: Sequence[Model], setup: Setup, devices: Sequence[Device], *, target_runs: bool
) -> tuple[Finding, ...]:
    """Estimate what each model needs and whether that fits.

    Args:
        models: the target and the drafter, or one of them.
        setup: how the server would be started.
        devices: what there is.
        target_runs: the target holds its memory already, so only the drafter has to fit.
    """
    if setup.context is None:
        contexts = [footprint(m.header, setup).context for m in models]
        setup = replace(setup, context=contexts[0] or None)
    needs = [(m, footprint(m.header, setup, draft=m.role == "drafter")) for m in models]
    parts = tuple(_parts(model, need, setup) for model, need in needs)
    counted = [pair for pair in needs if not (target_runs and pair[0].role == "target")]
    if not counted or any(need.need(on_host=True) is None for _, need in counted):
        return parts
    return parts + tuple(_on_device(counted, device) for device in devices) + _together(counted, devices)


def _parts(model: Model, need: Footprint, setup: Setup) -> Finding:
    total = need.need(on_host=True)
    cache_type = setup.draft_cache_type if model.role == "drafter" else setup.cache_type
    slots = setup.slots or AUTO_SLOTS
    words = (
        f"weights {size(need.weights)} + cache {size(need.cache)} ({need.context} tokens, {cache_type}, "
        f"{slots} slots) + compute margin {_span(need.compute)}"
    )
    notes = f" ({'; '.join(need.notes)})" if need.notes else ""
    return Finding(
        question=f"How much memory does the {model.role} need?",
        asked=f"the header of {harmless(model.place)}",
        answer=f"about {_span(total)}: {words}{notes}",
        sure="unknown" if total is None else "likely",
        ok=None,
        advice="an estimate; the server's own memory lines (log, -lv 4) are the truth",
    )


def _on_device(counted: Sequence[tuple[Model, Footprint]], device: Device) -> Finding:
    return _verdict(counted, device.free, device.backend == HOST, device.name, device.source)


def _together(counted: Sequence[tuple[Model, Footprint]], devices: Sequence[Device]) -> tuple[Finding, ...]:
    """The cards of one backend taken together, where there are several: layers can be split over them."""
    found = []
    for backend in dict.fromkeys(device.backend for device in devices):
        group = [device for device in devices if device.backend == backend]
        if len(group) > 1:
            free = sum(device.free for device in group)
            name = f"all {len(group)} {backend} devices together"
            found.append(_verdict(counted, free, False, name, group[0].source))
    return tuple(found)


def _verdict(
    counted: Sequence[tuple[Model, Footprint]], free: int, on_host: bool, name: str, source: str
) -> Finding:
    needs = [need.need(on_host=on_host) or (0, 0) for _, need in counted]
    low, high = sum(low for low, _ in needs), sum(high for _, high in needs)
    ok = True if high <= free else False if low > free else None
    word = {True: "fits", False: "does not fit", None: "tight: it depends on the build's compute buffers"}[ok]
    who = " and ".join(model.role for model, _ in counted)
    verb = "Does" if len(counted) == 1 else "Do"
    return Finding(
        question=f"{verb} the {who} fit on {name}?",
        asked=harmless(source),
        answer=f"{word}: needs about {_span((low, high))}, free {size(free)}",
        sure="unknown" if ok is None else "likely",
        ok=ok,
        advice="" if ok else "a shorter context, a smaller cache type, or the drafter on another device",
    )


def against_log(models: Sequence[Model], setup: Setup, log: ServerLog, source: str) -> tuple[Finding, ...]:
    """Compare the estimates with what the server allocated; without memory lines nothing is said."""
    found = []
    for model in models:
        loaded = _loaded(model, log)
        if loaded is not None and (loaded.weights or loaded.cache):
            need = footprint(model.header, setup, draft=model.role == "drafter")
            found.append(_compared(model, need, loaded, source))
    return tuple(found)


def _loaded(model: Model, log: ServerLog) -> Loaded | None:
    """The model in the log: the target is loaded first, its drafter after it."""
    place = 1 if model.role == "drafter" else 0
    return log.models[place] if place < len(log.models) else None


def _compared(model: Model, need: Footprint, loaded: Loaded, source: str) -> Finding:
    pairs = (("weights", need.weights, loaded.weights), ("cache", need.cache, loaded.cache))
    known = [(estimate, seen) for _, estimate, seen in pairs if estimate is not None and seen]
    agrees = all(abs(estimate - seen) <= AGREEMENT * seen for estimate, seen in known)
    words = ", ".join(f"{name} {size(estimate)} (log {size(seen)})" for name, estimate, seen in pairs)
    return Finding(
        question=f"Does the estimate for the {model.role} agree with the server?",
        asked=harmless(source),
        answer=f"{words}, compute {_span(need.compute)} (log {size(loaded.compute)})",
        sure="certain" if known else "unknown",
        ok=agrees if known else None,
        advice="" if agrees else "take the log's figures; is it the same file, context and cache type?",
    )


def size(amount: float | None) -> str:
    """Bytes for people, in binary units."""
    if amount is None:
        return "--"
    return f"{amount / 2**30:.1f} GiB" if amount >= 2**30 else f"{amount / 2**20:.1f} MiB"


def _span(amounts: tuple[int, int] | None) -> str:
    if amounts is None:
        return "--"
    low, high = (size(amount) for amount in amounts)
    return low if low == high else f"{low} to {high}"

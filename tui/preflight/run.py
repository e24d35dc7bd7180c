"""Every check of the pre-flight, in the order an operator asks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import httpx

from tui.formats.events import harmless
from tui.preflight import attach, drafter_class, speculates, tokenizer
from tui.preflight.devices import HOST, machine_devices
from tui.preflight.findings import Finding
from tui.preflight.fit import Model, against_log, fit, setup_from_log
from tui.preflight.footprint import Setup
from tui.preflight.gguf import GgufError
from tui.preflight.ranges import RangeError, open_model
from tui.preflight.server import connect
from tui.preflight.serverlog import ServerLog, read_server_log

if TYPE_CHECKING:
    from pathlib import Path

    from tui.formats.events import Engine
    from tui.preflight.devices import Device

Announce = Callable[[str], None]
LOCAL = ("localhost", "127.0.0.1", "::1")
READABLE = "Can it be read?"
"""The question of a finding that stands for an input that could not be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What there is to ask; everything may be left out.

    Attributes:
        url: the running target. api_key: for it.
        target, draft: GGUF files, paths or http(s) URLs.
        log: the target's llama-server log.
        setup: how the server would be started.
        spec_types: how the drafter would be attached; several are a chain.
        llama_server: a local llama-server binary.
        probe: a drafter's name for the one request that halogen is sent; None sends none.
        runs: what a server on this machine holds in memory already, so that it need not fit beside itself.
    """

    url: str | None = None
    api_key: str | None = None
    target: str | None = None
    draft: str | None = None
    log: Path | None = None
    setup: Setup = field(default_factory=Setup)
    spec_types: tuple[str, ...] = ()
    llama_server: str | None = None
    probe: str | None = None
    runs: Literal["target", "pair"] | None = None


def run(ask: Ask, announce: Announce = lambda _words: None) -> tuple[Finding, ...]:
    """Run all checks that what was given allows. Never raises for what a file or server does.

    Args:
        ask: what there is to ask.
        announce: is told in words what a probe will send, before it is sent.
    """
    found: list[Finding] = []
    engine = _server(ask, announce, found) if ask.url else None
    log = _log(ask.log, found) if ask.log else ServerLog()
    devices: tuple[Device, ...] = ()
    if ask.llama_server:
        offers, devices = attach.build_offers(ask.llama_server, ask.spec_types)
        found += offers
    if ask.runs != "pair":
        found += attach.chain(ask.spec_types)
    target, draft = _model("target", ask.target, found), _model("drafter", ask.draft, found)
    if target and draft:
        found.append(_tokenizer(target, draft))
    found += drafter_class.classify(draft.header if draft else None, ask.spec_types, ask.draft or "")
    if target and not draft and "draft-mtp" in ask.spec_types:
        found.append(drafter_class.carries_mtp(target.header, target.place))
    if target and draft:
        found += drafter_class.belongs(draft.header, target.header, draft.place)
    models = [model for model in (target, draft) if model]
    if models:
        setup = setup_from_log(ask.setup, log)
        here = ask.runs == "target" or (engine is not None and httpx.URL(ask.url or "").host in LOCAL)
        found += fit(models, setup, () if ask.runs == "pair" else _places(devices), target_runs=here)
        found += against_log(models, setup, log, str(ask.log))
    return tuple(found)


def _server(ask: Ask, announce: Announce, found: list[Finding]) -> Engine | None:
    """Ask the running target, and probe it where that was asked for; returns what engine it is."""
    with connect(ask.url or "", ask.api_key) as server:
        identity = speculates.identify(server)
        if identity.engine is None:
            found.append(_unreadable(server.url, identity.trouble))
            return None
        found += speculates.already_speculates(server, identity)
        found += attach.surface(identity.engine, server.url)
        if ask.probe is not None and identity.engine == "halogen":
            probe = speculates.Probe(ask.probe)
            announce(probe.announce(server.url))
            found.append(speculates.read_probe(probe, server.url, server.post(probe.path, probe.body)))
        elif ask.probe is not None:
            announce("no probe was sent: only halogen takes a drafter's name in a request")
    return identity.engine


def _places(listed: tuple[Device, ...]) -> tuple[Device, ...]:
    """The devices that the build lists, else the machine's; host memory in any case."""
    return listed + tuple(each for each in machine_devices() if not listed or each.backend == HOST)


def _log(path: Path, found: list[Finding]) -> ServerLog:
    try:
        log = read_server_log(path)
    except OSError as error:
        found.append(_unreadable(str(path), error.strerror or str(error)))
        return ServerLog()
    found += speculates.start_up_lines(log, str(path))
    return log


def _model(role: str, place: str | None, found: list[Finding]) -> Model | None:
    if place is None:
        return None
    try:
        return Model(role, place, open_model(place))
    except (GgufError, RangeError) as error:
        found.append(_unreadable(place, str(error)))
        return None


def _unreadable(place: str, reason: str) -> Finding:
    return Finding(
        question=READABLE, asked=harmless(place), answer=f"no: {harmless(reason)}", sure="certain", ok=False
    )


def _tokenizer(target: Model, draft: Model) -> Finding:
    try:
        sides = tokenizer.read_tokenizer(target.header), tokenizer.read_tokenizer(draft.header)
    except GgufError as error:
        return Finding(
            question=tokenizer.QUESTION,
            asked=f"the headers of {harmless(target.place)} and {harmless(draft.place)}",
            answer=f"a header does not tell: {error}",
            sure="unknown",
            ok=None,
        )
    return tokenizer.judge(*sides, f"{target.place} and {draft.place}")

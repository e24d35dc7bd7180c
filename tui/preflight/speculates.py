"""Does the target already speculate? Asked of llama.cpp, halogen, and a llama-server log."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui.formats.events import harmless
from tui.preflight.findings import Finding, Sure

if TYPE_CHECKING:
    from tui.formats.events import Engine
    from tui.preflight.server import Answer, Server
    from tui.preflight.serverlog import ServerLog

QUESTION = "Does the target already speculate?"
PROPS_TELL_UNTIL = 6722
"""Later builds print compile-time defaults under /props."""
_COUNTER = re.compile(
    r"^llamacpp:spec_decode_num_(draft_tokens|accepted_tokens|drafts|accepted_tokens_per_pos)_total"
    r"(?:\{[^}\n]*\})?[ \t]+(\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?)",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Identity:
    """What answers at an address.

    Attributes:
        engine: None where it is neither of those known here.
        health: halogen's health page. props: llama.cpp's properties.
    """

    engine: Engine | None
    health: dict[str, Any]
    props: dict[str, Any]
    trouble: str = ""


def identify(server: Server) -> Identity:
    """Find out which engine answers, with at most two requests."""
    health = server.get("/health")
    page = health.body if isinstance(health.body, dict) else {}
    if "drafters_available" in page or "drafter_default" in page or "engine_unresponsive" in health.text:
        return Identity("halogen", page, {}, "" if health.status == 200 else health.refusal)
    if health.status is None:
        return Identity(None, {}, {}, health.refusal)
    if health.status == 503:
        return Identity(None, {}, {}, "it is still loading its model")
    props = server.get("/props")
    table = props.body if isinstance(props.body, dict) else {}
    if "default_generation_settings" in table or "build_info" in table:
        return Identity("llama.cpp", page, table)
    trouble = props.refusal if props.status != 200 else "it is neither llama.cpp nor halogen"
    return Identity(None, page, {}, trouble)


def already_speculates(server: Server, identity: Identity) -> tuple[Finding, ...]:
    """Ask a running server whose engine is known."""
    if identity.engine == "halogen":
        return _halogen(server, identity)
    return _llamacpp(server, identity.props)


def start_up_lines(log: ServerLog, source: str) -> tuple[Finding, ...]:
    """What the last start in a llama-server log says."""
    if log.spec_types == ():
        return (_finding(source, "no: no implementation was started", "certain"),)
    if log.spec_types is None and not log.synthetic:
        answer = "the log does not tell; newer builds print it only with -lv 4"
        return (_finding(source, answer, "unknown"),)
    types = ", ".join(log.spec_types or ()) or "types not told"
    depth = "" if log.depth is None else f", at most {log.depth} tokens a round"
    synthetic = "; acceptance is synthetic, its text is not valid" if log.synthetic else ""
    return (_finding(source, f"yes: {types}{depth}{synthetic}", "certain"),)


def _finding(asked: str, answer: str, sure: Sure) -> Finding:
    speculates = answer.startswith("yes")
    advice = "the incumbent's rate includes this drafting; a second drafter takes its place or chains to it"
    return Finding(
        question=QUESTION,
        asked=harmless(asked),
        answer=answer,
        sure=sure,
        ok=None,
        advice=advice if speculates else "",
    )


def _llamacpp(server: Server, props: dict[str, Any]) -> tuple[Finding, ...]:
    if props.get("role") == "router":
        return (_router(server),)
    if props.get("is_sleeping") is True:
        return (_finding(server.url, "its model sleeps; asking on would wake it", "unknown"),)
    found = [_slots(server), _metrics(server)]
    settings = props.get("default_generation_settings")
    build = build_number(props)
    flag = settings.get("speculative") if isinstance(settings, dict) else None
    if build is not None and build <= PROPS_TELL_UNTIL and isinstance(flag, bool):
        found.append(_finding(f"{server.url}/props", "yes" if flag else "no", "certain"))
    return tuple(found)


def build_number(props: dict[str, Any]) -> int | None:
    """The build behind `build_info` ("b6123-ab12cd3"); None where it is not told."""
    found = re.match(r"b(\d{1,6})\b", str(props.get("build_info", "")))
    return int(found[1]) or None if found else None


def _slots(server: Server) -> Finding:
    asked = f"{server.url}/slots"
    answer = server.get("/slots")
    slots = [slot for slot in answer.body if isinstance(slot, dict)] if isinstance(answer.body, list) else []
    flags = [slot["speculative"] for slot in slots if isinstance(slot.get("speculative"), bool)]
    if not flags:
        old = "its slots do not tell: a build before b4164"
        return _finding(asked, answer.refusal if answer.status != 200 else old, "unknown")
    if not any(flags):
        return _finding(asked, f"no: none of {len(flags)} slots can", "certain")
    types = sorted({name for slot in slots for name in _types(slot)} - {"none"})
    named = f", types {', '.join(types)}" if types else ", types not told before a first request"
    return _finding(asked, f"yes: {sum(flags)} of {len(flags)} slots can{named}", "certain")


def _types(slot: dict[str, Any]) -> list[str]:
    """Spec types in a slot's parameters, in any build's spelling."""
    params = slot.get("params")
    params = params if isinstance(params, dict) else {}
    text = params.get("speculative.types", params.get("speculative.type", ""))
    return [harmless(name) for name in str(text).split(",") if name]


def _metrics(server: Server) -> Finding:
    asked = f"{server.url}/metrics"
    answer = server.get("/metrics")
    if answer.status != 200:
        return _finding(asked, answer.refusal, "unknown")
    # b7090 to b7190 sent the whole text as one JSON string
    text = answer.body if isinstance(answer.body, str) else answer.text
    counters = _COUNTER.findall(text)
    values = {name: float(value) for name, value in counters}
    if "drafts" not in values:
        return _finding(asked, "it has no drafting counters: a build before b10282", "unknown")
    positions = sum(name == "accepted_tokens_per_pos" for name, _ in counters)
    if not values["drafts"]:
        return _finding(asked, "nothing has been drafted since it started, which it may yet do", "unknown")
    depth = f", at most {positions} tokens a round" if positions else ""
    words = f"yes: {values['drafts']:.0f} drafts since it started{depth}"
    return _finding(asked, words, "certain")


def _router(server: Server) -> Finding:
    """A router has no slots of its own; its models' command lines tell."""
    asked = f"{server.url}/v1/models"
    body = server.get("/v1/models").body
    rows = body.get("data") if isinstance(body, dict) else None
    models = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    told = []
    for model in models:
        status = model.get("status")
        args = status.get("args") if isinstance(status, dict) and status.get("value") == "loaded" else None
        if isinstance(args, list):
            words = [str(word) for word in args]
            types = [after for word, after in itertools.pairwise(words) if word == "--spec-type"]
            told.append(f"{harmless(str(model.get('id')))} {harmless(types[-1]) if types else 'without'}")
    if not told:
        return _finding(asked, "a router without a loaded model", "unknown")
    return _finding(asked, f"a router; --spec-type of its loaded models: {', '.join(told)}", "likely")


def _halogen(server: Server, identity: Identity) -> tuple[Finding, ...]:
    asked = f"{server.url}/health"
    page = identity.health
    if identity.trouble:
        return (_finding(asked, identity.trouble, "unknown"),)
    available, default = page.get("drafters_available"), page.get("drafter_default")
    names = [harmless(str(name)) for name in available] if isinstance(available, list) else []
    drafting = [name for name in names if name != "serial"]
    told = f"drafters available: {', '.join(names) or '--'}; default {harmless(str(default or '--'))}"
    fallback = page.get("capability_probe") == "failed"
    if fallback:
        told += "; its capability probe failed, so these are fallbacks"
    yes = isinstance(default, str) and default != "serial"
    word = "yes" if yes else "no, unless a request asks for it" if drafting else "no"
    sure: Sure = "unknown" if not names and default is None else "likely" if fallback else "certain"
    found = [_finding(asked, f"{word}: {told}", sure), _weights(asked, page)]
    lookup = page.get("prompt_lookup")
    if isinstance(lookup, dict) and lookup:
        found.append(_finding(asked, f"yes: prompt lookup {harmless(json.dumps(lookup))}", "certain"))
    return tuple(found)


def _weights(asked: str, page: dict[str, Any]) -> Finding:
    """Whether the drafter's weights are loaded; hard-coded false up to 0.5.5, versions told from 0.5.8."""
    loaded = page.get("drafter_weights_loaded")
    if loaded is True:
        return _finding(asked, "yes: drafter weights are loaded", "certain")
    if loaded is False and isinstance(page.get("version"), dict):
        return _finding(asked, "no drafter weights are loaded", "certain")
    if loaded is False:
        answer = "drafter weights: it prints false, as every version up to 0.5.5 does whatever is loaded"
        return _finding(asked, answer, "unknown")
    return _finding(asked, "drafter weights: not told", "unknown")


@dataclass(frozen=True, slots=True)
class Probe:
    """The one short request that names a drafter."""

    drafter: str
    path: str = "/v1/chat/completions"

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        message = {"role": "user", "content": "Hi"}
        return {"messages": [message], "max_tokens": 1, "stream": False, "drafter": self.drafter}

    def announce(self, url: str) -> str:
        """What will be sent, in words."""
        return f"sending one request: POST {harmless(url + self.path)} {json.dumps(self.body)}"


def read_probe(probe: Probe, url: str, answer: Answer) -> Finding:
    """What the answer to a probe means."""
    message = answer.error
    verdict: tuple[str, Sure, bool | None]
    if answer.status == 200:
        verdict = "served: the request was answered", "certain", True
    elif answer.status != 400:
        verdict = answer.refusal, "unknown", None
    elif found := re.match(r"drafter '.*' unknown; use (.*)", message):
        known = ", ".join(name.strip() for name in found[1].split("|"))
        verdict = f"unknown: no such drafter; it knows {known}", "certain", False
    elif found := re.match(r"drafter '.*' unavailable: ?(.*)", message):
        verdict = f"unavailable: known, but not served here ({found[1]})", "certain", False
    elif found := re.match(r"the engine refused this request: ?(.*)", message):
        verdict = f"refused by the engine: {found[1]}", "likely", False
    else:
        verdict = f"refused for another reason: {message or '--'}", "unknown", None
    words, sure, ok = verdict
    return Finding(
        question=f"Does the target serve the drafter '{harmless(probe.drafter)}'?",
        asked=f"one request to {harmless(url + probe.path)}",
        answer=words,
        sure=sure,
        ok=ok,
    )

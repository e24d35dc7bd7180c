"""What may be asked of each kind of server, and in which order.

Nothing is asked that wakes a sleeping model or loads one. llama.cpp: /health, /props, /metrics, /slots; of a
router only its loaded children, each with autoload=false. halogen: /health, which pings its engine, then
/metrics; /cache says nothing of drafting and costs the engine an answer, so it is left alone. vLLM, SGLang:
/metrics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from tui.feeds.ask import PATIENCE, Answer, Connection, TroubleError
from tui.formats.events import Engine, harmless
from tui.formats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

HEALTH_PATIENCE = httpx.Timeout(35.0, connect=5.0)
"""halogen's /health waits up to 30 s for its engine."""
HEALTH_PACE_S = 5.0
SCRAPE_WAKES_UNTIL = 10518
"""Last llama.cpp build whose sleeping model is woken by /metrics."""

METRICS_OFF = "/metrics is off: start llama-server with --metrics to count what it drafts"
SLOTS_OFF = "/slots is off: start llama-server with --slots to see generations in flight"
ASLEEP = "its model sleeps and is not asked, which would wake it"
NONE_LOADED = "a router without a loaded model; none is loaded by asking"
NO_HALOGEN_METRICS = "it has no /metrics (halogen has, from 0.8.0 on); its log tells more"
UNKNOWN = "it is none of llama.cpp, halogen, vLLM and SGLang, or has no /metrics"

_PROCESSING = re.compile(r"^llamacpp:requests_processing (\S+)", re.MULTILINE)
_ENGINES: dict[str, Engine] = {
    "halogen": "halogen",
    "llamacpp": "llama.cpp",
    "vllm": "vLLM",
    "sglang": "SGLang",
}
_COUNTERS = re.compile(rf"^({'|'.join(_ENGINES)}):", re.MULTILINE)
_HALOGEN = {"drafters_available", "drafter_default", "capability_probe"}
_LLAMACPP = {"build_info", "default_generation_settings", "total_slots", "role"}
_OFF = (httpx.codes.NOT_FOUND, httpx.codes.NOT_IMPLEMENTED)


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a server.

    Attributes:
        samples: what it answered. note: what is off or asleep, in words; empty where nothing is.
        trouble: why the counters could not be read, in words.
    """

    samples: tuple[Sample, ...] = ()
    note: str = ""
    trouble: str = ""


class Server(Protocol):
    """A server that has been recognised."""

    async def look(self) -> Look:
        """Ask it once; TroubleError where it does not answer."""
        ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Who asks: the connection, the name that samples carry, and the clock (seconds since the epoch)."""

    connection: Connection
    source: str
    clock: Callable[[], float]

    def sample(self, engine: Engine, stream: str | None = None, **answers: Any) -> Sample:
        """A sample of now."""
        return Sample(self.source, stream, self.clock(), engine, **answers)

    async def get(
        self, path: str, query: Mapping[str, str] | None = None, patience: httpx.Timeout = PATIENCE
    ) -> Answer:
        """Ask for a path of a server that may still be loading.

        Raises:
            TroubleError: no answer, or it is not ready.
        """
        answer = await self.connection.get(path, query, patience)
        if answer.status == httpx.codes.SERVICE_UNAVAILABLE and not _is_halogen(answer):
            raise TroubleError(f"it is not ready: {answer.said}")
        return answer


async def recognise(asker: Asker) -> Server:
    """Find out what a server is.

    Raises:
        TroubleError: it does not answer, is still loading, or is nothing known.
    """
    health = await asker.get("/health", patience=HEALTH_PATIENCE)
    if _is_halogen(health):
        return _Halogen(asker, health.table, asker.clock())
    props = await asker.get("/props")
    if props.table.get("role") == "router":
        return _Router(asker)
    if _LLAMACPP & props.table.keys():
        return _Llama(asker, about=props.table)
    metrics = await asker.get("/metrics")
    found = _COUNTERS.search(_unquoted(metrics))
    if metrics.status != httpx.codes.OK or found is None:
        raise TroubleError(UNKNOWN)
    engine = _ENGINES[found[1]]
    if engine == "llama.cpp":
        return _Llama(asker)
    if engine == "halogen":
        return _Halogen(asker, {}, asker.clock())
    return _Other(asker, engine, await _model_and_version(asker))


def _is_halogen(health: Answer) -> bool:
    return bool(_HALOGEN & health.table.keys()) or "engine_unresponsive" in health.text


def _unquoted(metrics: Answer) -> str:
    """The text of /metrics; llama.cpp b7090 to b7190 sent it as one JSON string."""
    body = metrics.body if metrics.text.startswith('"') else None
    return body if isinstance(body, str) else metrics.text


async def _model_and_version(asker: Asker) -> dict[str, Any]:
    models = (await asker.get("/v1/models")).table.get("data")
    first = models[0] if isinstance(models, list) and models else None
    version = (await asker.get("/version")).table.get("version")
    return {"model": first.get("id") if isinstance(first, dict) else None, "version": version}


@dataclass(slots=True)
class _Llama:
    """One llama.cpp server, or one of a router's children.

    Attributes:
        stream: the child's port, else its model's name. query: names it. args: its command line.
        about: its /props.
    """

    asker: Asker
    about: Mapping[str, Any] = field(default_factory=dict)
    stream: str | None = None
    query: Mapping[str, str] | None = None
    args: tuple[str, ...] = ()
    _process: str | None = None
    _seen: str = ""
    _drafters_told: bool = False
    _slots_off: bool = False

    async def look(self) -> Look:
        """Counters, and the slots while something is generated."""
        if _scrape_may_wake(self.about):
            self.about = (await self.asker.get("/props", self.query)).table
        if self.about.get("is_sleeping") is True and _scrape_may_wake(self.about):
            return Look((self._sample(),), note=ASLEEP)
        if self.about.get("endpoint_metrics") is False:
            return Look((self._sample(),), trouble=METRICS_OFF)
        metrics = await self.asker.get("/metrics", self.query)
        if metrics.status in _OFF:
            return Look((self._sample(),), trouble=METRICS_OFF)
        if metrics.status != httpx.codes.OK:
            raise TroubleError(metrics.said)
        if metrics.process != self._process and self._process is not None:
            self.about = (await self.asker.get("/props", self.query)).table
        self._process = metrics.process
        text = _unquoted(metrics)
        slots = await self._slots(text)
        sample = self._sample(metrics=text, slots=slots, process=metrics.process)
        return Look((sample,), note=SLOTS_OFF if self._slots_off else "")

    async def _slots(self, metrics: str) -> list[dict[str, Any]] | None:
        """Asked while something is generated, and to learn the drafters: else it would keep a model awake."""
        found = _PROCESSING.search(metrics)
        busy = found is None or found[1] != "0"
        news = metrics != self._seen and not self._drafters_told
        self._seen = metrics
        self._slots_off = self._slots_off or self.about.get("endpoint_slots") is False
        if not (busy or news) or self._slots_off or self.about.get("is_sleeping") is True:
            return None
        answer = await self.asker.get("/slots", self.query)
        self._slots_off = answer.status in _OFF
        body = answer.body
        slots = [slot for slot in body if isinstance(slot, dict)] if isinstance(body, list) else []
        self._drafters_told = self._drafters_told or any("params" in slot for slot in slots)
        return slots if answer.status == httpx.codes.OK else None

    def _sample(self, **answers: Any) -> Sample:
        return self.asker.sample("llama.cpp", self.stream, about=self.about, args=self.args, **answers)


def _scrape_may_wake(about: Mapping[str, Any]) -> bool:
    """Whether this build may have a sleeping model that /metrics would wake; a shallow clone's may be any."""
    if "is_sleeping" not in about:
        return False
    found = re.match(r"b(\d{1,7})-", str(about.get("build_info", "")))
    return found is None or int(found[1]) < 1000 or int(found[1]) <= SCRAPE_WAKES_UNTIL


@dataclass(slots=True)
class _Router:
    """A llama.cpp router: each loaded child is a stream."""

    asker: Asker
    _children: dict[str, _Llama] = field(default_factory=dict)

    async def look(self) -> Look:
        """Each loaded model in turn; one that has just been unloaded is left out."""
        rows = (await self.asker.get("/v1/models")).table.get("data")
        loaded = dict(filter(None, map(_loaded, rows if isinstance(rows, list) else ())))
        self._children = {name: child for name, child in self._children.items() if name in loaded}
        looks: list[Look] = []
        for name, args in loaded.items():
            child = self._children.get(name)
            if child is None or child.args != args:
                child = self._children[name] = await self._child(name, args)
            try:
                looks.append(await child.look())
            except TroubleError as trouble:
                looks.append(Look(note=str(trouble)))
        if not loaded:
            return Look(note=NONE_LOADED)
        notes = {text for look in looks for text in (look.note, look.trouble) if text}
        return Look(tuple(s for look in looks for s in look.samples), note="; ".join(sorted(notes)))

    async def _child(self, name: str, args: tuple[str, ...]) -> _Llama:
        query = {"model": name, "autoload": "false"}
        port = next((args[i + 1] for i, word in enumerate(args[:-1]) if word == "--port"), None)
        about = (await self.asker.get("/props", query)).table
        return _Llama(self.asker, about, port or harmless(name), query, args)


def _loaded(row: Any) -> tuple[str, tuple[str, ...]] | None:
    """A model's name and its child's command line, if it is loaded and awake."""
    status = row.get("status") if isinstance(row, dict) else None
    name = row.get("id") if isinstance(row, dict) else None
    if not isinstance(status, dict) or status.get("value") != "loaded" or not isinstance(name, str):
        return None
    args = status.get("args")
    return name, tuple(str(word) for word in args) if isinstance(args, list) else ()


@dataclass(slots=True)
class _Halogen:
    """halogen: counters always, and what it is until that is known."""

    asker: Asker
    about: Mapping[str, Any]
    _asked_at: float

    async def look(self) -> Look:
        """Its counters; /health again while the engine has not told its version."""
        if "version" not in self.about and self.asker.clock() - self._asked_at >= HEALTH_PACE_S:
            self.about = (await self.asker.get("/health", patience=HEALTH_PATIENCE)).table
            self._asked_at = self.asker.clock()
        metrics = await self.asker.get("/metrics")
        if metrics.status == httpx.codes.NOT_FOUND:
            return Look((self.asker.sample("halogen", about=self.about),), trouble=NO_HALOGEN_METRICS)
        if metrics.status != httpx.codes.OK:
            raise TroubleError(metrics.said)
        return Look((self.asker.sample("halogen", about=self.about, metrics=metrics.text),))


@dataclass(frozen=True, slots=True)
class _Other:
    """vLLM or SGLang: counters alone."""

    asker: Asker
    engine: Engine
    about: Mapping[str, Any]

    async def look(self) -> Look:
        """Its counters."""
        metrics = await self.asker.get("/metrics")
        if metrics.status != httpx.codes.OK:
            raise TroubleError(metrics.said)
        return Look((self.asker.sample(self.engine, about=self.about, metrics=metrics.text),))

"""What may be asked of each kind of server, and in which order.

Nothing is asked that wakes a sleeping model or loads one. llama.cpp: /health, /props, /metrics, /slots; of a
router only its loaded children, each with autoload=false. halogen: /health, then /metrics; /health again and
/cache seldom, since its engine has to answer them. vLLM, SGLang: /metrics.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Protocol

import httpx

from tui.feeds.ask import PATIENCE, Answer, Connection, TroubleError
from tui.formats.events import Engine, harmless
from tui.formats.sample import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

HEALTH_PATIENCE = httpx.Timeout(35.0, connect=5.0)
"""halogen's /health waits up to 30 s for its engine."""
CACHE_PATIENCE = httpx.Timeout(15.0, connect=5.0)
"""Its /cache up to 10 s."""
HEALTH_PACE_S = 5.0
CACHE_PACE_S = 30.0
SCRAPE_WAKES_UNTIL = 10518
"""Last llama.cpp build whose sleeping model is woken by /metrics."""

METRICS_OFF = "/metrics is off: start llama-server with --metrics to count what it drafts"
SLOTS_OFF = "/slots is off: start llama-server with --slots to see generations in flight"
ASLEEP = "its model sleeps and is not asked, which would wake it"
NONE_LOADED = "a router without a loaded model; none is loaded by asking"
NO_HALOGEN_METRICS = "it has no /metrics (halogen has, from 0.8.0 on); its log tells more"
ENGINE_SILENT = "its engine does not answer: a long prefill, or it hangs"
PROBE_FAILED = "its capability probe failed: what it says of its drafters may be wrong"
NO_WEIGHTS = "its drafter's weights are not loaded"
VERSIONS_DIFFER = "its API and its engine are of different versions"
UNKNOWN = "it is none of llama.cpp, halogen, vLLM and SGLang, or has no /metrics"

_HALOGEN_REQUESTS = re.compile(r"^halogen:requests_total (\d{1,15})$", re.MULTILINE)
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


@dataclass(slots=True)
class Asker:
    """Who asks: the connection, the name that samples carry, and the clock (seconds since the epoch).

    Attributes:
        engine_asked_at: when halogen's engine last had to answer /health; None where it never had to.
    """

    connection: Connection
    source: str
    clock: Callable[[], float]
    engine_asked_at: float | None = None

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

    @property
    def rest_s(self) -> float:
        """How long /health is not to be asked yet."""
        if self.engine_asked_at is None:
            return 0.0
        return max(0.0, HEALTH_PACE_S - (self.clock() - self.engine_asked_at))


async def recognise(asker: Asker) -> Server:
    """Find out what a server is.

    Raises:
        TroubleError: it does not answer, is still loading, or is nothing known.
    """
    health = await asker.get("/health", patience=HEALTH_PATIENCE)
    if _is_halogen(health):
        asker.engine_asked_at = asker.clock()
        answers = health.status == httpx.codes.OK
        return _Halogen(asker, health.table if answers else {}, silent=not answers)
    props = await asker.get("/props")
    if props.table.get("role") == "router":
        return _Router(asker)
    if _LLAMACPP & props.table.keys():
        return _Llama(asker, about=props.table)
    metrics = await asker.get("/metrics")
    found = _COUNTERS.search(_unquoted(metrics))
    if metrics.status not in (httpx.codes.OK, *_OFF):
        raise TroubleError(metrics.said)
    if found is None:
        raise TroubleError(UNKNOWN)
    engine = _ENGINES[found[1]]
    if engine == "llama.cpp":
        return _Llama(asker)
    if engine == "halogen":
        return _Halogen(asker)
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
    """halogen: counters always; what it is and how full it is now and then.

    Attributes:
        about: its /health. cache: its /cache; empty while that is not known.
        silent: its engine did not answer when it was asked last.
    """

    asker: Asker
    about: Mapping[str, Any] = field(default_factory=dict)
    silent: bool = False
    cache: Mapping[str, Any] = field(default_factory=dict)
    _cache_at: float | None = None
    _requests: int = 0

    async def look(self) -> Look:
        """Its counters, with what its engine has to answer when that is due."""
        metrics = await self.asker.get("/metrics")
        counted = metrics.text if metrics.status == httpx.codes.OK else None
        sample = self.asker.sample("halogen", metrics=counted)
        self._forget_another(metrics)
        note = await self._ask_engine()
        sample = replace(sample, about=self.about, cache=self.cache)
        if metrics.status == httpx.codes.NOT_FOUND:
            return Look((sample,), trouble=NO_HALOGEN_METRICS)
        if counted is None:
            raise TroubleError(metrics.said)
        return Look((sample,), note=note)

    def _forget_another(self, metrics: Answer) -> None:
        """What another process said of itself, another version maybe, does not hold for this one."""
        found = _HALOGEN_REQUESTS.search(metrics.text)
        requests = int(found[1]) if found else self._requests
        if requests < self._requests:
            self.about, self.cache, self._cache_at = {}, {}, None
        self._requests = requests

    async def _ask_engine(self) -> str:
        """/health and /cache, each if it is due; what is wrong by them, in words."""
        if self.asker.rest_s == 0:
            health = await self._answer("/health", HEALTH_PATIENCE)
            self.asker.engine_asked_at = self.asker.clock()
            self.silent = health is None
            self.about = health or self.about
        now = self.asker.clock()
        if not self.silent and (self._cache_at is None or now - self._cache_at >= CACHE_PACE_S):
            self.cache = await self._answer("/cache", CACHE_PATIENCE) or {}
            self._cache_at = now
        return ENGINE_SILENT if self.silent else "; ".join(_warnings(self.about))

    async def _answer(self, path: str, patience: httpx.Timeout) -> Mapping[str, Any] | None:
        """What the engine says; None where it stays silent, as during a long prefill."""
        try:
            answer = await self.asker.connection.get(path, patience=patience)
        except TroubleError:
            return None
        if answer.status in (httpx.codes.SERVICE_UNAVAILABLE, httpx.codes.INTERNAL_SERVER_ERROR):
            return None
        return answer.table


def _warnings(health: Mapping[str, Any]) -> Iterator[str]:
    version = health.get("version")
    if isinstance(version, dict) and version.get("match") is False:
        yield VERSIONS_DIFFER
    if health.get("capability_probe") == "failed":
        yield PROBE_FAILED
    elif health.get("drafter_weights_loaded") is False and version is not None:
        yield NO_WEIGHTS


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

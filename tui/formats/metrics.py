"""The counters in a server's /metrics (Prometheus text), each under what it counts.

The gauges of rates are never read: they reset whenever anyone reads them, or average since the start.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

if TYPE_CHECKING:
    from prometheus_client import Metric

    from tui.formats.events import Engine

_DIGITS = 6


@dataclass(frozen=True, slots=True)
class _Names:
    """What an engine calls its counters.

    Attributes:
        labelled: whether a counter appears only when it has counted something.
        rounded: whether whole numbers too are printed with six digits.
        mean: a gauge of the mean accepted length, where that is all there is.
        kv_usage: gauges of the share of the KV cache in use, by the names that builds gave it.
    """

    tokens: str
    seconds: str | None
    drafted: str
    accepted: str
    rounds: str | None
    position: str | None
    requests: str | None
    running: str
    queued: str
    labelled: bool = False
    rounded: bool = False
    mean: str | None = None
    kv_usage: tuple[str, ...] = ()


_NAMES: dict[Engine, _Names] = {
    "halogen": _Names(
        tokens="llamacpp:tokens_predicted_total",
        seconds="llamacpp:tokens_predicted_seconds_total",
        drafted="halogen:draft_tokens_total",
        accepted="halogen:draft_tokens_accepted_total",
        rounds=None,
        position=None,
        requests="halogen:requests_total",
        running="llamacpp:requests_processing",
        queued="llamacpp:requests_deferred",
    ),
    "llama.cpp": _Names(
        tokens="llamacpp:tokens_predicted_total",
        seconds="llamacpp:tokens_predicted_seconds_total",
        drafted="llamacpp:spec_decode_num_draft_tokens_total",
        accepted="llamacpp:spec_decode_num_accepted_tokens_total",
        rounds="llamacpp:spec_decode_num_drafts_total",
        position="llamacpp:spec_decode_num_accepted_tokens_per_pos_total",
        requests=None,
        running="llamacpp:requests_processing",
        queued="llamacpp:requests_deferred",
        rounded=True,
        kv_usage=("llamacpp:kv_cache_usage_ratio",),
    ),
    "vLLM": _Names(
        tokens="vllm:generation_tokens_total",
        seconds=None,
        drafted="vllm:spec_decode_num_draft_tokens_total",
        accepted="vllm:spec_decode_num_accepted_tokens_total",
        rounds="vllm:spec_decode_num_drafts_total",
        position="vllm:spec_decode_num_accepted_tokens_per_pos_total",
        requests="vllm:request_success_total",
        running="vllm:num_requests_running",
        queued="vllm:num_requests_waiting",
        labelled=True,
        kv_usage=("vllm:kv_cache_usage_perc", "vllm:gpu_cache_usage_perc"),
    ),
    "SGLang": _Names(
        tokens="sglang:generation_tokens_total",
        seconds=None,
        drafted="",
        accepted="",
        rounds=None,
        position=None,
        requests="sglang:num_requests_total",
        running="sglang:num_running_reqs",
        queued="sglang:num_queue_reqs",
        labelled=True,
        mean="sglang:spec_accept_length",
        kv_usage=("sglang:token_usage",),
    ),
}
_PREFIXES: tuple[tuple[str, Engine], ...] = (
    ("halogen:", "halogen"),
    ("llamacpp:", "llama.cpp"),
    ("vllm:", "vLLM"),
    ("sglang:", "SGLang"),
)


class Count(NamedTuple):
    """A counter's value, and what its last printed digit is worth (0: it is exact)."""

    value: float
    quantum: float = 0.0


Counters = dict[str, Count]
"""By what they count: tokens, seconds, drafted, accepted, rounds, requests, and "0", "1", ... for the rounds
whose first drafts were accepted up to that position; and the gauges running, queued, mean and kv_usage."""
GAUGES = ("running", "queued", "mean", "kv_usage")


def engine_of(text: str) -> Engine | None:
    """Whose counters these are; None where nobody's that is known."""
    body = _body(text)
    for prefix, engine in _PREFIXES:
        if f"\n{prefix}" in f"\n{body}":
            return engine
    return None


def read_counters(text: str, engine: Engine) -> Counters:
    """The counters that matter, label values summed.

    Of several engines' shares of the KV cache the largest is kept, of their mean lengths none.

    Args:
        text: the body of /metrics; llama.cpp b7090 to b7190 sent it as one JSON string.
        engine: whose.

    Raises:
        ValueError: the text is no Prometheus text, or not this engine's.
    """
    names = _NAMES[engine]
    fields = {
        getattr(names, name): name
        for name in ("tokens", "seconds", "drafted", "accepted", "rounds", "requests", *GAUGES[:3])
        if getattr(names, name)
    }
    fields |= dict.fromkeys(names.kv_usage, "kv_usage")
    wanted = (*fields, names.position) if names.position else tuple(fields)
    lines = [line for line in _body(text).splitlines() if line.startswith(wanted)]
    found: dict[str, list[float]] = {}
    for family in _families("\n".join(lines) + "\n"):
        for sample in family.samples:
            place = sample.labels.get("position", "") if sample.name == names.position else ""
            name = place if place.isdecimal() else fields.get(sample.name)
            if name and math.isfinite(sample.value) and sample.value >= 0:
                found.setdefault(name, []).append(sample.value)
    # Labelled counters are not there before they have counted anything; the gauge of requests is.
    if "tokens" not in found and not (names.labelled and "running" in found):
        raise ValueError(f"no {names.tokens} in it")
    counts: Counters = {}
    for name, values in found.items():
        if name == "mean" and (len(set(values)) > 1 or values[0] < 1):
            continue  # several engines' weights are not known; below 1 nothing was drafted
        value = max(values) if name in ("mean", "kv_usage") else sum(values)
        counts[name] = Count(value, _quantum(name, value, names))
    return counts


def _families(text: str) -> list[Metric]:
    try:
        return list(text_string_to_metric_families(text))
    except IndexError as error:  # the parser's own word for a label without a name
        raise ValueError("a label without a name") from error


def _body(text: str) -> str:
    if text.startswith('"'):
        try:
            return str(json.loads(text))
        except ValueError:
            return text
    return text


def _quantum(name: str, value: float, names: _Names) -> float:
    """What the last of six digits is worth; positions, and all of halogen's counts, are printed in full."""
    if value <= 0 or name.isdecimal() or name in GAUGES or (name != "seconds" and not names.rounded):
        return 0.0
    step = 10.0 ** (math.floor(math.log10(value)) - _DIGITS + 1)
    return step if name == "seconds" or step > 1 else 0.0

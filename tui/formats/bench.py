"""Batch benches as people have them: from bytes to cost profiles.

Reads llama-batched-bench (markdown, JSON Lines), llama-bench JSON or JSON Lines with prompt sizes, plain
lists of relative costs, and JSON objects that state batch sizes with their times or costs.
"""

from __future__ import annotations

import json
import math
import re
import statistics
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tui.formats.events import harmless
from tui.model.cost import CONTEXT_FLOOR, LARGEST_PASS, CostKey, Profile, ProfileError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

LARGEST_FILE = 2**20

_SETUP = "llama_batched_bench: n_kv_max = "
_PAIR = re.compile(r"(\w+) = ([^,\s]+)")
_WHOLE_ROUNDS = re.compile(r"draft included|engine step|\bAL\b|per round")
_ONE_KERNEL = re.compile(r"matmul|MUL_MAT|one kernel", re.IGNORECASE)
_BATCHED_RESULTS = frozenset({"pl", "n_kv", "t_pp", "speed_pp", "t_tg", "speed_tg", "t", "speed"})
_BENCH_RESULTS = frozenset(
    {"n_prompt", "n_gen", "n_batch", "n_ubatch", "test_time"}
    | {"avg_ns", "stddev_ns", "avg_ts", "stddev_ts", "samples_ns", "samples_ts"}
)
_HOW = (
    "give llama-batched-bench's table or --output-format jsonl, llama-bench -o json with -p 1,2,3,..., "
    "or the relative costs per token as a list: 1.0, 0.58, 0.47"
)


class BenchError(ValueError):
    """A file that gives no profile; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What a file gave, and what in it was left aside, in words."""

    profiles: tuple[Profile, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Timed:
    """One measured step.

    Attributes:
        setup: everything that must be equal in one profile.
        generated: a step of generation; it gives way to a prompt of one token, measured like the others.
    """

    setup: tuple[tuple[str, str], ...]
    n: int
    ms: float
    key: CostKey
    generated: bool = False
    note: str = ""


def read_bench(data: bytes, name: str) -> Bench:
    """Read the profiles in a file.

    Args:
        data: the whole file.
        name: what profiles are called that have no name of their own.

    Raises:
        BenchError: when it holds no profile.
    """
    if len(data) > LARGEST_FILE:
        raise BenchError(f"over {LARGEST_FILE // 2**20} MiB: this is no bench; {_HOW}")
    text = data.decode("utf-8-sig", errors="replace").strip()
    name = harmless(name)
    if not text:
        raise BenchError(f"the file is empty; {_HOW}")
    if text[0] in "{[":
        try:
            return _from_json(_load(text), name)
        except json.JSONDecodeError:
            pass  # JSON Lines, or a log around them
    lines = text.splitlines()
    rows = [_load_line(line) for line in lines if line.startswith("{")]
    records = [row for row in rows if isinstance(row, dict)]
    if records:
        return _from_steps(_recorded(records), name, len(rows) - len(records))
    steps = list(_table(lines))
    if steps:
        return _from_steps(steps, name, 0)
    return Bench((_from_list(text, name),))


def _load(text: str) -> Any:
    """JSON without NaN; one that is nested too deep or holds impossible numbers is a BenchError."""
    try:
        return json.loads(text, parse_constant=lambda _word: None)
    except json.JSONDecodeError:
        raise
    except (RecursionError, ValueError) as error:
        raise BenchError(f"no usable JSON: {harmless(str(error))}; {_HOW}") from None


def _load_line(line: str) -> Any:
    if not line.rstrip().endswith("}"):
        return None
    try:
        return _load(line)
    except json.JSONDecodeError:
        return None


def _number(value: Any) -> float | None:
    """A finite number above 0, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number > 0 else None


def _size(value: Any) -> int | None:
    """A whole number above 0, or None."""
    number = _number(value)
    return int(number) if number is not None and number.is_integer() else None


def _word(value: Any) -> str | None:
    return harmless(value, 60) if isinstance(value, str) and value.strip() else None


# --- steps told one by one -------------------------------------------------------------------------------


def _recorded(records: Iterable[dict[str, Any]]) -> Iterator[_Timed | str]:
    """Steps of JSON records; a string says why one was left aside."""
    for record in records:
        if "pl" in record:
            yield _batched(record)
        elif "avg_ns" in record:
            yield _benched(record)
        else:
            yield "objects that are no bench result"


def _setup(record: dict[str, Any], results: frozenset[str]) -> tuple[tuple[str, str], ...]:
    kept = {k: v for k, v in record.items() if k not in results}
    return tuple(sorted((harmless(k, 40), harmless(str(v), 60)) for k, v in kept.items()))


def _batched(record: dict[str, Any]) -> _Timed | str:
    """A llama-batched-bench result: T(n) = T_TG/TG at pl = n."""
    n, tokens, seconds = _size(record.get("pl")), _size(record.get("tg")), _number(record.get("t_tg"))
    if n is None or tokens is None or seconds is None:
        return "results without generation (TG) or with an impossible time"
    if n > 1 and str(record.get("is_tg_separate", 0)) not in ("0", "False"):
        return "results with is_tg_separate: each sequence ran alone, that is no batch"
    context = (_size(record.get("pp")) or 0) + tokens // 2
    note = "each sequence read its own context: for one draft T(n) is less" if context > CONTEXT_FLOOR else ""
    key = CostKey("llama.cpp", context=context)
    return _Timed(_setup(record, _BATCHED_RESULTS), n, 1000 * seconds / tokens, key, note=note)


def _table(lines: list[str]) -> Iterator[_Timed | str]:
    """Steps of llama-batched-bench's tables, each under the settings printed above it."""
    above: dict[str, str] = {}
    for line in lines:
        if _SETUP in line:
            above = dict(_PAIR.findall(line[:1000]))
        cells = [cell.strip() for cell in line.partition("|")[2].rpartition("|")[0].split("|")]
        if len(cells) != 10 or not cells[2].isdecimal():
            continue
        prompt, tokens, n = cells[:3]
        seconds = _seconds(n, tokens, *cells[6:8])
        yield _batched({**above, "pp": prompt, "tg": tokens, "pl": n, "t_tg": seconds})


def _seconds(n: str, tokens: str, seconds: str, rate: str) -> float | None:
    """T_TG from S_TG, which keeps more digits; None when the two columns contradict each other."""
    made = (_number(n) or 0) * (_number(tokens) or 0)
    told, speed = _number(seconds), _number(rate)
    if speed is None:
        return told
    if abs(made / speed - (told or 0)) > 0.00051 + 0.01 * made / speed:
        return None
    return made / speed


def _benched(record: dict[str, Any]) -> _Timed | str:
    """A llama-bench result: prompts in passes of n tokens, or generation, one token a pass."""
    nanoseconds = _number(record.get("avg_ns"))
    prompt, made = _size(record.get("n_prompt")), _size(record.get("n_gen"))
    if nanoseconds is None:
        return "results with an impossible time"
    if (prompt is None) == (made is None):
        return "results of prompt and generation together"
    if prompt is None:
        n, passes = 1, made or 1
    else:
        limits = (_size(record.get(limit)) for limit in ("n_batch", "n_ubatch"))
        n = min(prompt, *(limit for limit in limits if limit))
        if prompt % n:
            return "prompts that are no whole number of passes (n_prompt, n_ubatch)"
        passes = prompt // n
    if n > LARGEST_PASS:
        return f"passes over more than {LARGEST_PASS} tokens, which no draft needs"
    build = record.get("build_number")
    key = CostKey(
        "llama.cpp",
        _word(record.get("model_filename")) or _word(record.get("model_type")),
        _word(record.get("gpu_info")) or _word(record.get("cpu_info")),
        f"b{build}" if isinstance(build, int) else None,
        _size(record.get("n_depth")) or 0,
    )
    generated = prompt is None
    return _Timed(_setup(record, _BENCH_RESULTS), n, nanoseconds / 1e6 / passes, key, generated)


def _from_steps(steps: Iterable[_Timed | str], name: str, unread: int) -> Bench:
    """One profile for each setup; several times of one size become their mean."""
    groups: dict[tuple[tuple[str, str], ...], list[_Timed]] = defaultdict(list)
    aside: dict[str, int] = defaultdict(int)
    for step in steps:
        if isinstance(step, str):
            aside[step] += 1
        else:
            groups[step.setup].append(step)
    if unread:
        aside["lines that are cut or no JSON"] = unread
    notes = [f"left aside {count} {what}" for what, count in aside.items()]
    profiles = []
    for group, label in zip(groups.values(), _labels(list(groups)), strict=True):
        prompts = {step.n for step in group if not step.generated}
        times = defaultdict(list)
        for step in group:
            if not (step.generated and step.n in prompts):
                times[step.n].append(step.ms)
        title = f"{name} {label}".strip()
        try:
            means = {n: statistics.fmean(ms) for n, ms in times.items()}
            profile = Profile.from_times(title, means, group[0].key)
            profiles.append(replace(profile, notes=(group[0].note,) if group[0].note else ()))
        except ProfileError as error:
            notes.append(f"{title}: {error}")
    if not profiles:
        raise BenchError("; ".join(notes) or f"no bench result in it; {_HOW}")
    return Bench(tuple(profiles), tuple(notes))


def _labels(setups: list[tuple[tuple[str, str], ...]]) -> list[str]:
    """What tells the setups of one file apart, in words."""
    if len(setups) < 2:
        return [""] * len(setups)
    common = set(setups[0]).intersection(*setups[1:])
    return [", ".join(f"{k} {v}" for k, v in setup if (k, v) not in common) for setup in setups]


# --- lists and objects -----------------------------------------------------------------------------------


def _from_list(text: str, name: str) -> Profile:
    words = [word for word in re.split(r"[\s,;]+", text) if word]
    values = [_number(word) for word in words]
    if not words or None in values:
        raise BenchError(f"neither a bench result nor a list of numbers; {_HOW}")
    return _relative([value for value in values if value is not None], name)


def _relative(costs: list[float], name: str) -> Profile:
    """y(0), y(1), ...: the cost per token of a batch of 1, 2, ..."""
    if not costs or not math.isclose(costs[0], 1.0, rel_tol=1e-6):
        raise BenchError("a list of relative costs starts with 1, the cost of a token decoded alone")
    profile = _made(Profile.from_relative_costs, name, dict(enumerate(costs, 1)))
    if len(costs) > 2 and min(costs[1:]) >= 1:
        note = "read as cost per token, T(n)/(n*T(1)); for step times T(n)/T(1) give JSON with time_ratio"
        profile = replace(profile, notes=(note,))
    return profile


def _made(make: Callable[..., Profile], *args: Any) -> Profile:
    try:
        return make(*args)
    except ProfileError as error:
        raise BenchError(str(error)) from None


def _from_json(value: Any, name: str) -> Bench:
    if isinstance(value, list) and value and all(_number(item) is not None for item in value):
        return Bench((_relative([float(item) for item in value], name),))
    if isinstance(value, list) and value and all(isinstance(item, dict) for item in value):
        return _from_steps(_recorded(value), name, 0)
    if isinstance(value, dict):
        if "pl" in value or "avg_ns" in value:
            return _from_steps(_recorded([value]), name, 0)
        several = value.get("profiles")
        if isinstance(several, list):
            parts = [part for part in several if isinstance(part, dict)]
            return _several([(_word(part.get("name")) or name, part) for part in parts])
        if value and all(isinstance(part, dict) for part in value.values()):
            return _several([(f"{name} {harmless(key, 60)}", part) for key, part in value.items()])
        return _stated(value, name)
    raise BenchError(f"JSON without batch sizes and times; {_HOW}")


def _several(parts: list[tuple[str, dict[str, Any]]]) -> Bench:
    profiles: list[Profile] = []
    notes = []
    for name, part in parts:
        try:
            profiles += _stated(part, name).profiles
        except BenchError as error:
            notes.append(f"{name}: {error}")
    if not profiles:
        raise BenchError("; ".join(notes) or f"no profile in it; {_HOW}")
    return Bench(tuple(profiles), tuple(notes))


def _stated(value: dict[str, Any], name: str) -> Bench:
    """A profile stated by an object: `batch` with times, rates or costs, or `relative_cost` from n = 1 on."""
    costs = value.get("relative_cost")
    if isinstance(costs, list) and "batch" not in value:
        return Bench((_relative(_column(costs, "relative_cost"), name),))
    quantity = str(value.get("quantity", ""))
    if _ONE_KERNEL.search(quantity):
        raise BenchError("the time of one kernel: the rest of a target pass is missing from it")
    batch = value.get("batch")
    sizes = [_size(n) for n in batch] if isinstance(batch, list) else []
    whole = [n for n in sizes if n is not None]
    if not whole or len(whole) != len(sizes) or len(set(whole)) != len(whole):
        raise BenchError(f"no list `batch` of different sizes; {_HOW}")
    key = CostKey(
        _word(value.get("server")),
        _word(value.get("target") or value.get("model")),
        _word(value.get("hardware") or value.get("device")),
        _word(value.get("build")),
        _size(value.get("context")),
    )
    profile = _columns(value, whole, name, key)
    rounds = value.get("includes_draft") is True or bool(_WHOLE_ROUNDS.search(quantity))
    profile = replace(profile, includes_draft=rounds)
    _must_agree(profile, whole, value)
    others = value.get("other_columns")
    profiles = [profile]
    for label, column in others.items() if isinstance(others, dict) else ():
        part = _columns({"ms_per_batch": column}, whole, f"{name}, {harmless(label, 60)}", key)
        profiles.append(replace(part, includes_draft=rounds))
    return Bench(tuple(profiles))


def _column(column: Any, label: str) -> list[float]:
    values = [_number(item) for item in column] if isinstance(column, list) else [None]
    if None in values:
        raise BenchError(f"`{label}` must be a list of numbers above 0")
    return [value for value in values if value is not None]


def _columns(value: dict[str, Any], sizes: list[int], name: str, key: CostKey) -> Profile:
    """The profile from the best column there is: times, ratios, costs per token, tokens per second."""
    order = ("ms_per_batch", "time_ratio", "relative_cost_per_token", "tok_s")
    label = next((label for label in order if label in value), None)
    if label is None:
        raise BenchError(f"batch sizes without times (ms_per_batch, tok_s) or costs; {_HOW}")
    cells = _column(value[label], label)
    if len(cells) != len(sizes):
        raise BenchError(f"{len(sizes)} batch sizes but {len(cells)} values in `{label}`")
    column = dict(sorted(zip(sizes, cells, strict=True)))
    if label == "ms_per_batch":
        return _made(Profile.from_times, name, column, key)
    if label == "tok_s":
        return _made(Profile.from_times, name, {n: 1000 * n / rate for n, rate in column.items()}, key)
    if label == "relative_cost_per_token":
        return _made(Profile.from_relative_costs, name, column, key)
    step = _number(value.get("target_step_ms"))
    return _made(Profile, name, tuple(column), tuple(column.values()), step, key)


def _must_agree(profile: Profile, sizes: list[int], value: dict[str, Any]) -> None:
    """A file that states the ratios a second time must mean the same ones."""
    if "relative_step_cost" not in value:
        return
    again = _column(value["relative_step_cost"], "relative_step_cost")
    ratios = dict(zip(profile.batch, profile.time_ratio, strict=True))
    pairs = zip(sizes, again, strict=False)
    if len(again) != len(sizes) or not all(math.isclose(ratios[n], t, rel_tol=0.01) for n, t in pairs):
        raise BenchError("its times and its relative_step_cost contradict each other")

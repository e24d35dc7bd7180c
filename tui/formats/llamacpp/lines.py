"""The lines llama-server prints, one form a kind; builds differ in what follows the common part."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from tui.formats.forms import Form, number, shares
from tui.model.rounds import mean_bounds

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.formats.events import ProblemKind

_RATIO_ERROR = 1e-3
_RATE_BUILDS, _PLAIN_BUILDS, _SHARES_BUILDS, _MEAN_BUILDS = (
    (4984, 9229),
    (9230, 9665),
    (9666, 9828),
    (9829, 0),
)

TAG = re.compile(r"slot +([^ :][^:]{0,11}): id +(\d{1,9}) \| task (-?\d{1,9}) \| ?")
SERVER = re.compile(r"(?:srv|que|res|spec|cmn) +([^ :][^:]{0,11}): +")
CUT_FRONT = re.compile(r"[\d.]{1,14} (?:[IWED] )?slot +print_timing: id ")

PROMPT = Form("prompt eval time =~{f} ms /~{i} tokens (~{f} ms per token,~{f} tokens per second~)")
EVAL = Form("eval time =~{f} ms /~{i} tokens (~{f} ms per token,~{f} tokens per second~)")
TOTAL = Form("total time =~{f} ms /~{i} tokens")
ACCEPTANCE_RATE = Form("draft acceptance rate =~{f} (~{i} accepted /~{i} generated~)")
ACCEPTANCE = Form("draft acceptance =~{f} (~{i} accepted /~{i} generated~)")
MEAN_AND_SHARES = Form(", mean acceptance length =~{2}, acceptance rate per position = {l}")
MEAN = Form(", mean len =~{2}")
SHARES = Form("acc per pos = {l}")
GENERATED = Form("n_gen =~{i}, tg =~{f} t/s")
DECODED = Form("n_decoded =~{i}, tg =~{f} t/s")
RECENT = Form(", tg_3s =~{f} t/s")
PROMPT_TOKENS = re.compile(r"new prompt, .*\b(?:task\.n_tokens|n_prompt_tokens) = (\d{1,9})")
ROUND = re.compile(r"accepted +(\d{1,9})/ *(\d{1,9}) draft tokens( \(restore checkpoint\))?(, new n_)?")
_COUNT = r" *(\d{1,15})"
STATISTICS = re.compile(
    rf"statistics +([\w-]+): #calls(?:\(b,g,a\))? ={_COUNT}(?: {_COUNT} {_COUNT})?, #gen drafts ={_COUNT},"
    rf" #acc drafts ={_COUNT}, #gen tokens ={_COUNT}, #acc tokens ={_COUNT}"
    r"(?:, #mean acc len = *([^,]+), #acc rate/pos = \(([^)]*)\))?"
    r"(?:, dur(?:\(b,g,a\))? = ([\d.]+)(?:, ([\d.]+), ([\d.]+))? ms)?"
)
"""Name, calls (begin, draft, accept, or only the drafts'), drafts, drafts accepted, drafted, accepted, mean,
shares, times (begin, draft, accept, or only their sum)."""
STATISTICS_CUT = tuple(
    Form(f"statistics~{{w}}: {calls}, #gen drafts =~{{i}}, #acc drafts =~{{i}}, #gen tokens =~{{i}}, {rest}")
    for calls in ("#calls(b,g,a) =~{i} ~{i} ~{i}", "#calls =~{i}")
    for rest in (
        "#acc tokens =~{i}, #mean acc len =~{f}, #acc rate/pos = {l}, dur(b,g,a) = {f}, {f}, {f} ms",
        "#acc tokens =~{i}, dur(b,g,a) = {f}, {f}, {f} ms",
        "#acc tokens =~{i}, dur = {f} ms",
    )
)

_OURS = (
    "prompt eval",
    "eval time",
    "total time",
    "draft accept",
    "acc per pos",
    "n_gen =",
    "n_decoded =",
    "statistics ",
)
_FORMS = {
    "prom": (PROMPT,),
    "eval": (EVAL,),
    "tota": (TOTAL,),
    "draf": (ACCEPTANCE, ACCEPTANCE_RATE),
    "acc ": (SHARES,),
    "n_ge": (GENERATED,),
    "n_de": (DECODED,),
    "stat": STATISTICS_CUT,
}
"""The forms by the first four letters of their lines."""


_PRINTED, _LOOSELY = 0.0051, 0.02
"""How far a figure of two decimals, and one that someone typed off, may be from the truth."""


class Timing(NamedTuple):
    """A prompt or a generation: time, tokens, time per token and tokens per second as printed."""

    ms: float | None
    tokens: int
    per_token_ms: float | None
    rate_tok_s: float | None


def adds_up(timing: Timing) -> bool:
    """Whether the printed figures can come of time and tokens, the first token counted or not."""
    ms, tokens, per_token, rate = timing
    if ms is None or per_token is None or rate is None or tokens <= 1:
        return True
    for over in (tokens, tokens - 1):
        if abs(ms / over - per_token) <= _PRINTED + _LOOSELY * per_token:
            return True
        if ms > 0 and abs(1000 * over / ms - rate) <= _PRINTED + (_LOOSELY + _PRINTED / ms) * rate:
            return True
    return False


class DraftCounts(NamedTuple):
    """An acceptance line.

    Attributes:
        rest: what follows its known parts: empty, unless it is cut or changed.
        builds: the first and the last build that print this form; 0 while the last is not known.
    """

    ratio: float | None
    accepted: int
    drafted: int
    mean: float | None
    per_position: tuple[float, ...] | None
    rest: str
    builds: tuple[int, int] = (0, 0)


def read_prompt(text: str) -> Timing | None:
    """The prompt line; None when it is not whole."""
    found = PROMPT.match(text)
    return Timing(number(found[1]), int(found[2]), None, None) if found else None


def read_decode(text: str) -> Timing | None:
    """The generation line; None when it is not whole."""
    if not (found := EVAL.match(text)):
        return None
    ms, tokens, per_token, rate = found.groups()
    return Timing(number(ms), int(tokens), number(per_token), number(rate))


def read_shares(text: str) -> tuple[float, ...] | None:
    """The per-position line; None when it is not whole."""
    found = SHARES.match(text)
    return shares(found[1]) if found else None


def read_acceptance(text: str) -> DraftCounts | None:
    """The acceptance line in any of its forms; None when its common part is not whole."""
    builds = _PLAIN_BUILDS
    if not (found := ACCEPTANCE.match(text)):
        found, builds = ACCEPTANCE_RATE.match(text), _RATE_BUILDS
    if not found:
        return None
    rest = text[found.end() :].strip()
    mean = per_position = None
    if not rest:
        pass
    elif tail := MEAN.match(rest):
        mean, rest, builds = float(tail[1]), rest[tail.end() :].strip(), _MEAN_BUILDS
    elif tail := MEAN_AND_SHARES.match(rest):
        mean, per_position, rest = float(tail[1]), shares(tail[2]), rest[tail.end() :].strip()
        builds = _SHARES_BUILDS
    return DraftCounts(number(found[1]), int(found[2]), int(found[3]), mean, per_position, rest, builds)


Part = Timing | DraftCounts | tuple[float, ...]

PARTS: dict[str, tuple[str, Callable[[str], Part | None]]] = {
    "prom": ("prompt", read_prompt),
    "eval": ("decode", read_decode),
    "draf": ("drafts", read_acceptance),
    "acc ": ("per_position", read_shares),
}
"""The parts of a block by the first four letters of their lines: what it is and how it is read."""


def is_possible(counts: DraftCounts) -> bool:
    """Whether an acceptance line agrees with itself and with what a server can do."""
    if counts.accepted > counts.drafted:
        return False
    if (
        counts.ratio is not None
        and abs(counts.ratio * counts.drafted - counts.accepted) > _RATIO_ERROR * counts.drafted
    ):
        return False
    if counts.mean is None or not counts.accepted:
        return True
    bounds = mean_bounds(counts.accepted, counts.mean)
    return bounds is not None and bounds[0] <= counts.drafted


def is_unfinished(counts: DraftCounts) -> bool:
    """Whether an acceptance line ends inside one of its later parts."""
    return MEAN.ends_inside(counts.rest) or MEAN_AND_SHARES.ends_inside(counts.rest)


def fault(text: str) -> ProblemKind | None:
    """What is wrong with a line that cannot be read: it ends inside a known form, or goes on otherwise."""
    if any(form.ends_inside(text) for form in _FORMS.get(text[:4], ())):
        return "cut"
    return "renamed" if text.startswith(_OURS) else None

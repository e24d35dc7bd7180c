"""The lines llama-server prints, one form a kind; builds differ in what follows the common part."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tui.formats.forms import Form, number, shares

TAG = re.compile(r"slot +(\S.{0,11}?): id +(\d+) \| task (-?\d+) \| ?")
SERVER = re.compile(r"(?:srv|que|res|spec|cmn) +(\S.{0,11}?): +")
CUT_FRONT = re.compile(r"[\d.]{1,14} (?:[IWED] )?slot +print_timing: id ")

PROMPT = Form("prompt eval time = {f} ms / {i} tokens ( {f} ms per token, {f} tokens per second )")
EVAL = Form("eval time = {f} ms / {i} tokens ( {f} ms per token, {f} tokens per second )")
TOTAL = Form("total time = {f} ms / {i} tokens")
ACCEPTANCE_RATE = Form("draft acceptance rate = {f} ( {i} accepted / {i} generated )")
ACCEPTANCE = Form("draft acceptance = {f} ( {i} accepted / {i} generated )")
MEAN_AND_SHARES = Form(", mean acceptance length = {2}, acceptance rate per position = {l}")
MEAN = Form(", mean len = {2}")
SHARES = Form("acc per pos = {l}")
GENERATED = Form("n_gen = {i}, tg = {f} t/s")
DECODED = Form("n_decoded = {i}, tg = {f} t/s")
RECENT = Form(", tg_3s = {f} t/s")
PROMPT_TOKENS = re.compile(r"new prompt, .*\b(?:task\.n_tokens|n_prompt_tokens) = (\d+)")
ROUND = re.compile(r"accepted +(\d+)/ *(\d+) draft tokens( \(restore checkpoint\))?(, new n_)?")
STATISTICS = re.compile(
    r"statistics +(?P<name>[\w-]+): #calls(?:\(b,g,a\))? = *(?P<calls>\d+(?: +\d+ +\d+)?), #gen drafts = *(?P<drafts>\d+),"
    r" #acc drafts = *(?P<kept>\d+), #gen tokens = *(?P<drafted>\d+), #acc tokens = *(?P<accepted>\d+)"
    r"(?:, #mean acc len = *(?P<mean>[^,]+), #acc rate/pos = \((?P<shares>[^)]*)\))?"
    r"(?:, dur(?:\(b,g,a\))? = (?P<spent>[\d., ]+) ms)?"
)
STATISTICS_CUT = (
    Form(
        "statistics {w}: #calls(b,g,a) = {i} {i} {i}, #gen drafts = {i}, #acc drafts = {i}, #gen tokens = {i},"
        " #acc tokens = {i}, #mean acc len = {f}, #acc rate/pos = {l}, dur(b,g,a) = {f}, {f}, {f} ms"
    ),
    Form(
        "statistics {w}: #calls = {i}, #gen drafts = {i}, #acc drafts = {i}, #gen tokens = {i}, #acc tokens = {i},"
        " dur = {f} ms"
    ),
)

PARTS = {
    "prompt eval": (PROMPT,),
    "eval time": (EVAL,),
    "total time": (TOTAL,),
    "draft accep": (ACCEPTANCE, ACCEPTANCE_RATE),
    "acc per pos": (SHARES,),
    "n_gen =": (GENERATED,),
    "n_decoded =": (DECODED,),
}
"""How the parts of a print_timing record begin, and their forms."""


@dataclass(frozen=True, slots=True)
class Timing:
    """A prompt or a generation: time, tokens, time per token and tokens per second as printed."""

    ms: float | None
    tokens: int
    per_token_ms: float | None
    rate_tok_s: float | None


@dataclass(frozen=True, slots=True)
class DraftCounts:
    """An acceptance line. `rest` is what follows the known parts: empty, unless the line is cut or changed."""

    ratio: float | None
    accepted: int
    drafted: int
    mean: float | None
    per_position: tuple[float, ...] | None
    rest: str


def read_timing(form: Form, text: str) -> Timing | None:
    """The prompt or the generation line; None when it is not whole."""
    if not (found := form.match(text)):
        return None
    return Timing(number(found[1]), int(found[2]), number(found[3]), number(found[4]))


def read_acceptance(text: str) -> DraftCounts | None:
    """The acceptance line in any of its forms; None when its common part is not whole."""
    found = ACCEPTANCE.match(text) or ACCEPTANCE_RATE.match(text)
    if not found:
        return None
    rest = text[found.end() :].strip()
    mean = per_position = None
    if tail := MEAN.match(rest):
        mean = float(tail[1])
    elif tail := MEAN_AND_SHARES.match(rest):
        mean, per_position = float(tail[1]), shares(tail[2])
    if tail:
        rest = rest[tail.end() :].strip()
    return DraftCounts(number(found[1]), int(found[2]), int(found[3]), mean, per_position, rest)


def is_cut(text: str) -> bool:
    """Whether the text is the beginning of a known form that ends inside it."""
    for beginning, forms in PARTS.items():
        if text.startswith(beginning):
            return any(form.ends_inside(text) for form in forms)
    return any(form.ends_inside(text) for form in STATISTICS_CUT)

"""The top lines: the answer, the reason in words, and who is speaking."""

from __future__ import annotations

from collections import Counter
from pathlib import PurePath
from typing import TYPE_CHECKING

from textual.content import Content

from tui.render import numbers
from tui.render.text import clean, fitting, line, split

if TYPE_CHECKING:
    from tui.model.comparison import Judged, Judgement
    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.render.text import Part
    from tui.session.snapshot import ArmView, Load, SourceState, View

VERDICTS = {
    "PASS": ("pays", "$good bold reverse"),
    "FAIL": ("loses", "$bad bold reverse"),
    "EVEN": ("no difference that matters", "bold reverse"),
    "INCONCLUSIVE": ("cannot tell yet", "$warn bold reverse"),
    "NO_DATA": ("too little to judge", "$warn bold reverse"),
}
"""Each verdict in words, with its style."""
_UNDECIDED = ("NO_DATA", "INCONCLUSIVE")
_LONGEST = 400
_WIDE = 100
_NEARLY_FULL = 0.9


def draw(scene: Scene, width: int, height: int) -> list[Content]:
    """As many of the lines as fit, the answer first."""
    view, glyphs = scene.view, scene.glyphs
    if view is None:
        return [line(width, glyphs, ("no source yet", "$muted"))]
    tall = height >= 3 + len(notes(view, tall=True))
    lines = [_answer(scene, view, width), _why(view, width, glyphs, tall=tall), _source(scene, view, width)]
    noted = (clean(text, glyphs, _LONGEST) for text in notes(view, tall=tall))
    lines += [line(width, glyphs, ("note  ", "$warn bold"), text) for text in noted]
    return lines[:height]


def notes(view: View | None, *, tall: bool) -> tuple[str, ...]:
    """What the reader must know before acting; shown a line each.

    Args:
        view: what is shown.
        tall: there is room for what an undecided verdict waits for besides the reason in words.
    """
    if view is None or view.canary is None:
        return ()
    source, judgement = view.source, view.judgement
    texts = [source.message if source.state in ("waiting", "failed") else "", source.server_note]
    texts += [view.drift, *view.notes]
    if judgement is not None:
        texts += [judgement.reason if tall and judgement.verdict in _UNDECIDED else "", *judgement.warnings]
    return tuple(dict.fromkeys(text for text in texts if text))


def _answer(scene: Scene, view: View, width: int) -> Content:
    glyphs = scene.glyphs
    paused: list[Part] = []
    if scene.paused is not None:
        paused = [" ", (f" PAUSED +{scene.paused} ", "$warn bold reverse")]
    arm = view.canary
    if arm is None:
        return split(width, glyphs, [_waiting(view.source, glyphs)], paused)
    incumbent = view.incumbent
    if incumbent is None:
        own = numbers.rate(arm.decode_tok_s)
        left: list[Part] = [("no incumbent", "$warn bold"), "  ", (f"{own} tok/s", "$canary bold"), " decode"]
        offered = f"b takes {clean(view.offered, glyphs)}, or sets another" if view.offered else ""
        left.append(f"   {offered or 'b sets what to beat'}")
        return split(width, glyphs, left, paused)
    judgement = view.judgement
    if judgement is None:
        return split(width, glyphs, _unjudged(view, arm), paused)
    right = paused or [(f"  {_counted(judgement, in_full=width >= 96)}", "$muted")]
    room = width - Content.assemble(*right).cell_length
    return split(width, glyphs, fitting(room, _judged(judgement, arm)), right)


def _waiting(source: SourceState, glyphs: Glyphs) -> Part:
    match source.state:
        case "waiting" | "failed":
            return (clean(source.message, glyphs) or "opening", "$warn bold")
        case "ended":
            why = f": {clean(source.message, glyphs)}" if source.message else ""
            return (f"the source ended without a finished request{why}", "$warn bold")
        case _ if source.message:
            return (clean(source.message, glyphs), "$warn bold")
        case _:
            return ("waiting for the first finished request", "bold")


def _unjudged(view: View, arm: ArmView) -> list[Part]:
    incumbent = view.incumbent
    own, beaten = arm.decode_tok_s, None if incumbent is None else incumbent.decode_tok_s
    if view.basis == "delivered":
        own, beaten = arm.delivered_tok_s, None if incumbent is None else incumbent.delivered_tok_s
    if view.ratio is None:
        said = (incumbent.message if incumbent else "") or "no ratio yet"
        return [(said, "$warn bold"), f"  {numbers.rate(own)} tok/s {view.basis}"]
    style = {"good": "$good bold", "bad": "$bad bold"}.get(numbers.side(view.ratio) or "", "bold")
    return [
        (numbers.ratio(view.ratio), style),
        (", not judged yet", "bold"),
        "   ",
        (f"{numbers.rate(own)} tok/s", "$canary bold"),
        ", incumbent ",
        (numbers.rate(beaten), "$incumbent bold"),
        (f"  {view.basis}", "$muted"),
    ]


def _judged(judgement: Judgement, arm: ArmView) -> list[list[Part]]:
    """Pieces, the most important first."""
    words, style = VERDICTS[judgement.verdict]
    own, beaten = _rate_of(judgement.canary, judgement), _rate_of(judgement.incumbent, judgement)
    if own is None:
        own = arm.delivered_tok_s if judgement.basis == "delivered" else arm.decode_tok_s
    pieces: list[list[Part]] = [[(f" {judgement.verdict} ", style)]]
    if judgement.ratio is None:
        pieces.append([(f" {words}", "bold")])
    else:
        interval = f" {numbers.interval(judgement.interval)}" if judgement.interval else ""
        pieces.append([(f" {numbers.ratio(judgement.ratio)}", "bold"), interval])
    pieces.append([f"  {judgement.basis} ", (numbers.rate(own), "$canary bold")])
    pieces.append([" against ", (numbers.rate(beaten), "$incumbent bold"), " tok/s"])
    if judgement.stratum not in (None, "unknown"):
        pieces.append([(f"  {_stratum(judgement)}", "$muted")])
    return pieces


def _rate_of(judged: Judged, judgement: Judgement) -> float | None:
    return judged.delivered_tok_s if judgement.basis == "delivered" else judged.rate_tok_s


def _stratum(judgement: Judgement) -> str:
    return "alone" if judgement.stratum == "alone" else f"{judgement.stratum} in flight"


def _counted(judgement: Judgement, *, in_full: bool) -> str:
    """Requests of each arm, and how many were left out; in full with the reasons."""
    left_out = Counter(judgement.incumbent.left_out) + Counter(judgement.canary.left_out)
    out = str(sum(left_out.values())) if left_out else ""
    if in_full:
        out = ", ".join(f"{n} {reason}" for reason, n in left_out.items())
    counts = f"n {judgement.incumbent.requests}+{judgement.canary.requests}"
    if judgement.incumbent.n_effective is None:
        counts = f"n {judgement.canary.requests}"
    return f"{counts}, {out} out" if out else counts


def _why(view: View, width: int, glyphs: Glyphs, *, tall: bool) -> Content:
    judgement, arm = view.judgement, view.canary
    if arm is None:
        return line(width, glyphs)
    if judgement is not None and judgement.verdict in _UNDECIDED and not tall:
        return line(width, glyphs, ("why   ", "$muted"), clean(judgement.reason, glyphs))
    return line(width, glyphs, ("why   ", "$muted"), *_reason(arm, glyphs))


def _reason(arm: ArmView, glyphs: Glyphs) -> list[Part]:
    """From what a round commits against what it must."""
    round_ms, commit, needed = arm.steps.round_ms, arm.mean_accepted_length, arm.commit_needed
    if commit.value is None and commit.note == "nothing drafted":
        return ["nothing was drafted: these are plain steps"]
    if commit.value is None:
        return [f"what a round commits is unknown: {clean(commit.note, glyphs)}"]
    takes: list[Part] = []
    if round_ms.value is not None:
        takes = [" takes ", (f"{_whole_ms(round_ms.value)} ms", "bold"), " and"]
    parts: list[Part] = ["a round", *takes, " commits ", (numbers.tokens(commit.value), "bold")]
    if needed.value is None:
        unknown = f"; its time is unknown: {clean(round_ms.note, glyphs)}"
        return parts if takes else [*parts, unknown]
    must = (numbers.tokens(needed.value), "$incumbent bold")
    allowed = arm.most_committed
    if commit.value >= needed.value:
        return [*parts, "; ", must, " would break even"]
    parts += ["; it must commit ", must]
    return parts if allowed is None else [*parts, f", {numbers.depth(arm.depth)} allows {allowed:.0f}"]


def _whole_ms(value: float) -> str:
    return numbers.significant(value, 3)


def _source(scene: Scene, view: View, width: int) -> Content:
    source, glyphs = view.source, scene.glyphs
    name = clean(PurePath(source.name).name or source.name, glyphs)
    if scene.of > 1:
        name = f"{scene.number}/{scene.of} {name}"
    depth = numbers.depth(source.depth)
    server = " ".join(clean(word, glyphs, 40) for word in (source.engine, source.build) if word)
    drafter = " ".join(word for word in (clean(source.drafter or "", glyphs, 40), depth) if word)
    right: list[Part] = []
    for word, style in badges(source):
        right += [" ", (word, style)]
    problems = f"  {numbers.counted(source.problems, 'problem')}" if source.problems else ""
    right += _load(source.load, width)
    counted = f"{source.requests}{'+' if source.unnumbered else ''}"
    right.append((f"  {counted if source.requests or not source.unnumbered else numbers.UNKNOWN} req", ""))
    right.append((problems, "$warn"))
    if source.state != "stale":
        right.append((f"  {numbers.age(source.last_line_age_s)}", "$muted"))
    model = clean(PurePath(source.model or "").name, glyphs, 60)
    words = [word for word in (server, drafter, model) if word]
    left: list[Part] = [(name, "bold"), *((f"  {word}", "$muted") for word in words)]
    return split(width, glyphs, left, right)


def _load(load: Load, width: int) -> list[Part]:
    """What the server is busy with; how full its KV cache is where there is room, or little left of it."""
    words: list[Part] = []
    if load.running:
        words.append((f"  {load.running} running", "$muted"))
    if load.queued:
        words.append((f"  {load.queued} queued", "$warn"))
    used = load.kv_usage or 0.0
    if used >= _NEARLY_FULL or (used and width >= _WIDE):
        words.append((f"  KV {numbers.percent(used, 0)}", "$warn" if used >= _NEARLY_FULL else "$muted"))
    return words


def badges(source: SourceState) -> list[tuple[str, str]]:
    """What is to be known of a source before its numbers are believed: words with their styles."""
    found = []
    if source.state == "stale":
        found.append((f" STALE {numbers.age(source.last_line_age_s)} ", "$warn bold reverse"))
    elif source.state != "live":
        found.append((f" {source.state.upper()} ", "bold reverse"))
    if source.restarted:
        found.append((" RESTARTED ", "$warn bold reverse"))
    if source.synthetic:
        found.append((" SYNTHETIC ", "$warn bold reverse"))
    return found

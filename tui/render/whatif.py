"""The what-if pane: the inputs as a column of levers, and what they give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.model.figures import Figure
from tui.model.steps import UPPER_BOUND, is_upper_bound
from tui.render import depths, numbers
from tui.render.costs import cost_words
from tui.render.levers import LABELS, LeverName, measured_p, value_of
from tui.render.text import beside, clean, line, wrapped

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.content import Content

    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene

INPUTS, ANSWERS, NARROWEST = 27, 33, 18
"""Cells of the two columns of text, and of the narrowest picture beside them."""
_OTHER_DEPTHS = (1, 3, 7)
_TALL = 16
"""Rows from which on the picture goes below the text, over the whole width."""
_PRICED = 13
"""Rows from which on a line more tells where it pays to go on."""


@dataclass(frozen=True, slots=True)
class Cursor:
    """Where the pane's cursor stands.

    Attributes:
        lever: the chosen input; None while the pane has no focus.
        typing: the digits typed so far.
        complaint: why the last value was not taken.
    """

    lever: LeverName | None = None
    typing: str = ""
    complaint: str = ""


def title(scene: Scene) -> str:
    """What the frame says: live, or what was moved."""
    touched = scene.levers.touched()
    costs = ", other depths by profile" if _priced(scene) else ""
    if not touched:
        return f"what if - live{costs}" if scene.view and scene.view.what_if else f"what if{costs}"
    return f"what if - typed: {', '.join(LABELS[name] for name in touched)} (R back to live)"


def picture_size(scene: Scene | None, width: int, height: int) -> tuple[int, int] | None:
    """Cells for the picture: beside the text where that is wide enough, else below it."""
    if width >= INPUTS + ANSWERS + 2 + NARROWEST and height < _TALL:
        return width - INPUTS - ANSWERS - 2, height
    words = (2 if height >= _TALL else 1) + (height >= _PRICED and _priced(scene))
    below = height - max(len(LABELS), _table_height(scene, width, height)) - words
    return (width, below) if below >= 4 else None


def _priced(scene: Scene | None) -> bool:
    """Whether verify passes at other depths are priced with a profile."""
    return scene is not None and scene.cost is not None and scene.what.profile is not None


def _table_height(scene: Scene | None, width: int, height: int) -> int:
    """Rows of the table of depths; 0 where it has no place beside the answers."""
    if not _priced(scene) or height < _TALL or width < INPUTS + ANSWERS + depths.TABLE + 2:
        return 0
    reached = len(scene.what.profile or ()) - 1 if scene is not None else 0
    return min(reached + 2, max(len(LABELS), height // 2))


def draw(scene: Scene, cursor: Cursor, picture: list[Content], width: int, height: int) -> list[Content]:
    """Inputs beside answers; words and the picture beside or below.

    Args:
        scene: what is shown.
        cursor: where the pane's cursor stands.
        picture: as drawn last, of `picture_size`; may be empty.
        width: cells.
        height: rows.
    """
    glyphs = scene.glyphs
    inputs = [_input(scene, name, cursor, glyphs) for name in LABELS]
    answers = _answers(scene, glyphs, roomy=height > len(LABELS) + 4)
    table = _table_height(scene, width, height)
    strip = None if table else depths.strip(scene, width)
    if strip is not None and len(answers) > len(LABELS):
        answers = _answers(scene, glyphs, roomy=False)
    size = picture_size(scene, width, height)
    is_beside = size is not None and size[1] == height
    blocks = [(inputs, INPUTS), (answers, ANSWERS)]
    if size is not None and is_beside:
        blocks.append((picture, size[0]))
    if table:
        blocks.append((depths.table(scene, table), depths.TABLE))
    lines = beside(blocks, glyphs)
    last = height - (0 if size is None or is_beside else size[1])
    if cursor.complaint and last <= len(lines):
        lines = [*lines[: last - 1], line(width, glyphs, (cursor.complaint, "$warn bold"))]
    if strip is not None and last - len(lines) > 1:
        lines.append(strip)
    for text, style in _notes(scene, cursor):
        rows = wrapped(clean(text, glyphs), width, min(2, last - len(lines)), glyphs)
        lines += [line(width, glyphs, (row, style)) for row in rows]
    if size is not None and not is_beside:
        lines = [*lines[:last], *[line(width, glyphs)] * (last - len(lines)), *picture]
    return [line(width, glyphs, row) for row in lines[:height]]


def lever_at(y: int) -> LeverName | None:
    """The input on a line of the pane."""
    names = list(LABELS)
    return names[y] if 0 <= y < len(names) else None


def _input(scene: Scene, name: LeverName, cursor: Cursor, glyphs: Glyphs) -> Content:
    chosen = cursor.lever == name
    value, said = _value(scene, name)
    if chosen and cursor.typing:
        value, said = f"{cursor.typing[-14:]}_", "Enter"
    moved = name in scene.levers.touched()
    style = "reverse bold" if chosen else "$draft bold" if moved else "bold"
    pointer = glyphs.cursor if chosen else " "
    return line(
        INPUTS,
        glyphs,
        (f"{pointer}{LABELS[name]:<9}", "bold" if chosen else "$muted"),
        (f"{value:>7}" if chosen or value != numbers.UNKNOWN else f" {value}", style),
        (f" {clean(said, glyphs)}", "$muted"),
    )


def _value(scene: Scene, name: LeverName) -> tuple[str, str]:
    """The value as it is written, and what is said beside it."""
    what = scene.what
    if name == "acceptance" and what.acceptance is None and what.conditional:
        return "each", " ".join(numbers.p(chance) for chance in what.conditional)
    if name in scene.levers.touched():
        return _written(name, getattr(what, name)), "typed"
    match name:
        case "depth":
            return _depth(scene)
        case "acceptance" if what.acceptance is None:
            arm = scene.view.canary if scene.view else None
            return ("live", numbers.acceptance(arm.acceptance)) if arm is not None else ("--", "")
        case "target_step_ms" | "draft_step_ms" | "verify_factor":
            return _cost(scene, name)
        case "incumbent_tok_s":
            kind = (
                scene.incumbent.kind if scene.incumbent else "typed" if what.incumbent_tok_s else "b sets it"
            )
            return _written(name, what.incumbent_tok_s), kind
        case "coverage":
            arm = scene.view.canary if scene.view else None
            known = what.measured is not None and arm is not None and arm.coverage.value is not None
            said = "measured" if known else "assumed" if scene.view else "typed"
            return _written(name, what.coverage), said
        case "drafter_class":
            arm = scene.view.canary if scene.view else None
            said = (
                arm.drafter_class_from if arm and arm.drafter_class else "assumed" if scene.view else "typed"
            )
            return what.drafter_class, said
        case _:
            return _written(name, getattr(what, name)), "typed"


def _cost(scene: Scene, name: LeverName) -> tuple[str, str]:
    """A time or v; what the log did not measure may be the profile's."""
    what, cost = scene.what, scene.cost
    figure: Figure = getattr(what, name)
    if cost is not None and cost.typed and name == "target_step_ms":
        from_profile = figure.value is not None and figure.value == cost.profile.target_step_ms
        return _written(name, figure), "profile" if from_profile else _said(figure)
    if name != "verify_factor" or cost is None or not what.profile or what.depth >= len(what.profile):
        return _written(name, figure), _said(figure)
    measured = measured_pass(scene)
    if measured is not None and measured[0] == what.depth + 1:
        return _written(name, figure), _said(figure)
    return _written(name, what.profile[what.depth]), "profile?" if cost.doubts else "profile"


def measured_pass(scene: Scene) -> tuple[int, float] | None:
    """Tokens of the verify pass that the log measured, and its cost in plain steps."""
    live, v = scene.what.measured, scene.what.verify_factor
    if live is None or v.value is None or v.provenance not in ("measured", "derived"):
        return None
    return live.depth + 1, v.value


def _depth(scene: Scene) -> tuple[str, str]:
    if scene.view is None:
        return str(scene.what.depth), "typed"
    if scene.view.what_if is None:
        return str(scene.what.depth), "assumed"
    known = scene.view.source.depth
    return str(scene.what.depth), numbers.mark(known)


def _said(figure: Figure) -> str:
    if figure.value is None:
        return figure.note
    return UPPER_BOUND if is_upper_bound(figure) else numbers.mark(figure)


def _written(name: LeverName, value: Figure | float | str | None) -> str:
    if isinstance(value, Figure):
        value = value.value
    if isinstance(value, str):
        return value
    write: dict[LeverName, Callable[[float | None], str]] = {
        "depth": numbers.count,
        "acceptance": numbers.p,
        "verify_factor": numbers.factor,
        "coverage": numbers.percent,
        "incumbent_tok_s": numbers.rate,
    }
    return write.get(name, numbers.ms)(value)


def _answers(scene: Scene, glyphs: Glyphs, *, roomy: bool) -> list[Content]:
    what, given = scene.what, scene.answer
    about = "~" if given.approximate else ""
    speedup = numbers.span(given.speedup, numbers.factor)
    style = {"good": "$good bold", "bad": "$bad bold"}.get(_side(scene) or "", "bold")
    tokens = numbers.tokens(given.expected_tokens)
    commits = f"{about if tokens != numbers.UNKNOWN else ''}{tokens}"
    rate = numbers.span(given.rate_tok_s, numbers.rate)
    rows: list[tuple[str, Sequence[tuple[str, str]]]] = [
        (
            "tok/s",
            [(f"{about if given.rate_tok_s else ''}{rate}", "$canary bold"), (f"  {_x(speedup)}", style)],
        ),
        ("round ms", [(numbers.span(given.round_ms, numbers.ms), "bold")]),
        (
            "commits",
            [(commits, "bold"), (f" needs {numbers.span(given.commit_needed, numbers.tokens)}", "$muted")],
        ),
    ]
    rows.append((f"p* K={what.depth}", [(_break_even(scene, what.depth), "$incumbent bold")]))
    best = numbers.UNKNOWN if given.best_depth is None else f"K={given.best_depth}"
    beside_it = "" if roomy else f"  best {best}"
    room = given.head_room if _knows_p(scene) else None
    rows.append(("p - p*", [(numbers.span(room, _signed), ""), (beside_it, "$muted")]))
    rows += [(f"p* K={k}", [(_break_even(scene, k), "")]) for k in _OTHER_DEPTHS if k != what.depth]
    if roomy:
        at_best = f", {numbers.rate(given.best_rate_tok_s)} tok/s" if given.best_depth is not None else ""
        rows.append(("best", [(best, ""), (at_best, "")]))
    return [line(ANSWERS, glyphs, (f"{label:<9}", "$muted"), *parts) for label, parts in rows]


def _knows_p(scene: Scene) -> bool:
    """Whether p is set or measured, a range at least: where the depth is a guess, so would be a p by it."""
    arm = scene.view.canary if scene.view is not None else None
    return value_of(scene.what, "acceptance") is not None or arm is None or arm.acceptance.high is not None


def _break_even(scene: Scene, depth: int) -> str:
    what, given = scene.what, scene.answer
    span = given.break_even if depth == what.depth else given.break_even_at.get(depth)
    measured = what.measured
    deeper = measured is not None and depth > measured.depth and what.verify_factor.provenance != "typed"
    return numbers.root_span(span, open_ended=deeper)


def _x(speedup: str) -> str:
    return speedup if speedup == numbers.UNKNOWN else f"{speedup}x"


def _signed(value: float | None) -> str:
    text = numbers.p(value)
    return text if value is None or value <= 0 else f"+{text}"


def _side(scene: Scene) -> numbers.Side | None:
    """Good or bad only where the whole span is on one side of 1."""
    speedup = scene.answer.speedup
    if speedup is None:
        return None
    low, high = numbers.side(speedup.low), numbers.side(speedup.high)
    return low if low == high else None


def _notes(scene: Scene, cursor: Cursor) -> list[tuple[str, str]]:
    notes = []
    if cursor.complaint:
        notes.append((cursor.complaint, "$warn bold"))
    assumed = [LABELS.get(name, name) for name in scene.answer.assumed]  # type: ignore[call-overload]  # any field
    if assumed:
        notes.append((f"assumed: {', '.join(assumed)}", "$warn"))
    if scene.cost is not None and _priced(scene):
        notes += [(doubt, "$warn") for doubt in scene.cost.doubts]
    if scene.view is not None and scene.view.fixed_cost:
        notes.append((scene.view.fixed_cost, "$warn"))
    if scene.cost is not None and _priced(scene):
        notes.append((f"other depths are priced with {cost_words(scene.cost)}", "$muted"))
    if scene.answer.replaces:
        notes.append((f"to measure it: {scene.answer.replaces}", "$muted"))
    return notes


def p_in_force(scene: Scene) -> float | None:
    """The p that the picture marks: the one set, else the measured one."""
    p = value_of(scene.what, "acceptance")
    return p if p is not None else measured_p(scene.view)

"""All sources at a glance, a row each, those that need attention first."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rich.cells import cell_len
from textual.content import Content

from tui.render import numbers
from tui.render.headline import VERDICTS, badges
from tui.render.text import clean, fit, line, padded, split

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tui.render.glyphs import Glyphs
    from tui.render.text import Part
    from tui.session.snapshot import View

NARROWEST = 15
"""Cells that a source's name has in any case."""
_NO_INCUMBENT = "no incumbent"
_RANKS = {"FAIL": 0, "INCONCLUSIVE": 1, "NO_DATA": 1, _NO_INCUMBENT: 1, "EVEN": 2, "PASS": 3}


@dataclass(frozen=True)
class Fleet:
    """What the fleet view shows.

    Attributes:
        views: in the order of the sources.
        chosen: the name of the source that the cursor is on; empty for whichever comes first.
        paused: finished requests since the screen was paused; None while it is not.
    """

    views: tuple[View, ...]
    chosen: str
    glyphs: Glyphs
    paused: int | None = None

    @cached_property
    def order(self) -> tuple[int, ...]:
        """Places of the views, what needs attention first; equals stay in the order of the sources."""
        return tuple(sorted(range(len(self.views)), key=lambda place: _rank(self.views[place])))

    @cached_property
    def at(self) -> int:
        """The row of the cursor."""
        names = [self.views[place].source.name for place in self.order]
        return names.index(self.chosen) if self.chosen in names else 0

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The sources' short names, in the order of the sources."""
        return short_names(tuple(view.source.name for view in self.views))


def _rank(view: View) -> tuple[int, int]:
    """What cannot be read comes first, then what has gone silent; in each the worst verdict."""
    return {"failed": 0, "stale": 1}.get(view.source.state, 2), _RANKS[verdict(view)]


def verdict(view: View) -> str:
    """The verdict's word, or why there is none."""
    if view.judgement is not None:
        return view.judgement.verdict
    return "NO_DATA" if view.incumbent is not None or view.canary is None else _NO_INCUMBENT


@lru_cache(maxsize=1)
def short_names(names: tuple[str, ...]) -> tuple[str, ...]:
    """Each name by its last parts, as many as tell it from all others."""
    parts = [_parts(name) for name in names]
    short = []
    for mine in parts:
        alike = [other for other in parts if other is not mine]
        enough = (n for n in range(1, len(mine)) if all(other[-n:] != mine[-n:] for other in alike))
        short.append(str(PurePath(*mine[-next(enough, len(mine)) :])))
    return tuple(short)


def _parts(name: str) -> tuple[str, ...]:
    if name.startswith(("http://", "https://")):
        return (urlsplit(name).netloc,)
    return PurePath(name).parts or (name,)


def _drafter(view: View) -> str:
    name, depth, arm = view.source.drafter, view.source.depth.value, view.canary
    if name is not None:
        return name if depth is None else f"{name} K={depth:.0f}"
    drafts = arm is None or arm.drafted > 0 or arm.mean_accepted_length.value is not None
    return numbers.UNKNOWN if drafts else "none"


def _rate(view: View) -> str:
    """The canary's rate as it was compared; d marks a delivered one."""
    arm, judgement, delivered = view.canary, view.judgement, view.basis == "delivered"
    if arm is None:
        return numbers.UNKNOWN
    value = arm.delivered_tok_s if delivered else arm.decode_tok_s
    if judgement is not None:
        judged = judgement.canary.delivered_tok_s if delivered else judgement.canary.rate_tok_s
        value = value if judged is None else judged
    return _marked(value, delivered=delivered)


def _beaten(view: View) -> str:
    incumbent, judgement, delivered = view.incumbent, view.judgement, view.basis == "delivered"
    if incumbent is None:
        return numbers.UNKNOWN
    value = incumbent.delivered_tok_s if delivered else incumbent.decode_tok_s
    if judgement is not None:
        judged = judgement.incumbent.delivered_tok_s if delivered else judgement.incumbent.rate_tok_s
        value = value if judged is None else judged
    return _marked(value, delivered=delivered)


def _marked(rate: float | None, *, delivered: bool) -> str:
    return numbers.rate(rate) + ("d" if delivered and rate is not None else "")


def _state(view: View, width: int) -> str:
    """The badges' words, as many as fit; + stands for those that do not."""
    words = [word.strip() for word, _ in badges(view.source)] or [numbers.age(view.source.last_line_age_s)]
    shown = words[0]
    for n, word in enumerate(words[1:], start=1):
        if len(f"{shown} {word}") + (n < len(words) - 1) > width:
            return f"{shown}+"
        shown = f"{shown} {word}"
    return shown


@dataclass(frozen=True, slots=True)
class _Column:
    """One column between the source and its state.

    Attributes:
        width: cells, the space before it included.
        style: of a cell with that text.
    """

    head: str
    width: int
    cell: Callable[[View], str]
    left: bool = False
    style: Callable[[View], str] = lambda _: ""


def _verdict_style(view: View) -> str:
    _, style = VERDICTS.get(verdict(view), ("", "$warn bold"))
    return style.removesuffix(" reverse")


def _ratio_style(view: View) -> str:
    """A ratio has the colour of a verdict that was reached, none before."""
    return _verdict_style(view) if verdict(view) in ("PASS", "FAIL") else "bold"


_COLUMNS = (
    _Column("engine", 11, lambda view: view.source.engine or numbers.UNKNOWN, left=True),
    _Column("drafter", 20, _drafter, left=True),
    _Column("p", 10, lambda view: numbers.acceptance(view.canary.acceptance) if view.canary else "--"),
    _Column(
        "commit",
        8,
        lambda view: numbers.tokens(view.canary.mean_accepted_length.value if view.canary else None),
    ),
    _Column(
        "round ms", 10, lambda view: numbers.ms(view.canary.steps.round_ms.value if view.canary else None)
    ),
    _Column("tok/s", 8, _rate, style=lambda _: "$canary"),
    _Column("to beat", 9, _beaten, style=lambda _: "$incumbent"),
    _Column("ratio", 8, lambda view: numbers.ratio(view.ratio), style=_ratio_style),
    _Column("verdict", 14, verdict, left=True, style=_verdict_style),
)
_STATE = 12
_GIVE_WAY = ("to beat", "engine", "drafter", "round ms", "commit", "p")
"""Columns that are left out where there is no room, the first one first."""


def title(fleet: Fleet, width: int) -> Content:
    """How many sources there are, by verdict, and what they are held against."""
    found = Counter(verdict(view) for view in fleet.views)
    counts = [
        (f"{found[word]} {word}", VERDICTS.get(word, ("", "$warn bold"))[1]) for word in _RANKS if found[word]
    ]
    left: list[Part] = [("fleet", "$accent bold"), f"  {len(fleet.views)} sources"]
    for text, style in counts:
        left += ["  ", (text, style.removesuffix(" reverse"))]
    labels = {view.incumbent.label if view.incumbent else "" for view in fleet.views}
    right: Part = ""
    if fleet.paused is not None:
        right = (f" PAUSED +{fleet.paused} ", "$warn bold reverse")
    elif len(labels) == 1 and "" not in labels:
        right = (f"against {clean(labels.pop(), fleet.glyphs, 40)}", "$muted")
    elif len(labels) > 1:
        right = ("not all against the same", "$muted")
    if right and any(view.basis == "delivered" for view in fleet.views):
        right = Content.assemble(right, ("; d delivered", "$muted"))
    fits = Content.assemble(*left, "  ", right).cell_length <= width
    return split(width, fleet.glyphs, left, [right] if fits or fleet.paused is not None else [])


def table(fleet: Fleet, top: int, width: int, height: int) -> list[Content]:
    """The head, and the rows from `top` on, each of exactly `width` cells."""
    columns = list(_COLUMNS)
    for head in _GIVE_WAY:
        if 1 + NARROWEST + _width(columns) + _STATE <= width:
            break
        columns = [column for column in columns if column.head != head]
    room = width - 1 - _width(columns)
    longest = max((cell_len(clean(name, fleet.glyphs)) for name in fleet.names), default=0)
    named = min(max(NARROWEST, longest), max(NARROWEST, room - _STATE))
    heads = "".join(map(_head, columns))
    lines = [line(width, fleet.glyphs, (f" {'source':<{named}}{heads}  state", "$muted"))]
    for row in range(top, min(len(fleet.order), top + height - 1)):
        place = fleet.order[row]
        lines.append(_row(fleet, place, columns, named, room - named - 2, width, chosen=row == fleet.at))
    return lines


def _width(columns: Sequence[_Column]) -> int:
    return sum(column.width for column in columns)


def _row(
    fleet: Fleet, place: int, columns: Sequence[_Column], named: int, state: int, width: int, *, chosen: bool
) -> Content:
    view, glyphs = fleet.views[place], fleet.glyphs
    parts: list[Part] = [
        glyphs.cursor if chosen else " ",
        _name(fleet.names[place], named, glyphs).stylize("bold"),
        *((_cell(column, view, glyphs), column.style(view)) for column in columns),
        ("  " + _state(view, state), _state_style(view)),
    ]
    shown = line(width, glyphs, *parts)
    return Content.styled(shown.plain, "reverse") if chosen else shown


def _cell(column: _Column, view: View, glyphs: Glyphs) -> str:
    text = clean(column.cell(view), glyphs)
    if column.left:
        return "  " + padded(text, column.width - 2, glyphs)
    return f"{text:>{column.width}}"


def _head(column: _Column) -> str:
    return f"  {column.head:<{column.width - 2}}" if column.left else f"{column.head:>{column.width}}"


def _name(name: str, width: int, glyphs: Glyphs) -> Content:
    """A name; what does not fit is cut from its left, since the end tells more."""
    shown = Content(clean(name, glyphs))
    if shown.cell_length <= width:
        return fit(shown, width, glyphs)
    while shown.cell_length >= width:
        shown = shown[1:]
    return fit(Content(glyphs.ellipsis) + shown, width, glyphs)


def _state_style(view: View) -> str:
    if view.source.state == "failed":
        return "$bad bold"
    found = badges(view.source)
    return found[0][1].removesuffix(" reverse") if found else "$muted"

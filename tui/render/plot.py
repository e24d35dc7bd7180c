"""Pictures by plotext: rate over p, rate over K, verify cost over its size, and the ratio's history.

plotext has one figure for the whole process, paints a ground of its own and frames in characters outside
ASCII: so it is cleared and set up for each picture, its colours serve only as tags that become the theme's,
and its frame is translated. Importing it takes long; nothing is drawn before `load` was called.
"""

from __future__ import annotations

import dataclasses
import importlib
import math
import re
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from textual.content import Content

from tui.model.whatif import ASSUMED_VERIFY_FACTOR, DEPTHS, rate_of
from tui.render import numbers
from tui.render.glyphs import FRAME_TO_ASCII
from tui.render.text import fit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.cost import Profile
    from tui.model.figures import Span
    from tui.model.whatif import WhatIf
    from tui.render.glyphs import Glyphs
    from tui.session.snapshot import HistoryPoint

_TAGS = {1: "$canary", 2: "$muted", 3: "$incumbent", 4: "$draft bold"}
_CURVE, _BOUND, _INCUMBENT, _HERE = _TAGS
_SGR = re.compile(r"\x1b\[([0-9;]*)m")
_LONGEST_DEPTH = 16
"""Depths on the picture over K, unless the one in force is deeper."""


def load() -> None:
    """Import plotext; takes a good part of a second on a busy machine."""
    importlib.import_module("plotext")


def loaded() -> bool:
    """Whether pictures can be drawn without waiting for an import."""
    return "plotext" in sys.modules


@lru_cache(maxsize=8)
def rate_over_p(what: WhatIf, p_now: float | None, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    """Rate over p at this depth, with the incumbent's line, their crossing and the present p.

    Args:
        what: the inputs; their p is the picture's axis.
        p_now: the p in force, drawn as a vertical line; None draws none.
        width: cells.
        height: rows.
        glyphs: the characters to draw with.
    """
    steps = max(8, min(40, width))
    ps = [i / steps for i in range(steps + 1)]
    spans = [rate_of(dataclasses.replace(what, acceptance=p)) for p in ps]
    return _rates(
        ps, spans, what.incumbent_tok_s, p_now, ([0, 0.5, 1], ["p 0", ".5", "1"]), (width, height), glyphs
    )


@lru_cache(maxsize=8)
def rate_over_depth(what: WhatIf, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    """Rate over K at this p, with the incumbent's line and the present depth."""
    last = max(_LONGEST_DEPTH, min(DEPTHS.stop - 1, what.depth + 4))
    ks = [float(k) for k in range(1, last + 1)]
    spans = [rate_of(dataclasses.replace(what, depth=int(k))) for k in ks]
    ticks = [1, last // 2, last]
    labels = [f"K {ticks[0]}", *(str(k) for k in ticks[1:])]
    return _rates(ks, spans, what.incumbent_tok_s, what.depth, (ticks, labels), (width, height), glyphs)


@lru_cache(maxsize=8)
def verify_cost(
    profile: Profile | None,
    measured: tuple[int, float] | None,
    depth: int,
    width: int,
    height: int,
    glyphs: Glyphs,
) -> list[Content]:
    """T(n)/T(1) over the tokens of a pass, with the usual assumption as a line and the present depth.

    Args:
        profile: what is known of it.
        measured: tokens and cost of the pass that this log measured, in plain steps.
        depth: K, whose pass is over K + 1 tokens.
        width: cells.
        height: rows.
        glyphs: the characters to draw with.
    """
    if profile is None:
        return _message("no profile of verify costs: v loads one", width, height, glyphs)
    points = [(n, y) for n, y in zip(profile.batch, profile.time_ratio, strict=True) if n <= DEPTHS.stop]
    last = points[-1][0]
    marked = [measured] if measured is not None and measured[0] <= last else []
    highest = max(y for _, y in (*points, *marked)) * 1.08
    figure = _figure(width, height)
    _curve(figure, [float(n) for n, _ in points], [y for _, y in points], _CURVE, glyphs)
    figure.line(ASSUMED_VERIFY_FACTOR, "h", pixel=_pixel(_INCUMBENT))
    if depth + 1 <= last:
        figure.line(float(depth + 1), "v", pixel=_pixel(_HERE))
    plotext = importlib.import_module("plotext")
    for n, y in marked:
        figure.draw(figure.signal([float(n)], [y], marker=plotext.marker(glyphs.spot, _pixel(_HERE))))
    middle = (1 + last) // 2
    ticks = sorted({1, middle, last})
    _rulers(
        figure,
        x=(ticks, [f"n {ticks[0]}", *(str(n) for n in ticks[1:])], (1.0, float(last))),
        y=_ticks([(0.0, "0"), (ASSUMED_VERIFY_FACTOR, ""), (highest, "")], 0.0, highest, numbers.factor),
    )
    return _lines(figure, width, height, glyphs)


@lru_cache(maxsize=4)
def ratio_history(
    history: tuple[HistoryPoint, ...], width: int, height: int, glyphs: Glyphs
) -> list[Content]:
    """The ratio as requests came in, with its interval shrinking around it, and the line at 1."""
    if not history:
        return _message("no ratio yet", width, height, glyphs)
    values = [y for point in history for y in (point.ratio, *(point.interval or ()))]
    low, high = min([*values, 1.0]), max([*values, 1.0])
    low, high = max(0.0, low - 0.05), min(high + 0.05, 3 * max(1.0, history[-1].ratio))
    history = _thinned(history, 2 * width)
    judged = [point for point in history if point.interval is not None]
    figure = _figure(width, height)
    for end in (0, 1):
        ends = [point.interval[end] for point in judged if point.interval is not None]
        _curve(figure, [float(point.requests) for point in judged], ends, _BOUND, glyphs)
    xs = [float(point.requests) for point in history]
    _curve(figure, xs, [point.ratio for point in history], _CURVE, glyphs)
    figure.line(1.0, "h", pixel=_pixel(_INCUMBENT))
    _rulers(
        figure,
        x=([xs[0], xs[-1]], [f"{xs[0]:.0f}", f"{xs[-1]:.0f} req"], (xs[0], max(xs[-1], xs[0] + 1))),
        y=_ticks(_ends(low, high), low, high, numbers.ratio),
    )
    return _lines(figure, width, height, glyphs)


def _thinned(history: tuple[HistoryPoint, ...], most: int) -> tuple[HistoryPoint, ...]:
    """A point for each dot across, with the first and the last; plotext takes its time for each point."""
    first, last = history[0].requests, history[-1].requests
    span = max(1, last - first)
    by_dot = {(point.requests - first) * most // span: point for point in reversed(history)}
    return tuple(reversed(by_dot.values()))


def _rates(
    xs: Sequence[float],
    spans: Sequence[Span | None],
    incumbent: float | None,
    here: float | None,
    ticks: tuple[Sequence[float], Sequence[str]],
    size: tuple[int, int],
    glyphs: Glyphs,
) -> list[Content]:
    width, height = size
    known = [(x, span) for x, span in zip(xs, spans, strict=True) if span is not None]
    if not known:
        return _message("no picture: costs unknown", width, height, glyphs)
    ends = [end for _, span in known for end in (span.low, span.high) if math.isfinite(end)]
    highest = max([*ends, incumbent or 0.0]) * 1.08 or 1.0
    figure = _figure(width, height)
    if any(not span.exact for _, span in known):
        low = [(x, span.low) for x, span in known if span.low > 0]
        _curve(figure, [x for x, _ in low], [y for _, y in low], _BOUND, glyphs)
    # An end that may be anything is no curve.
    high = [(x, span.high) for x, span in known if math.isfinite(span.high)]
    _curve(figure, [x for x, _ in high], [y for _, y in high], _CURVE, glyphs)
    if incumbent is not None:
        figure.line(incumbent, "h", pixel=_pixel(_INCUMBENT))
    if here is not None:
        figure.line(here, "v", pixel=_pixel(_HERE))
    wanted = [(0.0, "0"), (highest, "")]
    if incumbent is not None:
        wanted.append((incumbent, numbers.rate(incumbent)))
    _rulers(
        figure,
        x=(list(ticks[0]), list(ticks[1]), (xs[0], xs[-1])),
        y=_ticks(wanted, 0.0, highest, numbers.rate),
    )
    return _lines(figure, width, height, glyphs)


def _ends(low: float, high: float) -> list[tuple[float, str]]:
    """The line at 1, and the ends that are not too near to it."""
    apart = 0.2 * (high - low)
    return [(1.0, "1x"), *((end, "") for end in (low, high) if abs(end - 1) > apart)]


def _ticks(
    wanted: list[tuple[float, str]], low: float, high: float, write: numbers.Write
) -> tuple[list[float], list[str], tuple[float, float]]:
    return [at for at, _ in wanted], [label or write(at) for at, label in wanted], (low, high)


def _message(text: str, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    blank = fit(Content(""), width, glyphs)
    middle = fit(Content.styled(text, "$muted"), width, glyphs)
    return [middle if y == height // 2 else blank for y in range(height)]


def _figure(width: int, height: int) -> Any:  # plotext is untyped
    figure = importlib.import_module("plotext").figure
    figure.clear()
    figure.theme("colorless")
    figure.canvas("default")
    figure.plot_size(width, height)
    figure.axes(True, axis=[0, 1], side=[0])
    figure.axes(False, axis=[0, 1], side=[1])
    return figure


def _pixel(tag: int) -> Any:
    return importlib.import_module("plotext").pixel(tag)


def _curve(figure: Any, xs: Sequence[float], ys: Sequence[float], tag: int, glyphs: Glyphs) -> None:
    if xs:
        marker = importlib.import_module("plotext").marker(glyphs.plot, _pixel(tag))
        signal = figure.signal(list(xs), list(ys), marker=marker)
        signal.lines()
        figure.draw(signal)


def _rulers(
    figure: Any,
    x: tuple[Sequence[float], Sequence[str], tuple[float, float]],
    y: tuple[Sequence[float], Sequence[str], tuple[float, float]],
) -> None:
    for axis, (ticks, labels, limits) in (("x", x), ("y", y)):
        ruler = figure.ruler(axis)
        ruler.lim(*limits)
        ruler.ticks(list(ticks), list(labels))


def _lines(figure: Any, width: int, height: int, glyphs: Glyphs) -> list[Content]:
    """The picture as lines in the theme's colours."""
    lines = []
    for raw in figure.build().string().rstrip("\n").split("\n")[:height]:
        parts: list[tuple[str, str]] = []
        style = "$muted"
        position = 0
        for escape in _SGR.finditer(raw):
            parts.append((raw[position : escape.start()], style))
            style = _style(escape[1], style)
            position = escape.end()
        parts.append((raw[position:], style))
        if glyphs.ascii:
            parts = [(text.translate(FRAME_TO_ASCII), style) for text, style in parts]
        lines.append(fit(Content.assemble(*parts), width, glyphs))
    return lines


def _style(codes: str, before: str) -> str:
    """The style that a colour tag stands for; a reset leaves the frame's."""
    numbers_in = [int(code) for code in codes.split(";") if code]
    if numbers_in in ([], [0]):
        return "$muted"
    if numbers_in[:2] == [38, 5]:
        return _TAGS.get(numbers_in[2], "$muted")
    return before

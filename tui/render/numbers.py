"""How numbers are written: one place, so that the same number looks the same everywhere.

Unknown is `--`, never 0. Units are said by the labels around, except where a function says otherwise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tui.model.acceptance import Acceptance
    from tui.model.figures import Figure, Root, RootSpan, Span

UNKNOWN = "--"
_LEAST = 0.001
Write = Callable[[float | None], str]


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many significant digits, but all digits before the point and few behind it."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    if value == 0:
        return "0"
    if 0 < value < _LEAST:
        return f"<{_LEAST:g}"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    rounded = round(value, decimals)
    if abs(rounded) >= 10 ** (digits - decimals):  # 9.996 rounds up into another digit
        decimals = max(0, decimals - 1)
    return f"{rounded:.{decimals}f}"


def depth(figure: Figure) -> str:
    """K=3, K>=2 where the log gives only the least it can be, or nothing."""
    if figure.value is None:
        return ""
    return f"K{'>=' if figure.provenance == 'derived' else '='}{figure.value:.0f}"


def rate(value: float | None) -> str:
    """tok/s."""
    return significant(value, 3)


def tokens(value: float | None) -> str:
    """Tokens a round commits: two decimals."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{value:.2f}"


def ms(value: float | None) -> str:
    """Milliseconds: tenths, below 1 hundredths, from 1000 whole."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    decimals = 0 if abs(value) >= 999.95 else 2 if abs(value) < 1 else 1
    return f"{value:.{decimals}f}"


def factor(value: float | None) -> str:
    """A factor such as v: two decimals, from 10 one."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"


def ratio(value: float | None) -> str:
    """Canary over incumbent, with its sign: "0.55x"."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{factor(value)}x"


def interval(ends: tuple[float, float] | None) -> str:
    """Both ends of a ratio's interval; empty without one."""
    return "" if ends is None else f"[{factor(ends[0])}, {factor(ends[1])}]"


def percent(value: float | None, decimals: int = 1) -> str:
    """A fraction as percent, with its unit."""
    return UNKNOWN if value is None or not math.isfinite(value) else f"{100 * value:.{decimals}f} %"


def p(value: float | None) -> str:
    """An acceptance p: two decimals without the leading zero; 1 stays 1.00."""
    if value is None or not math.isfinite(value):
        return UNKNOWN
    text = f"{value:.2f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def acceptance(value: Acceptance) -> str:
    """P as a point, else as a range or a bound, else `--`."""
    if value.point is not None:
        return p(value.point)
    if value.low is None and value.high is None:
        return UNKNOWN
    if value.low is None:
        return f"<= {p(value.high)}"
    if value.high is None:
        return f">= {p(value.low)}"
    return p(value.low) if p(value.low) == p(value.high) else f"{p(value.low)}-{p(value.high)}"


def root(value: Root) -> str:
    """A break-even p, or that it always or never pays."""
    return value if isinstance(value, str) else p(value)


def root_span(span: RootSpan | None, *, open_ended: bool = False) -> str:
    """A break-even p between the cheapest and the dearest round.

    Args:
        span: None where the inputs do not settle it.
        open_ended: the dearest round is not known at all, so only the lower end says something.
    """
    if span is None:
        return UNKNOWN
    low, high = root(span.low), root(span.high)
    if low == high:
        return low
    if span.low == "always" and span.high == "never":
        return UNKNOWN
    if span.low == "always":
        return f"<= {high}"
    if span.high == "never" and open_ended:
        return f">= {low}"
    return f"{low}..{high}" if span.high == "never" else f"{low}-{high}"


def span(value: Span | None, write: Write) -> str:
    """A number that is exact, lies between two, or is only bounded."""
    if value is None:
        return UNKNOWN
    if math.isinf(value.high):
        return UNKNOWN if math.isinf(value.low) else f">= {write(value.low)}"
    low, high = write(value.low), write(value.high)
    if low == high:
        return low
    return f"<= {high}" if value.low == 0 or math.isinf(value.low) else f"{low}..{high}"


def figure(value: Figure, write: Write) -> str:
    """The figure's number; the reason for `--` is `why`."""
    return write(value.value)


def mark(value: Figure) -> str:
    """Where the number comes from, in a word; for an unknown one nothing."""
    return value.provenance or ""


def why(value: Figure) -> str:
    """What is to be said beside a figure: its note, else where it comes from."""
    return value.note or mark(value)


def age(seconds: float | None) -> str:
    """How long ago, in its largest unit."""
    if seconds is None:
        return UNKNOWN
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{int(max(0.0, seconds))}s"


def count(value: float | None) -> str:
    """A whole number."""
    return UNKNOWN if value is None else f"{value:.0f}"


Side = Literal["good", "bad", "even"]


def counted(number: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{number} {noun}{'' if number == 1 else 's'}"


def side(value: float | None) -> Side | None:
    """On which side of 1 a ratio falls as it is written."""
    if value is None or not math.isfinite(value):
        return None
    shown = round(value, 2)
    return "good" if shown > 1 else "bad" if shown < 1 else "even"

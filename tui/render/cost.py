"""A cost profile as a table, a picture and the settings that follow from it."""

from __future__ import annotations

import io
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tui.formats.events import harmless
from tui.model.cost import Fit, NoFit
from tui.model.whatif import ASSUMED_VERIFY_FACTOR, DEPTHS
from tui.render import numbers
from tui.render.glyphs import ASCII, FRAME_TO_ASCII, UNICODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.cost import Profile
    from tui.model.thresholds import NearestFlags, Threshold, Thresholds

WIDTH = 80
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_COLUMNS = "   n     T ms   T/T(1)  per tok   +1 tok    K  needs  alone  reach  given  go on"
_SVG = """<svg viewBox="0 0 {terminal_width} {terminal_height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-family: sans-serif; font-size: 18px; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
<rect width="100%" height="100%" fill="#fff"/>
<g clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


@dataclass(frozen=True, slots=True)
class Analysis:
    """All that is told of one profile.

    Attributes:
        target_step_ms: t_s, typed or the profile's own; None where only ratios are known.
    """

    profile: Profile
    fit_two: Fit | NoFit
    fit_three: Fit | NoFit
    vector: Thresholds
    flags: NearestFlags
    target_step_ms: float | None


def report(analyses: Sequence[Analysis], *, ascii_only: bool) -> str:
    """Tables with what follows from them, then one picture of all profiles; no row is wider than 80."""
    blocks = [line for found in analyses for line in (*table(found), *findings(found), "")]
    return "\n".join(
        _plain(line, ascii_only) for line in (*blocks, *picture(analyses, ascii_only=ascii_only))
    )


def svg(analyses: Sequence[Analysis]) -> str:
    """The picture and the findings as an SVG that needs nothing from elsewhere."""
    from rich.console import Console
    from rich.terminal_theme import DEFAULT_TERMINAL_THEME
    from rich.text import Text

    console = Console(record=True, width=WIDTH, file=io.StringIO(), legacy_windows=False)
    lines = list(picture(analyses, ascii_only=False))
    for found in analyses:
        lines += ["", _title(found), *findings(found)]
    console.print(Text("\n".join(_plain(line, False) for line in lines)))
    return console.export_svg(title="spectop cost", theme=DEFAULT_TERMINAL_THEME, code_format=_SVG)


def _plain(line: str, ascii_only: bool) -> str:
    line = harmless(line, 4 * WIDTH)
    return line.encode("ascii", "backslashreplace").decode("ascii") if ascii_only else line


def _title(found: Analysis) -> str:
    profile = found.profile
    parts = [f"n 1..{profile.batch[-1]}"]
    if found.target_step_ms is not None:
        parts.append(f"T(1) {numbers.significant(found.target_step_ms, 4)} ms")
    if profile.key.context is not None:
        parts.append(f"context {profile.key.context}")
    if profile.includes_draft:
        parts.append("drafting included")
    ending = "  " + "  ".join(parts)
    return harmless(profile.name, WIDTH - len(ending)) + ending


def table(found: Analysis) -> list[str]:
    """One row for each measured n; beside it what the K-th draft token, K = n - 1, must bring."""
    profile = found.profile
    jumps = {jump.n for jump in profile.jumps}
    falls = set(profile.non_monotone)
    lines = [_title(found), _COLUMNS]
    marginal = (None, *profile.marginal)
    rows = zip(profile.batch, profile.time_ratio, profile.cost_per_token, marginal, strict=True)
    for n, ratio, cost, further in rows:
        mark = "^" if n in jumps else "v" if n in falls else " "
        time = None if found.target_step_ms is None else ratio * found.target_step_ms
        step = found.vector.steps[n - 2] if 2 <= n <= len(found.vector.steps) + 1 else None
        lines.append(
            f"{n:4d} {_ms(time):>8} {ratio:8.3f}{mark} {cost:7.3f} "
            f"{'' if further is None else f'{further:8.3f}':>8} {_threshold(step)}".rstrip()
        )
    return lines


def _ms(time: float | None) -> str:
    return numbers.UNKNOWN if time is None else numbers.significant(time, 4)


def _threshold(step: Threshold | None) -> str:
    if step is None:
        return ""
    between = "~" if step.derived else " "
    on = numbers.UNKNOWN if step.pays is None else f"to {step.pays_to}" if step.pays else "no"
    reach = numbers.p(step.reached) + ("~" if step.extended else " ")
    return (
        f"{step.depth:4d}{between}{_chance(step.block):>6} {_chance(step.alone):>6} "
        f"{reach:>6} {_chance(step.given):>6}  {on:>5}"
    )


def _chance(value: float | None) -> str:
    """A threshold: what no acceptance reaches is "never", what needs none is "any"."""
    if value is None:
        return numbers.UNKNOWN
    return "never" if value > 1 else "any" if value <= 0 else numbers.p(value)


def findings(found: Analysis) -> list[str]:
    """What the numbers say, in words."""
    profile, vector = found.profile, found.vector
    rows = [("jumps", _jumps(profile)), ("falls", _falls(profile)), ("drafts", _drafts(profile))]
    rows += [("fit 2", _fit(found.fit_two)), ("fit 3", _fit(found.fit_three))]
    rows += [("needs", _needs(found)), ("best", _best(found)), ("flags", _flags(found))]
    if vector.best_depth != 0 and found.flags.n_min is not None:
        rows.append(("", _what_flags_miss(found.flags)))
    rows += [("note", note) for note in profile.notes]
    lines = []
    for label, text in rows:
        lines += textwrap.wrap(
            text, WIDTH, initial_indent=f"{label:7}", subsequent_indent=" " * 7, break_on_hyphens=False
        )
    return lines


def _jumps(profile: Profile) -> str:
    told = ", ".join(f"n={j.n} (+{j.rise:.2f} steps over n={j.before})" for j in profile.jumps)
    return f"^ {told}: a draft must get over it whole" if told else "none"


def _falls(profile: Profile) -> str:
    told = ", ".join(str(n) for n in profile.non_monotone)
    return f"v T is lower than at the n before at n={told}" if told else "none: T never falls"


def _drafts(profile: Profile) -> str:
    if profile.draft_min is None:
        return "no batch costs less per token than single steps: drafts lose here even if all is accepted"
    skipped = "" if profile.batch[1] == 2 else f" (n=2 to {profile.batch[1] - 1} not measured)"
    return (
        f"draft-min {profile.draft_min}{skipped}, draft-max {profile.draft_max}, "
        f"deepest usable draft {profile.usable_depth}"
    )


def _fit(fit: Fit | NoFit) -> str:
    if isinstance(fit, NoFit):
        return f"none: {fit.reason}"
    form = f"{fit.base:.3f}*(x+1)^-{fit.b:.4f}"
    if fit.c:
        form = f"({fit.base:.3f}-c)*(x+1)^-{fit.b:.4f} + c, c = {fit.c:.4f}"
    return f"{form}, x from K={fit.first}, RMSE {fit.rmse:.5f}"


def _rate(found: Analysis, speedup: float) -> str:
    told = f"{numbers.factor(speedup)}x plain decoding"
    if found.target_step_ms is not None:
        told = f"{numbers.rate(1000 * speedup / found.target_step_ms)} tok/s, {told}"
    return told


def _needs(found: Analysis) -> str:
    why = {
        "best": "the best over all depths" if found.vector.best_depth else "not drafting is best",
        "typed": "as given",
        "plain": "no acceptance given, so what merely beats not drafting",
    }[found.vector.rate_from]
    return (
        f"share of rounds that must reach token K, at {_rate(found, found.vector.speedup)} ({why}): "
        "below `needs` no block that starts there pays; `alone` is the token by itself, "
        "`given` the same as a chance after all before it"
    )


def _best(found: Analysis) -> str:
    vector = found.vector
    if vector.best_depth is None:
        return "-- (give --acceptance, --per-position or --conditional)"
    told = _rate(found, vector.speedups[vector.best_depth])
    if vector.best_depth == 0:
        return f"not drafting: {told}"
    if vector.best_derived:
        told += f"; not measured there: measure n={vector.best_depth + 1}"
    if vector.best_depth == len(vector.steps) and vector.best_depth < DEPTHS[-1]:
        told += "; the deepest measured, a deeper one may be better"
    return f"K={vector.best_depth}: {told}"


def _flags(found: Analysis) -> str:
    flags = found.flags
    if flags.n_min is None or flags.n_max == 0:
        return "none: do not draft"
    told = f"--spec-draft-n-min {flags.n_min} --spec-draft-n-max {flags.n_max}"
    if flags.p_min is None:
        return f"{told} (n-max is only the deepest measured; p-min needs an acceptance)"
    return f"{told} --spec-draft-p-min {flags.p_min:.2f}"


def _what_flags_miss(flags: NearestFlags) -> str:
    cannot = (
        "it cannot ask more of some tokens than of others, nor take a block over a jump whole or not at all"
    )
    if flags.p_min_range is None:
        return f"A single p-min cannot follow `needs`: {cannot}."
    low, high = (_chance(end) for end in flags.p_min_range)
    spread = f"`given` runs from {low} to {high} there and p-min is one value: {cannot}. "
    own = "p-min tests the drafter's own probability, not acceptance: they agree as far as it is calibrated."
    return own if low == high else spread + own


def picture(analyses: Sequence[Analysis], *, ascii_only: bool) -> list[str]:
    """T(n)/T(1) of all profiles over n, with the usual assumption as a line."""
    import plotext

    most = DEPTHS[-1] + 1
    curves = [
        [(n, ratio) for n, ratio in zip(a.profile.batch, a.profile.time_ratio, strict=True) if n <= most]
        for a in analyses
    ]
    right = max(curve[-1][0] for curve in curves)
    top = max(ratio for curve in curves for _, ratio in curve)
    glyphs = ASCII if ascii_only else UNICODE
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.canvas("default")
    figure.plot_size(WIDTH, 18)
    figure.axes(True, axis=[0, 1], side=[0])
    figure.axes(False, axis=[0, 1], side=[1])
    assumed = figure.signal([1, right], [ASSUMED_VERIFY_FACTOR] * 2, marker="-" if ascii_only else "·")
    assumed.lines()
    figure.draw(assumed)
    for curve in curves:
        line = figure.signal(*zip(*curve, strict=True), marker=glyphs.plot if not ascii_only else ".")
        line.lines()
        figure.draw(line)
    for letter, curve in zip(_letters(len(curves)), curves, strict=True):
        figure.draw(figure.signal(*zip(*curve, strict=True), marker=letter))
    _rulers(figure, right, top)
    rows = figure.build().string(True).rstrip("\n").split("\n")
    if ascii_only:
        rows = [row.translate(FRAME_TO_ASCII) for row in rows]
    legend = [
        f"{letter}  {harmless(found.profile.name, WIDTH - 3)}"
        for letter, found in zip(_letters(len(analyses)), analyses, strict=True)
    ]
    line = "-" if ascii_only else "·"
    head = f"T(n)/T(1): a pass over n tokens, in plain steps ({line} is the usual assumption, 1.1)"
    return [head, *(row.rstrip() for row in rows), *legend]


def _letters(count: int) -> list[str]:
    return [_LETTERS[i % len(_LETTERS)] for i in range(count)]


def _rulers(figure: Any, right: int, top: float) -> None:
    ticks = sorted({1, *(round(1 + (right - 1) * i / 4) for i in range(1, 5))})
    figure.ruler("x").lim(1, right)
    figure.ruler("x").ticks(ticks, [f"n {ticks[0]}", *(str(n) for n in ticks[1:])])
    heights = [top * i / 4 for i in range(5)]
    figure.ruler("y").lim(0, top * 1.05)
    figure.ruler("y").ticks(heights, [f"{y:.1f}" for y in heights])

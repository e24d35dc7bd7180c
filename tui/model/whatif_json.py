"""The what-if as one object for scripts: sharp figures, and bands beside them where the cost is assumed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tui.model.figures import Figure, Provenance, Root, RootSpan, Span
from tui.model.whatif import Answer, WhatIf, answer, at_factor

if TYPE_CHECKING:
    from collections.abc import Mapping

_COST_BASED = (
    "round_ms",
    "rate_tok_s",
    "speedup",
    "commit_needed",
    "break_even_p",
    "best_depth",
    "best_rate_tok_s",
)


def to_json(
    what: WhatIf, came: Mapping[str, Provenance], *, depths: tuple[int, ...] = (1, 3, 7)
) -> dict[str, Any]:
    """The fields of `whatif --json`, in the documented order, without `schema_version`.

    An assumed verify factor gives its sharp figures here and nowhere else, with `rate_band_tok_s`,
    `speedup_band` and `break_even_band` beside them. A figure that is only bounded is null with its band.

    Args:
        what: the inputs.
        came: where depth, acceptance, coverage and incumbent_tok_s came from, by field name.
        depths: where break-even is told besides `what.depth`.

    Returns:
        JSON-ready values; break-even is a number, "always" or "never"; an end without limit is null.
    """
    honest = answer(what, depths=depths)
    sharp = answer(at_factor(what), depths=depths)
    factor = _factor(what)
    row: dict[str, Any] = {
        "drafter_class": what.drafter_class,
        "depth": what.depth,
        "acceptance": what.acceptance,
        "coverage": what.coverage,
        "target_step_ms": what.target_step_ms.value,
        "draft_step_ms": what.draft_step_ms.value,
        "verify_factor": factor.value,
        "incumbent_tok_s": what.incumbent_tok_s,
        "expected_tokens": sharp.expected_tokens,
        "round_ms": _number(sharp.round_ms),
        "rate_tok_s": _number(sharp.rate_tok_s),
        "speedup": _number(sharp.speedup),
        "commit_needed": _number(sharp.commit_needed),
        "break_even_p": _root(sharp.break_even),
        "break_even_at": {str(depth): _root(span) for depth, span in sharp.break_even_at.items()},
        "best_depth": sharp.best_depth,
        "best_rate_tok_s": sharp.best_rate_tok_s,
    }
    row.update(_bands(honest))
    inputs = {
        "target_step_ms": what.target_step_ms,
        "draft_step_ms": what.draft_step_ms,
        "verify_factor": factor,
    }
    origins: dict[str, Provenance | None] = {"drafter_class": None, **came}
    origins.update({name: figure.provenance for name, figure in inputs.items()})
    origins["expected_tokens"] = "derived"
    origins.update(dict.fromkeys(_COST_BASED, "assumed" if honest.assumed else "derived"))
    row["from"] = {name: origins[name] for name in row if origins.get(name) and row[name] is not None}
    return row


def _factor(what: WhatIf) -> Figure:
    """The verify factor in effect: a profile's at this depth, else the one given."""
    if not what.profile:
        return what.verify_factor
    if what.depth < len(what.profile):
        return Figure(what.profile[what.depth], "measured")
    return Figure.unknown("beyond the profile")


def _bands(honest: Answer) -> dict[str, Any]:
    """The bands of what is not one number."""
    bands: dict[str, Any] = {}
    for name, span in (("rate_band_tok_s", honest.rate_tok_s), ("speedup_band", honest.speedup)):
        if span is not None and not span.exact:
            bands[name] = [span.low, None if math.isinf(span.high) else span.high]
    roots = honest.break_even
    if roots is not None and (bands or not roots.exact):
        bands["break_even_band"] = [roots.low, roots.high]
    return bands


def _number(span: Span | None) -> float | None:
    return span.low if span is not None and span.exact else None


def _root(span: RootSpan | None) -> Root | None:
    return span.low if span is not None and span.exact else None

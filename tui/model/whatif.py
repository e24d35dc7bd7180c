"""What another depth or acceptance would do: inputs, and the answer with its bounds.

Every cost is a span: what was measured at one depth is exact there and only bounded elsewhere; what is
assumed is a band; what was typed, or comes from a profile, is exact at every depth it reaches.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from tui.model import rates
from tui.model.figures import DrafterClass, Figure, Root, RootSpan, Span
from tui.model.steps import is_upper_bound

if TYPE_CHECKING:
    from collections.abc import Callable

ASSUMED_VERIFY_FACTOR = 1.1
ASSUMED_ROUND_BAND = Span(1.4, 3.9)
"""Round cost in plain steps, 10th to 90th percentile of published pairs (verify pass for plain drafters)."""
DEPTHS = range(1, 65)

_ASSUMED = "verify factor assumed: a drafting run with -lv 4 beside a run without drafting measures it"
_NO_TARGET_STEP = "target step unknown: a run without drafting measures it"
_NO_DRAFT_STEP = "draft step unknown: a drafting run with -lv 4 measures it"
_NO_VERIFY_FACTOR = (
    "verify factor unknown: a drafting run with -lv 4 beside a run without drafting measures it"
)
_ONE_DEPTH = "cost measured at depth {} only: a batch-cost profile, or a run at this depth, makes it a number"
_BEYOND = "the batch-cost profile ends at {} tokens a pass: measure larger batches"


@dataclass(frozen=True, slots=True)
class Measured:
    """What the log measured at the depth it ran with.

    Attributes:
        depth: the configured or observed depth.
        round_ms: time of a round.
        draft_ms: drafting per round, None when the log does not tell.
        mean_accepted_length: tokens a round commits, the target's own included.
        curve: share of rounds whose first i drafts were accepted, i = 1..; None when unknown.
        pass_ms: mean time of a target pass, plain ones included; stands in where plain steps ran and t_s is
            unknown, so that no round time can be told. Holds at `coverage` only.
        coverage: the measured share of passes that had a draft.
        drafter_class: of the drafter that was measured; None when it is the one asked about.
    """

    depth: int
    round_ms: float | None = None
    draft_ms: float | None = None
    mean_accepted_length: float | None = None
    curve: tuple[float, ...] | None = None
    pass_ms: float | None = None
    coverage: float | None = None
    drafter_class: DrafterClass | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The inputs of the what-if pane. Times in ms.

    Attributes:
        depth: draft tokens proposed per round.
        acceptance: one conditional p for all positions; None means "live": use `measured`.
        target_step_ms: t_s; one noted "upper bound" is not used. draft_step_ms: d_s (per token, a head's
            per pass); typed, it replaces what was measured.
        verify_factor: v; provenance "measured" or "derived" holds at `measured.depth` only, "typed"
            everywhere, "assumed" becomes the band.
        profile: relative step times T(n)/T(1) for n = 1, 2, ...; replaces the factor where it reaches. At
            the measured depth the measurement stands.
        coverage: share of target passes that had a draft, fraction.
        incumbent_tok_s: what has to be beaten.
        conditional: h_1, h_2, ... where there is no one p; the last stands for all that follow.
    """

    drafter_class: DrafterClass
    depth: int
    acceptance: float | None = None
    target_step_ms: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    draft_step_ms: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    verify_factor: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    coverage: float = 1.0
    incumbent_tok_s: float | None = None
    measured: Measured | None = None
    profile: tuple[float, ...] | None = None
    conditional: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the inputs give; None where they do not settle it.

    Attributes:
        expected_tokens: A, tokens a round commits.
        approximate: A was cut or extended from a curve measured at another depth (shown with `~`).
        round_ms, rate_tok_s, speedup, commit_needed: spans.
        break_even: p* at this depth. break_even_at: p* by depth for the depths asked.
        best_depth, best_rate_tok_s: the depth with the highest certain rate at this p; None while the costs
            are only bounds.
        head_room: p - p*, as a span over the bounds: p* counts as 0 for "always", and for "never" at the
            dearest round the low end is minus infinity. None when it is "never" throughout.
        assumed: which inputs were assumed, by field name. replaces: the measurement that would replace them,
            or turn bounds and unknowns into numbers.
    """

    expected_tokens: float | None
    approximate: bool
    round_ms: Span | None
    rate_tok_s: Span | None
    speedup: Span | None
    commit_needed: Span | None
    break_even: RootSpan | None
    break_even_at: dict[int, RootSpan | None]
    best_depth: int | None
    best_rate_tok_s: float | None
    head_room: Span | None
    assumed: tuple[str, ...] = ()
    replaces: str = ""


class _Cost(NamedTuple):
    """A time, and which measurement would make it a number (empty when it is one)."""

    span: Span | None
    replaces: str = ""


def answer(what: WhatIf, *, depths: tuple[int, ...] = (1, 3, 7)) -> Answer:
    """Recompute everything from the inputs, fast enough for a key handler.

    Args:
        what: the inputs.
        depths: where break-even is asked besides `what.depth`.
    """
    commit = _commit(what)
    expected = commit(what.depth)
    round_ms, cost = _round(what, what.depth), _mean_pass(what, what.depth)
    others = {depth: _mean_pass(what, depth) for depth in depths}
    rate = _rate(what, expected, cost.span)
    speedup = None
    if rate is not None and what.incumbent_tok_s:
        speedup = Span(rate.low / what.incumbent_tok_s, rate.high / what.incumbent_tok_s)
    break_even = _break_even(what, cost.span, what.depth)
    best_depth, best_rate = _best(what, commit)
    return Answer(
        expected_tokens=expected,
        approximate=_approximate(what),
        round_ms=round_ms.span,
        rate_tok_s=rate,
        speedup=speedup,
        commit_needed=_commit_needed(what, cost.span),
        break_even=break_even,
        break_even_at={depth: _break_even(what, other.span, depth) for depth, other in others.items()},
        best_depth=best_depth,
        best_rate_tok_s=best_rate,
        head_room=_head_room(what, expected, break_even),
        assumed=_assumed(what, (cost, *others.values())),
        replaces=next((each.replaces for each in (cost, *others.values()) if each.replaces), ""),
    )


def rate_of(what: WhatIf) -> Span | None:
    """The rate alone, as `answer` gives it but without the search for the best depth: for pictures."""
    return _rate(what, _commit(what)(what.depth), _mean_pass(what, what.depth).span)


def predicted(what: WhatIf, verify_factor: float) -> Span | None:
    """The rate as the model has it from t_s, d_s and a verify factor, whatever was measured of a round.

    With 1.1 it is what is commonly expected. Nobody should act on that: it stands beside the same with the
    measured factor, to tell what measuring is worth.
    """
    step = what.draft_step_ms
    by_model = dataclasses.replace(
        what,
        verify_factor=Figure(verify_factor, "typed"),
        draft_step_ms=step if step.value is None else Figure(step.value, "typed"),
        profile=None,
    )
    return rate_of(by_model)


def at_factor(what: WhatIf) -> WhatIf:
    """The same inputs with an assumed verify factor taken at its word, at every depth.

    An assumed 1.1 is within 10 % of none of the published pairs: the sharp figures that come of this are for
    scripts that ask for them beside the bands, never for the screen.
    """
    if what.verify_factor.provenance != "assumed":
        return what
    return dataclasses.replace(what, verify_factor=Figure(what.verify_factor.value, "typed"))


def _commit(what: WhatIf) -> Callable[[int], float | None]:
    """A by depth: the one-p model, or what was measured, cut or extended to the depth."""
    p, live = what.acceptance, what.measured
    if p is not None:
        return lambda depth: rates.expected_tokens(p, depth)
    if what.conditional:
        typed = tuple(itertools.accumulate(what.conditional, operator.mul))
        return lambda depth: rates.expected_from_curve(typed, depth)
    if live is None:
        return lambda depth: None  # noqa: ARG005
    curve, mean = live.curve, live.mean_accepted_length
    if curve:
        at_depth = rates.expected_from_curve(curve, live.depth) if mean is None else mean
        return lambda depth: at_depth if depth == live.depth else rates.expected_from_curve(curve, depth)
    one_p = None if mean is None else _p_of(mean, live.depth)
    return lambda depth: (
        mean if depth == live.depth else None if one_p is None else rates.expected_tokens(one_p, depth)
    )


def _approximate(what: WhatIf) -> bool:
    if what.acceptance is not None:
        return False
    if what.conditional:
        return what.depth > len(what.conditional)
    return what.measured is not None and what.depth != what.measured.depth


def _p_of(commit: float, depth: int) -> float | None:
    """The one p that gives this commit; None where none does."""
    root = rates.solve_acceptance(commit, depth)
    if isinstance(root, float):
        return root
    return 0.0 if root == "always" else None


def _matching(what: WhatIf) -> Measured | None:
    """The measurement, as long as its drafter is of the class asked about."""
    live = what.measured
    if live is None or live.drafter_class not in (None, what.drafter_class):
        return None
    return live


def _untouched(what: WhatIf) -> bool:
    """Whether no time was typed over the measured ones."""
    times = (what.target_step_ms, what.draft_step_ms, what.verify_factor)
    return all(figure.provenance != "typed" for figure in times)


def _target_step(what: WhatIf) -> float | None:
    return None if is_upper_bound(what.target_step_ms) else what.target_step_ms.value


def _round(what: WhatIf, depth: int) -> _Cost:
    """Time of a round at a depth: from draft and verify pass, else from whole rounds, else from the band."""
    live, t_s = _matching(what), _target_step(what)
    if live is not None and live.round_ms is not None and depth == live.depth and _untouched(what):
        return _Cost(Span.exactly(live.round_ms))
    draft, verify = _draft(what, depth), _verify(what, depth)
    if draft is not None and verify.span is not None:
        return _Cost(Span(draft + verify.span.low, draft + verify.span.high), verify.replaces)
    priced = what.profile is not None and t_s is not None
    if what.verify_factor.provenance != "typed":
        if live is not None and live.round_ms is not None:
            pass_ms = (t_s or 0.0) if verify.span is None else verify.span.low
            around = _around(live.round_ms, live.depth, depth, floor=pass_ms + (draft or 0.0))
            return _Cost(around.span, _NO_DRAFT_STEP) if priced and around.replaces else around
        if what.verify_factor.provenance == "assumed" and t_s is not None and not priced:
            return _band(what, draft, t_s)
    if verify.span is None:
        return verify
    return _Cost(None, _NO_DRAFT_STEP)


def _band(what: WhatIf, draft: float | None, t_s: float) -> _Cost:
    """What published pairs say a round costs; of a plain drafter they say it of the verify pass."""
    low, high = ASSUMED_ROUND_BAND.low * t_s, ASSUMED_ROUND_BAND.high * t_s
    if what.drafter_class != "plain":
        return _Cost(Span(low, high), _ASSUMED)
    return _Cost(None, _NO_DRAFT_STEP) if draft is None else _Cost(Span(draft + low, draft + high), _ASSUMED)


def _draft(what: WhatIf, depth: int) -> float | None:
    step, live = what.draft_step_ms, _matching(what)
    if live is not None and live.draft_ms is not None and step.provenance != "typed":
        if depth == live.depth:
            return live.draft_ms
        if step.value is None:
            per_token = what.drafter_class == "plain"
            return rates.draft_ms(what.drafter_class, depth, live.draft_ms / (live.depth if per_token else 1))
    if what.drafter_class == "ngram":
        return 0.0
    return None if step.value is None else rates.draft_ms(what.drafter_class, depth, step.value)


def _verify(what: WhatIf, depth: int) -> _Cost:
    """Time of the verify pass, as far as a factor, a profile or a split round tells; never from the band."""
    # The verify pass is the target's: it stands whatever drafts.
    t_s, v, live = _target_step(what), what.verify_factor, what.measured
    at_live = live is not None and depth == live.depth
    measured = _measured_verify(what)
    if what.profile and t_s is not None and not (at_live and measured is not None):
        if depth < len(what.profile):
            return _Cost(Span.exactly(what.profile[depth] * t_s))
        bound = None
        if measured is not None and live is not None:
            bound = _around(measured, live.depth, depth, floor=t_s).span
        return _Cost(bound, _BEYOND.format(len(what.profile)))
    if v.provenance == "typed" and v.value is not None:
        return _Cost(None, _NO_TARGET_STEP) if t_s is None else _Cost(Span.exactly(v.value * t_s))
    if measured is not None and live is not None:
        return _around(measured, live.depth, depth, floor=t_s or 0.0)
    return _Cost(None, _NO_TARGET_STEP if t_s is None else _NO_VERIFY_FACTOR)


def _measured_verify(what: WhatIf) -> float | None:
    """The verify pass at the measured depth: v * t_s, else the round less its drafting."""
    t_s, v, live = _target_step(what), what.verify_factor, what.measured
    if live is None or v.provenance == "typed":
        return None
    if v.provenance in ("measured", "derived") and v.value is not None and t_s is not None:
        return v.value * t_s
    if live.round_ms is not None and live.draft_ms is not None:
        return live.round_ms - live.draft_ms
    return None


def _around(measured: float, at: int, depth: int, *, floor: float) -> _Cost:
    """A cost measured at one depth: exact there, at most that below, at least that above."""
    if depth == at:
        return _Cost(Span.exactly(measured))
    span = Span(min(floor, measured), measured) if depth < at else Span(measured, math.inf)
    return _Cost(span, _ONE_DEPTH.format(at))


def _mean_pass(what: WhatIf, depth: int) -> _Cost:
    """Mean time of a target pass, which the rate and break-even come from; the round at full coverage."""
    cost, t_s, c = _round(what, depth), _target_step(what), what.coverage
    if c >= 1.0:
        return cost
    live = _matching(what)
    holds = live is not None and live.coverage == c and what.verify_factor.provenance != "typed"
    whole = live.pass_ms if live is not None and holds and live.round_ms is None else None
    if live is not None and whole is not None and depth == live.depth and _untouched(what):
        return _Cost(Span.exactly(whole))
    if t_s is not None:
        if c <= 0.0:
            return _Cost(Span.exactly(t_s))
        if cost.span is not None:
            low, high = (rates.pass_ms(end, c, t_s) for end in (cost.span.low, cost.span.high))
            return _Cost(Span(low, high), cost.replaces)
    if holds and live is not None and live.pass_ms is not None:
        return _around(live.pass_ms, live.depth, depth, floor=t_s or 0.0)
    return _Cost(None, _NO_TARGET_STEP if t_s is None else cost.replaces)


def _rate(what: WhatIf, expected: float | None, cost: Span | None) -> Span | None:
    if expected is None or cost is None:
        return None
    fastest = rates.rate_tok_s(expected, cost.low, what.coverage) if cost.low > 0 else math.inf
    return Span(rates.rate_tok_s(expected, cost.high, what.coverage), fastest)


def _commit_needed(what: WhatIf, cost: Span | None) -> Span | None:
    if cost is None or not what.incumbent_tok_s or what.coverage <= 0.0:
        return None
    low, high = (
        rates.commit_needed(end, what.incumbent_tok_s, what.coverage) for end in (cost.low, cost.high)
    )
    return Span(low, high)


def _break_even(what: WhatIf, cost: Span | None, depth: int) -> RootSpan | None:
    if cost is None or not what.incumbent_tok_s:
        return None
    if what.coverage <= 0.0:
        # Nothing is ever drafted: no p matters.
        pays = cost.high * what.incumbent_tok_s <= 1000.0
        return RootSpan("always", "always") if pays else RootSpan("never", "never")
    needed = _commit_needed(what, cost)
    if needed is None:
        return None
    low = rates.break_even(needed.low, depth)
    return RootSpan(low, low if needed.exact else rates.break_even(needed.high, depth))


def _best(what: WhatIf, commit: Callable[[int], float | None]) -> tuple[int | None, float | None]:
    """The depth with the highest rate, where every depth that can be told at all can be told exactly."""
    best_depth, best_rate = None, None
    for depth in DEPTHS:
        if what.profile is not None and depth >= len(what.profile) and not _ran_at(what, depth):
            continue
        cost, expected = _mean_pass(what, depth).span, commit(depth)
        if cost is None or expected is None:
            continue
        if not cost.exact or cost.low <= 0:
            return None, None
        rate = rates.rate_tok_s(expected, cost.low, what.coverage)
        if best_rate is None or rate > best_rate:
            best_depth, best_rate = depth, rate
    return best_depth, best_rate


def _ran_at(what: WhatIf, depth: int) -> bool:
    return what.measured is not None and what.measured.depth == depth


def _head_room(what: WhatIf, expected: float | None, break_even: RootSpan | None) -> Span | None:
    if expected is None or break_even is None or break_even.low == "never":
        return None
    p = what.acceptance if what.acceptance is not None else _p_of(expected, what.depth)
    if p is None:
        return None

    def less(root: Root) -> float:
        return p - (0.0 if root == "always" else math.inf if root == "never" else root)

    return Span(less(break_even.high), less(break_even.low))


def _assumed(what: WhatIf, costs: tuple[_Cost, ...]) -> tuple[str, ...]:
    names = [
        name for name in ("target_step_ms", "draft_step_ms") if getattr(what, name).provenance == "assumed"
    ]
    if any(cost.replaces == _ASSUMED for cost in costs):
        names.append("verify_factor")
    return tuple(names)

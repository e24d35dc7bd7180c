"""Which unknown moves the answer most: what to measure next, and what to expect of it.

Every input that is not settled gets a plausible range. The speed-up is worked out at the ends of each range
while the others stay at their middle; the unknown that can turn the answer, and moves it most, is the one
worth a measurement.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.model import rates
from tui.model.comparison import Rules
from tui.model.figures import Figure, Root, RootSpan, Span
from tui.model.steps import is_upper_bound
from tui.model.whatif import ASSUMED_ROUND_BAND, Answer, WhatIf, answer

if TYPE_CHECKING:
    from tui.model.comparison import Judgement

Unknown = Literal[
    "requests", "basis", "incumbent", "acceptance", "target_step_ms", "draft_step_ms", "verify_factor"
]

OPEN = ("NO_DATA", "INCONCLUSIVE")
"""Verdicts that more evidence would change."""
ASKED_DEPTHS = (1, 3, 7)
TYPICAL_RATIO = Span(0.4, 0.6)
"""Accepted over drafted of matched trained pairs. A ratio: the p behind it depends on the depth."""
TYPICAL_DEPTH = 3
"""Where that ratio is read when no depth is known; the middle of the published pairs."""
PLAIN_FASTER = Span(10.0, 50.0)
"""How many times faster per token than its target a plain drafter needs to be."""
PUBLISHED_SPEEDUP = 2.8
"""90th percentile of published pairs with a head: what an incumbent may already gain by its own drafting."""

_Input = Literal["acceptance", "target_step_ms", "draft_step_ms", "verify_factor"]
_Values = dict[_Input, float]
_Ranges = dict[_Input, Span]


def typical_acceptance(depth: int | None) -> Span:
    """The p behind the typical acceptance ratio at a depth."""
    at = depth or TYPICAL_DEPTH
    low, high = (rates.ratio_to_p(ratio, at) for ratio in (TYPICAL_RATIO.low, TYPICAL_RATIO.high))
    return Span(low or 0.0, 1.0 if high is None else high)


@dataclass(frozen=True, slots=True)
class Effect:
    """What the plausible range of one unknown does to the speed-up.

    Attributes:
        depth: the depth that the speed-up is for; None where it is that of the arms compared.
        plausible: the unknown's range in its own unit; None where it has none.
        speedup: canary over incumbent at the ends of that range; None when it could be anything.
        bar: what the speed-up has to beat: 1, or what the canary reaches already.
    """

    unknown: Unknown
    depth: int | None
    plausible: Span | None
    speedup: Span | None
    bar: float = 1.0

    @property
    def turns(self) -> bool:
        """Whether the answer depends on it."""
        return self.speedup is None or self.speedup.low <= self.bar <= self.speedup.high

    @property
    def width(self) -> float:
        """How far it moves the speed-up: ln(high/low)."""
        if self.speedup is None or self.speedup.low <= 0:
            return math.inf
        return math.log(self.speedup.high / self.speedup.low)


@dataclass(frozen=True, slots=True)
class Prospect:
    """What a depth may give, all unknowns taken together; None where not even a range can be told.

    Attributes:
        break_even: p at the cheapest and at the dearest plausible round.
    """

    depth: int
    rate_tok_s: Span | None
    speedup: Span | None
    break_even: RootSpan | None


@dataclass(frozen=True, slots=True)
class Outlook:
    """The inputs of a what-if with plausible ranges in place of what nothing settles.

    Attributes:
        what: the inputs, as far as they are known.
        acceptance: the range of p to reckon with; None takes what was measured.
    """

    what: WhatIf
    acceptance: Span | None = None

    def prospect(self, depth: int) -> Prospect:
        """Rate, speed-up and break-even over all corners of the plausible ranges."""
        given = [self._answer(depth, corner) for corner in self._corners(depth)]
        spans = [one.break_even for one in given if one.break_even is not None]
        roots = [root for span in spans for root in (span.low, span.high)]
        return Prospect(
            depth=depth,
            rate_tok_s=_hull([one.rate_tok_s for one in given]),
            speedup=_hull([one.speedup for one in given]),
            break_even=RootSpan(min(roots, key=_order), max(roots, key=_order)) if roots else None,
        )

    def effects(self, depth: int, bar: float) -> list[Effect]:
        """What each unknown does on its own, the others at their middle."""
        if self.acceptance is None and self.what.measured is not None and depth == self.what.measured.depth:
            return []  # the rate itself was measured there
        free = self._free(depth)
        middle = {name: _middle(span) for name, span in free.items()}
        found = []
        for name, span in free.items():
            if span.exact:
                continue
            ends = [self._answer(depth, {**middle, name: end}).speedup for end in (span.low, span.high)]
            speedup = _hull(ends)
            if speedup is not None and not speedup.exact:
                plausible = self._factor(depth, middle) if name == "verify_factor" else span
                found.append(Effect(name, depth, plausible, speedup, bar))
        return found

    @property
    def target_step_ms(self) -> Span | None:
        """t_s as measured, else from a round's time or the incumbent's rate by what was published."""
        figure, live = self.what.target_step_ms, self.what.measured
        if figure.value is not None and not is_upper_bound(figure):
            return Span.exactly(figure.value)
        if live is not None and (live.round_ms is not None or live.pass_ms is not None):
            per_token = live.depth if self.what.drafter_class == "plain" else 0
            dear = ASSUMED_ROUND_BAND.high + per_token / PLAIN_FASTER.low
            cheap = ASSUMED_ROUND_BAND.low + per_token / PLAIN_FASTER.high
            if live.round_ms is not None:
                return Span(live.round_ms / dear, live.round_ms / cheap)
            if live.pass_ms is not None and live.coverage:
                share = live.coverage
                at_least, at_most = (live.pass_ms / (share * x + 1 - share) for x in (dear, cheap))
                return Span(at_least, at_most)
        if self.what.incumbent_tok_s:
            at_most = 1000.0 * PUBLISHED_SPEEDUP / self.what.incumbent_tok_s
            return Span(at_most / PUBLISHED_SPEEDUP, at_most)
        return None

    def _free(self, depth: int) -> _Ranges:
        """The range of each input; of the verify factor, where in its own range it stands (0 to 1).

        Empty when not even the target step can be bounded.
        """
        target = self.target_step_ms
        if target is None:
            return {}
        step = _middle(target)
        draft = self._draft_step(step)
        settled = self._verify_ms(depth, step, _middle(draft)).exact
        share = Span.exactly(0.0) if settled else Span(0.0, 1.0)
        free: _Ranges = {"target_step_ms": target, "draft_step_ms": draft, "verify_factor": share}
        if self.acceptance is not None:
            free["acceptance"] = self.acceptance
        return free

    def _corners(self, depth: int) -> list[_Values]:
        """The cheapest and the dearest verify pass, each with either end of the times."""
        free = self._free(depth)
        if not free:
            return []
        cheap: _Values = {"verify_factor": free["verify_factor"].low}
        dear: _Values = {"verify_factor": free["verify_factor"].high}
        if "acceptance" in free:
            cheap["acceptance"], dear["acceptance"] = free["acceptance"].high, free["acceptance"].low
        times = (sorted({free[name].low, free[name].high}) for name in ("target_step_ms", "draft_step_ms"))
        return [
            {**end, "target_step_ms": target, "draft_step_ms": draft}
            for target, draft in itertools.product(*times)
            for end in ([cheap] if cheap == dear else [cheap, dear])
        ]

    def _factor(self, depth: int, values: _Values) -> Span:
        step = values["target_step_ms"]
        verify = self._verify_ms(depth, step, values["draft_step_ms"])
        return Span(verify.low / step, verify.high / step)

    def _answer(self, depth: int, values: _Values) -> Answer:
        factor = self._factor(depth, values)
        at = factor.low + values["verify_factor"] * (factor.high - factor.low)
        what = dataclasses.replace(
            self.what,
            depth=depth,
            acceptance=values.get("acceptance"),
            target_step_ms=Figure(values["target_step_ms"], "typed"),
            draft_step_ms=Figure(values["draft_step_ms"], "typed"),
            verify_factor=Figure(at, "typed"),
            profile=None,
        )
        return answer(what, depths=())

    def _round_ms(self, target_step: float) -> float | None:
        """A round's time at the measured depth; out of the mean pass where plain steps ran among them."""
        live = self.what.measured
        if live is None or live.round_ms is not None:
            return None if live is None else live.round_ms
        if live.pass_ms is None or not live.coverage:
            return None
        return (live.pass_ms - (1 - live.coverage) * target_step) / live.coverage

    def _draft_step(self, target_step: float) -> Span:
        figure, live = self.what.draft_step_ms, self.what.measured
        if figure.value is not None:
            return Span.exactly(figure.value)
        if live is not None and live.draft_ms is not None:
            per_token = live.depth if self.what.drafter_class == "plain" else 1
            return Span.exactly(live.draft_ms / per_token)
        if self.what.drafter_class != "plain":
            # The published cost of a round holds a head's own pass; an n-gram takes none.
            return Span.exactly(0.0)
        high = target_step / PLAIN_FASTER.low
        whole = self._round_ms(target_step)
        if live is not None and whole is not None:
            high = max(high, (whole - target_step) / live.depth)
        return Span(target_step / PLAIN_FASTER.high, high)

    def _verify_ms(self, depth: int, target_step: float, draft_step: float) -> Span:
        """Below the measured depth between one step and what was measured; above it at most by the tokens."""
        what, live = self.what, self.what.measured
        measured = self._measured_verify(target_step, draft_step)
        if live is not None and measured is not None:
            if depth == live.depth:
                return Span.exactly(measured)
            if what.profile is None:
                deeper = measured * (depth + 1) / (live.depth + 1)
                return (
                    Span(min(target_step, measured), measured)
                    if depth < live.depth
                    else Span(measured, deeper)
                )
        if what.profile is not None:
            reach = len(what.profile)
            if depth < reach:
                return Span.exactly(what.profile[depth] * target_step)
            last = what.profile[-1] * target_step
            return Span(last, last * (depth + 1) / reach)
        if what.verify_factor.provenance == "typed" and what.verify_factor.value is not None:
            return Span.exactly(what.verify_factor.value * target_step)
        return Span(ASSUMED_ROUND_BAND.low * target_step, ASSUMED_ROUND_BAND.high * target_step)

    def _measured_verify(self, target_step: float, draft_step: float) -> float | None:
        """The verify pass at the measured depth, as far as the log and the other values tell."""
        factor, live = self.what.verify_factor, self.what.measured
        if live is None or factor.provenance == "typed":
            return None
        if factor.provenance in ("measured", "derived") and factor.value is not None:
            return factor.value * target_step
        whole = self._round_ms(target_step)
        if whole is None:
            return None
        left = whole - rates.draft_ms(self.what.drafter_class, live.depth, draft_step)
        return left if left > 0 else None


def most_telling(outlook: Outlook | None, judgement: Judgement | None, *, bar: float = 1.0) -> Effect | None:
    """The unknown whose measurement would settle the answer.

    While the verdict is open, that is what keeps it open: too few requests, or a rate that may count
    something else. Once it stands, it is what could make another depth or drafter beat `bar`: of the depths
    that may, the most promising one's widest unknown.

    Args:
        outlook: the inputs with their ranges; None where there are none.
        judgement: the comparison; None without an incumbent.
        bar: what another depth has to beat.

    Returns:
        None when no plausible value of anything turns the answer.
    """
    if judgement is not None:
        of_verdict = [effect for effect in _of_verdict(judgement) if effect.turns]
        if of_verdict or judgement.verdict in OPEN:
            return max(of_verdict, key=lambda effect: effect.width, default=None)
    if outlook is None:
        return None
    found: list[tuple[float, Effect]] = []
    for depth in sorted({*ASKED_DEPTHS, outlook.what.depth}):
        effects, promised = outlook.effects(depth, bar), outlook.prospect(depth).speedup
        if not effects or promised is None:
            continue
        turning = [effect for effect in effects if effect.turns]
        if not turning and promised.low <= bar < promised.high:
            # None turns it by itself, all together may: what the widest leaves open is theirs.
            widest = max(effects, key=lambda effect: effect.width)
            turning = [dataclasses.replace(widest, speedup=promised)]
        if turning:
            found.append((_middle(promised), max(turning, key=lambda effect: effect.width)))
    return max(found, key=lambda pair: pair[0])[1] if found else None


def unnamed_incumbent(outlook: Outlook) -> Effect:
    """A drafter without anything to compare with: what it gains over plain steps, as far as published."""
    target, rate = outlook.target_step_ms, answer(outlook.what, depths=()).rate_tok_s
    if target is None or rate is None:
        return Effect("incumbent", None, None, None)
    gained = Span(rate.low * target.low / 1000, rate.high * target.high / 1000)
    return Effect("incumbent", None, Span(1000 / target.high, 1000 / target.low), gained)


def _of_verdict(judgement: Judgement) -> list[Effect]:
    """What the comparison itself leaves open."""
    effects = []
    is_open = judgement.verdict in OPEN
    ratios = _both_bases(judgement)
    if ratios is not None and (is_open or max(abs(ratio - 1) for ratio in ratios) > Rules().effect):
        effects.append(Effect("basis", None, None, Span(min(ratios), max(ratios))))
    if is_open:
        span = None if judgement.interval is None else Span(*judgement.interval)
        effects.append(Effect("requests", None, None, span))
    return effects


def _both_bases(judgement: Judgement) -> tuple[float, float] | None:
    """The ratio on either basis; of a typed rate, by what it may count."""
    if judgement.ratio is None:
        return None
    if judgement.other_ratio is not None:
        return judgement.ratio, judgement.other_ratio
    decode, delivered = judgement.incumbent.rate_tok_s, judgement.incumbent.delivered_tok_s
    own = judgement.canary
    typed, other = (
        (decode, own.delivered_tok_s) if judgement.basis == "decode" else (delivered, own.rate_tok_s)
    )
    if judgement.incumbent.n_effective is not None or not typed or other is None:
        return None
    return judgement.ratio, other / typed


def _middle(span: Span) -> float:
    """Geometric where it can be: times and factors are uncertain by ratios."""
    return math.sqrt(span.low * span.high) if span.low > 0 else (span.low + span.high) / 2


def _hull(spans: list[Span | None]) -> Span | None:
    known = [span for span in spans if span is not None]
    return Span(min(s.low for s in known), max(s.high for s in known)) if known else None


def _order(root: Root) -> float:
    return root if isinstance(root, float) else -1.0 if root == "always" else 2.0

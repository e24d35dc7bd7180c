"""What a report says of one view, before it is written as text or as an object."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.model.figures import Figure, Span
from tui.model.unknowns import (
    ASKED_DEPTHS,
    Effect,
    Outlook,
    Prospect,
    most_telling,
    typical_acceptance,
    unnamed_incumbent,
)
from tui.model.whatif import answer
from tui.render.report_notes import notes

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tui.model.comparison import Verdict
    from tui.model.figures import DrafterClass, Provenance, RootSpan
    from tui.model.whatif import WhatIf
    from tui.session.snapshot import ArmView, View

WORST_FIRST: tuple[Verdict, ...] = ("FAIL", "NO_DATA", "INCONCLUSIVE", "EVEN", "PASS")


@dataclass(frozen=True, slots=True)
class BreakEven:
    """The p at which a drafter of a class breaks even at a depth.

    Attributes:
        span: None where nothing bounds it.
        open_ended: the cost was measured at a smaller depth, so only the low end says something.
        provenance: derived from what was measured, or assumed.
    """

    drafter_class: DrafterClass
    depth: int
    span: RootSpan | None
    open_ended: bool
    provenance: Provenance | None


@dataclass(frozen=True, slots=True)
class Projection:
    """What a drafter of a class may give at the depths asked.

    Attributes:
        acceptance: the range of p reckoned with where none was measured; None where the measured one holds.
        prospects: by depth, the measured depth left out where the rate itself was measured.
    """

    drafter_class: DrafterClass
    acceptance: Span | None
    prospects: tuple[Prospect, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What is known of one view.

    Attributes:
        drafts: whether the canary drafted at all.
        beaten: the decode rate that break-even is held against, with what to say of it.
        effect: the unknown worth a measurement; None when nothing turns the answer.
        depths_told: whether the speed-up at other depths could be reckoned at all.
    """

    view: View
    verdict: Verdict
    reason: str
    warnings: tuple[str, ...]
    drafts: bool
    beaten: Figure
    break_even: tuple[BreakEven, ...]
    projections: tuple[Projection, ...]
    effect: Effect | None
    depths_told: bool


def worst(verdicts: Iterable[Verdict]) -> Verdict:
    """The verdict that decides over several sources; NO_DATA when there is none."""
    return min(verdicts, key=WORST_FIRST.index, default="NO_DATA")


def verdict_of(view: View) -> tuple[Verdict, str]:
    """The verdict and its reason; without anything to compare it is NO_DATA, never better."""
    if view.judgement is not None:
        return view.judgement.verdict, view.judgement.reason
    if view.canary is None:
        state = view.source
        return "NO_DATA", state.message or f"no finished request in this source ({state.state})"
    if view.incumbent is not None:
        return "NO_DATA", view.incumbent.message or "nothing of the incumbent to compare with yet"
    offer = f"; {view.offered} is in this log too" if view.offered else ""
    return "NO_DATA", f"no incumbent named (--incumbent RATE, LOG or drafter:NAME){offer}"


def facts_of(view: View) -> Facts:
    """Work out what the report says of a view."""
    verdict, reason = verdict_of(view)
    arm = view.canary
    drafts = arm is not None and (arm.drafted > 0 or arm.mean_accepted_length.value is not None)
    beaten = _beaten(view, drafts=drafts)
    outlooks = [] if arm is None else _outlooks(view, arm, beaten.value, drafts=drafts)
    projections = tuple(_projection(outlook) for outlook in outlooks)
    # halogen's depth cannot be set: what another one would give is no measurement to make.
    settable = not (drafts and view.source.engine == "halogen")
    known = any(each.speedup is not None for projection in projections for each in projection.prospects)
    return Facts(
        view=view,
        verdict=verdict,
        reason=reason,
        warnings=(*(view.judgement.warnings if view.judgement else ()), *notes(view)),
        drafts=drafts,
        beaten=beaten,
        break_even=tuple(each for outlook in outlooks for each in _break_evens(outlook)),
        projections=projections,
        effect=_effect(view, outlooks, drafts=drafts, settable=settable),
        depths_told=settable and known,
    )


def _beaten(view: View, *, drafts: bool) -> Figure:
    incumbent, arm = view.incumbent, view.canary
    if incumbent is not None:
        if incumbent.decode_tok_s is not None:
            if incumbent.kind == "typed":
                return Figure(incumbent.decode_tok_s, "typed")
            return Figure(incumbent.decode_tok_s, "measured", "its whole arm")
        if incumbent.delivered_tok_s is not None:
            return Figure.unknown("a delivered rate was typed: break-even needs a decode rate")
        return Figure.unknown(incumbent.message or "the incumbent's rate is unknown")
    if arm is not None and not drafts and arm.decode_tok_s is not None:
        return Figure(
            arm.decode_tok_s, "measured", "this log's own: it does not draft, and no other is named"
        )
    return Figure.unknown("no incumbent named")


def _outlooks(view: View, arm: ArmView, beaten: float | None, *, drafts: bool) -> list[Outlook]:
    """The what-if's inputs with what to reckon with for p; a class each where it is not known."""
    if view.what_if is None:
        return []
    what = dataclasses.replace(view.what_if, incumbent_tok_s=beaten)
    if drafts:
        return [Outlook(what, _acceptance(arm, what))]
    classes: tuple[DrafterClass, ...] = ("plain", "head")
    if arm.drafter_class is not None:
        classes = (arm.drafter_class,)
    elif view.source.engine == "halogen":
        classes = ("head",)
    # No typical acceptance holds for n-grams: it is the text that repeats or does not.
    return [
        Outlook(dataclasses.replace(what, drafter_class=kind), typical_acceptance(None))
        for kind in classes
        if kind != "ngram"
    ]


def _acceptance(arm: ArmView, what: WhatIf) -> Span | None:
    """The range of p where the measured one does not hold or is not known."""
    depth = int(arm.depth.value) if arm.depth.value is not None else None
    typical = typical_acceptance(depth)
    if arm.synthetic:
        return typical
    live = what.measured
    if live is not None and (live.mean_accepted_length is not None or live.curve):
        return None
    high = arm.acceptance.high
    if high is None:
        return typical
    low = arm.acceptance.low
    return Span(min(typical.low, high) if low is None else low, high)


def _break_evens(outlook: Outlook) -> list[BreakEven]:
    what = outlook.what
    depths = _depths(outlook)
    given = answer(what, depths=depths)
    found = []
    for depth in depths:
        span = given.break_even_at[depth]
        provenance: Provenance | None = "assumed" if given.assumed else "derived"
        live = what.measured
        deeper = live is not None and depth > live.depth and live.round_ms is not None
        if span is None:
            span, deeper = outlook.prospect(depth).break_even, False
            provenance = None if span is None else "assumed"
        reached = what.profile is not None and depth < len(what.profile)
        sharp = what.verify_factor.provenance == "typed" or (reached and span is not None and span.exact)
        found.append(BreakEven(what.drafter_class, depth, span, deeper and not sharp, provenance))
    return found


def _depths(outlook: Outlook) -> tuple[int, ...]:
    """The depths asked, with the one that ran."""
    live = outlook.what.measured
    ran = live is not None and live.mean_accepted_length is not None
    return tuple(sorted({*ASKED_DEPTHS, *([outlook.what.depth] if ran else [])}))


def _projection(outlook: Outlook) -> Projection:
    live = outlook.what.measured
    measured_at = live.depth if live is not None and outlook.acceptance is None else None
    return Projection(
        drafter_class=outlook.what.drafter_class,
        acceptance=outlook.acceptance,
        prospects=tuple(outlook.prospect(depth) for depth in _depths(outlook) if depth != measured_at),
    )


def _effect(view: View, outlooks: list[Outlook], *, drafts: bool, settable: bool) -> Effect | None:
    judgement, arm = view.judgement, view.canary
    if view.incumbent is None and drafts:
        return unnamed_incumbent(outlooks[0]) if outlooks else Effect("incumbent", None, None, None)
    reached = judgement.ratio if judgement is not None and arm is not None and not arm.synthetic else None
    bar = max(1.0, reached or 1.0)
    if not outlooks or not settable:
        return most_telling(None, judgement, bar=bar)
    found = (most_telling(outlook, judgement, bar=bar) for outlook in outlooks)
    return next((effect for effect in found if effect is not None), None)

"""What an arm's sums measure, each with its provenance or the reason why not."""

from __future__ import annotations

import math
from pathlib import PurePath
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.model import rates
from tui.model.acceptance import Acceptance, estimate, from_halogen, halogen_head_depth
from tui.model.drafters import drafter_class
from tui.model.figures import DrafterClass, Figure
from tui.model.steps import StepFigures, StepSums, step_figures

if TYPE_CHECKING:
    from tui.session.arms import Arm
    from tui.session.sums import Sums

NO_DRAFT_TIME = {
    "llama.cpp": "no draft time in this log: llama-server prints it with -lv 4",
    "halogen": "halogen does not log draft time",
}
SEEN_ROUNDS = 20
"""Rounds before a depth that was never reached is remarked upon."""

_CLOCK_FAULTS = (
    (
        6723,
        7322,
        "b6723 to b7322 leave an answer's last pass out of the decode time: rates are a bit high",
    ),
    (
        7323,
        7683,
        "b7323 to b7683 count some of a GPU's prompt time as decode time: rates are too low",
    ),
)
"""First and last build of llama.cpp with a fault of its clock, and the fault."""


def depth(arm: Arm, typed: int | None) -> Figure:
    """K: as typed, from start-up lines or printed positions, else at least what was seen."""
    if typed is not None:
        return Figure(typed, "typed")
    seen = arm.all.deepest
    if arm.identity.depth is not None:
        shallower = arm.all.rounds >= SEEN_ROUNDS and seen <= arm.identity.depth - 1
        note = f"drafts seen reach {seen:.1f}" if shallower else ""
        return Figure(arm.identity.depth, "measured", note)
    positions = max(arm.positions, default=0)
    if positions:
        return Figure(positions, "measured", "positions printed")
    if arm.counted.reached:
        return Figure(len(arm.counted.reached), "measured", "positions counted")
    seen = max(seen, arm.counted.deepest)
    if seen > 0:
        return Figure(math.ceil(seen - 0.01), "derived", "at least; not in this log")
    return Figure.unknown("not in this log" if arm.drafts else "nothing drafted")


def acceptance(arm: Arm, typed_depth: int | None) -> Acceptance:
    """The acceptance p of an arm, best evidence first."""
    sums = arm.all
    if not sums.drafts:
        return Acceptance.unknown("nothing drafted")
    if arm.engine == "halogen":
        known = typed_depth or halogen_head_depth(arm.identity.build)
        return from_halogen(
            sums.rounds, sums.rounds_accepted, sums.lookup_rounds, sums.lookup_accepted, known
        )
    k = depth(arm, typed_depth)
    configured = int(k.value) if k.value is not None and k.provenance != "derived" else None
    if sums.position_rounds and sums.telling:
        return estimate(
            rounds=sums.position_rounds,
            drafted=sums.position_drafted,
            accepted=sums.position_accepted,
            depth=configured,
            position_counts=sums.reached,
        )
    if sums.rounds and sums.telling:
        return estimate(
            rounds=sums.rounds, drafted=sums.rounds_drafted, accepted=sums.rounds_accepted, depth=configured
        )
    return estimate(rounds=None, drafted=sums.drafted, accepted=sums.accepted, depth=configured)


def reached(sums: Sums) -> tuple[float, ...] | None:
    """Share of rounds whose first i drafts were all accepted, i = 1..K."""
    if not sums.position_rounds or not sums.telling:
        return None
    return tuple(count / sums.position_rounds for count in sums.reached)


def mean_accepted_length(sums: Sums) -> Figure:
    """M = 1 + accepted/rounds, pooled over rounds."""
    if why := _untold(sums):
        return Figure.unknown(why)
    return Figure(1 + sums.rounds_accepted / sums.rounds, "measured", _settled(sums))


def tokens_per_pass(sums: Sums) -> Figure:
    """Tokens over all target passes, drafted or not."""
    if why := _untold(sums):
        return Figure.unknown(why)
    passes = sums.rounds + sums.passes_without_draft
    return Figure((sums.rounds_steps + sums.undrafted_steps) / passes, "measured", _settled(sums))


def coverage(sums: Sums) -> Figure:
    """Share of target passes that had a draft."""
    if why := _untold(sums):
        return Figure.unknown(why)
    return Figure(sums.rounds / (sums.rounds + sums.passes_without_draft), "measured", _settled(sums))


def class_of(arm: Arm, typed: DrafterClass | None) -> DrafterClass | None:
    """The drafter's class, as typed or from its name."""
    return typed or drafter_class(arm.drafter)


def step_times(arm: Arm, target_step: Figure, kind: DrafterClass | None) -> StepFigures:
    """Where the time of a round goes, over the requests that ran alone."""
    sums, note = arm.step_sums
    timed = sums.draft_rounds > 0 and sums.telling
    return step_figures(
        StepSums(
            decode_ms=sums.settled_decode_ms,
            rounds=sums.rounds if not sums.drafts or (sums.rounds and sums.telling) else None,
            plain_steps=sums.passes_without_draft,
            draft_ms=sums.draft_ms if timed else None,
            drafts=sums.draft_rounds,
            drafted=sums.draft_tokens,
            drafter_class=kind,
            target_step=target_step,
            overlapped=note == "shared" and arm.shared > 0,
            note="" if note == "shared" else note,
            no_draft_time=_unknown_rounds(sums)
            if sums.draft_rounds and not timed
            else NO_DRAFT_TIME["halogen" if arm.engine == "halogen" else "llama.cpp"],
        )
    )


def _untold(sums: Sums) -> str:
    """Why nothing can be said of rounds, in words; empty where it can."""
    if not sums.rounds:
        return "rounds unknown" if sums.drafts else "nothing drafted"
    return "" if sums.telling else _unknown_rounds(sums)


def _unknown_rounds(sums: Sums) -> str:
    open_ = sums.ranged + sums.unsettled
    return f"rounds of {open_} of {open_ + sums.settled} requests unknown"


def _settled(sums: Sums) -> str:
    return f"{_unknown_rounds(sums)}, left out" if sums.ranged + sums.unsettled else ""


def acceptance_ratio(arm: Arm) -> Figure:
    """accepted/drafted as the server counts it; not p."""
    accepted, drafted = arm.all.accepted, arm.all.drafted
    if not drafted and arm.engine == "halogen" and arm.all.drafts:
        return Figure.unknown("halogen does not log drafted tokens")
    if not drafted:
        return Figure.unknown("nothing drafted")
    if accepted > drafted:
        return Figure(accepted / drafted, "measured", "inconsistent: more accepted than drafted")
    return Figure(accepted / drafted, "measured")


def commit_needed(incumbent: float | None, arm: Arm, pass_ms: Figure) -> Figure:
    """What a round must commit to break even, beside the plain steps of the requests that ran alone.

    Args:
        incumbent: R_inc in tok/s.
        arm: the canary.
        pass_ms: its mean time per target pass.
    """
    if incumbent is None:
        return Figure.unknown("no incumbent")
    share = coverage(arm.step_sums[0])
    if pass_ms.value is None or share.value is None:
        return Figure.unknown(pass_ms.note if pass_ms.value is None else share.note)
    return Figure(rates.commit_needed(pass_ms.value, incumbent, share.value), "derived", pass_ms.note)


def clock_fault(arm: Arm) -> str:
    """What is known to be wrong with the decode times of an arm's build, in words; empty where nothing is."""
    build = arm.identity.build or ""
    if not build.startswith("b") or not build[1:].isdecimal():
        return ""
    return next((fault for first, last, fault in _CLOCK_FAULTS if first <= int(build[1:]) <= last), "")


def differing_models(incumbent: Arm, canary: Arm) -> str:
    """That two arms run different targets, in words; empty where they do not, or nothing tells."""
    old, new = (PurePath(arm.identity.model or "").name for arm in (incumbent, canary))
    if not old or not new or old == new:
        return ""
    return f"different models: incumbent {harmless(old)}, canary {harmless(new)}"

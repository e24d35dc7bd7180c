"""The live inputs of the what-if pane: what an arm measured, with the costs that are known of its target."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.model.figures import Figure
from tui.model.steps import is_upper_bound
from tui.model.whatif import ASSUMED_VERIFY_FACTOR, DEPTHS, Measured, WhatIf
from tui.session.intervals import coverage as counted_coverage
from tui.session.intervals import step_times as unknown_step_times
from tui.session.measures import class_of, coverage, depth, mean_accepted_length, reached, step_times

if TYPE_CHECKING:
    from tui.model.cost import Profile
    from tui.session.arms import Arm
    from tui.session.session import Policy
    from tui.session.snapshot import Incumbent, VerifyCost


def what_if(
    arm: Arm, target_step: Figure, incumbent: Incumbent | None, cost: VerifyCost | None, policy: Policy
) -> WhatIf:
    """The inputs as an arm stands.

    Args:
        arm: the canary.
        target_step: t_s as the log tells it.
        incumbent: what has to be beaten.
        cost: the verify cost by size, where there is one.
        policy: what the operator says where the log is silent.
    """
    sums, _ = arm.step_sums
    if not sums.requests:
        sums = arm.counted if arm.interval_only else arm.all
    steps = step_times(arm, target_step, class_of(arm, policy.drafter_class))
    if arm.interval_only:
        steps = unknown_step_times(target_step)
    k = depth(arm, policy.depth)
    kind = class_of(arm, policy.drafter_class) or "plain"
    share = counted_coverage(sums, arm.engine) if arm.interval_only else coverage(sums)
    configured = max(1, round(k.value)) if k.value is not None else 1
    curve = reached(sums)
    verify = steps.verify_factor
    if verify.value is None and not sums.rounds and target_step.value is not None:
        verify = Figure(ASSUMED_VERIFY_FACTOR, "assumed", "no round measured")
    unpriced = WhatIf(
        drafter_class=kind,
        depth=configured,
        target_step_ms=steps.target_step_ms,
        draft_step_ms=steps.draft_step_ms,
        verify_factor=verify,
        coverage=1.0 if share.value is None else share.value,
        incumbent_tok_s=None if incumbent is None else incumbent.decode_tok_s,
        measured=Measured(
            depth=configured,
            round_ms=steps.round_ms.value,
            draft_ms=steps.draft_ms.value,
            mean_accepted_length=mean_accepted_length(sums).value,
            curve=curve,
            pass_ms=steps.pass_ms.value,
            coverage=share.value,
            drafter_class=kind,
        ),
    )
    return unpriced if cost is None else priced(unpriced, cost.profile)


def priced(what: WhatIf, cost: Profile) -> WhatIf:
    """The inputs with a profile; its plain step stands in where t_s is unknown."""
    step = what.target_step_ms
    if cost.target_step_ms is not None and (step.value is None or is_upper_bound(step)):
        step = Figure(cost.target_step_ms, "measured", f"T(1) of {cost.name}")
    return replace(what, profile=cost.steps[: DEPTHS[-1] + 1], target_step_ms=step)

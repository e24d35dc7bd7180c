"""Step times from sums over requests that ran alone. Times in ms."""

from __future__ import annotations

from dataclasses import dataclass, field

from tui.model.figures import DrafterClass, Figure, Provenance

UPPER_BOUND = "upper bound"
MOST_PLAIN = 0.8
"""Share of the decode time beyond which plain steps leave too little to tell the rounds from: at .8 a target
step that is off by 5 % makes the round time wrong by 20 %."""
TOO_PLAIN = "plain steps took nearly all of the time: what is left does not tell the rounds"
_NO_TARGET_STEP = "target step unknown: a run without drafting tells it"


@dataclass(frozen=True, slots=True)
class StepSums:
    """What the step times are worked out from.

    Attributes:
        decode_ms: decode time that `rounds` and `plain_steps` took together.
        rounds: R; None where only a range is known. 0 when nothing was drafted.
        plain_steps: target passes without a draft; None where unknown.
        passes: R + plain steps, where their sum is known and they are not.
        draft_ms, drafts, drafted: drafting time, and the drafts and draft tokens that it made.
        target_step: t_s from elsewhere; a note "upper bound" keeps it out of every other figure.
        overlapped: every request shared the server with others.
        note: what qualifies all of it, e.g. "overlap unknown".
        no_draft_time: why the log gives no drafting time, where it gives none.
    """

    decode_ms: float
    rounds: int | None
    plain_steps: int | None
    passes: int | None = None
    draft_ms: float | None = None
    drafts: int = 0
    drafted: int = 0
    drafter_class: DrafterClass | None = None
    target_step: Figure = field(default_factory=lambda: Figure.unknown(_NO_TARGET_STEP))
    overlapped: bool = False
    note: str = ""
    no_draft_time: str = "no draft time in this log"


@dataclass(frozen=True, slots=True)
class StepFigures:
    """Where the time of a round goes.

    Attributes:
        round_ms: one draft and its verify pass. pass_ms: mean time per target pass, plain ones included.
        draft_ms: drafting per round. draft_step_ms: d_s. verify_ms: verify pass. target_step_ms: t_s.
        verify_factor: v. target_over_draft: t_s/d_s, how much faster the drafter is per token.
    """

    round_ms: Figure
    pass_ms: Figure
    draft_ms: Figure
    draft_step_ms: Figure
    verify_ms: Figure
    target_step_ms: Figure
    verify_factor: Figure
    target_over_draft: Figure


def target_step(decode_ms: float, steps: int, note: str = "") -> Figure:
    """t_s from decoding without drafts: decode time over the n - 1 passes it took.

    Args:
        decode_ms: decode time.
        steps: sum of n - 1.
        note: what qualifies it; "upper bound" for the round time of a speculating incumbent.
    """
    if steps <= 0 or decode_ms <= 0:
        return Figure.unknown(_NO_TARGET_STEP)
    return Figure(decode_ms / steps, "measured", note)


def is_upper_bound(figure: Figure) -> bool:
    """Whether a figure is tagged as an upper bound, which no other figure may be built on."""
    return UPPER_BOUND in figure.note


def step_figures(sums: StepSums) -> StepFigures:
    """The step times that the sums settle, each with its provenance or the reason why not."""
    t_s = sums.target_step
    if sums.overlapped:
        shared = Figure.unknown("shared: requests overlapped")
        return StepFigures(shared, shared, shared, shared, shared, t_s, shared, shared)
    round_ms = _round(sums)
    draft = _draft(sums)
    draft_step = _draft_step(sums)
    verify = _difference(round_ms, draft)
    return StepFigures(
        round_ms=round_ms,
        pass_ms=_pass(sums),
        draft_ms=draft,
        draft_step_ms=draft_step,
        verify_ms=verify,
        target_step_ms=t_s,
        verify_factor=_over_target(verify, t_s),
        target_over_draft=_target_over(t_s, draft_step, sums.drafter_class),
    )


def _round(sums: StepSums) -> Figure:
    if sums.rounds == 0:
        return Figure.unknown("nothing drafted")
    if sums.rounds is None or sums.plain_steps is None:
        return Figure.unknown("rounds known only as a range")
    if sums.plain_steps == 0:
        return Figure(sums.decode_ms / sums.rounds, "measured", sums.note)
    t_s = sums.target_step
    if t_s.value is None or is_upper_bound(t_s):
        return Figure.unknown(f"{sums.plain_steps} plain steps among the passes, {_NO_TARGET_STEP}")
    if sums.plain_steps * t_s.value >= sums.decode_ms:
        return Figure.unknown("the target step is longer than these passes took")
    left = without_plain(sums.decode_ms, sums.plain_steps, t_s.value)
    if left is None:
        return Figure.unknown(TOO_PLAIN)
    provenance: Provenance = "measured" if t_s.provenance == "measured" else "derived"
    return Figure(left / sums.rounds, provenance, sums.note)


def without_plain(decode_ms: float, plain_steps: float, target_step_ms: float) -> float | None:
    """Decode time less that of the plain steps in it; None where too little is left."""
    plain_ms = plain_steps * target_step_ms
    return None if plain_ms > MOST_PLAIN * decode_ms else decode_ms - plain_ms


def _pass(sums: StepSums) -> Figure:
    passes = sums.passes
    if passes is None and sums.rounds is not None and sums.plain_steps is not None:
        passes = sums.rounds + sums.plain_steps
    if not passes:
        return Figure.unknown("target passes unknown")
    return Figure(sums.decode_ms / passes, "measured", sums.note)


def _draft(sums: StepSums) -> Figure:
    if sums.rounds == 0:
        return Figure.unknown("nothing drafted")
    if sums.draft_ms is None or sums.drafts <= 0:
        return Figure.unknown(sums.no_draft_time)
    return Figure(sums.draft_ms / sums.drafts, "measured", sums.note)


def _draft_step(sums: StepSums) -> Figure:
    per_round = _draft(sums)
    match sums.drafter_class:
        case "head":
            return per_round
        case "plain" if sums.draft_ms is not None and sums.drafted > 0:
            return Figure(sums.draft_ms / sums.drafted, "measured", sums.note)
        case "plain":
            return Figure.unknown(sums.no_draft_time)
        case "ngram":
            return Figure.unknown("n-gram drafters take no model step")
        case None:
            return Figure.unknown("drafter class unknown")


def _difference(round_ms: Figure, draft: Figure) -> Figure:
    if round_ms.value is None:
        return Figure.unknown(round_ms.note)
    if draft.value is None:
        return Figure.unknown(draft.note)
    if draft.value >= round_ms.value:
        return Figure.unknown("drafting took longer than the rounds: the times do not fit")
    return Figure(round_ms.value - draft.value, "derived", round_ms.note)


def _over_target(verify: Figure, t_s: Figure) -> Figure:
    if verify.value is None:
        return Figure.unknown(verify.note)
    if t_s.value is None:
        return Figure.unknown(t_s.note or _NO_TARGET_STEP)
    if is_upper_bound(t_s):
        return Figure.unknown("the target step is only an upper bound: a run without drafting tells it")
    provenance: Provenance = "measured" if t_s.provenance == "measured" else "derived"
    return Figure(verify.value / t_s.value, provenance, verify.note)


def _target_over(t_s: Figure, draft_step: Figure, drafter_class: DrafterClass | None) -> Figure:
    if draft_step.value is None:
        return Figure.unknown(draft_step.note)
    if t_s.value is None:
        return Figure.unknown(t_s.note or _NO_TARGET_STEP)
    if is_upper_bound(t_s):
        return Figure.unknown("the target step is only an upper bound: a run without drafting tells it")
    note = "plain drafters need 10 to 50" if drafter_class == "plain" else ""
    return Figure(t_s.value / draft_step.value, "derived", note)

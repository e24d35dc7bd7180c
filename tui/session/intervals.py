"""What a server's own counters say of an arm: alone, or beside the requests of its log.

Counters hold all requests together, cancelled ones included. So they are never added to what the log's
requests sum up to; they tell what the log does not.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from tui.model.acceptance import Acceptance, estimate, from_mean_length, from_ratio
from tui.model.figures import Figure
from tui.model.steps import StepFigures
from tui.session.arms import NOW
from tui.session.snapshot import ArmView, Window
from tui.session.sums import COUNT_DECODE_TIME, Sums, rounds_in
from tui.session.windows import per_second

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.formats.events import Interval
    from tui.model.comparison import Judgement
    from tui.model.figures import DrafterClass
    from tui.session.arms import Arm

TOGETHER = "counters hold all requests together"
LOG_TELLS = f"{TOGETHER}: the server's log tells them apart"
NEEDS_REQUESTS = "a verdict needs single requests"
FROM_COUNTERS = "from the server's counters"
_ROUNDED = 2e-5
"""Counters of six digits are off by 5 in a million each."""


def step_times(target_step: Figure) -> StepFigures:
    """No step time is known: what ran alone cannot be told from what was shared."""
    unknown = Figure.unknown(LOG_TELLS)
    return StepFigures(unknown, unknown, unknown, unknown, unknown, target_step, unknown, unknown)


def acceptance_ratio(sums: Sums, engine: str | None) -> Figure:
    """Accepted over drafted, as counted."""
    if sums.drafted:
        note = "inconsistent: more accepted than drafted" if sums.accepted > sums.drafted else FROM_COUNTERS
        return Figure(sums.accepted / sums.drafted, "measured", note)
    if sums.ratio_passes:
        return Figure(sums.ratio_accepted / sums.ratio_passes, "measured", "mean over intervals")
    return Figure.unknown(_no_drafts(sums, engine))


def acceptance(sums: Sums, engine: str | None, depth: int | None) -> Acceptance:
    """The acceptance p behind counters, best evidence first."""
    if sums.position_rounds:
        rounds, drafted = _fitted(sums, len(sums.reached))
        return estimate(
            rounds=rounds,
            drafted=drafted,
            accepted=round(sum(sums.reached)),
            depth=depth,
            position_counts=sums.reached,
        )
    if sums.rounds and sums.rounds_drafted and not sums.mean_passes:
        return estimate(
            rounds=sums.rounds, drafted=sums.rounds_drafted, accepted=sums.rounds_accepted, depth=depth
        )
    if sums.mean_passes and depth:
        return from_mean_length(_mean(sums), depth)
    if sums.drafted:
        return estimate(rounds=None, drafted=sums.drafted, accepted=sums.accepted, depth=depth)
    if sums.ratio_passes:
        return from_ratio(sums.ratio_accepted / sums.ratio_passes, depth)
    return Acceptance.unknown(_no_drafts(sums, engine))


def reached(sums: Sums) -> tuple[float, ...] | None:
    """Share of rounds whose first i drafts were all accepted."""
    if not sums.position_rounds:
        return None
    rounds, _ = _fitted(sums, len(sums.reached))
    return tuple(count / rounds for count in sums.reached)


def mean_accepted_length(sums: Sums, engine: str | None) -> Figure:
    """Tokens a round commits: from counted rounds, else the printed means."""
    if sums.rounds or sums.mean_passes:
        return Figure(_mean(sums), "measured", "mean over intervals" if sums.mean_passes else FROM_COUNTERS)
    if sums.drafted:
        return Figure.unknown("these counters do not tell rounds")
    return Figure.unknown(_no_drafts(sums, engine))


def _mean(sums: Sums) -> float:
    """Over counted rounds, and over what the printed means of other intervals tell of theirs."""
    return (sums.rounds + sums.rounds_accepted + sums.mean_tokens) / (sums.rounds + sums.mean_passes)


def coverage(sums: Sums, engine: str | None) -> Figure:
    """Share of target passes that had a draft; needs the requests' number, one token each is no pass."""
    if not sums.rounds:
        return Figure.unknown(mean_accepted_length(sums, engine).note)
    if sums.unnumbered or sums.unsettled:
        return Figure.unknown(_PASSES)
    return Figure(sums.rounds / (sums.rounds + sums.passes_without_draft), "measured", FROM_COUNTERS)


def tokens_per_pass(sums: Sums, engine: str | None) -> Figure:
    """Tokens over all target passes, drafted or not."""
    share = coverage(sums, engine)
    if share.value is None:
        return share
    passes = sums.rounds + sums.passes_without_draft
    return Figure((sums.rounds_steps + sums.undrafted_steps) / passes, "measured", FROM_COUNTERS)


_PASSES = f"target passes unknown: {TOGETHER}"


def interval_view(
    arm: Arm,
    label: str,
    depth: Figure,
    target_step: Figure,
    drafter_class: DrafterClass | None,
    drafter_class_from: str,
) -> ArmView:
    """An arm of which only counters are known.

    Args:
        arm: its sums.
        label: its name on screen.
        depth: K.
        target_step: t_s from elsewhere.
        drafter_class: as typed or from its name.
        drafter_class_from: which of the two.
    """
    sums, recent = arm.counted, list(arm.recent_intervals)
    configured = int(depth.value) if depth.value is not None and depth.provenance != "derived" else None
    share = coverage(sums, arm.engine)
    return ArmView(
        label=label,
        drafter=arm.drafter,
        drafter_class=drafter_class,
        drafter_class_from=drafter_class_from,
        synthetic=bool(arm.identity.synthetic),
        requests=None if sums.unnumbered else sums.requests,
        tokens=sums.tokens,
        decode_tok_s=per_second(sums.steps, sums.decode_ms),
        delivered_tok_s=None,
        drafted=sums.drafted,
        accepted=sums.accepted,
        acceptance_ratio=acceptance_ratio(sums, arm.engine),
        acceptance=acceptance(sums, arm.engine, configured),
        reached=reached(sums),
        depth=depth,
        mean_accepted_length=mean_accepted_length(sums, arm.engine),
        commit_spread=None,
        commit_needed=Figure.unknown(LOG_TELLS),
        tokens_per_pass=tokens_per_pass(sums, arm.engine),
        coverage=share,
        rounds=sums.rounds if sums.rounds and not sums.unsettled else None,
        rounds_range=None,
        plain_steps=sums.passes_without_draft if share.value is not None else None,
        head_off_share=None,
        steps=step_times(target_step),
        now=_window(recent[-NOW:]),
        rates=tuple(map(_pictured, recent)),
        ratios=tuple(map(_ratio, recent)),
        commits=tuple(map(_commit, recent)),
        rate_note=rate_note(arm),
    )


def with_counters(view: ArmView, counted: Sums, engine: str | None) -> ArmView:
    """An arm of finished requests, with what only the counters of its server tell.

    Args:
        view: from the log's requests alone.
        counted: sums of the counters, other requests included.
        engine: the server.
    """
    if not counted.intervals:
        return view
    if view.acceptance_ratio.value is None and counted.drafted:
        ratio = acceptance_ratio(counted, engine)
        view = replace(view, acceptance_ratio=ratio, drafted=counted.drafted, accepted=counted.accepted)
    if view.reached is None and counted.position_rounds:
        k = view.depth
        configured = int(k.value) if k.value is not None and k.provenance != "derived" else None
        view = replace(view, reached=reached(counted), acceptance=acceptance(counted, engine, configured))
    if view.mean_accepted_length.value is None and counted.rounds:
        view = replace(view, mean_accepted_length=mean_accepted_length(counted, engine))
    same = counted.drafted == view.drafted and counted.accepted == view.accepted
    if view.rounds is None and counted.rounds and same:
        view = replace(view, rounds=counted.rounds, rounds_range=None)
    return view


def beyond_log(arm: Arm, counted: Sums) -> str:
    """Why the counters hold more than the log's requests, in words; empty where they need not."""
    if not arm.cancelled or not counted.intervals or counted.tokens <= arm.all.tokens:
        return ""
    were = "1 request was" if arm.cancelled == 1 else f"{arm.cancelled} requests were"
    return (
        f"{were} cancelled: what they generated is in the server's counters"
        f" ({counted.tokens} tokens) and not in the log's finished requests ({arm.all.tokens})"
    )


def rate_note(arm: Arm) -> str:
    """What the decode rate of an arm of counters counts; empty for one of requests."""
    if not arm.interval_only:
        return ""
    if arm.engine not in COUNT_DECODE_TIME:
        return f"no decode rate: {TOGETHER}, and the rates pictured are of all of them at once"
    first = ", each request's first token counted too" if arm.counted.unnumbered else ""
    return f"tokens over decode seconds, all requests together{first}"


def without_requests(judgement: Judgement, view: ArmView, incumbent: float | None) -> Judgement:
    """No verdict: it takes single requests. The ratio of the rates is shown all the same."""
    own = view.decode_tok_s
    ratio = own / incumbent if own is not None and incumbent and judgement.basis == "decode" else None
    reason = f"{NEEDS_REQUESTS}; {LOG_TELLS}"
    canary = judgement.canary
    if view.rate_note:
        canary = replace(canary, rate_tok_s=own)
    return replace(
        judgement, verdict="NO_DATA", reason=reason, ratio=ratio, requests_needed=None, canary=canary
    )


def _no_drafts(sums: Sums, engine: str | None) -> str:
    if not sums.uncounted:
        return "nothing drafted" if not sums.unsettled else "these counters do not tell drafted tokens"
    if engine == "halogen":
        return "halogen 0.14.0 to 0.15.3 miscounts drafted tokens, and this version is one or unknown"
    if engine == "llama.cpp":
        return "this build's /metrics does not count drafting (llama.cpp does from b10282)"
    return "no drafting counted"


def _fitted(sums: Sums, depth: int) -> tuple[int, int]:
    """Rounds and drafted tokens as counters of six digits allow: the positions' are exact, these are not."""
    rounds, drafted = sums.position_rounds, sums.position_drafted
    slack = 1 + _ROUNDED * rounds
    if rounds < sums.reached[0] <= rounds + slack:
        rounds = round(sums.reached[0])
    if drafted > rounds * depth and drafted <= (rounds + slack) * depth:
        drafted = rounds * depth
    return rounds, drafted


def _window(intervals: Sequence[Interval]) -> Window:
    timed = [i for i in intervals if _rate(i) is not None]
    drafted = sum(i.drafted or 0 for i in intervals)
    accepted = sum(i.accepted or 0 for i in intervals if i.drafted)
    sums = Sums()
    for interval in intervals:
        sums.add_interval(interval)
    return Window(
        requests=sum(i.requests or 0 for i in intervals),
        decode_tok_s=per_second(sum(map(_steps, timed)), 1000 * sum(i.seconds or 0.0 for i in timed)),
        delivered_tok_s=None,
        acceptance_ratio=accepted / drafted if drafted else None,
        mean_accepted_length=_mean(sums) if sums.rounds or sums.mean_passes else None,
        round_ms=None,
    )


def _steps(interval: Interval) -> int:
    return round(interval.tokens or 0) - (interval.requests or 0)


def _rate(interval: Interval) -> float | None:
    if not interval.seconds or interval.engine not in COUNT_DECODE_TIME or _steps(interval) <= 0:
        return None
    return _steps(interval) / interval.seconds


def _pictured(interval: Interval) -> float | None:
    """The decode rate; where there is none, what the server prints for all requests together."""
    own = _rate(interval)
    return interval.rate_tok_s if own is None and interval.doubt is None else own


def _ratio(interval: Interval) -> float | None:
    if interval.drafted is None:
        return interval.acceptance_ratio
    if not interval.drafted or interval.accepted is None or interval.accepted > interval.drafted:
        return None
    return interval.accepted / interval.drafted


def _commit(interval: Interval) -> float | None:
    rounds = rounds_in(interval)
    if rounds and interval.accepted is not None:
        return 1 + interval.accepted / rounds
    return interval.mean_accepted_length

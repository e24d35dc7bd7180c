"""What a reader must know before acting on a report, beyond the comparison's own warnings."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from tui.model.comparison import stratum_of
from tui.model.steps import is_upper_bound
from tui.render import numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tui.formats.events import Request
    from tui.session.snapshot import ArmView, View

SYNTHETIC = (
    "SYNTHETIC: this server accepts drafts at rates that its operator set. Its timing is real; the text is"
    " not valid, and p, commit and this verdict hold for those rates only"
)
SAME_SERVER = (
    "the incumbent's server has a drafter loaded that drafted nothing: a run without the drafter is the"
    " cleaner baseline"
)
NEAR_ALL_TOKENS = 0.8
"""A round that costs this share of K + 1 plain steps can hardly gain anything."""
SAME = 0.05
"""Changes of commit or round time below this are called none."""
REPEATED_PROMPT = 4
"""At most so many prompt tokens are computed when the same prompt is sent again."""
LONG_PROMPT = 4096
ENOUGH_DRAFTED = 100
"""Draft tokens a group needs before its acceptance is held against another's."""
UNEVEN = 3.0


def notes(view: View) -> list[str]:
    """Notes on one view, the gravest first."""
    arm = view.canary
    if arm is None:
        return list(_of_source(view))
    requests = [row.request for row in view.requests if row.arm == arm.label]
    return [
        *_of_origin(view, arm),
        *([view.drift] if view.drift else []),
        *view.notes,
        *_of_cost(arm),
        *_of_profile(view),
        *_of_change(view, arm),
        *_of_requests(requests),
        *_of_source(view),
    ]


def _of_origin(view: View, arm: ArmView) -> Iterator[str]:
    incumbent = view.incumbent
    beaten = None if incumbent is None else incumbent.arm
    if arm.synthetic:
        yield SYNTHETIC
    if beaten is not None and beaten.synthetic:
        yield "the incumbent is a SYNTHETIC run: its rate is none that valid text was made at"
    idle = beaten is not None and beaten.drafter is not None and incumbent is not None
    if idle and incumbent is not None and incumbent.drafts is False and view.source.engine == "llama.cpp":
        yield SAME_SERVER
    if arm.drafted and arm.drafter_class is None:
        yield "the drafter's class is not known and taken as plain: --drafter-class says it"
    if arm.depth.value is not None and arm.depth.note.startswith("drafts seen"):
        yield f"K={arm.depth.value:.0f} is configured, but {arm.depth.note}"


def _of_cost(arm: ArmView) -> Iterator[str]:
    round_ms, step, depth = arm.steps.round_ms.value, arm.steps.target_step_ms, arm.depth.value
    if round_ms is None or not step.value or is_upper_bound(step) or depth is None:
        return
    cost = round_ms / step.value
    if cost >= NEAR_ALL_TOKENS * (depth + 1):
        words = (
            f"a round costs {cost:.1f} plain steps and commits {depth + 1:.0f} tokens at most: about what"
            " decoding them one by one costs"
        )
        accepted = arm.acceptance_ratio.value
        yield f"{words}, or the counters are off" if accepted and accepted > 0.98 else words


def _of_profile(view: View) -> Iterator[str]:
    if view.fixed_cost:
        yield view.fixed_cost
    if view.cost is not None:
        for doubt in view.cost.doubts:
            yield f"the costs of {view.cost.profile.name} may not hold here: {doubt}"


def _of_change(view: View, arm: ArmView) -> Iterator[str]:
    """Two drafting arms: whether the drafter or the cost of a round changed."""
    old = view.incumbent.arm if view.incumbent is not None else None
    if old is None:
        return
    commits = (old.mean_accepted_length.value, arm.mean_accepted_length.value)
    rounds = (old.steps.round_ms.value, arm.steps.round_ms.value)
    if commits[0] is None or commits[1] is None or rounds[0] is None or rounds[1] is None:
        return
    commit, cost = commits[1] / commits[0] - 1, rounds[1] / rounds[0] - 1
    words = (
        f"commit/round {numbers.tokens(commits[1])} against {numbers.tokens(commits[0])} ({commit:+.0%}),"
        f" round {numbers.ms(rounds[1])} against {numbers.ms(rounds[0])} ms ({cost:+.0%})"
    )
    if abs(commit) < SAME <= cost:
        yield f"{words}: rounds cost more, the drafter is as good (look at residency, spill, clocks)"
    elif commit <= -SAME and abs(cost) < SAME:
        yield f"{words}: the drafter accepts less, rounds cost the same"
    else:
        yield words


def _of_requests(requests: Sequence[Request]) -> Iterator[str]:
    """What the newest requests tell that a mean over all of them hides."""
    repeats = _repeats(requests)
    if repeats:
        yield (
            f"{repeats} of the newest {len(requests)} requests look like the same prompt sent again (hardly"
            " any of it computed, an answer as long as before): repeats flatter a drafter"
        )
    idle = sum(not (r.drafted or r.rounds or r.rounds_range) for r in requests)
    if 0 < idle < len(requests):
        yield f"{idle} of the newest {len(requests)} requests drafted nothing"
    groups: tuple[tuple[str, Callable[[Request], str]], ...] = (
        ("slot", lambda r: "unknown" if r.slot is None else f"slot {r.slot}"),
        ("requests in flight", lambda r: stratum_of(r.concurrency)),
        ("prompt length", _length),
    )
    for name, group in groups:
        yield from _uneven(requests, name, group)


def _repeats(requests: Sequence[Request]) -> int:
    """Requests that repeat an earlier one; newest first."""
    seen: set[int] = set()
    count = 0
    for request in reversed(requests):
        evaluated, tokens = request.prompt_evaluated_tokens, request.tokens
        if tokens is None:
            continue
        count += evaluated is not None and evaluated <= REPEATED_PROMPT and tokens in seen
        seen.add(tokens)
    return count


def _length(request: Request) -> str:
    known = [n for n in (request.prompt_evaluated_tokens, request.prompt_cached_tokens) if n is not None]
    tokens = request.prompt_tokens if request.prompt_tokens is not None else sum(known)
    return f"{LONG_PROMPT} tokens or more" if tokens >= LONG_PROMPT else "shorter"


def _uneven(requests: Sequence[Request], name: str, group: Callable[[Request], str]) -> Iterator[str]:
    """Acceptance that differs so much between groups that the mean stands for neither."""
    drafted: defaultdict[str, int] = defaultdict(int)
    accepted: defaultdict[str, int] = defaultdict(int)
    for request in requests:
        if request.drafted and request.accepted is not None:
            drafted[group(request)] += request.drafted
            accepted[group(request)] += request.accepted
    ratios = {key: accepted[key] / n for key, n in drafted.items() if n >= ENOUGH_DRAFTED}
    if len(ratios) < 2:
        return
    low, high = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    if ratios[high] > UNEVEN * ratios[low]:
        yield (
            f"acceptance differs by {name}: {high} {numbers.percent(ratios[high], 0)}, {low}"
            f" {numbers.percent(ratios[low], 0)}; the mean stands for neither"
        )


def _of_source(view: View) -> Iterator[str]:
    if view.source.problems:
        yield f"{numbers.counted(view.source.problems, 'line')} could not be read: spectop events shows what"
    if view.others:
        labels = ", ".join(
            f"{arm.label} ({numbers.rate(arm.decode_tok_s)} tok/s, {numbers.count(arm.requests)} requests)"
            for arm in view.others
        )
        yield f"other arms of this source, never pooled with the canary: {labels}"

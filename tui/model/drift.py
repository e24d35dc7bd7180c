"""When the rate moves: is it the rounds' time or what they commit?

rate = commit/round time, so a change of the rate splits into both in logarithms.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

SMALLEST = 0.1
"""A change of the rate below this is not remarked upon."""
SHARE = 0.7
"""A part that explains this much of the change is its cause."""
CERTAIN = 3.0
"""Standard errors that a change must exceed; it is looked at all the time."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Requests that follow each other.

    Attributes:
        rate_tok_s: (n - 1)/decode time over all of them.
        log_variance: variance of ln(rate_tok_s).
        commit: mean accepted length, pooled over rounds. round_ms: time of a round. None when unknown.
    """

    rate_tok_s: float
    log_variance: float
    commit: float | None
    round_ms: float | None


def drift(before: Stretch, now: Stretch) -> str:
    """What moved the rate, in words; empty when it did not move beyond its spread.

    Args:
        before: an earlier stretch of the same arm.
        now: the newest one.
    """
    change = math.log(now.rate_tok_s / before.rate_tok_s)
    spread = math.sqrt(before.log_variance + now.log_variance)
    if abs(change) < math.log1p(SMALLEST) or abs(change) < CERTAIN * spread:
        return ""
    moved = f"rate {_percent(change)} of late"
    if not (before.commit and now.commit and before.round_ms and now.round_ms):
        return f"{moved}; why is not in this log"
    commit = math.log(now.commit / before.commit)
    slower = math.log(now.round_ms / before.round_ms)
    both = f"round time {_percent(slower)}, commit {_percent(commit)}"
    if -slower >= SHARE * change > 0 or -slower <= SHARE * change < 0:
        if change > 0:
            return f"{moved}: {both}: the server got faster, not the drafter"
        return f"{moved}: {both}: residency, spilled memory, clocks or a longer context"
    if commit >= SHARE * change > 0 or commit <= SHARE * change < 0:
        better = "is accepted more" if change > 0 else "is accepted less"
        return f"{moved}: {both}: the drafter {better}, other text or a long context"
    return f"{moved}: {both}"


def _percent(logarithm: float) -> str:
    return f"{math.expm1(logarithm) * 100:+.0f} %"

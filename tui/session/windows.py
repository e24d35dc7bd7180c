"""What a few requests say by themselves: the `now` column, one row of the table, what changed of late."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tui.model.comparison import RateSums, stratum_of
from tui.model.drift import SMALLEST, Stretch, drift
from tui.model.figures import Figure
from tui.model.steps import TOO_PLAIN, without_plain
from tui.session.arms import NOW, Arm, decode_rate
from tui.session.measures import mean_accepted_length
from tui.session.snapshot import Window
from tui.session.sums import Sums, accepted_in, plain_steps_in

if TYPE_CHECKING:
    from tui.formats.events import Request

DRIFT_REQUESTS = 10
"""Requests before the last ones that a change is measured from."""
_MOST = 0.9
"""Share of the rounds that must be of requests without plain steps, where the target step is unknown."""


def window(requests: list[Request], target_step_ms: float | None) -> Window:
    """A few requests pooled: rates over their time, lengths over their rounds.

    Args:
        requests: of one arm.
        target_step_ms: t_s, which plain steps are taken out with; None while unknown.
    """
    timed = [r for r in requests if decode_rate(r) is not None]
    steps = sum((r.tokens or 1) - 1 for r in timed)
    decode_ms = sum(r.decode_ms or 0.0 for r in timed)
    whole = [r for r in timed if r.prompt_ms is not None]
    delivered_ms = sum((r.prompt_ms or 0.0) + (r.decode_ms or 0.0) for r in whole)
    counted = [r for r in timed if not r.doubt]
    drafted = sum(r.drafted or 0 for r in counted)
    accepted = sum(r.accepted or 0 for r in counted if r.drafted)
    sums = Sums()
    for request in timed:
        sums.add(request)
    return Window(
        requests=len(timed),
        decode_tok_s=per_second(steps, decode_ms),
        delivered_tok_s=per_second(sum(r.tokens or 0 for r in whole), delivered_ms),
        acceptance_ratio=accepted / drafted if drafted else None,
        mean_accepted_length=mean_accepted_length(sums).value,
        round_ms=_round_ms(timed, target_step_ms) if sums.telling else None,
    )


def drift_of(arm: Arm, target_step_ms: float | None) -> str:
    """What moved the rate between the last requests and those before, at the concurrency of the newest.

    Args:
        arm: whose requests.
        target_step_ms: t_s, None while unknown.
    """
    if not arm.recent:
        return ""
    newest = arm.recent[-1].concurrency
    alike = [
        request
        for request, rate in zip(arm.recent, arm.rates, strict=True)
        if rate is not None
        and (request.concurrency == newest or stratum_of(request.concurrency) == stratum_of(newest))
    ]
    before, now = alike[:-NOW], alike[-NOW:]
    if len(before) < DRIFT_REQUESTS or not _moved(before, now):
        return ""
    return drift(_stretch(before, target_step_ms), _stretch(now, target_step_ms))


def _moved(before: list[Request], now: list[Request]) -> bool:
    """Whether the rate moved so far that its spread is worth working out, which mostly it did not."""
    return abs(math.log(_rate(now) / _rate(before))) >= math.log1p(SMALLEST)


def _rate(requests: list[Request]) -> float:
    return sum((r.tokens or 1) - 1 for r in requests) / sum(r.decode_ms or 0.0 for r in requests)


def _stretch(requests: list[Request], target_step_ms: float | None) -> Stretch:
    sums = RateSums()
    for request in requests:
        sums = sums.plus((request.tokens or 1) - 1, (request.decode_ms or 0.0) / 1000)
    pooled = window(requests, target_step_ms)
    return Stretch(
        sums.rate or 0.0, sums.log_rate_variance or 0.0, pooled.mean_accepted_length, pooled.round_ms
    )


def per_second(tokens: int, ms: float) -> float | None:
    """A rate in tok/s; None without time."""
    return tokens / ms * 1000 if ms > 0 else None


def _round_ms(requests: list[Request], target_step_ms: float | None) -> float | None:
    """Round time over the requests that ran alone; those with plain steps may have other rounds."""
    seen = [
        (r.rounds, r.decode_ms, plain_steps_in(r, r.rounds, accepted, r.tokens - 1))
        for r in requests
        if r.concurrency in (1, None)
        and r.rounds
        and r.decode_ms
        and r.tokens
        and not r.doubt
        and (accepted := accepted_in(r)) is not None
    ]
    if target_step_ms is None:
        whole = [each for each in seen if not each[2]]
        if sum(each[0] for each in whole) < _MOST * sum(each[0] for each in seen):
            return None
        seen = whole
    rounds, decode_ms, plain = (sum(parts) for parts in zip(*seen, strict=True)) if seen else (0, 0.0, 0)
    left = without_plain(decode_ms, plain, target_step_ms or 0.0)
    return None if left is None or not rounds else left / rounds


def round_of(request: Request, target_step_ms: float | None) -> Figure:
    """Round time of one request, its plain steps taken out."""
    if request.doubt:
        return Figure.unknown(request.doubt)
    if not request.rounds or request.decode_ms is None:
        return Figure.unknown("rounds unknown" if request.drafted else "nothing drafted")
    if request.concurrency is not None and request.concurrency > 1:
        return Figure.unknown("shared")
    accepted = accepted_in(request)
    if accepted is None or request.tokens is None:
        return Figure.unknown("accepted tokens unknown")
    plain = plain_steps_in(request, request.rounds, accepted, request.tokens - 1)
    if not plain:
        return Figure(request.decode_ms / request.rounds, "measured")
    if target_step_ms is None:
        return Figure.unknown(f"{plain} plain steps, target step unknown")
    left = without_plain(request.decode_ms, plain, target_step_ms)
    return Figure.unknown(TOO_PLAIN) if left is None else Figure(left / request.rounds, "measured")


def spread(ordered: list[float]) -> tuple[float, float, float] | None:
    """10th, 50th and 90th percentile of ascending values."""
    if not ordered:
        return None
    last = len(ordered) - 1
    low, middle, high = (ordered[round(last * share)] for share in (0.1, 0.5, 0.9))
    return low, middle, high

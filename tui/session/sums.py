"""Running sums over the requests of an arm: everything an arm is judged and shown by, in bounded memory."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.model.rounds import fits_mean

if TYPE_CHECKING:
    from tui.formats.events import Interval, Request

COUNT_DECODE_TIME = ("llama.cpp", "halogen")
"""Engines whose intervals carry decode time; others' seconds are the stretch itself."""
TELLING = 0.01
"""What requests of unknown rounds may move at most: of the mean accepted length, and of coverage."""


@dataclass(slots=True)
class Sums:
    """Sums over finished requests, or over intervals of a server's counters; times in ms.

    Attributes:
        requests, tokens: requests with a decode time, and what they generated.
        steps: sum(n - 1), the tokens that decoding took time for; `decode_ms` that time.
        delivered_tokens, delivered_ms: sum(n) and sum(prefill + decode), where both are known.
        drafted, accepted: draft tokens over requests with an acceptance line.
        rounds, rounds_accepted, rounds_drafted, plain_steps, rounds_decode_ms, rounds_steps: over the
            requests whose rounds are known; `settled` counts them.
        range_low, range_high: bounds of the rounds of `ranged` requests; `unsettled` have not even those.
        open_low, open_high, open_accepted, open_passes: of all of these, unless their counts are in doubt,
            fewest and most rounds, accepted tokens and target passes.
        undrafted_steps, undrafted_ms: over the requests in which nothing was drafted.
        reached: sum of accepted counts per position over `position_rounds` rounds with `position_drafted`.
        draft_ms, draft_rounds, draft_tokens: drafting time with the rounds and draft tokens it covers.
        head_off: halogen's tokens with the head off. lookup_rounds, lookup_accepted: prompt lookup's share.
        deepest: the longest mean draft or commit seen in one request, less the target's own token.
        intervals: those added; `unnumbered` of them do not tell their requests, `uncounted` no drafting.
        mean_tokens, mean_passes: tokens and passes of the intervals that print only a mean accepted length;
            ratio_accepted, ratio_passes the same for a printed ratio.
    """

    requests: int = 0
    tokens: int = 0
    steps: int = 0
    decode_ms: float = 0.0
    delivered_tokens: int = 0
    delivered_ms: float = 0.0
    drafted: int = 0
    accepted: int = 0
    settled: int = 0
    rounds: int = 0
    rounds_accepted: float = 0.0
    rounds_drafted: int = 0
    plain_steps: int = 0
    rounds_decode_ms: float = 0.0
    rounds_steps: int = 0
    ranged: int = 0
    range_low: int = 0
    range_high: int = 0
    open_low: int = 0
    open_high: int = 0
    open_accepted: int = 0
    open_passes: int = 0
    unsettled: int = 0
    undrafted_steps: int = 0
    undrafted_ms: float = 0.0
    reached: list[float] = field(default_factory=list)
    position_rounds: int = 0
    position_drafted: int = 0
    position_accepted: int = 0
    draft_ms: float = 0.0
    draft_rounds: int = 0
    draft_tokens: int = 0
    head_off: int = 0
    lookup_rounds: int = 0
    lookup_accepted: float = 0.0
    deepest: float = 0.0
    intervals: int = 0
    unnumbered: int = 0
    uncounted: int = 0
    mean_tokens: float = 0.0
    mean_passes: float = 0.0
    ratio_accepted: float = 0.0
    ratio_passes: float = 0.0

    def add(self, request: Request) -> None:
        """Count one finished request; what it does not tell is not counted."""
        if request.drafted is not None and request.accepted is not None and not request.doubt:
            self.drafted += request.drafted
            self.accepted += request.accepted
        if request.tokens is None or request.decode_ms is None or request.tokens < 1:
            return
        self.requests += 1
        self.tokens += request.tokens
        if request.prompt_ms is not None:
            self.delivered_tokens += request.tokens
            self.delivered_ms += request.prompt_ms + request.decode_ms
        if request.tokens == 1:
            return
        steps = request.tokens - 1
        self.steps += steps
        self.decode_ms += request.decode_ms
        if request.doubt:
            self.unsettled += 1
        elif request.rounds:
            self._add_rounds(request, request.rounds, steps, request.decode_ms)
        elif request.rounds_range is not None:
            self.ranged += 1
            self.range_low += request.rounds_range[0]
            self.range_high += request.rounds_range[1]
            self._add_open(request.rounds_range, request.accepted or 0, steps)
        elif request.drafted:
            self.unsettled += 1
            # Each round commits at least one of the answer's tokens.
            self._add_open((1, min(request.drafted, steps)), request.accepted or 0, steps)
        else:
            self.undrafted_steps += steps
            self.undrafted_ms += request.decode_ms
            self.head_off += request.head_off_tokens or 0

    def _add_rounds(self, request: Request, rounds: int, steps: int, decode_ms: float) -> None:
        accepted = accepted_in(request)
        if accepted is None:
            self.unsettled += 1
            return
        self.settled += 1
        self.rounds += rounds
        self.rounds_accepted += accepted
        self.rounds_decode_ms += decode_ms
        self.rounds_steps += steps
        self.plain_steps += plain_steps_in(request, rounds, accepted, steps)
        self.head_off += request.head_off_tokens or 0
        self.deepest = max(self.deepest, accepted / rounds, (request.drafted or 0) / rounds)
        if request.lookup_rounds is not None and request.lookup_accepted_per_round is not None:
            self.lookup_rounds += request.lookup_rounds
            self.lookup_accepted += request.lookup_rounds * request.lookup_accepted_per_round
        if request.drafted is not None:
            self.rounds_drafted += request.drafted
        if request.draft_ms is not None and request.drafted:
            self.draft_ms += request.draft_ms
            self.draft_rounds += rounds
            self.draft_tokens += request.drafted
        if request.accepted_per_position and request.drafted is not None and request.accepted is not None:
            self._add_positions(request.accepted_per_position, rounds, request.drafted, request.accepted)

    def _add_open(self, rounds: tuple[int, int], accepted: int, steps: int) -> None:
        self.open_low += rounds[0]
        self.open_high += rounds[1]
        self.open_accepted += accepted
        self.open_passes += max(rounds[0], steps - accepted)

    def add_interval(self, interval: Interval) -> None:
        """Count what a server counted over a stretch; what it does not tell is not counted.

        Sums of intervals are kept apart from those of requests: the same tokens can be in both.
        """
        self.intervals += 1
        self.requests += interval.requests or 0
        self.unnumbered += interval.requests is None
        tokens = round(interval.tokens or 0)
        self.tokens += tokens
        if tokens and interval.seconds and interval.engine in COUNT_DECODE_TIME:
            self.steps += tokens - (interval.requests or 0)
            self.decode_ms += 1000 * interval.seconds
        if interval.drafted is not None and interval.accepted is not None:
            self.drafted += interval.drafted
            self.accepted += interval.accepted
        rounds, mean = rounds_in(interval), interval.mean_accepted_length
        if rounds and interval.accepted is not None:
            self._add_counted(interval, rounds, interval.accepted, tokens)
        elif mean is not None:
            self.unsettled += 1
            passes = _passes_in(interval, mean)
            self.mean_passes += passes
            self.mean_tokens += passes * mean
            if interval.accepted_per_position and interval.drafted and interval.accepted is not None:
                self._add_positions(
                    interval.accepted_per_position, round(passes), interval.drafted, interval.accepted
                )
            if interval.drafted is None and interval.acceptance_ratio is not None:
                self.ratio_passes += passes
                self.ratio_accepted += passes * interval.acceptance_ratio
        elif interval.drafted:
            self.unsettled += 1
        elif interval.drafted is None:
            self.uncounted += 1
        else:
            self.undrafted_steps += tokens - interval.requests if interval.requests is not None else 0

    def _add_counted(self, interval: Interval, rounds: int, accepted: int, tokens: int) -> None:
        self.settled += 1
        self.rounds += rounds
        self.rounds_accepted += accepted
        self.rounds_drafted += interval.drafted or 0
        if interval.requests is not None:
            self.rounds_steps += tokens - interval.requests
            self.plain_steps += max(0, tokens - interval.requests - rounds - accepted)
        self.deepest = max(self.deepest, accepted / rounds, (interval.drafted or 0) / rounds)
        if interval.accepted_per_position and interval.drafted is not None:
            self._add_positions(interval.accepted_per_position, rounds, interval.drafted, accepted)

    def _add_positions(self, shares: tuple[float, ...], rounds: int, drafted: int, accepted: int) -> None:
        self.position_rounds += rounds
        self.position_drafted += drafted
        self.position_accepted += accepted
        counts = [round(share * rounds) for share in shares]
        self.reached.extend([0.0] * (len(counts) - len(self.reached)))
        for position, count in enumerate(counts):
            self.reached[position] += count

    @property
    def drafts(self) -> bool:
        """Whether anything was ever drafted here."""
        return self.settled + self.ranged + self.unsettled > 0 or self.drafted > 0

    @property
    def rounds_range(self) -> tuple[int, int] | None:
        """Bounds of all rounds, while some requests' are known only as ranges."""
        if not self.ranged or self.unsettled:
            return None
        return self.rounds + self.range_low, self.rounds + self.range_high

    @property
    def telling(self) -> bool:
        """Whether the requests whose rounds are known stand for all that drafted.

        Which ones are known depends on what was accepted: of an answer with nothing accepted no mean tells
        the rounds. So the others must be too few to move the figures, wherever their rounds lie.
        """
        if not self.open_high:
            return True
        if not self.rounds:
            return False
        mean, share = self.rounds_accepted / self.rounds, self._share(self.rounds, 0)
        for more in (self.open_low, self.open_high):
            rounds = self.rounds + more
            other = (self.rounds_accepted + self.open_accepted) / rounds
            if abs(other - mean) > TELLING * (1 + mean):
                return False
            if abs(self._share(rounds, max(0, self.open_passes - more)) - share) > TELLING:
                return False
        return True

    def _share(self, rounds: int, more_plain: int) -> float:
        return rounds / (rounds + self.passes_without_draft + more_plain)

    @property
    def passes_without_draft(self) -> int:
        """Target passes without a draft, over requests whose rounds are known and undrafted ones."""
        return self.plain_steps + self.undrafted_steps

    @property
    def settled_decode_ms(self) -> float:
        """Decode time that goes with `rounds` and `passes_without_draft`."""
        return self.rounds_decode_ms + self.undrafted_ms


def accepted_in(request: Request) -> float | None:
    """Draft tokens accepted in one request, from the counts or from rounds and commit (halogen)."""
    if request.accepted is not None:
        return request.accepted
    if request.rounds and request.mean_accepted_length is not None:
        return request.rounds * (request.mean_accepted_length - 1)
    return None


def rounds_in(interval: Interval) -> int | None:
    """Rounds of an interval: as counted, else from full drafts where the printed mean agrees."""
    if interval.rounds is not None:
        return interval.rounds
    positions, drafted, accepted = interval.accepted_per_position, interval.drafted, interval.accepted
    if not positions or not drafted or accepted is None or drafted % len(positions):
        return None
    rounds, mean = drafted // len(positions), interval.mean_accepted_length
    return rounds if mean is None or fits_mean(rounds, accepted, mean) else None


def _passes_in(interval: Interval, mean: float) -> float:
    """Passes of an interval, or what is in proportion to them: lines come every so many steps of a batch."""
    drafted = interval.drafted
    if drafted:
        fewest = math.ceil(drafted / len(interval.accepted_per_position or range(drafted)))
        passes = interval.accepted / (mean - 1) if interval.accepted and mean > 1 else fewest
        return min(max(passes, fewest), drafted)
    return interval.tokens / mean if interval.tokens else float(interval.running or 1)


def plain_steps_in(request: Request, rounds: int, accepted: float, steps: int) -> int:
    """Target passes of one request that had no draft.

    Counted ones as given; halogen's printed head-off tokens are such passes; else what the identity
    n - 1 = rounds + accepted + plain steps leaves over, beyond the rounding of a printed commit and
    the overshoot of the last round.
    """
    if request.plain_steps is not None:
        return request.plain_steps
    if request.head_off_tokens is not None:
        return request.head_off_tokens
    left = steps - rounds - accepted
    rounding = 0.0 if request.accepted is not None else 2 + 0.005 * rounds
    return max(0, round(left)) if left > rounding else 0

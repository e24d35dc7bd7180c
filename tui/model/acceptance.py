"""From counts to the acceptance p, by the best evidence there is.

The acceptance ratio (accepted/drafted) is not p: it divides by draft tokens that nobody looked at, so it
falls as the depth grows while p stays.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tui.model.rates import expected_tokens, ratio_to_p, solve_acceptance

if TYPE_CHECKING:
    from collections.abc import Sequence

Evidence = Literal["per_position", "mean_length", "ratio", "halogen_head"]

SHARP = 0.01
"""A range narrower than this is shown as a point."""
CUT_SHORT = "drafts cut short"
ONE_LENGTH = "drafts taken as of one length"
UPPER_BOUND = "upper bound unless every draft was full"
_ROUNDING = 0.005
_HALVINGS = 60
_Z95 = 1.959963984540054


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The acceptance p of an arm.

    Attributes:
        point: one value with its interval, given only where the ends agree to .01.
        low, high: the range p lies in; equal to `point` where that is sharp. Of a mere upper bound only
            `high` is known.
        interval: 95 % binomial interval around `point`.
        evidence: what it was worked out from; None when p cannot be derived.
        note: why there is no point, or what qualifies it ("drafts cut short", "upper bound").
        conditional: h_i = a_i/a_(i-1) by position; `conditional_is_lower_bound` says which are only bounds.
    """

    point: float | None
    low: float | None
    high: float | None
    interval: tuple[float, float] | None
    evidence: Evidence | None
    note: str
    conditional: tuple[float | None, ...] = ()
    conditional_is_lower_bound: tuple[bool, ...] = ()

    @classmethod
    def unknown(cls, reason: str) -> Acceptance:
        """No p, with the reason."""
        return cls(None, None, None, None, None, reason)


def estimate(
    *,
    rounds: float | None,
    drafted: int | None,
    accepted: float | None,
    depth: int | None,
    position_counts: Sequence[float] | None = None,
) -> Acceptance:
    """The p of an arm from whatever counts it has, best evidence first.

    Args:
        rounds: R, verify passes that had a draft; None when unknown.
        drafted: g, draft tokens proposed in these rounds.
        accepted: a, those of them that were kept.
        depth: K, as configured.
        position_counts: rounds whose first i draft tokens were all accepted, i = 1, 2, ...
    """
    if not drafted or accepted is None:
        return Acceptance.unknown("nothing drafted" if drafted == 0 else "no acceptance in this log")
    if accepted > drafted:
        return Acceptance.unknown(f"inconsistent: {accepted:g} accepted of {drafted} drafted")
    if rounds and position_counts:
        return from_positions(rounds, position_counts, drafted, depth)
    if rounds:
        return from_mean_length(1 + accepted / rounds, drafted / rounds, depth)
    return from_ratio(accepted / drafted, depth)


def from_positions(
    rounds: float, position_counts: Sequence[float], drafted: int, depth: int | None
) -> Acceptance:
    """Per-position counts: p = a/(a + rejections), with a range where drafts were cut short.

    A round that accepted fewer than K tokens saw a rejection, unless its draft was shorter than K. With
    M = R*K - g tokens missing from full drafts, at most M of these rejections did not happen.

    Args:
        rounds: R.
        position_counts: rounds whose first i draft tokens were all accepted, i = 1, 2, ...
        drafted: g.
        depth: K; None takes the deepest position that is known to have been drafted.
    """
    deepest = max(len(position_counts), math.ceil(drafted / rounds)) if rounds > 0 else 0
    k = depth if depth is not None else deepest
    counts = [*position_counts[:k], *[0.0] * (k - len(position_counts))]
    accepted = sum(position_counts)
    if accepted == 0 and drafted == 0:
        return Acceptance.unknown("nothing drafted")
    falling = all(after <= before for before, after in zip([rounds, *counts], counts, strict=False))
    if not falling or any(position_counts[k:]) or accepted > drafted or not rounds <= drafted <= rounds * k:
        return Acceptance.unknown(
            "inconsistent: the counts per position do not fit rounds and drafted tokens"
        )
    missing = rounds * k - drafted
    rejections = rounds - counts[-1]
    trials = accepted + rejections
    low = accepted / trials
    certain = rejections - min(missing, rejections)
    high = accepted / (accepted + certain) if accepted else 0.0
    conditional = tuple(
        after / before if before > 0 else None
        for before, after in zip([rounds, *counts], counts, strict=False)
    )
    bounds = tuple(missing > 0 and position > 0 for position in range(k))
    note = CUT_SHORT if missing > 0 else ""
    if depth is None:
        note = f"{note}, " if note else ""
        note += f"depth taken as {k}"
    if high - low >= SHARP:
        return Acceptance(None, low, high, None, "per_position", note, conditional, bounds)
    interval = (wilson(accepted, trials)[0], wilson(accepted, accepted + certain if accepted else trials)[1])
    return Acceptance(low, low, high, interval, "per_position", note, conditional, bounds)


def from_mean_length(mean_length: float, mean_depth: float, deepest: int | None = None) -> Acceptance:
    """Mean accepted length m at mean depth D: p + ... + p^D = m - 1, a fractional D by its weight.

    Drafts of one length commit the most for a p, so this is the least p. The most it can be is that of
    drafts of 1 and of K tokens alone, which give D as well: a share w of K, w*(p + ... + p^K) + (1 - w)*p.

    Args:
        mean_length: m, the target's own token included; two printed decimals will do.
        mean_depth: D = g/R.
        deepest: K, the most that a draft can have; None takes all as of one length.
    """
    alike = deepest is None and mean_depth % 1 != 0
    least = _solved(mean_length, mean_depth, "mean_length", ONE_LENGTH if alike else "")
    if least.low is None or deepest is None or not 1 < mean_depth < deepest:
        return least
    share = (mean_depth - 1) / (deepest - 1)
    low, high = least.low, 1.0
    for _ in range(_HALVINGS):
        p = (low + high) / 2
        if 1 + share * (expected_tokens(p, deepest) - 1) + (1 - share) * p < mean_length:
            low = p
        else:
            high = p
    point = least.low if high - least.low < SHARP else None
    return replace(least, point=point, high=high, note=CUT_SHORT)


def from_ratio(ratio: float, depth: int | None) -> Acceptance:
    """The acceptance ratio alone: an upper bound of p, since short drafts raise the ratio.

    Args:
        ratio: accepted/drafted, a fraction.
        depth: K.
    """
    if depth is None:
        return Acceptance.unknown("p not derivable: depth unknown")
    high = ratio_to_p(ratio, depth)
    if high is None:
        return Acceptance.unknown(f"inconsistent: a ratio of {ratio:.3g}")
    low = high if high in (0.0, 1.0) or depth == 1 else None
    return Acceptance(low, low, high, None, "ratio", "" if low is not None else UPPER_BOUND)


def from_halogen(
    rounds: float,
    accepted: float,
    lookup_rounds: float,
    lookup_accepted: float,
    head_depth: int | None,
) -> Acceptance:
    """Halogen's head: rounds and accepted tokens without the prompt lookup's part.

    Args:
        rounds: all verify rounds.
        accepted: draft tokens kept in them, rounds * (commit/round - 1).
        lookup_rounds: those rounds that the prompt lookup drafted.
        lookup_accepted: draft tokens kept in these.
        head_depth: how many tokens the head drafts; see `halogen_head_depth`.
    """
    head_rounds = rounds - lookup_rounds
    if head_depth is None:
        return Acceptance.unknown("p not derivable: head depth unknown or chosen per conversation")
    if head_rounds <= 0:
        return Acceptance.unknown("the head drafted no round")
    commit = 1 + (accepted - lookup_accepted) / head_rounds
    return _solved(
        commit, float(head_depth), "halogen_head", "prompt lookup left out" if lookup_rounds else ""
    )


def halogen_head_depth(version: str | None) -> int | None:
    """Draft tokens of halogen's head by version: 1 up to 0.13.8, 2 for 0.14.0 to 0.17.1.

    Later ones choose per conversation: None, as for a version that is unknown.
    """
    found = re.match(r"v?(\d+)\.(\d+)(?:\.(\d+))?", version or "")
    if found is None:
        return None
    release = tuple(int(part or 0) for part in found.groups())
    if release < (0, 14, 0):
        return 1
    return 2 if release < (0, 17, 2) else None


def wilson(successes: float, trials: float) -> tuple[float, float]:
    """The 95 % Wilson score interval of a binomial share; `trials` above 0."""
    share = successes / trials
    z2 = _Z95 * _Z95 / trials
    middle = (share + z2 / 2) / (1 + z2)
    half = _Z95 * math.sqrt(share * (1 - share) / trials + z2 / (4 * trials)) / (1 + z2)
    return max(0.0, middle - half), min(1.0, middle + half)


def _solved(commit: float, depth: float, evidence: Evidence, note: str) -> Acceptance:
    if not 1.0 - _ROUNDING <= commit <= depth + 1.0 + _ROUNDING:
        return Acceptance.unknown(f"inconsistent: {commit:.2f} tokens a round at depth {depth:.3g}")
    root = solve_acceptance(commit, depth)
    p = root if isinstance(root, float) else 0.0 if root == "always" else 1.0
    return Acceptance(p, p, p, None, evidence, note)

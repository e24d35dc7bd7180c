"""The rate model: what a round costs, what it commits, where it breaks even.

Times are ms, rates tok/s, p and coverage fractions. Pure floats: these run inside key handlers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.figures import DrafterClass, Root

_MOST_STEPS = 200


def expected_tokens(p: float, depth: float) -> float:
    """A(p, K) = 1 + p + ... + p^K, the tokens that a round commits at depth K.

    The powers are summed: the closed form (1 - p^(K+1))/(1 - p) loses its digits near p = 1.

    Args:
        p: conditional acceptance, the same at every position.
        depth: drafted tokens per round; for a mean depth such as 2.97 the last power counts by its fraction.
    """
    whole = int(depth)
    total = depth - whole
    for _ in range(whole + 1):
        total = total * p + 1.0
    return total


def expected_from_curve(curve: Sequence[float], depth: int) -> float:
    """1 + a_1 + ... + a_K from measured per-position acceptance.

    Args:
        curve: share of rounds whose first i draft tokens were all accepted, i = 1, 2, ...; not empty.
        depth: below the curve's length it is cut, above it is extended by the last a_i/a_(i-1).
    """
    last = curve[-1]
    before = curve[-2] if len(curve) > 1 else 1.0
    given = last / before if before > 0 else 0.0
    beyond = max(depth - len(curve), 0)
    return 1.0 + sum(curve[:depth]) + last * (expected_tokens(given, beyond) - 1.0)


def solve_acceptance(commit: float, depth: float) -> Root:
    """The p at which a round commits `commit` tokens: A(p, K) = commit.

    A rises strictly from 1 (p = 0) to K + 1 (p = 1), so there is one root or none.

    Args:
        commit: tokens per round, the target's own included.
        depth: drafted tokens per round, fractions as in `expected_tokens`.

    Returns:
        The root in (0, 1]; "always" for commit <= 1, "never" for commit > K + 1.
    """
    if commit <= 1.0:
        return "always"
    if commit > depth + 1.0:
        return "never"
    # All coefficients are positive, so A is convex: Newton from the right end falls to the root without a
    # jump past it, and stops when rounding leaves nothing to gain.
    whole, fraction = int(depth), depth - int(depth)
    p = 1.0
    for _ in range(_MOST_STEPS):
        value, slope = fraction, 0.0
        for _ in range(whole + 1):
            slope = slope * p + value
            value = value * p + 1.0
        lower = p - (value - commit) / slope
        if not 0.0 < lower < p:
            break
        p = lower
    return p


def ratio_to_p(ratio: float, depth: int) -> float | None:
    """The p behind an acceptance ratio (accepted/drafted) of full drafts: p + ... + p^K = K * ratio.

    Args:
        ratio: as a server prints it, a fraction.
        depth: K.

    Returns:
        None for a ratio outside [0, 1], which no p explains.
    """
    if not 0.0 <= ratio <= 1.0:
        return None
    root = solve_acceptance(1.0 + depth * ratio, depth)
    if isinstance(root, float):
        return root
    return 0.0 if root == "always" else 1.0


def draft_ms(drafter_class: DrafterClass, depth: int, draft_step_ms: float) -> float:
    """Time to draft K tokens: K sequential forwards, about one pass of a head, or nothing for n-grams."""
    if drafter_class == "plain":
        return depth * draft_step_ms
    return draft_step_ms if drafter_class == "head" else 0.0


def pass_ms(round_ms: float, coverage: float, target_step_ms: float) -> float:
    """Mean time of a target pass: `coverage` of them are rounds, the others plain steps."""
    return coverage * round_ms + (1.0 - coverage) * target_step_ms


def rate_tok_s(expected: float, mean_pass_ms: float, coverage: float = 1.0) -> float:
    """(c*A + 1 - c) tokens in the mean time of a target pass.

    Args:
        expected: A, tokens that a round commits.
        mean_pass_ms: as `pass_ms` gives it; the round time at full coverage. Above 0.
        coverage: c, share of target passes that had a draft.
    """
    return 1000.0 * (coverage * expected + 1.0 - coverage) / mean_pass_ms


def commit_needed(mean_pass_ms: float, incumbent_tok_s: float, coverage: float = 1.0) -> float:
    """Tokens that a round must commit to break even; R_inc * round at full coverage. Needs no p.

    Args:
        mean_pass_ms: as `pass_ms` gives it.
        incumbent_tok_s: R_inc, the incumbent's own speculation included.
        coverage: c, above 0.
    """
    return (incumbent_tok_s * mean_pass_ms / 1000.0 - (1.0 - coverage)) / coverage


def break_even(needed: float, depth: int) -> Root:
    """The p at which a round commits what it must; see `solve_acceptance` for the three cases."""
    return solve_acceptance(needed, depth)

"""How many rounds one request had, from what its acceptance line says of them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_MEAN_ERROR = 0.005
_SHARE_ERROR = 0.0005
_SLACK = 1e-9
_MOST_CANDIDATES = 100_000


def mean_bounds(accepted: int, mean: float) -> tuple[int, int] | None:
    """Fewest and most rounds R for which 1 + accepted/R prints as `mean` (two decimals).

    Args:
        accepted: draft tokens kept.
        mean: mean accepted length, tokens a round commits.

    Returns:
        The bounds, or None when no R fits. Nothing accepted, or a mean that may be 1, has no upper bound:
        `accepted` 0 gives None, a mean of 1.00 the largest possible integer as its upper bound.
    """
    above = mean - 1
    if accepted <= 0 or above + _MEAN_ERROR <= 0:
        return None
    low = math.ceil(accepted / (above + _MEAN_ERROR) - _SLACK)
    least = above - _MEAN_ERROR
    high = math.floor(accepted / least + _SLACK) if least > _SLACK else 2**31
    return (max(low, 1), high) if max(low, 1) <= high else None


def fits_mean(rounds: int, accepted: int, mean: float) -> bool:
    """Whether that many rounds would print this mean accepted length."""
    return rounds > 0 and abs(1 + accepted / rounds - mean) <= _MEAN_ERROR + _SLACK


def fits_shares(rounds: int, shares: Iterable[float]) -> bool:
    """Whether every share of rounds (three decimals) is a whole number of them."""
    error = _SHARE_ERROR * rounds + _SLACK
    return all(abs(share * rounds - round(share * rounds)) <= error for share in shares)


def candidate_rounds(
    *,
    drafted: int,
    accepted: int,
    mean: float | None,
    tokens: int | None,
    depth: int | None,
    per_position: Sequence[float] | None = None,
) -> tuple[int, ...] | range:
    """The rounds one request can have had, ascending.

    ceil(g/K) <= R <= min(g, n - 1 - a + K), cut to the integers that the printed mean accepted length and
    per-position shares allow. Without a depth K the cuts that need it are left out.

    Args:
        drafted: draft tokens proposed, g.
        accepted: draft tokens kept, a.
        mean: mean accepted length as printed, or None.
        tokens: generated tokens n, or None.
        depth: most draft tokens a round can have, K, or None.
        per_position: share of rounds whose first i drafts were all kept, as printed.

    Returns:
        What is left; empty when nothing narrows it (neither K nor a telling mean is known) or when the
        numbers contradict each other.
    """
    if drafted <= 0:
        return range(0)
    by_mean = mean_bounds(accepted, mean) if mean is not None else None
    if by_mean is None and (depth is None or (mean is not None and accepted > 0)):
        return range(0)
    low, high = by_mean or (1, drafted)
    high = min(high, drafted)
    if depth is not None and depth > 0:
        low = max(low, -(-drafted // depth))
        if tokens is not None:
            high = min(high, tokens - 1 - accepted + depth)
    whole = range(low, high + 1)
    if not per_position or len(whole) > _MOST_CANDIDATES:
        return whole
    exact = tuple(rounds for rounds in whole if fits_shares(rounds, per_position))
    return exact or whole

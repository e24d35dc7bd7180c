"""Incumbent against canary, judged honestly while someone keeps looking."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Verdict = Literal["PASS", "FAIL", "EVEN", "INCONCLUSIVE", "NO_DATA"]
Basis = Literal["decode", "delivered"]
Stratum = Literal["alone", "2", "3-4", "5+", "unknown"]


@dataclass(frozen=True, slots=True)
class Judged:
    """One arm as the comparison used it.

    Attributes:
        requests: requests counted. n_effective: (sum t)^2/sum(t^2); None for a typed rate.
        left_out: how many were left out, by reason ("warm-up", "short", "other concurrency", ...).
    """

    rate_tok_s: float | None
    delivered_tok_s: float | None
    requests: int
    n_effective: float | None
    left_out: dict[str, int]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict with everything that makes it checkable.

    Attributes:
        reason: the verdict in words. ratio: canary over incumbent. interval: always-valid 95 %.
        other_ratio: the ratio on the other basis, when both arms are logs.
        requests_needed: more requests per arm until a decision is likely; None where none is known.
        warnings: what the reader must know before acting (mixed concurrency, correlation, synthetic text).
    """

    verdict: Verdict
    reason: str
    ratio: float | None
    interval: tuple[float, float] | None
    basis: Basis
    other_ratio: float | None
    stratum: Stratum | None
    requests_needed: int | None
    incumbent: Judged
    canary: Judged
    warnings: tuple[str, ...] = ()

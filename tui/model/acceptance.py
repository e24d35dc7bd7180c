"""From counts to the acceptance p, by the best evidence there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Evidence = Literal["per_position", "mean_length", "ratio", "halogen_head"]


@dataclass(frozen=True, slots=True)
class Acceptance:
    """The acceptance p of an arm.

    Attributes:
        point: one value with its interval, given only where the ends agree to .01.
        low, high: the range p lies in; equal to `point` where that is sharp.
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

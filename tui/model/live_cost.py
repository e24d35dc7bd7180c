"""Costs that a live log shows: verify passes by size, and what is fixed in a round apart from its length.

Everything is running sums of frozen values, so that arms and sources can be merged.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

from tui.model.cost import CostKey, NoFit, Profile, ProfileError

LEAST_ROUNDS = 20
"""Passes of one size that must be seen before its time enters a profile."""


@dataclass(frozen=True, slots=True)
class PassTimes:
    """Passes of one size.

    Attributes:
        rounds: passes. observations: how many times were told (a request's mean over its rounds counts once).
        squares: sum of the squared deviations from the mean, each weighted by its rounds.
    """

    rounds: int
    observations: int
    mean_ms: float
    squares: float = 0.0

    @property
    def spread_ms(self) -> float | None:
        """Standard deviation between observations, weighted by rounds; None for a single one."""
        return math.sqrt(self.squares / self.rounds) if self.observations > 1 else None

    def merged(self, other: PassTimes) -> PassTimes:
        """Both together (Chan's parallel form)."""
        rounds = self.rounds + other.rounds
        delta = other.mean_ms - self.mean_ms
        return PassTimes(
            rounds,
            self.observations + other.observations,
            self.mean_ms + delta * other.rounds / rounds,
            self.squares + other.squares + delta * delta * self.rounds * other.rounds / rounds,
        )


@dataclass(frozen=True, slots=True)
class LiveProfile:
    """A profile that builds itself from one setup's log.

    Attributes:
        key: the setup; never merged with another.
        passes: times by the tokens of the pass, 1 for a plain step, K + 1 for a draft of K.
    """

    key: CostKey
    passes: dict[int, PassTimes] = field(default_factory=dict)

    def add(self, n: int, ms: float, rounds: int = 1) -> LiveProfile:
        """One more observation.

        Args:
            n: tokens of the pass: drafted + 1, or 1 for a plain step.
            ms: its time without drafting; a mean when it stands for several rounds.
            rounds: how many passes it stands for.
        """
        seen = PassTimes(rounds, 1, ms)
        return replace(self, passes=_joined(self.passes, {n: seen}))

    def merged(self, other: LiveProfile) -> LiveProfile:
        """Both together.

        Raises:
            ProfileError: when the setups are known to differ, or one knows what the other does not.
        """
        differs, unknown = self.key.compare(other.key)
        told_apart = [*differs, *(d for d in unknown if d.ours != d.theirs)]
        if told_apart:
            raise ProfileError(f"another setup: {', '.join(d.field for d in told_apart)} differ")
        return replace(self, passes=_joined(self.passes, other.passes))

    def profile(self, name: str) -> Profile:
        """The profile so far, of the sizes seen often enough.

        Raises:
            ProfileError: with what is still missing.
        """
        enough = {n: p for n, p in self.passes.items() if p.rounds >= LEAST_ROUNDS}
        if 1 not in enough:
            raise ProfileError(f"no {LEAST_ROUNDS} plain steps seen yet: T(1) is unknown")
        if len(enough) < 2:
            raise ProfileError(f"no size of draft seen in {LEAST_ROUNDS} rounds yet")
        bare = Profile.from_times(name, {n: p.mean_ms for n, p in enough.items()}, self.key)
        return replace(
            bare,
            rounds=tuple(enough[n].rounds for n in bare.batch),
            spread_ms=tuple(enough[n].spread_ms for n in bare.batch),
        )


def _joined(ours: dict[int, PassTimes], theirs: dict[int, PassTimes]) -> dict[int, PassTimes]:
    joined = dict(ours)
    for n, seen in theirs.items():
        joined[n] = joined[n].merged(seen) if n in joined else seen
    return joined


@dataclass(frozen=True, slots=True)
class RoundCost:
    """A round's time as fixed_ms + per_token_ms*drafted.

    Attributes:
        fixed_ms: what a round of no draft token would take; its plain step is part of it.
        fixed_error_ms, per_token_error_ms: standard errors; None where two observations leave none to tell.
        lengths: shortest and longest draft seen.
    """

    fixed_ms: float
    per_token_ms: float
    fixed_error_ms: float | None
    per_token_error_ms: float | None
    lengths: tuple[float, float]
    observations: int
    rounds: int

    def overhead_ms(self, target_step_ms: float) -> float:
        """What a round takes on top of a plain step whatever its length: a smaller depth will not fix it."""
        return self.fixed_ms - target_step_ms

    def overhead_shown(self, target_step_ms: float) -> bool | None:
        """Whether that overhead exceeds two standard errors; None where the error is unknown."""
        if self.fixed_error_ms is None:
            return None
        return self.overhead_ms(target_step_ms) > 2 * self.fixed_error_ms


@dataclass(frozen=True, slots=True)
class RoundSums:
    """Running sums of a weighted regression of round time on draft length, centred so that digits last."""

    rounds: int = 0
    observations: int = 0
    mean_length: float = 0.0
    mean_ms: float = 0.0
    length_squares: float = 0.0
    products: float = 0.0
    ms_squares: float = 0.0
    shortest: float = math.inf
    longest: float = -math.inf

    def add(self, length: float, ms: float, rounds: int = 1) -> RoundSums:
        """One more observation.

        Args:
            length: draft tokens a round, a mean when it stands for several.
            ms: time of the round, or of the part whose cost is asked (draft, verify).
            rounds: how many rounds it stands for.
        """
        return self.merged(RoundSums(rounds, 1, length, ms, shortest=length, longest=length))

    def merged(self, other: RoundSums) -> RoundSums:
        """Both together."""
        rounds = self.rounds + other.rounds
        if not rounds:
            return self
        dx, dy = other.mean_length - self.mean_length, other.mean_ms - self.mean_ms
        share = other.rounds / rounds
        both = self.rounds * share
        return RoundSums(
            rounds,
            self.observations + other.observations,
            self.mean_length + dx * share,
            self.mean_ms + dy * share,
            self.length_squares + other.length_squares + dx * dx * both,
            self.products + other.products + dx * dy * both,
            self.ms_squares + other.ms_squares + dy * dy * both,
            min(self.shortest, other.shortest),
            max(self.longest, other.longest),
        )

    def fit(self) -> RoundCost | NoFit:
        """Fixed cost and cost per token by least squares, or why they cannot be told apart."""
        if not self.rounds:
            return NoFit("no rounds yet")
        if self.longest - self.shortest <= 1e-9 * self.longest:
            same = f"every round drafted {self.longest:g}"
            return NoFit(f"{same}: fixed cost and cost per token are told apart only where lengths vary")
        slope = self.products / self.length_squares
        fixed = self.mean_ms - slope * self.mean_length
        fixed_error = slope_error = None
        if self.observations > 2:
            left = max(0.0, self.ms_squares - slope * self.products) / (self.observations - 2)
            slope_error = math.sqrt(left / self.length_squares)
            fixed_error = math.sqrt(left * (1 / self.rounds + self.mean_length**2 / self.length_squares))
        return RoundCost(
            fixed,
            slope,
            fixed_error,
            slope_error,
            (self.shortest, self.longest),
            self.observations,
            self.rounds,
        )

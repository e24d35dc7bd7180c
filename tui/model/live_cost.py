"""Costs that a live log shows: verify passes by size, and what is fixed in a round apart from its length.

Everything is made of running sums, so a whole run is told in bounded memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from tui.model.cost import CostKey, NoFit, Profile, ProfileError

LEAST_ROUNDS = 20
"""Passes of one size that must be seen before its time enters a profile."""
LEAST_SIZES = 2
"""Draft lengths a profile needs: a single one tells what that length costs, and nothing of any other."""
LEAST_DEVIATION = 0.5
"""Standard deviation of the draft lengths, tokens, from which fixed cost can be told from cost per token."""


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


def live_profile(name: str, key: CostKey, passes: dict[int, PassTimes]) -> Profile:
    """The profile that one setup's log shows, of the sizes seen often enough.

    Args:
        name: how it is called on screen.
        key: the setup; its times hold for no other.
        passes: times by the tokens of the pass, 1 for a plain step, K + 1 for a draft of K.

    Raises:
        ProfileError: with what is still missing.
    """
    enough = {n: seen for n, seen in passes.items() if seen.rounds >= LEAST_ROUNDS}
    if 1 not in enough:
        raise ProfileError(f"no {LEAST_ROUNDS} plain steps seen yet: T(1) is unknown")
    if len(enough) < 1 + LEAST_SIZES:
        raise ProfileError(f"fewer than {LEAST_SIZES} draft lengths seen in {LEAST_ROUNDS} rounds each yet")
    bare = Profile.from_times(name, {n: seen.mean_ms for n, seen in enough.items()}, key)
    return replace(
        bare,
        rounds=tuple(enough[n].rounds for n in bare.batch),
        spread_ms=tuple(enough[n].spread_ms for n in bare.batch),
    )


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


@dataclass(slots=True)
class RoundSums:
    """Running sums of rounds by their draft length, for a weighted regression; centred so that digits last.

    Plain steps among the rounds are kept apart until their time is known.

    Attributes:
        rounds: all of them. observations: how many times were told.
        mean_length, mean_ms, mean_plain: draft tokens, time and plain steps a round.
        length_squares, products, ms_squares: about the means, length squared, times time, time squared.
        plain_products, plain_squares, plain_ms: plain steps times length, squared, times time.
    """

    rounds: int = 0
    observations: int = 0
    mean_length: float = 0.0
    mean_ms: float = 0.0
    mean_plain: float = 0.0
    length_squares: float = 0.0
    products: float = 0.0
    ms_squares: float = 0.0
    plain_products: float = 0.0
    plain_squares: float = 0.0
    plain_ms: float = 0.0
    shortest: float = math.inf
    longest: float = -math.inf

    def add(self, length: float, ms: float, rounds: int = 1, plain: float = 0.0) -> None:
        """One more observation.

        Args:
            length: draft tokens a round, a mean when it stands for several.
            ms: time of the round, or of the part whose cost is asked (draft, verify).
            rounds: how many rounds it stands for.
            plain: plain steps a round that are in the time.
        """
        self.rounds += rounds
        self.observations += 1
        share = rounds / self.rounds
        weight = rounds * (1 - share)
        dl, dt, dp = length - self.mean_length, ms - self.mean_ms, plain - self.mean_plain
        self.mean_length += share * dl
        self.mean_ms += share * dt
        self.mean_plain += share * dp
        self.length_squares += weight * dl * dl
        self.products += weight * dl * dt
        self.ms_squares += weight * dt * dt
        self.plain_products += weight * dl * dp
        self.plain_squares += weight * dp * dp
        self.plain_ms += weight * dp * dt
        self.shortest = min(self.shortest, length)
        self.longest = max(self.longest, length)

    def bare(self, step_ms: float | None) -> RoundSums | None:
        """The rounds alone; None when plain steps ran among them and their time is not known."""
        if not self.mean_plain:
            return self
        if step_ms is None:
            return None
        squares = self.ms_squares - 2 * step_ms * self.plain_ms + step_ms**2 * self.plain_squares
        return RoundSums(
            self.rounds,
            self.observations,
            self.mean_length,
            self.mean_ms - step_ms * self.mean_plain,
            length_squares=self.length_squares,
            products=self.products - step_ms * self.plain_products,
            ms_squares=max(0.0, squares),
            shortest=self.shortest,
            longest=self.longest,
        )

    def fit(self) -> RoundCost | NoFit:
        """Fixed cost and cost per token of bare rounds by least squares, or why they cannot be told apart."""
        if not self.rounds:
            return NoFit("no rounds yet")
        if math.sqrt(self.length_squares / self.rounds) < LEAST_DEVIATION:
            alike = f"rounds drafted {self.shortest:.3g} to {self.longest:.3g} tokens"
            if self.longest - self.shortest <= 1e-9 * self.longest:
                alike = f"every round drafted {self.longest:g}"
            return NoFit(f"{alike}: fixed cost and cost per token are told apart only where lengths vary")
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

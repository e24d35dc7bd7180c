"""What a verify pass costs: the batch profile T(n) of a target, and what may honestly be read off it.

T(n) is the time of one target pass over n tokens; a draft of K tokens is verified by a pass over K + 1.
Definitions: relative cost per token y(n - 1) = T(n)/(n*T(1)), after llama.cpp's discussion of batch costs.
"""

from __future__ import annotations

import itertools
import math
import statistics
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.model.figures import Figure, Provenance

if TYPE_CHECKING:
    from collections.abc import Callable

LARGEST_PASS = 65
"""Tokens of the largest verify pass there is: a draft of 64 and the target's own."""
_LARGEST_BATCH = 4096
JUMP_FLOOR = 0.15
"""A smaller rise than this share of a plain step is never called a jump."""
JUMP_FACTOR = 3.0
"""A jump costs this many times what a token costs elsewhere in the profile (median)."""
_NO_PLAIN_STEP = "no batch of 1: without T(1) nothing is relative to a plain step; measure n = 1 too"
CONTEXT_FACTOR = 2.0
CONTEXT_FLOOR = 2048
"""Contexts are far apart when they differ by the factor and by at least so many tokens."""


class ProfileError(ValueError):
    """Numbers that make no profile; the message says why and what to do."""


@dataclass(frozen=True, slots=True)
class KeyDifference:
    """One thing in which two setups differ; None where a side does not know it."""

    field: str
    ours: str | int | None
    theirs: str | int | None


@dataclass(frozen=True, slots=True)
class CostKey:
    """The setup that costs were measured on. They hold for no other; None is unknown.

    Attributes:
        context: tokens in the context of each sequence while measuring.
    """

    server: str | None = None
    model: str | None = None
    device: str | None = None
    build: str | None = None
    context: int | None = None

    def compare(self, other: CostKey) -> tuple[tuple[KeyDifference, ...], tuple[KeyDifference, ...]]:
        """What differs between two setups, and what cannot be told.

        Returns:
            The differences known on both sides (the context only when far), and what one side or both lack.
        """
        differs, unknown = [], []
        for name in ("server", "model", "device", "build"):
            ours, theirs = getattr(self, name), getattr(other, name)
            if ours is None or theirs is None:
                unknown.append(KeyDifference(name, ours, theirs))
            elif ours != theirs:
                differs.append(KeyDifference(name, ours, theirs))
        context = KeyDifference("context", self.context, other.context)
        if self.context is None or other.context is None:
            unknown.append(context)
        elif context_far(self.context, other.context):
            differs.append(context)
        return tuple(differs), tuple(unknown)


def context_far(ours: int, theirs: int) -> bool:
    """Whether two contexts, in tokens, are too far apart to share a profile without a warning."""
    low, high = sorted((ours, theirs))
    return high - low >= CONTEXT_FLOOR and high > CONTEXT_FACTOR * low


@dataclass(frozen=True, slots=True)
class Jump:
    """A place where one more token costs far more than elsewhere: T(n) - T(before), in plain steps."""

    before: int
    n: int
    rise: float


@dataclass(frozen=True, slots=True)
class Profile:
    """The measured cost of a target pass by its size.

    Attributes:
        batch: measured n, ascending, starting at 1.
        time_ratio: T(n)/T(1) for each of them.
        target_step_ms: T(1); None where only ratios are known.
        includes_draft: the times are of whole rounds, drafting included, for n - 1 drafts.
        rounds, spread_ms: for a profile from a live log, how many passes stand behind each n and their
            standard deviation; empty for a bench.
        notes: what a reader should know before using it.

    Raises:
        ProfileError: when the numbers make no profile.
    """

    name: str
    batch: tuple[int, ...]
    time_ratio: tuple[float, ...]
    target_step_ms: float | None = None
    key: CostKey = field(default_factory=CostKey)
    provenance: Provenance = "measured"
    includes_draft: bool = False
    rounds: tuple[int, ...] = ()
    spread_ms: tuple[float | None, ...] = ()
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what nothing can be concluded from."""
        if not self.batch or self.batch[0] != 1:
            raise ProfileError(_NO_PLAIN_STEP)
        if len(self.batch) != len(self.time_ratio):
            raise ProfileError(f"{len(self.batch)} batch sizes but {len(self.time_ratio)} times")
        if len(self.batch) < 2:
            raise ProfileError(
                "only n = 1: a draft of K tokens is verified by T(K + 1); measure n = 2, 3, ..."
            )
        if not any(1 < n <= LARGEST_PASS for n in self.batch):
            raise ProfileError(f"no size from 2 to {LARGEST_PASS}, as drafts need: measure n = 2, 3, ...")
        if self.batch[-1] > _LARGEST_BATCH:
            raise ProfileError(f"batch sizes above {_LARGEST_BATCH} are no verify pass: leave them out")
        if any(after <= before for before, after in itertools.pairwise(self.batch)):
            raise ProfileError("batch sizes must rise, each given once")
        if not all(math.isfinite(ratio) and ratio > 0 for ratio in self.time_ratio):
            raise ProfileError("every time must be a number above 0")
        if not math.isclose(self.time_ratio[0], 1.0, rel_tol=1e-9):
            raise ProfileError("the first relative time must be 1: it is T(1)/T(1)")

    @classmethod
    def from_times(cls, name: str, times_ms: dict[int, float], key: CostKey | None = None) -> Profile:
        """A profile from step times.

        Args:
            name: how it is called on screen.
            times_ms: T(n) in ms by n.
            key: the setup they were measured on.

        Raises:
            ProfileError: when the times make no profile.
        """
        batch = tuple(sorted(times_ms))
        step = times_ms.get(1)
        if step is None or not (math.isfinite(step) and step > 0):
            raise ProfileError(_NO_PLAIN_STEP)
        ratios = tuple(times_ms[n] / step for n in batch)
        return cls(name, batch, ratios, target_step_ms=step, key=key or CostKey())

    @classmethod
    def from_relative_costs(cls, name: str, costs: dict[int, float], key: CostKey | None = None) -> Profile:
        """A profile from relative costs per token, y(n - 1) = T(n)/(n*T(1)), by n.

        Raises:
            ProfileError: when the costs make no profile.
        """
        batch = tuple(sorted(costs))
        return cls(name, batch, tuple(n * costs[n] for n in batch), key=key or CostKey())

    @property
    def cost_per_token(self) -> tuple[float, ...]:
        """y: relative cost per token, and the mean acceptance per token of the batch that breaks even."""
        return tuple(ratio / n for n, ratio in zip(self.batch, self.time_ratio, strict=True))

    @property
    def marginal(self) -> tuple[float, ...]:
        """What each further token costs between adjacent measured n, in plain steps a token."""
        points = zip(self.batch, self.time_ratio, strict=True)
        return tuple((b - a) / (m - n) for (n, a), (m, b) in itertools.pairwise(points))

    @property
    def non_monotone(self) -> tuple[int, ...]:
        """The n at which a larger pass takes less time than the measured one before it."""
        pairs = itertools.pairwise(self.time_ratio)
        return tuple(
            n for n, (a, b) in zip(self.batch[1:], pairs, strict=True) if b < a and not math.isclose(a, b)
        )

    @property
    def jumps(self) -> tuple[Jump, ...]:
        """Where the cost of a token leaps, as at a switch of kernels."""
        found = []
        marginal = self.marginal
        for i, slope in enumerate(marginal):
            others = [max(0.0, other) for k, other in enumerate(marginal) if k != i]
            rise = self.time_ratio[i + 1] - self.time_ratio[i]
            if others and rise > JUMP_FLOOR and slope > JUMP_FACTOR * statistics.median(others):
                found.append(Jump(self.batch[i], self.batch[i + 1], rise))
        return tuple(found)

    @property
    def draft_min(self) -> int | None:
        """The first index n - 1 whose cost per token is below 1; None when no batch is cheaper than steps."""
        return next((n - 1 for n, y in zip(self.batch, self.cost_per_token, strict=True) if y < 1), None)

    @property
    def draft_max(self) -> int:
        """The number of values of a profile without gaps, which is its largest n."""
        return self.batch[-1]

    @property
    def usable_depth(self) -> int:
        """The deepest draft whose verify pass was measured: K drafts need T(K + 1)."""
        return self.batch[-1] - 1

    def ratio(self, n: int) -> Figure:
        """T(n)/T(1): measured, derived between two measured n (a straight line), or refused outside them."""
        for at, value in zip(self.batch, self.time_ratio, strict=True):
            if at == n:
                return Figure(value, self.provenance)
        if not 1 <= n <= self.batch[-1]:
            return Figure.unknown(
                f"measured for n = 1 to {self.batch[-1]} only: not extended to n = {n}, kernels switch"
            )
        low, high = next((a, b) for a, b in itertools.pairwise(self.batch) if a < n < b)
        return Figure(self.steps[n - 1], "derived", f"a straight line between n = {low} and {high}")

    @property
    def steps(self) -> tuple[float, ...]:
        """T(n)/T(1) for n = 1, 2, ... without gaps, straight lines between what was measured."""
        values = [1.0]
        points = zip(self.batch, self.time_ratio, strict=True)
        for (n, a), (m, b) in itertools.pairwise(points):
            values += [a + (b - a) * (i - n) / (m - n) for i in range(n + 1, m)] + [b]
        return tuple(values)


@dataclass(frozen=True, slots=True)
class Fit:
    """A power law through the relative costs per token: (base - c)*(x + 1)^-b + c.

    Attributes:
        first: the index x is counted from, where y first falls below 1; base is y there.
        c: the floor; 0 in the two-parameter form.
        rmse: root of the mean squared error over all points from `first`.
    """

    first: int
    base: float
    b: float
    c: float
    rmse: float


@dataclass(frozen=True, slots=True)
class NoFit:
    """Why there is nothing to fit."""

    reason: str


def fit_two(profile: Profile) -> Fit | NoFit:
    """base*(x + 1)^-b by least squares; base is fixed by the first point."""
    return _fit(profile, least=3, lowest_b=-2.0, floor=lambda _shape, _ys: 0.0)


def fit_three(profile: Profile) -> Fit | NoFit:
    """(base - c)*(x + 1)^-b + c by least squares; for a given b the form is linear in c."""
    return _fit(profile, least=4, lowest_b=0.01, floor=_best_floor)


def _best_floor(shape: list[float], ys: list[float]) -> float:
    down = sum((1 - s) ** 2 for s in shape)
    return sum((y - ys[0] * s) * (1 - s) for s, y in zip(shape, ys, strict=True)) / down


def _fit(
    profile: Profile, *, least: int, lowest_b: float, floor: Callable[[list[float], list[float]], float]
) -> Fit | NoFit:
    first = profile.draft_min
    if first is None:
        return NoFit("no batch costs less per token than single steps")
    points = [(n - 1 - first, y) for n, y in zip(profile.batch, profile.cost_per_token, strict=True)]
    points = [(x, y) for x, y in points if x >= 0]
    if len(points) < least:
        return NoFit(f"{len(points)} points from n = {first + 1} on, {least} are needed")
    xs, ys = [x for x, _ in points], [y for _, y in points]

    def parts(b: float) -> tuple[float, float]:
        shape = [(x + 1) ** -b for x in xs]
        c = floor(shape, ys)
        return c, math.fsum(((ys[0] - c) * s + c - y) ** 2 for s, y in zip(shape, ys, strict=True))

    b = _least(lambda b: parts(b)[1], lowest_b, 10.0)
    if b is None:
        return NoFit("the curve has another shape: no best b inside the range searched")
    c, squares = parts(b)
    return Fit(first, ys[0], b, c, math.sqrt(squares / len(points)))


def _least(f: Callable[[float], float], low: float, high: float) -> float | None:
    """The minimum of f by a scan and golden sections; None when it lies at an end."""
    grid = [low + (high - low) * i / 600 for i in range(601)]
    at = min(range(len(grid)), key=lambda i: f(grid[i]))
    if at in (0, len(grid) - 1):
        return None
    golden = (math.sqrt(5) - 1) / 2
    a, b = grid[at - 1], grid[at + 1]
    for _ in range(50):
        left, right = b - golden * (b - a), a + golden * (b - a)
        if f(left) < f(right):
            b = right
        else:
            a = left
    return (a + b) / 2

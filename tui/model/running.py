"""Running sums of a rate, and the always-valid interval made from them.

The arithmetic is written with operators alone, so that the same lines work on floats and, in simulations,
on arrays of them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import numpy as np
    import numpy.typing as npt

Number = TypeVar("Number", float, "npt.NDArray[np.float64]")

_NO_SPREAD = 1e-10
"""Squares of x over squares of t below this are rounding, not spread."""


def residual(rate: Number, tt: Number, cross: Number, ss: Number) -> Number:
    """Sum of x_i*x_j for x = t - r*s, from sums of products.

    Args:
        rate: r.
        tt: sum of t_i*t_j.
        cross: sum of t_i*s_j + s_i*t_j.
        ss: sum of s_i*s_j.
    """
    return tt - rate * cross + rate * rate * ss


def correlation(squares: Number, lagged: Number) -> Number:
    """Lag-1 correlation of x, at least 0: requests that follow each other are fewer than they look.

    Args:
        squares: sum of x_i^2, above 0.
        lagged: sum of x_i*x_(i+1).
    """
    rho = lagged / squares
    return (rho + abs(rho)) / 2


def log_rate_variance(n: Number, tokens: Number, squares: Number, rho: Number) -> Number:
    """var(ln r) = f * var(x)/(n * mean(t)^2) of a ratio of sums, with f = (1 + rho)/(1 - rho).

    Args:
        n: requests, at least 2.
        tokens: sum of t.
        squares: sum of x_i^2, x = t - r*s.
        rho: lag-1 correlation of x.
    """
    return (1 + rho) / (1 - rho) * squares / (n - 1) * n / (tokens * tokens)


def half_width(se2: Number, alpha: float, tau: float, log: Callable[[Number], Number]) -> Number:
    """Half-width of the always-valid interval around ln(canary/incumbent).

    From the mixture sequential probability ratio test (Johari, Pekelis, Walsh: "Always valid inference"): it
    holds at every look at once, where a fixed-n interval looked at after each request errs in 45 % of runs.

    Args:
        se2: squared standard error of the log ratio, above 0.
        alpha: error rate.
        tau: standard deviation of the effects that are expected, in log units.
        log: natural logarithm, `math.log` or that of arrays.
    """
    spread = tau * tau / se2
    width: Number = (se2 * (1 + 1 / spread) * (log(1 + spread) + 2 * math.log(1 / alpha))) ** 0.5
    return width


@dataclass(frozen=True, slots=True)
class RateSums:
    """Sums over requests of t tokens in s seconds each; memory does not grow with them.

    Attributes:
        n: requests. tokens, seconds: sum of t, of s.
        tt, cross, ss: sums of t^2, 2*t*s, s^2.
        lag_tt, lag_cross, lag_ss: the same over each request and the one after it.
        last: t and s of the newest request.
    """

    n: int = 0
    tokens: float = 0.0
    seconds: float = 0.0
    tt: float = 0.0
    cross: float = 0.0
    ss: float = 0.0
    lag_tt: float = 0.0
    lag_cross: float = 0.0
    lag_ss: float = 0.0
    last: tuple[float, float] | None = None

    def plus(self, tokens: float, seconds: float) -> RateSums:
        """The sums with one more request.

        Args:
            tokens: t, what its rate is over: n - 1 for decoding, n for delivery.
            seconds: s, above 0.
        """
        t, s = self.last or (0.0, 0.0)
        return RateSums(
            self.n + 1,
            self.tokens + tokens,
            self.seconds + seconds,
            self.tt + tokens * tokens,
            self.cross + 2 * tokens * seconds,
            self.ss + seconds * seconds,
            self.lag_tt + t * tokens,
            self.lag_cross + t * seconds + s * tokens,
            self.lag_ss + s * seconds,
            (tokens, seconds),
        )

    @classmethod
    def pooled(cls, parts: Iterable[RateSums]) -> RateSums:
        """The sums over all parts; neighbours in time count as such within a part only."""
        total = cls()
        for part in parts:
            total = cls(
                total.n + part.n,
                total.tokens + part.tokens,
                total.seconds + part.seconds,
                total.tt + part.tt,
                total.cross + part.cross,
                total.ss + part.ss,
                total.lag_tt + part.lag_tt,
                total.lag_cross + part.lag_cross,
                total.lag_ss + part.lag_ss,
            )
        return total

    @property
    def rate(self) -> float | None:
        """sum(t)/sum(s) in tok/s; None without a request."""
        return self.tokens / self.seconds if self.seconds > 0 else None

    @property
    def n_effective(self) -> float:
        """(sum t)^2/sum(t^2): one huge request does not count as many."""
        return self.tokens * self.tokens / self.tt if self.tt > 0 else 0.0

    @property
    def correlation(self) -> float | None:
        """Lag-1 correlation of x = t - r*s, at least 0; None for fewer than two requests."""
        squares = self._squares()
        if squares is None:
            return None
        rate = self.tokens / self.seconds
        return (
            correlation(squares, residual(rate, self.lag_tt, self.lag_cross, self.lag_ss)) if squares else 0.0
        )

    @property
    def log_rate_variance(self) -> float | None:
        """var(ln r); None for fewer than two requests."""
        squares, rho = self._squares(), self.correlation
        if squares is None or rho is None:
            return None
        return log_rate_variance(float(self.n), self.tokens, squares, rho)

    def _squares(self) -> float | None:
        """Sum of x^2; 0 where rounding is all there is; None for fewer than two requests."""
        if self.n < 2 or self.seconds <= 0 or self.tokens <= 0:
            return None
        squares = residual(self.tokens / self.seconds, self.tt, self.cross, self.ss)
        return squares if squares > _NO_SPREAD * self.tt else 0.0

"""How often an operator who looks after every request is told something wrong, and how soon something right.

Simulated arms, seeded; the interval is the product's own, on arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tui.model.comparison import ArmSums, Rules, judge
from tui.model.running import RateSums, correlation, half_width, log_rate_variance, residual

Array = npt.NDArray[np.float64]
Lengths = Callable[[np.random.Generator, tuple[int, int]], Array]

RULES = Rules()
REQUESTS = 1000


def geometric(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
    return np.maximum(8.0, dice.geometric(1 / 200, shape))


def lognormal(sigma: float) -> Lengths:
    def lengths(dice: np.random.Generator, shape: tuple[int, int]) -> Array:
        return 8.0 + np.floor(np.exp(dice.normal(4.5, sigma, shape)))

    return lengths


def arm(
    dice: np.random.Generator,
    runs: int,
    n: int,
    *,
    lengths: Lengths = geometric,
    rate: float = 30.0,
    spread: float = 0.25,
    with_length: float = 0.0,
    lag: float = 0.0,
) -> tuple[Array, Array]:
    """Tokens and seconds of `runs` arms of `n` requests each.

    `spread` is the standard deviation of a request's log rate; `with_length` makes long answers slower;
    `lag` is the correlation of a request's rate with the one before.
    """
    tokens = lengths(dice, (runs, n))
    noise = dice.normal(0.0, 1.0, (runs, n))
    for i in range(1, n):
        noise[:, i] = lag * noise[:, i - 1] + np.sqrt(1 - lag * lag) * noise[:, i]
    log_rate = spread * noise - with_length * np.log(tokens / 200)
    return tokens, tokens / (rate * np.exp(log_rate))


def looks(tokens: Array, seconds: Array) -> tuple[Array, Array, Array]:
    """ln r, var(ln r) and n_eff of every run after each request from the second on."""

    def running(values: Array) -> Array:
        return np.cumsum(values, axis=1)[:, 1:]

    def lagged(one: Array, two: Array) -> Array:
        return np.cumsum(one[:, :-1] * two[:, 1:], axis=1)

    n = np.arange(2.0, tokens.shape[1] + 1)[None, :]
    t, s, tt = running(tokens), running(seconds), running(tokens**2)
    rate = t / s
    squares = residual(rate, tt, running(2 * tokens * seconds), running(seconds**2))
    lag_cross = lagged(tokens, seconds) + lagged(seconds, tokens)
    neighbours = residual(rate, lagged(tokens, tokens), lag_cross, lagged(seconds, seconds))
    variance = log_rate_variance(n, t, squares, correlation(squares, neighbours))
    return np.log(rate), variance, t * t / tt


def decided(
    incumbent: tuple[Array, Array], canary: tuple[Array, Array]
) -> tuple[npt.NDArray[np.bool_], Array]:
    """Whether the interval excludes 1 at each look, and the log ratio there."""
    old, new = looks(*incumbent), looks(*canary)
    effect = new[0] - old[0]
    half = half_width(old[1] + new[1], RULES.alpha, RULES.tau, np.log)
    enough = np.minimum(old[2], new[2]) >= RULES.min_requests
    return (np.abs(effect) > half) & enough, effect


def wrong_calls(runs: int = 800, **how: Any) -> float:
    """Share of equal pairs of arms that are called different at any of up to 1,000 looks."""
    dice = np.random.default_rng(20261)
    one, two = (arm(dice, runs, REQUESTS, **how) for _ in range(2))
    called, _ = decided(one, two)
    return float(called.any(axis=1).mean())


EQUAL_ARMS: dict[str, dict[str, Any]] = {
    "geometric lengths": {},
    "little spread": {"spread": 0.1},
    "lognormal lengths": {"lengths": lognormal(1.2)},
    "wide lognormal lengths": {"lengths": lognormal(1.6)},
    "long answers slower": {"with_length": 0.1},
    "long answers much slower": {"with_length": 0.2, "lengths": lognormal(1.2)},
    "rates correlated by .3": {"lag": 0.3},
    "rates correlated by .3, lognormal": {"lag": 0.3, "lengths": lognormal(1.2)},
}


@pytest.mark.parametrize("how", EQUAL_ARMS.values(), ids=EQUAL_ARMS)
def test_equal_arms_are_seldom_called_different_however_often_one_looks(how: dict[str, Any]) -> None:
    assert wrong_calls(**how) <= 0.07


def test_a_fixed_interval_looked_at_all_the_time_errs_in_nearly_half() -> None:
    dice = np.random.default_rng(20261)
    old, new = (looks(*arm(dice, 400, REQUESTS)) for _ in range(2))
    excluded = np.abs(new[0] - old[0]) > 1.96 * np.sqrt(old[1] + new[1])
    enough = np.minimum(old[2], new[2]) >= RULES.min_requests
    assert (excluded & enough).any(axis=1).mean() > 0.3


def test_strongly_correlated_requests_err_more_often_and_are_named(
    record_property: Callable[[str, object], None],
) -> None:
    errors = wrong_calls(lag=0.6)
    record_property("wrong calls at lag .6", errors)
    assert 0.07 < errors < 0.2
    tokens, seconds = arm(np.random.default_rng(5), 1, REQUESTS, lag=0.6)
    judged = judge(one_of(tokens, seconds), one_of(tokens, seconds * 0.9), RULES)
    assert sum("resemble the one before" in warning for warning in judged.warnings) == 2


@pytest.mark.parametrize(("spread", "median"), [(0.1, 41), (0.25, 44)])
def test_a_third_faster_is_told_after_some_forty_requests(spread: float, median: int) -> None:
    dice = np.random.default_rng(7)
    slow, fast = (arm(dice, 300, 300, rate=rate, spread=spread) for rate in (30.0, 39.0))
    called, effect = decided(slow, fast)
    assert called.any(axis=1).all()
    first = called.argmax(axis=1)
    assert np.median(first + 2) == pytest.approx(median, abs=3)
    assert (np.take_along_axis(effect, first[:, None], axis=1) > 0).all()


def test_the_simulated_interval_is_the_products() -> None:
    dice = np.random.default_rng(11)
    old, new = (arm(dice, 3, 120, rate=rate, lag=0.3) for rate in (30.0, 33.0))
    called, effect = decided(old, new)
    for run in range(3):
        for n in (45, 80, 120):
            one, two = (one_of(tokens[run:, :n], seconds[run:, :n]) for tokens, seconds in (old, new))
            judged = judge(one, two, RULES)
            if judged.interval is None:
                assert not called[run, n - 2]
                continue
            assert judged.ratio == pytest.approx(np.exp(effect[run, n - 2]))
            outside = not judged.interval[0] <= 1 <= judged.interval[1]
            assert outside == called[run, n - 2]


def one_of(tokens: Array, seconds: Array) -> ArmSums:
    """The running sums of one simulated arm."""
    sums = RateSums()
    for t, s in zip(tokens[0], seconds[0], strict=True):
        sums = sums.plus(float(t), float(s))
    return ArmSums({"alone": sums})

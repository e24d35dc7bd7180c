from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.running import RateSums, half_width, log_rate_variance

Requests = list[tuple[float, float]]

requests = st.lists(
    st.tuples(st.integers(8, 2000), st.floats(5.0, 200.0)).map(lambda r: (float(r[0]), r[0] / r[1])),
    min_size=2,
    max_size=40,
)


def sums_of(rows: Requests) -> RateSums:
    sums = RateSums()
    for tokens, seconds in rows:
        sums = sums.plus(tokens, seconds)
    return sums


def direct(rows: Requests) -> tuple[float, float, float, float]:
    """Rate, n_eff, correlation and var(ln r), straight from the requests."""
    n, tokens = len(rows), sum(t for t, _ in rows)
    rate = tokens / sum(s for _, s in rows)
    x = [t - rate * s for t, s in rows]
    squares = sum(v * v for v in x)
    rho = max(0.0, sum(a * b for a, b in itertools.pairwise(x)) / squares) if squares else 0.0
    variance = (1 + rho) / (1 - rho) * squares / (n - 1) / (n * (tokens / n) ** 2)
    return rate, tokens**2 / sum(t * t for t, _ in rows), rho, variance


@given(requests)
def test_running_sums_equal_the_direct_computation(rows: Requests) -> None:
    rate, effective, rho, variance = direct(rows)
    sums = sums_of(rows)
    assert sums.n == len(rows)
    assert sums.rate == pytest.approx(rate)
    assert sums.n_effective == pytest.approx(effective)
    assert sums.log_rate_variance == pytest.approx(variance, rel=1e-4, abs=1e-9)
    if variance > 1e-6:
        assert sums.correlation == pytest.approx(rho, abs=1e-4)


@given(requests, requests)
def test_pooled_sums_are_those_of_all_requests_but_for_the_seam(one: Requests, two: Requests) -> None:
    pooled, whole = RateSums.pooled([sums_of(one), sums_of(two)]), sums_of(one + two)
    for name in ("n", "tokens", "seconds", "tt", "cross", "ss"):
        assert getattr(pooled, name) == pytest.approx(getattr(whole, name))
    seam = one[-1][0] * two[0][0]
    assert pooled.lag_tt + seam == pytest.approx(whole.lag_tt)


def test_one_request_has_a_rate_and_no_spread() -> None:
    sums = RateSums().plus(100, 4.0)
    assert sums.rate == 25.0
    assert sums.log_rate_variance is sums.correlation is None
    assert RateSums().rate is None
    assert RateSums().n_effective == 0.0


def test_equal_requests_have_no_spread_rather_than_noise() -> None:
    sums = sums_of([(t, t / 38.21) for t in (97.0, 12.0, 803.0, 41.0, 333.0)] * 200)
    assert sums.log_rate_variance == 0.0
    assert sums.correlation == 0.0


def test_one_huge_request_does_not_count_as_many() -> None:
    sums = sums_of([(10.0, 0.4)] * 30 + [(5000.0, 190.0)])
    assert sums.n == 31
    assert sums.n_effective < 1.2


def test_correlated_neighbours_widen_the_variance() -> None:
    drifting = [(100.0, 100 / rate) for rate in [20.0] * 10 + [30.0] * 10]
    shuffled = random.Random(3).sample(drifting, len(drifting))
    slow, mixed = sums_of(drifting), sums_of(shuffled)
    assert slow.correlation is not None
    assert mixed.correlation is not None
    assert slow.correlation > 0.7 > mixed.correlation
    assert slow.log_rate_variance is not None
    assert mixed.log_rate_variance is not None
    assert slow.log_rate_variance > 3 * mixed.log_rate_variance


@given(st.floats(1e-8, 10.0), st.floats(1.01, 4.0))
def test_the_interval_shrinks_as_the_error_does(se2: float, factor: float) -> None:
    wide, narrow = (half_width(error, 0.05, 0.2, math.log) for error in (se2 * factor, se2))
    assert 0 < narrow < wide


@given(st.floats(1e-8, 10.0))
def test_looking_all_the_time_costs_more_than_looking_once(se2: float) -> None:
    assert half_width(se2, 0.05, 0.2, math.log) > 1.96 * math.sqrt(se2)
    assert half_width(se2, 0.01, 0.2, math.log) > half_width(se2, 0.05, 0.2, math.log)


@given(st.integers(2, 5000))
def test_more_requests_of_the_same_spread_tell_more(n: int) -> None:
    def at(count: int) -> float:
        return log_rate_variance(float(count), 100.0 * count, 400.0 * (count - 1), 0.1)

    assert at(n + 1) < at(n)

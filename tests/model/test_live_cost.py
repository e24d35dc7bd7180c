"""Profiles that build themselves, and fixed cost told from cost per token."""

from __future__ import annotations

import random

import pytest

from tui.model.cost import CostKey, NoFit, ProfileError
from tui.model.live_cost import LEAST_ROUNDS, PassTimes, RoundCost, RoundSums, live_profile

KEY = CostKey("llama.cpp", "m.gguf", "RTX 3090", "b11434", 700)


SEEN = {
    1: PassTimes(30, 3, 28.0, squares=20.0),
    2: PassTimes(LEAST_ROUNDS - 1, 1, 33.0),
    4: PassTimes(90, 2, 64.0, squares=720.0),
    6: PassTimes(LEAST_ROUNDS, 1, 70.0),
}


def test_profile_of_what_was_seen_often_enough() -> None:
    profile = live_profile("canary.log", KEY, SEEN)
    assert profile.batch == (1, 4, 6)
    assert profile.rounds == (30, 90, LEAST_ROUNDS)
    assert profile.target_step_ms == pytest.approx(28.0)
    assert profile.time_ratio == pytest.approx((1.0, 64.0 / 28.0, 2.5))
    assert profile.spread_ms == pytest.approx(((2 / 3) ** 0.5, 8**0.5, None))
    assert profile.key == KEY
    assert profile.provenance == "measured"


def test_what_is_missing_is_said() -> None:
    with pytest.raises(ProfileError, match="plain steps"):
        live_profile("x", KEY, {n: SEEN[n] for n in (2, 4, 6)})
    # One length alone is what the verify factor says already: a line from it would guess all others.
    with pytest.raises(ProfileError, match="fewer than 2 draft lengths"):
        live_profile("x", KEY, {n: SEEN[n] for n in (1, 2, 4)})


def sums_of(*observations: tuple[float, ...]) -> RoundSums:
    """Each one's draft length and time, and how many rounds with how many plain steps each it stands for."""
    sums = RoundSums()
    for length, ms, *more in observations:
        sums.add(length, ms, int(more[0]) if more else 1, more[1] if len(more) > 1 else 0.0)
    return sums


def test_fixed_cost_is_told_from_cost_per_token() -> None:
    noise = random.Random(7)
    sums = RoundSums()
    for _ in range(400):
        length = noise.randint(1, 8)
        sums.add(length, 48.0 + 4.0 * length + noise.gauss(0, 2.0))
    fit = sums.fit()
    assert isinstance(fit, RoundCost)
    assert fit.fixed_error_ms is not None
    assert fit.per_token_error_ms is not None
    assert fit.fixed_ms == pytest.approx(48.0, abs=3 * fit.fixed_error_ms)
    assert fit.per_token_ms == pytest.approx(4.0, abs=3 * fit.per_token_error_ms)
    assert 0.1 < fit.fixed_error_ms < 0.4
    assert fit.lengths == (1, 8)
    assert fit.overhead_ms(28.0) == pytest.approx(20.0, abs=1.0)
    assert fit.overhead_shown(28.0) is True
    assert fit.overhead_shown(48.5) is False


def test_rounds_weigh_as_many_as_they_stand_for() -> None:
    points = [(1.0, 50.0, 3), (2.0, 60.0, 1), (4.0, 71.0, 2)]
    one = sums_of(*points).fit()
    other = sums_of(*[(length, ms) for length, ms, count in points for _ in range(count)]).fit()
    assert isinstance(one, RoundCost)
    assert isinstance(other, RoundCost)
    assert (one.fixed_ms, one.per_token_ms) == pytest.approx((other.fixed_ms, other.per_token_ms))


def test_digits_survive_large_times() -> None:
    fit = sums_of(*[(length, 1e9 + length) for length in (1, 2, 3, 4)]).fit()
    assert isinstance(fit, RoundCost)
    assert fit.per_token_ms == pytest.approx(1.0, rel=1e-6)


def test_plain_steps_are_taken_out_as_if_they_had_never_been_in() -> None:
    points = [(1.0, 41.0, 3, 0.5), (3.0, 52.0, 9, 0.0), (2.0, 44.0, 4, 2.25), (7.0, 70.0, 2, 1.0)]
    mixed = sums_of(*[(length, ms + 20.0 * plain, rounds, plain) for length, ms, rounds, plain in points])
    bare, other = mixed.bare(20.0), sums_of(*[point[:3] for point in points])
    assert bare is not None
    for name in ("mean_length", "mean_ms", "length_squares", "products", "ms_squares"):
        assert getattr(bare, name) == pytest.approx(getattr(other, name))
    one, again = bare.fit(), other.fit()
    assert isinstance(one, RoundCost)
    assert isinstance(again, RoundCost)
    assert one.fixed_error_ms == pytest.approx(again.fixed_error_ms)
    assert mixed.bare(None) is None
    assert other.bare(None) is other


def test_equal_lengths_are_refused() -> None:
    fit = sums_of((3, 100.0), (3, 110.0), (3, 120.0)).fit()
    assert isinstance(fit, NoFit)
    assert "every round drafted 3" in fit.reason
    assert isinstance(RoundSums().fit(), NoFit)


def test_lengths_that_hardly_vary_are_refused() -> None:
    """Drafts of 3 of which the last one of an answer is cut: a line through them would swing wildly."""
    cut = [(3 - 1 / rounds, 110.0 + rounds / 10, rounds) for rounds in (40, 45, 52, 61)]
    fit = sums_of(*cut, (1, 60.0)).fit()
    assert isinstance(fit, NoFit)
    assert "rounds drafted 1 to 2.98 tokens" in fit.reason


def test_two_observations_leave_no_error_to_tell() -> None:
    fit = sums_of((3, 140.94, 300), (5, 167.48, 300)).fit()
    assert isinstance(fit, RoundCost)
    assert fit.per_token_ms == pytest.approx(13.27)
    assert fit.fixed_error_ms is None
    assert fit.overhead_shown(47.0) is None

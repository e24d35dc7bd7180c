"""Batch-cost profiles: shape, fits, interpolation, and what they do to a prediction."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tui.model.cost import (
    CostKey,
    Fit,
    NoFit,
    Profile,
    ProfileError,
    context_far,
    fit_three,
    fit_two,
)
from tui.model.rates import draft_ms, pass_ms, rate_tok_s

CURVES = json.loads((Path(__file__).parent / "cost_curves.json").read_text())
SAWTOOTH = {1: 30.0, 2: 36.0, 3: 57.0, 4: 50.0, 5: 72.0, 6: 66.0, 7: 85.5, 8: 73.5}


def curve(name: str) -> Profile:
    costs = next(c for c in CURVES if c["name"] == name)["relative_cost"]
    return Profile.from_relative_costs(name, dict(enumerate(costs, 1)))


@pytest.mark.parametrize("golden", CURVES, ids=lambda golden: golden["name"])
def test_golden_curves(golden: dict[str, Any]) -> None:
    profile = curve(golden["name"])
    assert profile.draft_min == golden["draft_min"]
    assert profile.draft_max == golden["draft_max"]
    assert profile.usable_depth == golden["draft_max"] - 1
    assert list(profile.non_monotone) == golden["non_monotone"]
    two, three = fit_two(profile), fit_three(profile)
    assert isinstance(two, Fit)
    assert isinstance(three, Fit)
    assert [two.b, two.rmse] == pytest.approx(golden["two"], rel=1e-5)
    assert [three.b, three.c, three.rmse] == pytest.approx(golden["three"], rel=1e-5)
    assert two.base == three.base == golden["relative_cost"][golden["draft_min"]]
    assert list(profile.cost_per_token) == pytest.approx(golden["relative_cost"])


def test_times_ratios_and_margins() -> None:
    profile = Profile.from_times("t", SAWTOOTH)
    assert profile.target_step_ms == 30.0
    assert profile.time_ratio[:4] == pytest.approx((1.0, 1.2, 1.9, 5 / 3))
    assert profile.cost_per_token[1] == pytest.approx(0.6)
    assert profile.marginal[:3] == pytest.approx((0.2, 0.7, -7 / 30))
    assert profile.non_monotone == (4, 6, 8)
    assert [jump.n for jump in profile.jumps] == [3, 5, 7]
    assert profile.jumps[0].rise == pytest.approx(0.7)


def test_margins_across_a_gap_are_per_token() -> None:
    profile = Profile.from_times("t", {1: 30.0, 2: 36.0, 8: 66.0})
    assert profile.marginal == pytest.approx((0.2, 1 / 6))


@pytest.mark.parametrize(
    ("times", "jumps"),
    [
        ({1: 10.0, 2: 11.0, 3: 12.0, 4: 13.0, 5: 33.0, 6: 34.0}, [5]),  # a kernel switch
        ({1: 10.0, 2: 30.0, 3: 34.0, 4: 38.0, 5: 42.0}, [2]),  # experts
        ({1: 10.0, 2: 15.0, 3: 20.0, 4: 25.0}, []),  # every token as dear as the others
        (
            {1: 10.0, 2: 10.1, 3: 11.0, 4: 11.1, 5: 11.2},
            [],
        ),  # small beside a step
        ({1: 10.0, 2: 18.0}, []),  # nothing to compare with
    ],
)
def test_jumps(times: dict[int, float], jumps: list[int]) -> None:
    assert [jump.n for jump in Profile.from_times("t", times).jumps] == jumps


def test_no_draft_pays_where_tokens_never_get_cheaper() -> None:
    profile = Profile.from_times("t", {1: 10.0, 2: 26.0, 3: 40.0, 4: 53.0})
    assert profile.draft_min is None
    for fit in (fit_two(profile), fit_three(profile)):
        assert isinstance(fit, NoFit)
        assert "single steps" in fit.reason


def test_fits_recover_the_curve_they_were_made_from() -> None:
    two = Profile.from_relative_costs("t", {1: 1.0} | {n: 0.6 * (n - 1) ** -0.4 for n in (2, 3, 4, 6, 9, 12)})
    fit = fit_two(two)
    assert isinstance(fit, Fit)
    assert fit.b == pytest.approx(0.4, abs=1e-6)
    assert fit.rmse == pytest.approx(0, abs=1e-8)
    three = Profile.from_relative_costs(
        "t", {1: 1.0} | {n: 0.4 * (n - 1) ** -0.7 + 0.15 for n in range(2, 30)}
    )
    fit = fit_three(three)
    assert isinstance(fit, Fit)
    assert (fit.b, fit.c) == pytest.approx((0.7, 0.15), abs=1e-5)


def test_too_few_points_are_not_fitted() -> None:
    profile = Profile.from_times("t", {1: 10.0, 2: 12.0, 3: 13.0})
    assert fit_two(profile) == NoFit("2 points from n = 2 on, 3 are needed")


def test_interpolation_says_so_and_extrapolation_is_refused() -> None:
    profile = Profile.from_times("t", {1: 20.0, 2: 22.0, 6: 30.0})
    assert profile.ratio(2).provenance == "measured"
    between = profile.ratio(4)
    assert between.value == pytest.approx(1.3)
    assert between.provenance == "derived"
    assert "between n = 2 and 6" in between.note
    for n in (0, 7, 1000):
        beyond = profile.ratio(n)
        assert beyond.value is None
        assert "n = 1 to 6 only" in beyond.note
    assert profile.steps == pytest.approx((1.0, 1.1, 1.2, 1.3, 1.4, 1.5))


@pytest.mark.parametrize(
    ("batch", "ratios", "words"),
    [
        ((), (), "no batch of 1"),
        ((2, 4), (1.0, 1.2), "no batch of 1"),
        ((1,), (1.0,), "only n = 1"),
        ((1, 3, 2), (1.0, 1.2, 1.3), "must rise"),
        ((1, 2, 2), (1.0, 1.2, 1.3), "must rise"),
        ((1, 2), (1.0, float("nan")), "above 0"),
        ((1, 2), (1.0, 0.0), "above 0"),
        ((1, 2), (2.0, 3.0), "must be 1"),
        ((1, 2, 3), (1.0, 1.2), "3 batch sizes but 2 times"),
    ],
)
def test_numbers_that_make_no_profile(batch: tuple[int, ...], ratios: tuple[float, ...], words: str) -> None:
    with pytest.raises(ProfileError, match=words):
        Profile("t", batch, ratios)


@pytest.mark.parametrize("times", [{}, {2: 3.0}, {1: 0.0, 2: 3.0}, {1: float("inf"), 2: 3.0}])
def test_times_without_a_plain_step(times: dict[int, float]) -> None:
    with pytest.raises(ProfileError, match="no batch of 1"):
        Profile.from_times("t", times)


def test_setups_are_told_apart() -> None:
    ours = CostKey("llama.cpp", "m.gguf", "RTX 3090", "b11434", 512)
    assert ours.compare(ours) == ((), ())
    differs, unknown = ours.compare(CostKey("llama.cpp", "other.gguf", None, "b11434", 9000))
    assert [(d.field, d.ours, d.theirs) for d in differs] == [
        ("model", "m.gguf", "other.gguf"),
        ("context", 512, 9000),
    ]
    assert [(d.field, d.theirs) for d in unknown] == [("device", None)]


@pytest.mark.parametrize(
    ("ours", "theirs", "far"),
    [(100, 1500, False), (512, 9000, True), (30000, 50000, False), (0, 4096, True)],
)
def test_far_contexts(ours: int, theirs: int, far: bool) -> None:
    assert context_far(ours, theirs) is context_far(theirs, ours) is far


def test_measured_verify_cost_against_the_constant() -> None:
    """A recorded canary: 1,014 rounds of K = 3 with a plain drafter, 9 plain steps, 19.7 tok/s."""
    step, draft_step, verify = 27.683, 16.880, 63.049
    commit, coverage = 2.2268, 1014 / 1023
    drafting = draft_ms("plain", 3, draft_step)

    constant = rate_tok_s(commit, drafting + 1.1 * step)
    assert constant == pytest.approx(27.5, abs=0.05)

    profile = Profile.from_times("canary", {1: step, 4: verify})
    ratio = profile.ratio(4).value
    assert ratio is not None
    assert ratio == pytest.approx(2.28, abs=0.005)
    measured = rate_tok_s(commit, pass_ms(drafting + ratio * step, coverage, step), coverage)
    assert measured == pytest.approx(19.7, rel=0.005)
    assert constant / 19.7 > 1.39

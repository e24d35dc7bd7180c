from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.comparison import ArmSums, Judgement, RateSums, Rules, Stratum, TypedRate, judge, stratum_of

RULES = Rules()


def sums(rate: float, n: int, *, spread: float = 0.05, tokens: float = 95, seed: int = 1) -> RateSums:
    """n answers of the same length whose rates scatter by `spread`."""
    dice = random.Random(f"{seed} {rate}")
    total = RateSums()
    for _ in range(n):
        total = total.plus(tokens, tokens / (rate * math.exp(dice.gauss(0, spread))))
    return total


def alone(rate: float, n: int, **how: Any) -> ArmSums:
    return ArmSums({"alone": sums(rate, n, **how)}, {"alone": sums(rate * 0.9, n, **how)})


def test_a_clearly_slower_canary_fails() -> None:
    found = judge(alone(36.0, 23), alone(19.8, 23), RULES)
    assert found.verdict == "FAIL"
    assert found.ratio == pytest.approx(0.55, abs=0.02)
    assert found.interval is not None
    assert found.interval[0] < 0.55 < found.interval[1] < 1
    assert found.reason == f"the canary is slower: at most {found.interval[1]:.2f}x"
    assert found.stratum == "alone"
    assert found.basis == "decode"
    assert found.other_ratio == pytest.approx(found.ratio, rel=0.05)
    assert found.requests_needed is None
    assert (found.incumbent.requests, found.canary.requests) == (23, 23)
    assert found.canary.n_effective == pytest.approx(23)
    assert found.warnings == ()


def test_a_clearly_faster_canary_passes() -> None:
    found = judge(alone(38.0, 30), alone(56.0, 30), RULES)
    assert found.verdict == "PASS"
    assert found.interval is not None
    assert found.interval[0] > 1
    assert found.reason == f"the canary is faster: at least {found.interval[0]:.2f}x"


def test_the_interval_is_the_formula_by_hand() -> None:
    # Rates 10 and 12.5 alternating to 9 and 11: x is +-5 exactly, lag-1 correlation negative, so f = 1.
    def arm(*seconds: float) -> ArmSums:
        total = RateSums()
        for each in itertools.chain.from_iterable(itertools.repeat(seconds, 20)):
            total = total.plus(100, each)
        return ArmSums({"alone": total})

    found = judge(arm(9.5, 10.5), arm(7.6, 8.4), RULES)
    variance = 40 / 39 * 5**2 / (40 * 100**2)
    se2 = 2 * variance
    half = math.sqrt(se2 * (1 + se2 / 0.04) * (math.log(1 + 0.04 / se2) + 2 * math.log(20)))
    assert found.ratio == pytest.approx(1.25)
    assert found.interval == pytest.approx((1.25 * math.exp(-half), 1.25 * math.exp(half)))


def test_too_few_requests_are_no_data_with_the_ratio_and_what_is_missing() -> None:
    found = judge(alone(38.0, 12), alone(63.0, 11), RULES)
    assert found.verdict == "NO_DATA"
    assert found.ratio == pytest.approx(1.66, abs=0.05)
    assert found.interval is None
    assert found.requests_needed == 9
    assert found.reason == (
        "incumbent has 12.0 effective requests of 20 needed; canary has 11.0 effective requests of 20 needed"
    )
    assert (
        judge(alone(38.0, 12), alone(63.0, 11), dataclasses.replace(RULES, min_requests=8)).verdict == "PASS"
    )


def test_nearly_enough_does_not_read_as_enough() -> None:
    nearly = RateSums()
    for tokens in [100.0] * 19 + [104.0]:
        nearly = nearly.plus(tokens, tokens / 30)
    found = judge(alone(30.0, 40), ArmSums({"alone": nearly}), RULES)
    assert found.verdict == "NO_DATA"
    assert found.reason == "canary has 19.9 effective requests of 20 needed"
    assert found.requests_needed == 1


def test_one_huge_answer_does_not_make_an_arm() -> None:
    heavy = alone(60.0, 25)
    with_giant = ArmSums({"alone": heavy.decode["alone"].plus(50_000, 900)})
    assert judge(alone(36.0, 25), with_giant, RULES).verdict == "NO_DATA"


def test_one_request_has_no_interval_whatever_is_asked() -> None:
    found = judge(alone(36.0, 1), alone(60.0, 1), dataclasses.replace(RULES, min_requests=1))
    assert (found.verdict, found.interval) == ("NO_DATA", None)


def test_a_difference_that_does_not_matter_is_even() -> None:
    found = judge(alone(36.0, 400), alone(36.5, 400), RULES)
    assert found.verdict == "EVEN"
    assert found.reason == "the rates differ by less than 5%"
    strict = judge(alone(36.0, 400), alone(36.5, 400), dataclasses.replace(RULES, effect=0.002))
    assert strict.verdict != "EVEN"


def test_an_open_case_says_what_is_possible_and_how_many_more_it_takes() -> None:
    found = judge(alone(36.0, 30, spread=0.25), alone(39.0, 30, spread=0.25), RULES)
    assert found.verdict == "INCONCLUSIVE"
    assert found.interval is not None
    assert found.interval[0] < 1 < found.interval[1]
    assert found.reason == (f"anything from {found.interval[0]:.2f}x to {found.interval[1]:.2f}x is possible")
    assert found.requests_needed is not None
    assert 10 < found.requests_needed < 1000


def test_after_the_requests_that_were_said_to_be_needed_the_same_spread_decides() -> None:
    def arm(rate: float, n: int) -> ArmSums:
        total = RateSums()
        for i in range(n):
            total = total.plus(100, 100 / (rate * (1.2 if i % 2 else 0.8)))
        return ArmSums({"alone": total})

    def after(more: int) -> Judgement:
        return judge(arm(30.0, 40 + more), arm(32.0, 40 + more), RULES)

    needed = after(0).requests_needed
    assert after(0).verdict == "INCONCLUSIVE"
    assert needed is not None
    assert after(needed).verdict == "PASS"
    assert after(round(0.9 * needed)).verdict == "INCONCLUSIVE"


def test_a_closed_log_that_is_too_short_will_never_do() -> None:
    old = dataclasses.replace(alone(36.0, 12), grows=False)
    found = judge(old, alone(60.0, 50), RULES)
    assert found.verdict == "NO_DATA"
    assert found.requests_needed is None
    assert found.reason.endswith("the incumbent gets no more requests")


def test_only_a_growing_arm_brings_more_requests() -> None:
    old = dataclasses.replace(alone(36.0, 21, spread=0.3), grows=False)
    found = judge(old, alone(36.5, 30, spread=0.01), RULES)
    assert found.verdict == "INCONCLUSIVE"
    assert found.requests_needed is None


def test_bases_on_different_sides_of_one_decide_nothing() -> None:
    faster_but_late = ArmSums({"alone": sums(45.0, 40)}, {"alone": sums(25.0, 40)})
    found = judge(alone(36.0, 40), faster_but_late, RULES)
    assert found.verdict == "INCONCLUSIVE"
    assert found.reason == (
        f"decode rate says {found.ratio:.2f}x, delivered rate {found.other_ratio:.2f}x: they disagree"
    )
    assert found.interval is not None
    assert found.interval[0] > 1
    assert found.requests_needed is None


def test_bases_that_differ_by_less_than_matters_do_not_disagree() -> None:
    near = ArmSums({"alone": sums(36.2, 600)}, {"alone": sums(32.2, 600)})
    found = judge(alone(36.0, 600), near, RULES)
    assert found.ratio is not None
    assert found.other_ratio is not None
    assert found.verdict == "EVEN"


@pytest.mark.parametrize(
    ("concurrency", "stratum"),
    [(None, "unknown"), (1, "alone"), (2, "2"), (3, "3-4"), (4, "3-4"), (5, "5+"), (70, "5+")],
)
def test_strata_of_concurrency(concurrency: int | None, stratum: Stratum) -> None:
    assert stratum_of(concurrency) == stratum


MIXED_OLD = ArmSums({"alone": sums(36.0, 50), "3-4": sums(20.0, 30)}, left_out={"warm-up": 1})
MIXED_NEW = ArmSums(
    {"alone": sums(52.0, 25), "3-4": sums(19.0, 60), "unknown": sums(10.0, 5)}, left_out={"short": 2}
)


@pytest.mark.parametrize(
    ("concurrency", "stratum", "n", "left_out", "verdict"),
    [
        ("match", "3-4", (30, 60), 30, None),
        ("alone", "alone", (50, 25), 65, "PASS"),
        ("4", "3-4", (30, 60), 30, None),
        ("any", None, (80, 90), 0, None),
        ("2", "2", (0, 0), 90, "NO_DATA"),
    ],
)
def test_like_is_compared_with_like(
    concurrency: str, stratum: Stratum | None, n: tuple[int, int], left_out: int, verdict: str | None
) -> None:
    found = judge(MIXED_OLD, MIXED_NEW, RULES, concurrency)
    assert found.stratum == stratum
    assert (found.incumbent.requests, found.canary.requests) == n
    assert found.canary.left_out.get("other concurrency", 0) == left_out
    assert found.canary.left_out["short"] == 2
    assert found.incumbent.left_out["warm-up"] == 1
    assert found.canary.strata == {"alone": 25, "3-4": 60, "unknown": 5}
    if verdict is not None:
        assert found.verdict == verdict


def test_a_different_mix_is_warned_of() -> None:
    (warning,) = judge(MIXED_OLD, MIXED_NEW, RULES).warnings
    assert warning == (
        "different concurrency: incumbent 62% alone, 38% 3-4, canary 28% alone, 67% 3-4, 6% unknown"
    )
    assert judge(MIXED_OLD, MIXED_OLD, RULES).warnings == ()


def test_arms_without_a_concurrency_in_common_are_not_compared_in_silence() -> None:
    found = judge(alone(36.0, 40), ArmSums({"2": sums(50.0, 40)}), RULES)
    assert found.verdict == "NO_DATA"
    assert found.ratio is None
    assert "no concurrency in common" in found.reason
    assert "--concurrency any" in found.reason
    assert judge(alone(36.0, 40), ArmSums({"2": sums(50.0, 40)}), RULES, "any").verdict == "PASS"


@pytest.mark.parametrize("word", ["", "both", "0", "-2", "1.5"])
def test_a_concurrency_that_is_none_is_refused(word: str) -> None:
    with pytest.raises(ValueError, match="match, alone, any or a number"):
        judge(MIXED_OLD, MIXED_NEW, RULES, word)


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (ArmSums({}), alone(30.0, 30), "no incumbent request to compare"),
        (alone(30.0, 30), ArmSums({}), "no canary request to compare"),
        (TypedRate(30.0), ArmSums({}), "no canary request to compare"),
    ],
)
def test_nothing_to_compare_never_passes(old: ArmSums | TypedRate, new: ArmSums, reason: str) -> None:
    found = judge(old, new, RULES)
    assert found.verdict == "NO_DATA"
    assert reason in found.reason
    assert found.ratio is None
    assert found.interval is None


def test_a_typed_rate_has_no_error_of_its_own() -> None:
    found = judge(TypedRate(25.0), alone(30.0, 40), RULES)
    assert found.verdict == "PASS"
    assert found.ratio == pytest.approx(1.2, abs=0.03)
    assert found.other_ratio is None
    assert found.incumbent.n_effective is None
    assert found.incumbent.rate_tok_s == 25.0
    both = judge(alone(25.0, 40), alone(30.0, 40), RULES)
    assert found.interval is not None
    assert both.interval is not None
    assert math.log(found.interval[1] / found.interval[0]) < math.log(both.interval[1] / both.interval[0])


def test_a_typed_delivered_rate_is_compared_on_delivery() -> None:
    found = judge(TypedRate(20.0, "delivered"), alone(30.0, 40), RULES)
    assert found.basis == "delivered"
    assert found.ratio == pytest.approx(27 / 20, abs=0.03)
    assert (found.incumbent.rate_tok_s, found.incumbent.delivered_tok_s) == (None, 20.0)


def test_a_delivered_rate_needs_prefill_times() -> None:
    untimed = ArmSums({"alone": sums(30.0, 40)})
    found = judge(TypedRate(20.0, "delivered"), untimed, RULES)
    assert found.verdict == "NO_DATA"
    assert found.canary.left_out == {"prefill time unknown": 40}


@pytest.mark.parametrize(("typed", "told"), [(TypedRate(28.5), True), (TypedRate(20.0), False)])
def test_a_typed_rate_that_may_be_of_the_other_basis_is_told(typed: TypedRate, told: bool) -> None:
    warnings = judge(typed, alone(30.0, 60), RULES).warnings
    assert any("say --basis delivered" in warning for warning in warnings) == told


def test_a_mixed_canary_against_a_typed_rate_is_warned_of() -> None:
    (warning,) = judge(TypedRate(10.0), MIXED_NEW, RULES).warnings
    assert warning.startswith("mixed concurrency")
    assert "typed rate is unknown" in warning


def test_arms_without_any_spread_are_judged_all_the_same() -> None:
    found = judge(alone(30.0, 40, spread=0.0), alone(33.0, 40, spread=0.0), RULES)
    assert found.verdict == "PASS"
    assert found.interval == pytest.approx((1.1, 1.1))


@given(
    st.floats(10.0, 80.0), st.floats(10.0, 80.0), st.integers(1, 60), st.integers(1, 60), st.floats(0.0, 0.5)
)
def test_a_verdict_always_fits_its_interval(old: float, new: float, n: int, m: int, spread: float) -> None:
    found = judge(alone(old, n, spread=spread), alone(new, m, spread=spread), RULES)
    if found.verdict == "NO_DATA":
        assert min(n, m) < 20
        assert found.requests_needed is not None
        assert found.requests_needed >= 20 - min(n, m)
        return
    assert found.interval is not None
    assert found.ratio is not None
    low, high = found.interval
    assert low <= found.ratio <= high or low == pytest.approx(high)
    assert (found.verdict == "PASS") == (low > 1 and not (low >= 0.95 and high <= 1.05))
    assert (found.verdict == "FAIL") == (high < 1 and not (low >= 0.95 and high <= 1.05))
    assert (found.verdict == "EVEN") == (low >= 0.95 and high <= 1.05)


@given(st.integers(10, 100))
def test_the_interval_shrinks_with_more_of_the_same(n: int) -> None:
    def width(count: int) -> float:
        total = RateSums()
        for i in range(count):
            total = total.plus(100, 3.0 if i % 2 else 3.4)
        found = judge(TypedRate(30.0), ArmSums({"alone": total}), RULES).interval
        assert found is not None
        return found[1] / found[0]

    assert width(2 * n + 2) < width(2 * n)


RECORDED: dict[str, list[tuple[int, float, float]]] = json.loads(
    (Path(__file__).parent / "recorded.json").read_text()
)


def recorded(name: str, *, warm_up: int = 0, first: int = 0, last: int | None = None) -> ArmSums:
    """A recorded arm: tokens, decode ms and prefill ms of each answer."""
    decode, delivered = RateSums(), RateSums()
    for tokens, decode_ms, prefill_ms in RECORDED[name][first:last][warm_up:]:
        if tokens - 1 >= RULES.short_tokens:
            decode = decode.plus(tokens - 1, decode_ms / 1000)
            delivered = delivered.plus(tokens, (decode_ms + prefill_ms) / 1000)
    return ArmSums({"alone": decode}, {"alone": delivered})


@pytest.mark.parametrize(
    ("old", "new", "warm_up", "smallest", "verdict", "ratio", "interval"),
    [
        ("canary-incumbent", "canary-loss", 1, 20, "FAIL", 0.549, (0.464, 0.649)),
        ("canary-incumbent", "canary-loss", 0, 20, "FAIL", 0.546, None),
        ("canary-edit-incumbent", "canary-edit-ngram", 1, 20, "NO_DATA", 1.663, None),
        ("canary-edit-incumbent", "canary-edit-ngram", 1, 8, "PASS", 1.663, (1.382, 2.001)),
        ("canary-edit-incumbent", "canary-edit-ngram", 0, 8, "PASS", 1.790, None),
        ("halogen-batch", "halogen-mtp", 0, 20, "PASS", 1.461, None),
    ],
)
def test_recorded_arms(
    old: str,
    new: str,
    warm_up: int,
    smallest: int,
    verdict: str,
    ratio: float,
    interval: tuple[float, float] | None,
) -> None:
    rules = dataclasses.replace(RULES, min_requests=smallest)
    found = judge(recorded(old, warm_up=warm_up), recorded(new, warm_up=warm_up), rules)
    assert found.verdict == verdict
    assert found.ratio == pytest.approx(ratio, abs=5e-4)
    assert (found.interval is None) == (verdict == "NO_DATA")
    if interval is not None:
        assert found.interval == pytest.approx(interval, abs=5e-4)


@pytest.mark.parametrize("smallest", [2, 5, 8, 12, 20])
def test_one_arm_split_in_two_is_never_told_apart(smallest: int) -> None:
    rules = dataclasses.replace(RULES, min_requests=smallest)
    for size in range(2, 13):
        halves = recorded("canary-incumbent", last=12), recorded("canary-incumbent", first=12, last=12 + size)
        assert judge(*halves, rules).verdict not in ("PASS", "FAIL")

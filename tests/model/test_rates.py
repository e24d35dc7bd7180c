from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model import rates
from tui.model.figures import Figure, Root
from tui.model.whatif import WhatIf, answer

GOLDEN: dict[str, Any] = json.loads((Path(__file__).parent / "golden.json").read_text())
ROWS = [dict(zip(GOLDEN["columns"], row, strict=True)) for row in GOLDEN["rates"]]

probability = st.floats(0.0, 1.0)
depth = st.integers(1, 64)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['drafter_class']}-{row['K']}-{row['p']}")
def test_reference_rates(row: dict[str, Any]) -> None:
    given_answer = answer(
        WhatIf(
            row["drafter_class"],
            row["K"],
            row["p"],
            Figure(row["t_s_ms"], "typed"),
            Figure(row["d_s_ms"], "typed"),
            Figure(row["verify_factor"], "typed"),
            incumbent_tok_s=row["incumbent_tok_s"],
        )
    )
    assert given_answer.expected_tokens == pytest.approx(row["expected_tokens"], rel=1e-9)
    for span, name in (
        (given_answer.round_ms, "round_ms"),
        (given_answer.rate_tok_s, "rate_tok_s"),
        (given_answer.speedup, "speedup"),
    ):
        assert span is not None
        assert span.exact
        assert span.low == pytest.approx(row[name], rel=1e-9)
    assert given_answer.break_even is not None
    assert given_answer.break_even.exact
    root = given_answer.break_even.low
    if isinstance(row["break_even_p"], str):
        assert root == row["break_even_p"]
    else:
        assert root == pytest.approx(row["break_even_p"], abs=1e-9)


@pytest.mark.parametrize(("ratio", "k", "p"), GOLDEN["ratio_to_p"])
def test_reference_ratio_to_p(ratio: float, k: int, p: float) -> None:
    assert rates.ratio_to_p(ratio, k) == pytest.approx(p, abs=1e-9)


def test_golden_rows_cover_all_three_break_even_cases() -> None:
    assert {"always", "never"} < {str(row["break_even_p"]) for row in ROWS}
    assert len(ROWS) == 70


@given(probability, probability, depth)
def test_expected_tokens_rise_with_p_from_one_to_k_plus_one(p: float, q: float, k: int) -> None:
    low, high = sorted((p, q))
    assert 1.0 <= rates.expected_tokens(low, k) <= rates.expected_tokens(high, k) <= k + 1
    assert rates.expected_tokens(0.0, k) == 1.0
    assert rates.expected_tokens(1.0, k) == k + 1


@given(st.floats(0.0, 1.0 - 1e-6), depth)
def test_expected_tokens_agree_with_the_closed_form_away_from_one(p: float, k: int) -> None:
    assert rates.expected_tokens(p, k) == pytest.approx((1 - p ** (k + 1)) / (1 - p), rel=1e-9)


@given(probability, depth, st.floats(0.0, 1.0, exclude_max=True))
def test_a_fractional_depth_lies_between_its_neighbours(p: float, k: int, part: float) -> None:
    between = rates.expected_tokens(p, k + part)
    assert between == pytest.approx(rates.expected_tokens(p, k) + part * p ** (k + 1), abs=1e-9)


@given(st.floats(1e-6, 1.0), st.floats(1.0, 64.0))
def test_solving_undoes_expecting(p: float, k: float) -> None:
    root = rates.solve_acceptance(rates.expected_tokens(p, k), k)
    assert isinstance(root, float)
    assert root == pytest.approx(p, abs=1e-9)


@given(st.floats(0.0, 80.0), depth)
def test_the_three_cases_of_a_root(commit: float, k: int) -> None:
    root = rates.solve_acceptance(commit, k)
    if commit <= 1:
        assert root == "always"
    elif commit > k + 1:
        assert root == "never"
    else:
        assert isinstance(root, float)
        assert 0 < root <= 1
        assert rates.expected_tokens(root, k) == pytest.approx(commit, rel=1e-12)


@given(
    cost=st.floats(1.0, 1e4),
    incumbent=st.floats(0.1, 1e3),
    t_s=st.floats(1.0, 1e3),
    coverage=st.floats(0.05, 1.0),
    k=depth,
)
def test_at_break_even_the_rate_is_the_incumbents(
    cost: float, incumbent: float, t_s: float, coverage: float, k: int
) -> None:
    mean_pass = rates.pass_ms(cost, coverage, t_s)
    root: Root = rates.break_even(rates.commit_needed(mean_pass, incumbent, coverage), k)

    def rate_at(p: float) -> float:
        return rates.rate_tok_s(rates.expected_tokens(p, k), mean_pass, coverage)

    if root == "always":
        assert rate_at(0.0) >= incumbent * (1 - 1e-9)
    elif root == "never":
        assert rate_at(1.0) <= incumbent * (1 + 1e-9)
    else:
        assert isinstance(root, float)
        assert rate_at(root) == pytest.approx(incumbent, rel=1e-9)


def test_needed_commit_at_full_coverage_is_incumbent_times_round() -> None:
    assert rates.commit_needed(109.7, 25.0) == pytest.approx(2.7425)


def test_a_curve_is_cut_below_its_length_and_extended_by_its_last_chance() -> None:
    curve = (0.8, 0.6, 0.45)
    assert rates.expected_from_curve(curve, 3) == pytest.approx(2.85)
    assert rates.expected_from_curve(curve, 1) == pytest.approx(1.8)
    assert rates.expected_from_curve(curve, 5) == pytest.approx(2.85 + 0.45 * 0.75 + 0.45 * 0.75**2)


def test_a_curve_that_ended_in_nothing_is_not_extended() -> None:
    assert rates.expected_from_curve((0.5, 0.0, 0.0), 9) == pytest.approx(1.5)
    assert rates.expected_from_curve((0.5,), 2) == pytest.approx(1.75)


@given(st.floats(0.01, 0.99), st.integers(1, 8), st.integers(1, 20))
def test_a_geometric_curve_extends_to_the_one_p_model(p: float, seen: int, asked: int) -> None:
    curve = tuple(p**i for i in range(1, seen + 1))
    assert rates.expected_from_curve(curve, asked) == pytest.approx(rates.expected_tokens(p, max(asked, 0)))


@pytest.mark.parametrize(("kind", "time"), [("plain", 36.0), ("head", 12.0), ("ngram", 0.0)])
def test_drafting_time_by_class(kind: Any, time: float) -> None:
    assert rates.draft_ms(kind, 3, 12.0) == time


@pytest.mark.parametrize("ratio", [-0.01, 1.001, 1.3])
def test_no_p_explains_a_ratio_outside_zero_to_one(ratio: float) -> None:
    assert rates.ratio_to_p(ratio, 3) is None

"""What the cost model is worth on published runs; the figures the documentation quotes."""

from __future__ import annotations

import pytest

from tests.bench import cost_reality as reality


def test_constant_is_right_nowhere() -> None:
    rows = reality.at_constant()
    found = reality.summary(rows)
    assert (found.rows, found.within) == (81, 0)
    assert found.factor == pytest.approx(1.657, abs=0.001)
    heads = [
        row
        for row, run in zip(rows, reality.usable(), strict=True)
        if run.drafter_class == "head" and row.predicted
    ]
    assert len(heads) == 69
    assert reality.summary(heads).factor == pytest.approx(1.614, abs=0.001)


def test_measured_passes_predict_what_was_published() -> None:
    timed = reality.from_step_times()
    found = reality.summary(timed.passes)
    assert (found.rows, found.refused) == (4, 1)
    assert found.median < 0.07
    assert abs(found.worst.error) < 0.11
    assert "DSpark" in found.worst.label
    assert found.worst.why
    assert abs(reality.summary(timed.whole).worst.error) < 0.002


def test_a_depth_that_was_not_measured_is_refused_with_words() -> None:
    refused = [row for row in reality.from_step_times().passes if row.predicted is None]
    assert [row.label for row in refused] == ["rMLX Qwen3.8-27B DFlash2 K=4"]
    assert "not extended to n = 5" in refused[0].why


def test_other_depths_of_the_same_setup_predict_it() -> None:
    found = reality.summary(reality.from_other_depths())
    assert found.rows == 29
    assert found.within == 25
    assert found.median == pytest.approx(0.023, abs=0.001)
    assert found.worst.error == pytest.approx(0.412, abs=0.001)
    assert "fixed cost" in found.worst.why


def test_every_profile_is_tested_or_says_why_not() -> None:
    unused = reality.from_step_times().unused
    assert len(unused) == 12
    assert all(unused.values())


def test_most_published_rounds_lie_in_the_assumed_band() -> None:
    assert reality.in_band() == (51, 69)

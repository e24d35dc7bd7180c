"""The cause of a change is named, and only where there is a change."""

from __future__ import annotations

import dataclasses

import pytest

from tui.model.drift import Stretch, drift

BEFORE = Stretch(rate_tok_s=40.0, log_variance=0.0004, commit=2.4, round_ms=60.0)


def changed(**other: float | None) -> Stretch:
    return dataclasses.replace(BEFORE, **other)  # type: ignore[arg-type]  # fields by name


def test_slower_rounds_at_the_same_commit_are_no_fault_of_the_drafter() -> None:
    said = drift(BEFORE, changed(rate_tok_s=20.0, round_ms=120.0))
    assert "rate -50 %" in said
    assert "round time +100 %, commit +0 %" in said
    assert "residency" in said
    assert "drafter" not in said


def test_less_commit_at_the_same_round_time_is_the_drafter_or_the_text() -> None:
    said = drift(BEFORE, changed(rate_tok_s=25.0, commit=1.5))
    assert "commit -38 %" in said
    assert "the drafter is accepted less" in said
    assert "residency" not in said


def test_both_are_told_when_both_moved() -> None:
    said = drift(BEFORE, changed(rate_tok_s=20.0, commit=1.7, round_ms=85.0))
    assert "round time +42 %, commit -29 %" in said
    assert "drafter" not in said


def test_faster_rounds_are_told_too() -> None:
    assert "server got faster" in drift(BEFORE, changed(rate_tok_s=60.0, round_ms=40.0))


@pytest.mark.parametrize("rate", [37.5, 43.5])
def test_small_changes_are_not_remarked(rate: float) -> None:
    assert drift(BEFORE, changed(rate_tok_s=rate, log_variance=1e-9)) == ""


def test_changes_within_their_spread_are_not_remarked() -> None:
    assert drift(BEFORE, changed(rate_tok_s=30.0, log_variance=0.04)) == ""


def test_a_log_without_rounds_says_that_it_cannot_tell_why() -> None:
    assert "not in this log" in drift(BEFORE, changed(rate_tok_s=20.0, commit=None))

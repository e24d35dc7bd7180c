"""Values as operators type them."""

from __future__ import annotations

from typing import Any

import click
import pytest

from tui.commands.values import (
    FRACTION,
    FRACTIONS,
    MILLISECONDS,
    RATE,
    SHARE,
    Concurrency,
    Milliseconds,
)


@pytest.mark.parametrize(
    ("typed", "ms"),
    [
        ("67", 67.0),
        ("67ms", 67.0),
        ("0.067s", 67.0),
        (" .067 S ", 67.0),
        ("1.5e1ms", 15.0),
        (67, 67.0),
        ("250us", 0.25),
    ],
)
def test_times(typed: Any, ms: float) -> None:
    assert MILLISECONDS.convert(typed, None, None) == ms


@pytest.mark.parametrize(
    "typed", ["", "fast", "nan", "inf", "-5ms", "0", "6,7", "67 min", "1e999", "5ms5", "٣"]
)
def test_no_times(typed: str) -> None:
    with pytest.raises(click.BadParameter):
        MILLISECONDS.convert(typed, None, None)


def test_a_draft_may_take_no_time() -> None:
    assert Milliseconds(zero=True).convert("0", None, None) == 0.0


@pytest.mark.parametrize(
    ("typed", "share"), [("0.6", 0.6), ("57%", 0.57), ("100 %", 1.0), ("0", 0.0), (0.05, 0.05)]
)
def test_fractions(typed: Any, share: float) -> None:
    assert FRACTION.convert(typed, None, None) == share


@pytest.mark.parametrize("typed", ["60", "101%", "half"])
def test_no_fractions(typed: str) -> None:
    with pytest.raises(click.BadParameter, match=r"0\.6 or 60%"):
        FRACTION.convert(typed, None, None)


@pytest.mark.parametrize("typed", ["0", "1", "100%", "1e-320", "0%"])
def test_shares_are_above_nothing_and_below_all(typed: str) -> None:
    assert SHARE.convert("5%", None, None) == 0.05
    with pytest.raises(click.BadParameter, match="above 0 and below 1"):
        SHARE.convert(typed, None, None)


def test_rates() -> None:
    assert RATE.convert("25", None, None) == RATE.convert("25 tok/s", None, None) == 25.0


@pytest.mark.parametrize("typed", ["match", "Alone", "any", "3"])
def test_concurrencies(typed: str) -> None:
    assert Concurrency().convert(typed, None, None) == typed.lower()


@pytest.mark.parametrize("typed", ["0", "-1", "two", ""])
def test_no_concurrencies(typed: str) -> None:
    with pytest.raises(click.BadParameter, match="match, alone, any"):
        Concurrency().convert(typed, None, None)


def test_positions_as_a_log_prints_them() -> None:
    assert FRACTIONS.convert("(0.787, 0.560, 31%)", None, None) == (0.787, 0.56, 0.31)
    with pytest.raises(click.BadParameter):
        FRACTIONS.convert("0.7,,0.3", None, None)


def test_a_message_shows_no_raw_escape() -> None:
    with pytest.raises(click.BadParameter) as caught:
        MILLISECONDS.convert("\x1b[31m5", None, None)
    assert "\x1b" not in caught.value.message

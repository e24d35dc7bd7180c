"""Values that operators type: times with or without a unit, rates, fractions."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from typing import TYPE_CHECKING, Any, ClassVar

import click

if TYPE_CHECKING:
    from collections.abc import Mapping

    _Number = click.ParamType[float]
    _Numbers = click.ParamType[tuple[float, ...]]
    _Text = click.ParamType[str]
else:  # generic only in newer clicks
    _Number = _Numbers = _Text = click.ParamType

_NUMBER = re.compile(r"([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?)\s*(.*)", re.DOTALL | re.ASCII)


class Quantity(_Number):
    """A finite number with a unit out of a table.

    Attributes:
        units: what each accepted unit multiplies by; "" is a bare number.
        example: what a message shows as right.
        zero: whether 0 makes sense.
    """

    units: ClassVar[Mapping[str, str]]
    example: ClassVar[str]
    zero: bool = False

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number in the type's own unit, or a usage error that says how to write it."""
        text = str(value).strip()
        match = _NUMBER.fullmatch(text)
        unit = match[2].strip().lower() if match else ""
        if match is None or unit not in self.units:
            self.fail(f"{text!r} is not a {self.name}: write it as {self.example}", param, ctx)
        number = float(Decimal(match[1]) * Decimal(self.units[unit]))
        if not math.isfinite(number) or number < 0 or (number == 0 and not self.zero):
            least = "0 or more" if self.zero else "above 0"
            self.fail(f"{text!r}: a {self.name} must be {least}", param, ctx)
        return number


class Milliseconds(Quantity):
    """A time: plain numbers are milliseconds; 67ms, 0.067s, 67000us."""

    name = "time"
    units: ClassVar = {"": "1", "ms": "1", "s": "1000", "us": "0.001"}
    example = "67, 67ms or 0.067s"

    def __init__(self, *, zero: bool = False) -> None:
        self.zero = zero


class Rate(Quantity):
    """Tokens per second: 25, 25tok/s, 25 t/s."""

    name = "rate"
    units: ClassVar = {"": "1", "tok/s": "1", "t/s": "1"}
    example = "25 or 25tok/s"


class Fraction(Quantity):
    """A share from 0 to 1: 0.6 or 60%."""

    name = "fraction"
    units: ClassVar = {"": "1", "%": "0.01"}
    example = "0.6 or 60%"
    zero = True

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share as a fraction."""
        number = super().convert(value, param, ctx)
        if number > 1:
            self.fail(f"{str(value)!r}: a fraction is at most 1; write {self.example}", param, ctx)
        return number


class Share(Fraction):
    """A share above 0 and below 1: 0.05 or 5%."""

    example = "0.05 or 5%"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share as a fraction."""
        number = super().convert(value, param, ctx)
        if not 1e-9 <= number < 1:
            self.fail(f"{str(value)!r} must be above 0 and below 1: write {self.example}", param, ctx)
        return number


class Fractions(_Numbers):
    """Shares by position, separated by commas: 0.79,0.56,0.31."""

    name = "fractions"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, ...]:
        """The shares, at least one."""
        if isinstance(value, tuple):
            return value
        parts = str(value).strip().strip("()").split(",")
        return tuple(FRACTION.convert(part, param, ctx) for part in parts)


MILLISECONDS = Milliseconds()
RATE = Rate()
FRACTION = Fraction()
SHARE = Share()
FRACTIONS = Fractions()


class Concurrency(_Text):
    """Which requests are compared: match, alone, any, or a number of requests at once."""

    name = "concurrency"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The word or number as text, or a usage error that lists them."""
        text = str(value).strip().lower()
        if text not in ("match", "alone", "any") and not (text.isdecimal() and int(text) > 0):
            self.fail(f"{value!r}: write match, alone, any, or a number such as 2", param, ctx)
        return text

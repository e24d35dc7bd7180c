"""Numbers that say where they come from.

An unknown value is ``None`` and carries its reason; it is never 0 and never a guess.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

Provenance = Literal["measured", "derived", "assumed", "typed"]
DrafterClass = Literal["plain", "head", "ngram"]
Root = float | Literal["always", "never"]
"""A break-even acceptance: a root in (0, 1], or that no p matters."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One number with its provenance.

    Attributes:
        value: the number, or None when it is unknown.
        provenance: how it was come by; None when it is unknown.
        note: why it is unknown, or what qualifies it ("upper bound", "overlap unknown"); may be empty.
    """

    value: float | None
    provenance: Provenance | None = None
    note: str = ""

    @classmethod
    def unknown(cls, reason: str) -> Figure:
        """A value that nothing settles, with the reason."""
        return cls(None, None, reason)


@dataclass(frozen=True, slots=True)
class Span:
    """A number known to lie in [low, high]; exact when both ends agree. `high` may be infinite."""

    low: float
    high: float

    @classmethod
    def exactly(cls, value: float) -> Span:
        """A span without width."""
        return cls(value, value)

    @property
    def exact(self) -> bool:
        """Whether the span is one number (to twelve digits: the ends come by different roundings)."""
        return math.isclose(self.low, self.high, rel_tol=1e-12)


@dataclass(frozen=True, slots=True)
class RootSpan:
    """The break-even acceptance at the cheapest and at the dearest round that the costs allow."""

    low: Root
    high: Root

    @property
    def exact(self) -> bool:
        """Whether both ends say the same."""
        return self.low == self.high

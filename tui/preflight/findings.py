"""What a check found: what was asked, what answered, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Sure = Literal["certain", "likely", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One answered question.

    Attributes:
        question: what the operator wants to know.
        asked: whom or what was asked for it (a file, an address, a command).
        answer: what answered, in words; outside text in it is made harmless.
        sure: certain (the source says so), likely (it follows, or is an estimate), unknown (it cannot tell).
        ok: whether that speaks for the pair; None when it says neither.
        advice: what to do about it; may be empty.
    """

    question: str
    asked: str
    answer: str
    sure: Sure
    ok: bool | None
    advice: str = ""

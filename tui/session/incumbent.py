"""What the operator chose to compare with."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.model.comparison import Basis, TypedRate

if TYPE_CHECKING:
    from tui.session.arms import Arm, ArmKey


@dataclass(frozen=True, slots=True)
class FrozenArm:
    """An arm that does not change any more: another log's, or one frozen by the operator."""

    arm: Arm
    label: str
    kind: Literal["log", "frozen"]


@dataclass(frozen=True, slots=True)
class DrafterArm:
    """The arm of the same source whose requests name this drafter (halogen's `batch` is serial decoding)."""

    drafter: str


@dataclass(frozen=True, slots=True)
class EarlierArm:
    """An earlier arm of the same source."""

    key: ArmKey


@dataclass(frozen=True, slots=True)
class LogPath:
    """A log that still has to be read to become a `FrozenArm`."""

    path: str


Choice = TypedRate | FrozenArm | DrafterArm | EarlierArm


def parse_incumbent(text: str, basis: Basis | None = None) -> TypedRate | DrafterArm | LogPath:
    """Read what an operator types for the incumbent.

    Args:
        text: a rate in tok/s ("25", "25 delivered"), "drafter:NAME", or the path of a log.
        basis: what a typed rate counts when the text does not say; decode by default.

    Raises:
        ValueError: with words for people.
    """
    text = text.strip()
    if text.startswith("drafter:"):
        name = text.removeprefix("drafter:").strip()
        if not name:
            raise ValueError("drafter: needs a name, for instance drafter:batch")
        return DrafterArm(name)
    words = text.split()
    number = words[0].removesuffix("tok/s") if words else ""
    try:
        rate = float(number)
    except ValueError:
        if not text:
            raise ValueError("type a rate in tok/s (25), a log's path, or drafter:NAME") from None
        return LogPath(text)
    stated = [word for word in words[1:] if word != "tok/s"]
    if not 0 < rate < 1e6:
        raise ValueError(f"{number} is no rate: tok/s above 0 are needed")
    if not stated:
        return TypedRate(rate, basis or "decode")
    if stated == ["decode"] or stated == ["delivered"]:
        return TypedRate(rate, "decode" if stated == ["decode"] else "delivered")
    raise ValueError(f"{' '.join(stated)!r} is no basis: decode or delivered")


def frozen(arm: Arm, label: str, kind: Literal["log", "frozen"] = "frozen") -> FrozenArm:
    """A copy of an arm as it stands."""
    arm = copy.copy(arm)
    arm.past, arm.past_choice = {}, None
    return FrozenArm(copy.deepcopy(arm), label, kind)

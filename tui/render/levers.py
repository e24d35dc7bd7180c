"""The levers of the what-if pane: which inputs there are, how they step, and what was moved so far."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

from tui.model.figures import DrafterClass, Figure
from tui.model.whatif import ASSUMED_VERIFY_FACTOR, DEPTHS, WhatIf

if TYPE_CHECKING:
    from tui.session.snapshot import View

LeverName = Literal[
    "depth",
    "acceptance",
    "target_step_ms",
    "draft_step_ms",
    "verify_factor",
    "coverage",
    "incumbent_tok_s",
    "drafter_class",
]
NUMBERS: tuple[LeverName, ...] = get_args(LeverName)[:-1]
"""The levers that hold a number, in the order they are shown in."""
LABELS: dict[LeverName, str] = {
    "depth": "K",
    "acceptance": "p",
    "target_step_ms": "t_s",
    "draft_step_ms": "d_s",
    "verify_factor": "v",
    "coverage": "coverage",
    "incumbent_tok_s": "incumbent",
    "drafter_class": "class",
}
CLASSES: tuple[DrafterClass, ...] = get_args(DrafterClass)
RANGES: dict[LeverName, tuple[float, float]] = {
    "depth": (DEPTHS.start, DEPTHS.stop - 1),
    "acceptance": (0.0, 1.0),
    "coverage": (0.0, 1.0),
}
_STEPS: dict[LeverName, float] = {"depth": 1, "acceptance": 0.01, "coverage": 0.01, "verify_factor": 0.05}
NOTHING_KNOWN = WhatIf(drafter_class="plain", depth=3)
"""The inputs before a log has said anything; its depth is only where the K key starts from."""


@dataclass(frozen=True, slots=True)
class Levers:
    """The inputs that were moved by hand; None follows the live value.

    Attributes:
        conditional: h_1, h_2, ... in place of the one p.
    """

    depth: int | None = None
    acceptance: float | None = None
    target_step_ms: float | None = None
    draft_step_ms: float | None = None
    verify_factor: float | None = None
    coverage: float | None = None
    incumbent_tok_s: float | None = None
    drafter_class: DrafterClass | None = None
    conditional: tuple[float, ...] | None = None

    def touched(self) -> tuple[LeverName, ...]:
        """The levers that no longer follow the log."""
        moved = {name for name in LABELS if getattr(self, name) is not None}
        if self.conditional is not None:
            moved.add("acceptance")
        return tuple(name for name in LABELS if name in moved)

    def over(self, live: WhatIf) -> WhatIf:
        """The live inputs with these laid over them; untouched, the very same object."""
        moved: dict[str, object] = {name: getattr(self, name) for name in self.touched()}
        if "acceptance" in moved:
            moved["conditional"] = self.conditional
        if "verify_factor" in moved:
            moved["profile"] = None
        for name in ("target_step_ms", "draft_step_ms", "verify_factor"):
            if name in moved:
                moved[name] = Figure(getattr(self, name), "typed")
        return dataclasses.replace(live, **moved) if moved else live  # type: ignore[arg-type]  # fields by name

    def with_value(self, name: LeverName, value: float | tuple[float, ...]) -> Levers:
        """One number set, kept within its range; p may be one for each position.

        Raises:
            ValueError: with what is allowed, for people.
        """
        if isinstance(value, tuple):
            if not all(0.0 <= chance <= 1.0 for chance in value):
                raise ValueError(f"p {_allowed('acceptance')}")
            return dataclasses.replace(self, acceptance=None, conditional=value)
        if name == "depth":
            if value != int(value):
                raise ValueError("K is a whole number")
            value = int(value)
        low, high = RANGES.get(name, (0.0, math.inf))
        if not low <= value <= high or (name not in RANGES and value == 0 and name != "draft_step_ms"):
            raise ValueError(f"{LABELS[name]} {_allowed(name)}")
        conditional = None if name == "acceptance" else self.conditional
        moved: dict[str, object] = {"conditional": conditional, name: value}
        return dataclasses.replace(self, **moved)  # type: ignore[arg-type]  # fields by name

    def next_class(self, live: WhatIf) -> Levers:
        """The next drafter class after the one in force."""
        now = self.drafter_class or live.drafter_class
        return dataclasses.replace(self, drafter_class=CLASSES[(CLASSES.index(now) + 1) % len(CLASSES)])


def _allowed(name: LeverName) -> str:
    if name == "coverage":
        return "runs from 0 to 100 %"
    if name in RANGES:
        low, high = RANGES[name]
        return f"runs from {low:g} to {high:g}"
    return "must be more than 0"


def value_of(what: WhatIf, name: LeverName) -> float | None:
    """The number in force; None where it is unknown, or for p where it is live."""
    value = getattr(what, name)
    return value.value if isinstance(value, Figure) else value


def parse(name: LeverName, text: str) -> float | tuple[float, ...]:
    """What was typed into a lever; coverage is typed in percent, p may be one for each position.

    Raises:
        ValueError: with words for people.
    """
    try:
        if name == "acceptance" and "," in text:
            return tuple(float(part) for part in text.strip(",").split(","))
        value = float(text)
    except ValueError:
        raise ValueError(f"{text!r} is not a number") from None
    return value / 100 if name == "coverage" else value


def stepped(what: WhatIf, levers: Levers, name: LeverName, direction: int, start: float | None) -> Levers:
    """One step up or down on the lever's grid, held at the ends of its range.

    Args:
        what: the inputs in force.
        levers: what was moved so far.
        name: the lever to step.
        direction: +1 or -1.
        start: where p starts from while it is live.

    Raises:
        ValueError: the value is unknown, so there is nothing to step from.
    """
    value = value_of(what, name)
    if value is None and name == "acceptance":
        value = start if start is not None else 0.5
    if value is None and name == "verify_factor":
        value = ASSUMED_VERIFY_FACTOR
    if value is None:
        raise ValueError(f"{LABELS[name]} is unknown: type a value")
    step = _STEPS.get(name) or 10.0 ** math.floor(math.log10(max(value, 0.01)) - 1)
    position = value / step
    nearest = round(position)
    if abs(position - nearest) < 1e-6:
        target = nearest + direction
    else:
        target = math.floor(position) + 1 if direction > 0 else math.ceil(position) - 1
    low, high = RANGES.get(name, (step, math.inf))
    return levers.with_value(name, min(high, max(low, round(target * step, 10))))


def measured_p(view: View | None) -> float | None:
    """The p that the log gives: its point, else the middle of its range."""
    if view is None or view.canary is None:
        return None
    p = view.canary.acceptance
    if p.point is not None or p.low is None or p.high is None:
        return p.point
    return (p.low + p.high) / 2

"""What verify passes are priced with, in words."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.model.whatif import ASSUMED_VERIFY_FACTOR, predicted
from tui.render import numbers

if TYPE_CHECKING:
    from tui.model.figures import Span
    from tui.session.snapshot import VerifyCost, View

_SIZES = 12
"""Sizes written one by one."""


def cost_words(cost: VerifyCost) -> str:
    """Where the costs come from, and what they cover."""
    profile = cost.profile
    words = [f"{harmless(profile.name, 60)}: passes of {_sizes(cost)} tokens, {profile.provenance}"]
    if cost.typed and profile.key.context is not None:
        words.append(f"at a context of {profile.key.context}")
    if cost.typed and cost.untold:
        words.append(f"whether {_listed(cost.untold)} {_are(cost.untold)} the server's is not told")
    words += [harmless(note) for note in profile.notes]
    return "; ".join(words)


def _sizes(cost: VerifyCost) -> str:
    """The sizes measured; those of a log with the passes seen and their standard deviation."""
    profile = cost.profile
    if profile.rounds:
        seen = zip(profile.batch, profile.rounds, profile.spread_ms, strict=True)
        told = [f"{n} ({rounds}{_spread(ms)})" for n, rounds, ms in seen]
        return _cut(told)
    if all(after == before + 1 for before, after in itertools.pairwise(profile.batch)):
        return f"{profile.batch[0]} to {profile.batch[-1]}"
    return _cut([str(n) for n in profile.batch])


def _cut(told: list[str]) -> str:
    if len(told) > _SIZES:
        told = [*told[: _SIZES - 1], f"... {told[-1]}"]
    return ", ".join(told)


def _spread(ms: float | None) -> str:
    return "" if ms is None else f", sd {numbers.ms(ms)} ms"


def _listed(names: tuple[str, ...]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _are(names: tuple[str, ...]) -> str:
    return "is" if len(names) == 1 else "are"


def predictions(view: View) -> tuple[Span, Span] | None:
    """The rate that the usual verify factor promises, and that of the measured one.

    Returns:
        None where v was not measured, or a rate is not a number.
    """
    what = view.what_if
    if what is None or what.verify_factor.value is None:
        return None
    if what.verify_factor.provenance not in ("measured", "derived"):
        return None
    usual = predicted(what, ASSUMED_VERIFY_FACTOR)
    measured = predicted(what, what.verify_factor.value)
    return None if usual is None or measured is None else (usual, measured)


def prediction_words(view: View) -> str:
    """Both predictions beside the rate that was measured; empty without them."""
    both, arm = predictions(view), view.canary
    if both is None or arm is None or view.what_if is None:
        return ""
    usual, measured = (numbers.span(span, numbers.rate) for span in both)
    v = numbers.factor(view.what_if.verify_factor.value)
    return (
        f"v {ASSUMED_VERIFY_FACTOR} as usually assumed gives {usual} tok/s, v {v} as measured {measured};"
        f" it ran at {numbers.rate(arm.decode_tok_s)}"
    )

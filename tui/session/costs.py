"""What rounds cost: what an arm's own requests tell, and whether a profile from elsewhere fits them.

Costs hold for one setup. They live in an arm and go with it: another arm starts with none.
"""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from tui.model.cost import LARGEST_PASS, CostKey, NoFit, Profile, ProfileError
from tui.model.live_cost import PassTimes, RoundSums, live_profile
from tui.model.steps import is_upper_bound, without_plain
from tui.session.snapshot import VerifyCost
from tui.session.sums import accepted_in, plain_steps_in

if TYPE_CHECKING:
    from tui.formats.events import Request
    from tui.model.figures import Figure
    from tui.session.arms import Arm

GROWN = "this log"
"""The name of a profile that grew from an arm's own requests."""
APART = 0.15
"""A profile that is off by this share at the length that ran is doubted at all others."""
LEAST_OVERHEAD = 0.1
"""A fixed cost below this share of a plain step is not worth a word."""


@dataclass(slots=True)
class Costs:
    """Running sums over the requests of an arm that ran alone.

    Attributes:
        rounds: whole rounds, drafting included.
        passes: verify passes by draft length, of requests whose mean draft length is a whole number.
        timed: requests with a draft time; `whole` of them have such a length.
    """

    rounds: RoundSums = field(default_factory=RoundSums)
    passes: dict[int, RoundSums] = field(default_factory=dict)
    timed: int = 0
    whole: int = 0

    def add(self, request: Request) -> None:
        """Count one finished request that ran alone; what does not tell its rounds is not counted."""
        rounds, drafted, accepted = request.rounds, request.drafted, accepted_in(request)
        if not rounds or not drafted or drafted < rounds or accepted is None:
            return
        if request.tokens is None or not request.decode_ms:
            return
        plain = plain_steps_in(request, rounds, accepted, request.tokens - 1) / rounds
        self.rounds.add(drafted / rounds, request.decode_ms / rounds, rounds, plain)
        if request.draft_ms is None or request.draft_ms >= request.decode_ms:
            return
        self.timed += 1
        length = drafted // rounds
        if drafted % rounds == 0 and length < LARGEST_PASS:
            self.whole += 1
            verify = (request.decode_ms - request.draft_ms) / rounds
            self.passes.setdefault(length, RoundSums()).add(length, verify, rounds, plain)

    def profile(self, key: CostKey, step: PassTimes, deepest: int | None) -> Profile | None:
        """The profile that grew so far; None while there is too little for one.

        A mean draft length that is a whole number proves that all drafts had it where it is 1, or the most
        there may be. Between these it may be chance, and is believed where most requests have one.

        Args:
            key: the setup.
            step: plain steps of it.
            deepest: K, None where it is not known.
        """
        often = 2 * self.whole > self.timed
        sizes = {length: seen for length, seen in self.passes.items() if often or length in (1, deepest)}
        bare = {
            length: seen.bare(step.mean_ms)
            for length, seen in sizes.items()
            if without_plain(seen.mean_ms, seen.mean_plain, step.mean_ms) is not None
        }
        passes = {
            length + 1: PassTimes(sums.rounds, sums.observations, sums.mean_ms, sums.ms_squares)
            for length, sums in bare.items()
            if sums is not None and sums.mean_ms > 0
        }
        try:
            return live_profile(GROWN, key, {1: step, **passes})
        except ProfileError:
            return None

    def fixed(self, step: Figure) -> str:
        """What a round costs however short its draft, in words; empty where no such cost shows.

        Args:
            step: t_s.
        """
        if step.value is None or is_upper_bound(step):
            return ""
        sums = self.rounds.bare(step.value)
        fit = NoFit("") if sums is None else sums.fit()
        if isinstance(fit, NoFit) or fit.fixed_error_ms is None or not fit.overhead_shown(step.value):
            return ""
        overhead = fit.overhead_ms(step.value)
        if overhead < LEAST_OVERHEAD * step.value:
            return ""
        shortest, longest = fit.lengths
        return (
            f"a round takes {overhead:.1f} +- {2 * fit.fixed_error_ms:.1f} ms on top of a plain step, however"
            f" short its draft, and {fit.per_token_ms:.1f} ms for each draft token ({fit.rounds} rounds of"
            f" {shortest:.1f} to {longest:.1f}): a smaller depth will not fix a fixed cost"
        )


def key_of(arm: Arm) -> CostKey:
    """The setup of an arm, as far as it is told; its context is that of a typical recent request."""
    contexts = [
        request.prompt_tokens + request.tokens
        for request in arm.recent
        if request.prompt_tokens is not None and request.tokens is not None
    ]
    context = round(statistics.median(contexts)) if contexts else None
    return CostKey(arm.engine, arm.identity.model, None, arm.identity.build, context)


def held_against(profile: Profile, arm: Arm, verify_factor: Figure) -> VerifyCost:
    """A profile from elsewhere, with what speaks against using it for an arm.

    Args:
        profile: as the operator gave it.
        arm: what it is to price.
        verify_factor: v as measured in the arm.
    """
    differs, unknown = _by_name(profile.key).compare(_by_name(key_of(arm)))
    words = {
        "server": "measured on {}, this is {}",
        "model": "measured with {}, this server runs {}",
        "device": "measured on {}, this server runs on {}",
        "build": "measured with build {}, this server is {}",
        "context": "measured at a context of {} tokens, requests here have about {}",
    }
    doubts = [words[each.field].format(each.ours, each.theirs) for each in differs]
    sums, _ = arm.step_sums
    if verify_factor.value is not None and sums.rounds and sums.rounds_drafted >= sums.rounds:
        length = sums.rounds_drafted / sums.rounds
        says = _at(profile.steps, length)
        if says is not None and abs(verify_factor.value / says - 1) > APART:
            doubts.append(
                f"{length + 1:.3g} tokens cost {verify_factor.value:.2f} plain steps here, {says:.2f} by the"
                " profile: its other sizes may be as far off"
            )
    return VerifyCost(profile, True, tuple(doubts), tuple(each.field for each in unknown))


def _by_name(key: CostKey) -> CostKey:
    """Models are told apart by file name: the same one may lie in another folder."""
    return key if key.model is None else replace(key, model=PurePath(key.model).name.removesuffix(".gguf"))


def _at(steps: tuple[float, ...], length: float) -> float | None:
    """T(length + 1)/T(1), between whole sizes on a straight line; None beyond the last."""
    low = math.floor(length)
    high = math.ceil(length)
    if high >= len(steps):
        return None
    return steps[low] + (length - low) * (steps[high] - steps[low])

"""How sure a drafter must be to go on, depth by depth, on a target with a measured profile.

Everything is in plain steps of the target, so a rate is a speed-up over decoding without drafts: a rate in
tok/s is that times 1000/t_s. The rule: with the best rate over all depths, a block of draft tokens i..j pays
if sum(a_i..a_j) > rate*(its draft time + T(j + 1) - T(i)), a_i the share of rounds that reach token i.
"""

from __future__ import annotations

import dataclasses
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tui.model.rates import draft_ms, solve_acceptance
from tui.model.steps import is_upper_bound
from tui.model.whatif import DEPTHS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.cost import Profile
    from tui.model.figures import DrafterClass
    from tui.model.whatif import WhatIf

RateFrom = Literal["best", "typed", "plain"]
_TINY = 1e-12


@dataclass(frozen=True, slots=True)
class Threshold:
    """What draft token number `depth` must bring.

    Attributes:
        alone: the share of rounds that must reach it when it is judged by itself.
        block: the least mean share over the blocks that begin with it: below that going on cannot pay.
        block_to: the last token of that block.
        reached: a_i, None without acceptance. before: a_(i-1).
        extended: beyond the positions given, so by the last conditional chance.
        pays_to: where the best block ends, when going on pays; None when it does not, or unknown.
        derived: a pass it rests on lies between two measured ones.
    """

    depth: int
    alone: float
    block: float
    block_to: int
    reached: float | None
    before: float | None
    extended: bool
    pays_to: int | None
    derived: bool

    @property
    def pays(self) -> bool | None:
        """Whether it pays to go on to this token; None without acceptance."""
        return None if self.reached is None else self.pays_to is not None

    @property
    def given(self) -> float | None:
        """The chance this token alone must have given that all before it were accepted."""
        return self.alone / self.before if self.before else None


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The vector of thresholds at one rate.

    Attributes:
        speedup: the rate they are taken at, in tokens per plain step.
        best_depth: the depth of the best rate, 0 when not drafting is best; None without acceptance.
        best_derived: that depth lies between two measured ones.
        speedups: rate by depth 0, 1, ..., in tokens per plain step; empty without acceptance.
    """

    speedup: float
    rate_from: RateFrom
    best_depth: int | None
    best_derived: bool
    speedups: tuple[float, ...]
    steps: tuple[Threshold, ...]


def reached(conditional: Sequence[float], depth: int) -> tuple[float, ...]:
    """a_1..a_depth from the conditional chances h_1, h_2, ...; the last one stands for all that follow."""
    chances = itertools.chain(conditional, itertools.repeat(conditional[-1]))
    return tuple(itertools.accumulate(itertools.islice(chances, depth), lambda a, h: a * h))


def thresholds(
    profile: Profile,
    drafter_class: DrafterClass = "ngram",
    draft_step: float = 0.0,
    conditional: Sequence[float] | None = None,
    speedup: float | None = None,
) -> Thresholds:
    """The vector of thresholds for a target and a drafter.

    Args:
        profile: the target's. One that includes drafting adds nothing for it.
        drafter_class: whether drafting is paid for each token, once a round, or not at all.
        draft_step: d_s/t_s.
        conditional: h_1, h_2, ...; a single value is one p for all positions. None when unknown.
        speedup: the rate to beat, in tokens per plain step; None takes the best over all depths, no drafting
            among them, or that of no drafting where the acceptance is unknown.
    """
    ratios = profile.steps[: DEPTHS[-1] + 1]
    step = 0.0 if profile.includes_draft else draft_step
    drafts = [0.0] + [draft_ms(drafter_class, k, step) for k in range(1, len(ratios))]
    cost = [draft + ratio for draft, ratio in zip(drafts, ratios, strict=True)]
    deepest = len(cost) - 1
    shares = None if conditional is None else reached(conditional, deepest)
    tokens = None if shares is None else list(itertools.accumulate(shares, initial=1.0))
    rates = () if tokens is None else tuple(a / c for a, c in zip(tokens, cost, strict=True))
    best = max(range(len(rates)), key=rates.__getitem__) if rates else None
    rate_from: RateFrom = "typed" if speedup is not None else "plain" if best is None else "best"
    rate = speedup if speedup is not None else 1.0 if best is None else rates[best]

    ends = [] if tokens is None else _best_ends([a - rate * c for a, c in zip(tokens, cost, strict=True)])
    exact = set(profile.batch)
    known = len(conditional) if conditional is not None and len(conditional) > 1 else deepest
    steps = []
    for i in range(1, deepest + 1):
        slopes = [rate * (cost[j] - cost[i - 1]) / (j - i + 1) for j in range(i, deepest + 1)]
        end = min(range(len(slopes)), key=slopes.__getitem__)
        steps.append(
            Threshold(
                depth=i,
                alone=slopes[0],
                block=slopes[end],
                block_to=i + end,
                reached=shares[i - 1] if shares else None,
                before=(1.0, *shares)[i - 1] if shares else None,
                extended=i > known,
                pays_to=ends[i - 1] if ends else None,
                derived=not {i, i + 1} <= exact,
            )
        )
    return Thresholds(rate, rate_from, best, best is not None and best + 1 not in exact, rates, tuple(steps))


def going_on(what: WhatIf, profile: Profile) -> Thresholds | str:
    """The vector for the inputs of a what-if, at the best rate over all depths that the profile reaches.

    Args:
        what: the inputs; at the depth that was measured its own verify pass goes before the profile's.
        profile: the one the inputs are priced with.

    Returns:
        What must be known first, in words, where something is missing.
    """
    step, live = what.target_step_ms, what.measured
    if step.value is None or is_upper_bound(step):
        return "t_s unknown"
    draft = _draft_step(what)
    if draft is None:
        return "d_s unknown"
    if live is not None and what.verify_factor.provenance in ("measured", "derived"):
        profile = _with_pass(profile, live.depth + 1, what.verify_factor.value)
    return thresholds(profile, what.drafter_class, draft / step.value, chances(what))


def chances(what: WhatIf) -> tuple[float, ...] | None:
    """h_1, h_2, ... of the inputs: as set, else as measured, else the one p behind a mean length."""
    if what.acceptance is not None:
        return (what.acceptance,)
    if what.conditional:
        return what.conditional
    live = what.measured
    if live is not None and live.curve:
        pairs = itertools.pairwise((1.0, *live.curve))
        return tuple(after / before for before, after in itertools.takewhile(lambda pair: pair[0] > 0, pairs))
    if live is None or live.mean_accepted_length is None:
        return None
    root = solve_acceptance(live.mean_accepted_length, live.depth)
    return None if root == "never" else (0.0,) if root == "always" else (root,)


def _draft_step(what: WhatIf) -> float | None:
    if what.drafter_class == "ngram":
        return 0.0
    live = what.measured
    if what.draft_step_ms.value is not None or live is None or live.draft_ms is None:
        return what.draft_step_ms.value
    if live.drafter_class not in (None, what.drafter_class):
        return None
    return live.draft_ms / (live.depth if what.drafter_class == "plain" else 1)


def _with_pass(profile: Profile, n: int, ratio: float | None) -> Profile:
    if ratio is None or n > profile.batch[-1]:
        return profile
    ratios = {**dict(zip(profile.batch, profile.time_ratio, strict=True)), n: ratio}
    batch = tuple(sorted(ratios))
    return dataclasses.replace(
        profile, batch=batch, time_ratio=tuple(ratios[size] for size in batch), rounds=(), spread_ms=()
    )


def _best_ends(net: list[float]) -> list[int | None]:
    """For each depth k, the deeper depth with the highest net gain; None where no deeper one gains."""
    ends: list[int | None] = []
    top = len(net) - 1
    for k in range(len(net) - 2, -1, -1):
        top = k + 1 if net[k + 1] >= net[top] else top
        ends.append(top if net[top] - net[k] > _TINY else None)
    return ends[::-1]


@dataclass(frozen=True, slots=True)
class NearestFlags:
    """The settings of today's llama-server that come nearest to the vector.

    Attributes:
        n_min: shorter drafts lose even if all is accepted; None when every draft does.
        n_max: the best depth, or the deepest measured when the acceptance is unknown; 0: do not draft.
        p_min: the vector's mean, each position weighted by how often it is met; None without acceptance.
        p_min_range: lowest and highest chance the vector asks for up to n_max, which one p-min cannot follow.
    """

    n_min: int | None
    n_max: int
    p_min: float | None
    p_min_range: tuple[float, float] | None


def nearest_flags(profile: Profile, vector: Thresholds) -> NearestFlags:
    """Settings from a profile and its thresholds."""
    depth = len(vector.steps) if vector.best_depth is None else vector.best_depth
    steps = vector.steps[:depth]
    wanted = [step.given for step in steps if step.given is not None]
    if not wanted:
        return NearestFlags(profile.draft_min, depth, None, None)
    met = sum(step.before for step in steps if step.before)
    mean = sum(step.alone for step in steps) / met
    return NearestFlags(profile.draft_min, depth, min(1.0, max(0.0, mean)), (min(wanted), max(wanted)))

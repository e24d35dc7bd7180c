"""What another depth or acceptance would do: inputs, and the answer with its bounds.

Every cost is a span: what was measured at one depth is exact there and only bounded elsewhere; what is
assumed is a band; what was typed, or comes from a profile, is exact at every depth.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from tui.model.figures import DrafterClass, Figure, RootSpan, Span

ASSUMED_VERIFY_FACTOR = 1.1
ASSUMED_ROUND_BAND = Span(1.4, 3.9)
"""Round cost in plain steps, 10th to 90th percentile of published pairs (verify pass for plain drafters)."""
DEPTHS = range(1, 65)


@dataclass(frozen=True, slots=True)
class Measured:
    """What the log measured at the depth it ran with.

    Attributes:
        depth: the configured or observed depth.
        round_ms: time of a round.
        draft_ms: drafting per round, None when the log does not tell.
        mean_accepted_length: tokens a round commits, the target's own included.
        curve: share of rounds whose first i drafts were accepted, i = 1..; None when unknown.
    """

    depth: int
    round_ms: float | None = None
    draft_ms: float | None = None
    mean_accepted_length: float | None = None
    curve: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class WhatIf:
    """The inputs of the what-if pane. Times in ms.

    Attributes:
        depth: draft tokens proposed per round.
        acceptance: one conditional p for all positions; None means "live": use `measured`.
        target_step_ms: t_s. draft_step_ms: d_s (per token, a head's per pass).
        verify_factor: v; provenance "measured" holds at `measured.depth` only, "typed" everywhere,
            "assumed" becomes the band.
        profile: relative step times T(n)/T(1) for n = 1, 2, ...; replaces the factor where it reaches.
        coverage: share of target passes that had a draft, fraction.
        incumbent_tok_s: what has to be beaten.
    """

    drafter_class: DrafterClass
    depth: int
    acceptance: float | None = None
    target_step_ms: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    draft_step_ms: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    verify_factor: Figure = field(default_factory=lambda: Figure.unknown("not measured"))
    coverage: float = 1.0
    incumbent_tok_s: float | None = None
    measured: Measured | None = None
    profile: tuple[float, ...] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What the inputs give; None where they do not settle it.

    Attributes:
        expected_tokens: A, tokens a round commits.
        approximate: A was cut or extended from a curve measured at another depth (shown with `~`).
        round_ms, rate_tok_s, speedup, commit_needed: spans.
        break_even: p* at this depth. break_even_at: p* by depth for the depths asked.
        best_depth, best_rate_tok_s: the depth with the highest certain rate at this p; None while the costs
            are only bounds.
        head_room: p - p*, as a span over the bounds.
        assumed: which inputs were assumed, by field name. replaces: the measurement that would replace them.
    """

    expected_tokens: float | None
    approximate: bool
    round_ms: Span | None
    rate_tok_s: Span | None
    speedup: Span | None
    commit_needed: Span | None
    break_even: RootSpan | None
    break_even_at: dict[int, RootSpan | None]
    best_depth: int | None
    best_rate_tok_s: float | None
    head_room: Span | None
    assumed: tuple[str, ...] = ()
    replaces: str = ""


def answer(what: WhatIf, *, depths: tuple[int, ...] = (1, 3, 7)) -> Answer:
    """Recompute everything from the inputs; microseconds, called in key handlers.

    Args:
        what: the inputs.
        depths: where break-even is asked besides `what.depth`.
    """
    raise NotImplementedError

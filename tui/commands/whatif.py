"""`spectop whatif`: the what-if pane alone, or its numbers."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from tui.commands.values import FRACTION, MILLISECONDS, RATE, Milliseconds
from tui.settings import SCREEN, options

if TYPE_CHECKING:
    from tui.model.figures import Figure, RootSpan, Span
    from tui.model.whatif import WhatIf

SCHEMA_VERSION = 1


@click.command()
@click.option("--depth", type=click.IntRange(1, 64), default=3, show_default=True, help="K, drafts a round.")
@click.option(
    "--acceptance", type=FRACTION, help="p: the chance that a draft token is accepted, given all before."
)
@click.option("--acceptance-ratio", type=FRACTION, help="The server's ratio at this depth, in place of p.")
@click.option(
    "--coverage", type=FRACTION, default="1", show_default=True, help="Share of passes with a draft."
)
@click.option("--target-step", type=MILLISECONDS, help="t_s: one plain step of the target (67ms, 0.067s).")
@click.option("--draft-step", type=Milliseconds(zero=True), help="d_s: per draft token, a head's per pass.")
@click.option(
    "--verify-factor", type=RATE, metavar="V", help="Verify pass over t_s; 1.1 is assumed when not given."
)
@click.option("--incumbent", type=RATE, help="What has to be beaten, tok/s.")
@click.option(
    "--drafter-class", type=click.Choice(["plain", "head", "ngram"]), default="plain", show_default=True
)
@click.option(
    "--cost", type=click.Path(exists=True, dir_okay=False), help="A batch bench: verify cost by depth."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@options(SCREEN)
def command(
    cost: str | None,
    as_json: bool,
    theme: str | None,
    ascii: bool,  # noqa: A002  # the option's name
    quiet: bool,
    **given: Any,
) -> None:
    """What another depth or acceptance would do, from numbers you have.

    Opens the pane; with --json, or without a terminal, prints the numbers. Times are ms or carry a unit.
    """
    from tui.commands.failures import failures
    from tui.commands.terminal import require_terminal, run_screen
    from tui.costfile import read_cost
    from tui.session.inputs import priced

    with failures():
        unpriced = _inputs(**given)
        profile = None if cost is None else read_cost(cost)
        what = unpriced if profile is None else priced(unpriced, profile)
        row = as_object(what, "derived" if given["acceptance_ratio"] is not None else "typed")
        if as_json:
            click.echo(json.dumps(row, indent=2))
        elif not sys.stdout.isatty() or not sys.stdin.isatty():
            click.echo("\n".join(_lines(row)))
        else:
            require_terminal("add --json")
            run_screen(None, theme=theme, ascii_only=ascii, quiet=quiet, what_if=unpriced, cost=profile)


def _inputs(
    depth: int,
    acceptance: float | None,
    acceptance_ratio: float | None,
    coverage: float,
    target_step: float | None,
    draft_step: float | None,
    verify_factor: float | None,
    incumbent: float | None,
    drafter_class: Any,
) -> WhatIf:
    from tui.model.figures import Figure
    from tui.model.rates import ratio_to_p
    from tui.model.whatif import ASSUMED_VERIFY_FACTOR, WhatIf

    if acceptance is not None and acceptance_ratio is not None:
        raise click.UsageError("--acceptance and --acceptance-ratio say the same: give one of them")
    if acceptance_ratio is not None:
        acceptance = ratio_to_p(acceptance_ratio, depth)
    if acceptance_ratio is not None and acceptance is None:
        raise click.UsageError(f"--acceptance-ratio {acceptance_ratio:g} is reached by no p at depth {depth}")

    def typed(value: float | None, name: str) -> Figure:
        return Figure.unknown(f"{name} not given") if value is None else Figure(value, "typed")

    v = Figure(ASSUMED_VERIFY_FACTOR, "assumed") if verify_factor is None else Figure(verify_factor, "typed")
    return WhatIf(
        drafter_class=drafter_class,
        depth=depth,
        acceptance=acceptance,
        target_step_ms=typed(target_step, "--target-step"),
        draft_step_ms=typed(draft_step, "--draft-step"),
        verify_factor=v,
        coverage=coverage,
        incumbent_tok_s=incumbent,
    )


def as_object(what: WhatIf, acceptance_from: str = "typed") -> dict[str, Any]:
    """The documented JSON object: sharp numbers at the factor, and bands where it is assumed.

    Args:
        what: the inputs.
        acceptance_from: "typed", or "derived" from a ratio.
    """
    from tui.model.whatif import answer, at_factor

    sharp, banded = answer(at_factor(what)), answer(what)
    assumed = what.verify_factor.provenance == "assumed" and what.profile is None
    v = what.verify_factor.value
    if what.profile is not None:
        v = what.profile[what.depth] if what.depth < len(what.profile) else None
    row: dict[str, Any] = {
        "schema_version": SCHEMA_VERSION,
        "drafter_class": what.drafter_class,
        "depth": what.depth,
        "acceptance": what.acceptance,
        "coverage": what.coverage,
        "target_step_ms": what.target_step_ms.value,
        "draft_step_ms": what.draft_step_ms.value,
        "verify_factor": v,
        "incumbent_tok_s": what.incumbent_tok_s,
        "expected_tokens": sharp.expected_tokens,
        "round_ms": _one(sharp.round_ms),
        "rate_tok_s": _one(sharp.rate_tok_s),
        "speedup": _one(sharp.speedup),
        "commit_needed": _one(sharp.commit_needed),
        "break_even_p": _root(sharp.break_even),
        "break_even_at": {str(depth): _root(root) for depth, root in sharp.break_even_at.items()},
        "best_depth": sharp.best_depth,
        "best_rate_tok_s": sharp.best_rate_tok_s,
    }
    if assumed:
        row["rate_band_tok_s"] = _both(banded.rate_tok_s)
        row["speedup_band"] = _both(banded.speedup)
        row["break_even_band"] = (
            None if banded.break_even is None else [banded.break_even.low, banded.break_even.high]
        )
    costs = "assumed" if assumed else "derived"
    origins = {
        "acceptance": acceptance_from,
        "target_step_ms": what.target_step_ms.provenance,
        "draft_step_ms": what.draft_step_ms.provenance,
        "verify_factor": what.verify_factor.provenance if what.profile is None else "measured",
        "incumbent_tok_s": "typed",
        "expected_tokens": "derived",
        **dict.fromkeys(("round_ms", "rate_tok_s", "speedup", "commit_needed", "break_even_p"), costs),
        **dict.fromkeys(("best_depth", "best_rate_tok_s"), costs),
    }
    row["from"] = {name: origin for name, origin in origins.items() if row[name] is not None}
    return row


def _one(span: Span | None) -> float | None:
    return span.low if span is not None and span.exact else None


def _both(span: Span | None) -> list[float] | None:
    return None if span is None else [span.low, span.high]


def _root(root: RootSpan | None) -> float | str | None:
    return root.low if root is not None and root.exact else None


BANDS = {"rate_tok_s": "rate_band_tok_s", "speedup": "speedup_band", "break_even_p": "break_even_band"}


def _lines(row: dict[str, Any]) -> list[str]:
    """The same for people, one a line; what rests on an assumed cost as its band alone."""
    assumed = "rate_band_tok_s" in row
    sharp = {"round_ms", "commit_needed", "break_even_at", "best_depth", "best_rate_tok_s"}
    lines = []
    for name, value in row.items():
        if name in ("schema_version", "from", *BANDS.values()) or (assumed and name in sharp):
            continue
        origin = row["from"].get(name)
        if assumed and name in BANDS:
            value = row[BANDS[name]]
        if isinstance(value, dict):
            value = "  ".join(f"K={k} {_shown(v)}" for k, v in value.items())
        mark = f"  {origin}" if origin else ""
        lines.append(f"{name.replace('_tok_s', ' tok/s').replace('_', ' '):18} {_shown(value)}{mark}")
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return " .. ".join(map(_shown, value))
    return "--" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)

"""`spectop cost`: what a verify pass costs by its size, and what that asks of a drafter."""

from __future__ import annotations

import dataclasses
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui.commands.values import FRACTION, FRACTIONS, MILLISECONDS, RATE, Milliseconds

if TYPE_CHECKING:
    from tui.formats.bench import Bench
    from tui.model.cost import Fit, NoFit, Profile
    from tui.model.figures import DrafterClass
    from tui.render.cost import Analysis

SCHEMA_VERSION = 1


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option(
    "--rate", type=RATE, help="Rate to beat, tok/s; else the best over all depths at the acceptance."
)
@click.option("--target-step", type=MILLISECONDS, help="t_s where the file has ratios only (67ms, 0.067s).")
@click.option("--draft-step", type=Milliseconds(zero=True), help="d_s: per draft token, a head's per pass.")
@click.option(
    "--drafter-class",
    type=click.Choice(["plain", "head", "ngram"]),
    help="K forwards a round (plain), one pass (head) or none (ngram).",
)
@click.option("--acceptance", type=FRACTION, help="p, the same at every position.")
@click.option(
    "--per-position",
    type=FRACTIONS,
    metavar="A1,A2,...",
    help="Share of rounds that reached each position, as llama-server prints it.",
)
@click.option(
    "--conditional",
    type=FRACTIONS,
    metavar="H1,H2,...",
    help="Chance at each position given that all before were accepted.",
)
@click.option("--svg", "svg_file", type=click.Path(dir_okay=False), help="Write the picture to a file.")
@click.option("--ascii", "ascii_only", is_flag=True, help="ASCII characters only.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    files: tuple[str, ...],
    svg_file: str | None,
    ascii_only: bool,
    as_json: bool,
    **given: Any,
) -> None:
    """Show what a verify pass costs by its size, from a batch bench.

    FILE is llama-batched-bench's table or JSON Lines, llama-bench JSON with -p 1,2,3,..., a list of relative
    costs per token (1.0, 0.58, 0.47, ...), JSON with batch sizes and times, or - for standard input.
    Several files overlay.
    """
    from tui.commands.failures import failures
    from tui.costfile import reason
    from tui.render.cost import report, svg

    drafter = _drafter(**given)
    analyses: list[tuple[str, Analysis]] = []
    refused: list[dict[str, str]] = []
    with failures():
        for file in files:
            try:
                bench = _read(file)
            except (ValueError, OSError) as error:
                refused.append({"file": file, "reason": reason(error)})
                continue
            for note in bench.notes:
                _say(f"{file}: {note}")
            analyses += [(file, _analysis(profile, **drafter)) for profile in bench.profiles]
        _say_what_drafting_adds([found.profile for _, found in analyses], drafter)
        for one in refused:
            _say(f"{one['file']}: {one['reason']}")
        if as_json:
            click.echo(json.dumps(_object(analyses, refused, drafter), indent=2))
        elif analyses:
            ascii_only = ascii_only or "utf" not in (sys.stdout.encoding or "").lower()
            click.echo(report([found for _, found in analyses], ascii_only=ascii_only))
        if svg_file is not None and analyses:
            _write(svg_file, svg([found for _, found in analyses]))
            _say(f"picture written to {svg_file}")
    if refused:
        sys.exit(1)


def _read(path: str) -> Bench:
    from tui.costfile import read_bench_file
    from tui.formats.bench import LARGEST_FILE, read_bench

    if path == "-":
        return read_bench(sys.stdin.buffer.read(LARGEST_FILE + 1), "stdin")
    return read_bench_file(path)


def _say(text: str) -> None:
    from tui.formats.events import harmless

    click.echo(f"spectop: {harmless(text, 1000)}", err=True)


def _say_what_drafting_adds(profiles: list[Profile], drafter: dict[str, Any]) -> None:
    for profile in profiles:
        if profile.includes_draft and drafter["draft_step"]:
            _say(f"{profile.name}: its times include drafting, --draft-step is not added")
    untold = drafter["drafter_class"] != "ngram" and drafter["draft_step"] is None
    if untold and not all(profile.includes_draft for profile in profiles):
        _say("drafting is left out, so every threshold is too low: give --drafter-class and --draft-step")


def _write(path: str, text: str) -> None:
    from tui.costfile import reason

    try:
        Path(path).write_text(text, "utf-8")
    except OSError as error:
        raise click.ClickException(f"{path}: {reason(error)}") from None


def _drafter(
    acceptance: float | None,
    per_position: tuple[float, ...] | None,
    conditional: tuple[float, ...] | None,
    drafter_class: DrafterClass | None,
    draft_step: float | None,
    **rest: float | None,
) -> dict[str, Any]:
    """The drafter's side of the question, checked."""
    if sum(value is not None for value in (acceptance, per_position, conditional)) > 1:
        raise click.UsageError(
            "--acceptance, --per-position and --conditional say the same: give one of them"
        )
    if draft_step is not None and drafter_class is None:
        raise click.UsageError("--draft-step needs --drafter-class: plain pays it per token, a head per pass")
    if drafter_class == "ngram" and draft_step:
        raise click.UsageError("an n-gram drafter has no draft step")
    if acceptance is not None:
        conditional = (acceptance,)
    elif per_position is not None:
        conditional = _given_all_before(per_position)
    return {**rest, "conditional": conditional, "drafter_class": drafter_class, "draft_step": draft_step}


def _given_all_before(reached: tuple[float, ...]) -> tuple[float, ...]:
    """h_i = a_i/a_(i-1); positions that no round reached say nothing and are left out."""
    chances = []
    before = 1.0
    for share in reached:
        if share > before:
            raise click.UsageError(
                "--per-position never rises: it is the share of rounds that reached each position; "
                "chances given all before are --conditional"
            )
        chances.append(share / before)
        if share == 0:
            break
        before = share
    return tuple(chances)


def _analysis(
    profile: Profile,
    *,
    rate: float | None,
    target_step: float | None,
    conditional: tuple[float, ...] | None,
    drafter_class: DrafterClass | None,
    draft_step: float | None,
) -> Analysis:
    from tui.model.cost import fit_three, fit_two
    from tui.model.thresholds import nearest_flags, thresholds
    from tui.render.cost import Analysis

    step = target_step if target_step is not None else profile.target_step_ms
    if step is None and (rate is not None or draft_step):
        raise click.UsageError(
            f"{profile.name} has ratios only: --rate and --draft-step need --target-step too"
        )
    vector = thresholds(
        profile,
        drafter_class or "ngram",
        draft_step / step if draft_step and step else 0.0,
        conditional,
        rate * step / 1000 if rate is not None and step is not None else None,
    )
    flags = nearest_flags(profile, vector)
    return Analysis(profile, fit_two(profile), fit_three(profile), vector, flags, step)


def _object(
    analyses: list[tuple[str, Analysis]], refused: list[dict[str, str]], drafter: dict[str, Any]
) -> dict[str, Any]:
    conditional = drafter["conditional"]
    return {
        "schema_version": SCHEMA_VERSION,
        "drafter_class": drafter["drafter_class"],
        "draft_step_ms": drafter["draft_step"],
        "conditional_acceptance": None if conditional is None else list(conditional),
        "profiles": [_profile(file, found, drafter) for file, found in analyses],
        "refused": refused,
    }


def _profile(file: str, found: Analysis, drafter: dict[str, Any]) -> dict[str, Any]:
    profile, vector, flags, step = found.profile, found.vector, found.flags, found.target_step_ms
    best = vector.best_depth
    known = best is not None
    speedup = vector.speedups[best] if best is not None else None
    return {
        "name": profile.name,
        "file": file,
        "batch": list(profile.batch),
        "time_ratio": list(profile.time_ratio),
        "cost_per_token": list(profile.cost_per_token),
        "marginal": list(profile.marginal),
        "draft_min": profile.draft_min,
        "draft_max": profile.draft_max,
        "usable_depth": profile.usable_depth,
        "fit_two": _fit(found.fit_two, ("b", "rmse", "base", "first")),
        "fit_three": _fit(found.fit_three, ("b", "c", "rmse", "base", "first")),
        "non_monotone": list(profile.non_monotone),
        "jumps": [{"before": j.before, "n": j.n, "rise": j.rise} for j in profile.jumps],
        "thresholds": [one.block for one in vector.steps],
        "thresholds_alone": [one.alone for one in vector.steps],
        "thresholds_given": [one.given for one in vector.steps] if known else None,
        "thresholds_derived": [one.depth for one in vector.steps if one.derived],
        "thresholds_at_speedup": vector.speedup,
        "thresholds_at_tok_s": None if step is None else 1000 * vector.speedup / step,
        "reached": [one.reached for one in vector.steps] if known else None,
        "pays_to": [one.pays_to for one in vector.steps] if known else None,
        "best_depth": best,
        "best_speedup": speedup,
        "best_rate_tok_s": None if speedup is None or step is None else 1000 * speedup / step,
        "flags": {
            "--spec-draft-n-min": flags.n_min,
            "--spec-draft-n-max": flags.n_max,
            "--spec-draft-p-min": flags.p_min,
        },
        "p_min_range": None if flags.p_min_range is None else list(flags.p_min_range),
        "target_step_ms": step,
        **dataclasses.asdict(profile.key),
        "includes_draft": profile.includes_draft,
        "notes": list(profile.notes),
        "from": {
            "time_ratio": profile.provenance,
            "target_step_ms": None
            if step is None
            else "typed"
            if drafter["target_step"]
            else profile.provenance,
            "thresholds_at_speedup": {"typed": "typed", "best": "derived", "plain": "assumed"}[
                vector.rate_from
            ],
            "best_depth": "derived" if known else None,
        },
    }


def _fit(fit: Fit | NoFit, fields: tuple[str, ...]) -> dict[str, float] | None:
    from tui.model.cost import NoFit

    return None if isinstance(fit, NoFit) else {field: getattr(fit, field) for field in fields}

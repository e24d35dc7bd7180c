"""The report as one object for scripts. `report.schema.json` beside this file describes it."""

from __future__ import annotations

import dataclasses
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tui.model.whatif import ASSUMED_VERIFY_FACTOR
from tui.render.costs import predictions
from tui.render.report_facts import facts_of, worst
from tui.render.report_next import measurement

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.model.comparison import Judged
    from tui.model.figures import Figure, Provenance, RootSpan, Span
    from tui.preflight.findings import Finding
    from tui.render.report import Checked
    from tui.render.report_facts import Facts
    from tui.session.snapshot import ArmView, Snapshot, VerifyCost, View

SCHEMA_VERSION = 1
SCHEMA = Path(__file__).with_name("report.schema.json")


def report_object(snapshot: Snapshot, checked: Checked | None = None) -> dict[str, Any]:
    """All views of a snapshot: one at the top level, several under "sources" with the worst verdict above.

    Args:
        snapshot: what is known.
        checked: findings of the pre-flight checks by source; those of others were not run.

    Returns:
        JSON-ready values; unknown is None.
    """
    checked = checked or {}
    rows = [_view_object(facts_of(view), checked.get(view.source.name)) for view in snapshot.views]
    if len(rows) == 1:
        return {"schema_version": SCHEMA_VERSION, **rows[0]}
    return {
        "schema_version": SCHEMA_VERSION,
        "verdict": worst(row["verdict"] for row in rows),
        "sources": rows,
    }


def report_json(snapshot: Snapshot, checked: Checked | None = None) -> str:
    """The object as JSON text; ASCII, so that no name in it can act on a terminal."""
    return json.dumps(report_object(snapshot, checked), indent=2, allow_nan=False)


class _Origins:
    """Collects where each field comes from, and what is to be said of it."""

    def __init__(self) -> None:
        self.came: dict[str, Provenance] = {}
        self.notes: dict[str, str] = {}

    def of(self, path: str, figure: Figure) -> float | None:
        """The figure's value; its provenance and note are kept under the path."""
        value = figure.value if figure.value is None or math.isfinite(figure.value) else None
        if value is not None and figure.provenance is not None:
            self.came[path] = figure.provenance
        if figure.note:
            self.notes[path] = figure.note
        return value

    def known(self, path: str, value: Any, provenance: Provenance) -> Any:
        """A plain value, with its provenance unless it is unknown."""
        if value is not None:
            self.came[path] = provenance
        return value


def _view_object(facts: Facts, findings: Sequence[Finding] | None) -> dict[str, Any]:
    view, judgement = facts.view, facts.view.judgement
    origins = _Origins()
    typed = view.incumbent is not None and view.incumbent.kind == "typed"
    row: dict[str, Any] = {
        "source": view.source.name,
        "engine": view.source.engine,
        "build": view.source.build,
        "model": view.source.model,
        "verdict": facts.verdict,
        "reason": facts.reason,
        "ratio": origins.known("ratio", view.ratio, "derived"),
        "interval": None if judgement is None else _pair(judgement.interval),
        "basis": view.basis,
        "other_ratio": None if judgement is None else judgement.other_ratio,
        "stratum": None if judgement is None else judgement.stratum,
        "requests_needed": None if judgement is None else judgement.requests_needed,
        "warnings": list(facts.warnings),
        "temperature": None,
        "incumbent": _incumbent(facts, origins, typed=typed),
        "canary": None if view.canary is None else _canary(facts, view.canary, origins),
    }
    row.update(_break_even(facts, origins))
    row["verify_cost"] = None if view.cost is None else _verify_cost(view.cost, origins)
    row["prediction"] = _prediction(view, origins)
    row["fixed_cost"] = view.fixed_cost or None
    row["projections"] = [
        {
            "drafter_class": projection.drafter_class,
            "p_range": _span(projection.acceptance),
            "depths": {
                str(prospect.depth): {
                    "rate_range_tok_s": _span(prospect.rate_tok_s),
                    "speedup_range": _span(prospect.speedup),
                }
                for prospect in projection.prospects
            },
        }
        for projection in facts.projections
    ]
    row["preflight"] = (
        None
        if findings is None
        else [
            {
                "question": each.question,
                "answer": each.answer,
                "sure": each.sure,
                "ok": each.ok,
                "advice": each.advice or None,
            }
            for each in findings
        ]
    )
    row["measurement"] = _measurement(facts)
    origins.notes["temperature"] = "not read"
    row["from"] = origins.came
    row["notes"] = origins.notes
    return row


def _incumbent(facts: Facts, origins: _Origins, *, typed: bool) -> dict[str, Any] | None:
    incumbent, judgement = facts.view.incumbent, facts.view.judgement
    if incumbent is None:
        return None
    came: Provenance = "typed" if typed else "measured"
    rates = (incumbent.decode_tok_s, incumbent.delivered_tok_s)
    judged = None if judgement is None else judgement.incumbent
    if judged is not None:
        rates = (judged.rate_tok_s, judged.delivered_tok_s)
    arm = incumbent.arm
    return {
        "label": incumbent.label,
        "kind": incumbent.kind,
        "drafts": incumbent.drafts,
        "drafter": None if arm is None else arm.drafter,
        "rate_tok_s": origins.known("incumbent.rate_tok_s", rates[0], came),
        "delivered_tok_s": origins.known("incumbent.delivered_tok_s", rates[1], came),
        **_counts(judged),
        "target_step_ms": origins.of("incumbent.target_step_ms", incumbent.target_step_ms),
        "mean_accepted_length": None
        if arm is None
        else origins.of("incumbent.mean_accepted_length", arm.mean_accepted_length),
        "round_ms": None if arm is None else origins.of("incumbent.round_ms", arm.steps.round_ms),
    }


def _canary(facts: Facts, arm: ArmView, origins: _Origins) -> dict[str, Any]:
    judgement = facts.view.judgement
    judged = None if judgement is None else judgement.canary
    rates = (arm.decode_tok_s, arm.delivered_tok_s)
    if judged is not None:
        rates = (judged.rate_tok_s, judged.delivered_tok_s)
    # A synthetic run's p was set by its operator.
    set_by: Provenance = "typed" if arm.synthetic else "measured"
    p = arm.acceptance
    if p.note:
        origins.notes["canary.p"] = p.note

    def of(name: str, figure: Figure) -> float | None:
        return origins.of(f"canary.{name}", figure)

    return {
        "label": arm.label,
        "drafter": arm.drafter,
        "drafter_class": arm.drafter_class,
        "depth": of("depth", arm.depth),
        "synthetic": arm.synthetic,
        "rate_tok_s": origins.known("canary.rate_tok_s", rates[0], "measured"),
        "delivered_tok_s": origins.known("canary.delivered_tok_s", rates[1], "measured"),
        **_counts(judged),
        "requests_all": arm.requests,
        "drafted": arm.drafted,
        "accepted": arm.accepted,
        "acceptance_ratio": of("acceptance_ratio", arm.acceptance_ratio),
        "p": origins.known("canary.p", p.point, set_by),
        "p_range": origins.known("canary.p_range", _ends(p.low, p.high), set_by),
        "p_interval": _pair(p.interval),
        "p_evidence": p.evidence,
        "reached": None if arm.reached is None else list(arm.reached),
        "mean_accepted_length": of("mean_accepted_length", arm.mean_accepted_length),
        "commit_needed": of("commit_needed", arm.commit_needed),
        "rounds": arm.rounds,
        "rounds_range": None if arm.rounds_range is None else list(arm.rounds_range),
        "plain_steps": arm.plain_steps,
        "round_ms": of("round_ms", arm.steps.round_ms),
        "pass_ms": of("pass_ms", arm.steps.pass_ms),
        "draft_ms": of("draft_ms", arm.steps.draft_ms),
        "draft_step_ms": of("draft_step_ms", arm.steps.draft_step_ms),
        "verify_ms": of("verify_ms", arm.steps.verify_ms),
        "target_step_ms": of("target_step_ms", arm.steps.target_step_ms),
        "verify_factor": of("verify_factor", arm.steps.verify_factor),
        "tokens_per_target_pass": of("tokens_per_target_pass", arm.tokens_per_pass),
        "coverage": of("coverage", arm.coverage),
        "head_off_share": arm.head_off_share,
    }


def _counts(judged: Judged | None) -> dict[str, Any]:
    """What the comparison counted of an arm; nulls without one."""
    if judged is None:
        return dict.fromkeys(("requests", "n_effective", "left_out", "strata", "correlation"))
    return {
        "requests": judged.requests,
        "n_effective": judged.n_effective,
        "left_out": judged.left_out,
        "strata": judged.strata,
        "correlation": judged.correlation,
    }


def _break_even(facts: Facts, origins: _Origins) -> dict[str, Any]:
    """p* by depth: exact values, and the range where it is only bounded; of the first class told."""
    sharp: dict[str, Any] = {}
    ranges: dict[str, Any] = {}
    first = facts.break_even[0].drafter_class if facts.break_even else None
    for each in facts.break_even:
        if each.drafter_class != first:
            continue
        depth = str(each.depth)
        sharp[depth], ranges[depth] = _root(each.span)
        if each.span is not None and each.provenance is not None:
            origins.came[f"break_even_p.{depth}"] = each.provenance
    return {
        "break_even_against_tok_s": origins.of("break_even_against_tok_s", facts.beaten),
        "break_even_class": first,
        "break_even_p": sharp,
        "break_even_p_range": ranges,
    }


def _verify_cost(cost: VerifyCost, origins: _Origins) -> dict[str, Any]:
    profile = cost.profile
    origins.came["verify_cost.time_ratio"] = profile.provenance
    return {
        "name": profile.name,
        "given_by": "file" if cost.typed else "log",
        "batch": list(profile.batch),
        "time_ratio": list(profile.time_ratio),
        "rounds": list(profile.rounds) or None,
        "spread_ms": list(profile.spread_ms) or None,
        "target_step_ms": origins.known(
            "verify_cost.target_step_ms", profile.target_step_ms, profile.provenance
        ),
        **dataclasses.asdict(profile.key),
        "doubts": list(cost.doubts),
        "untold": list(cost.untold),
    }


def _prediction(view: View, origins: _Origins) -> dict[str, float] | None:
    both = predictions(view)
    if both is None:
        return None
    usual, measured = both
    return {
        "usual_verify_factor": ASSUMED_VERIFY_FACTOR,
        "rate_usual_tok_s": origins.known("prediction.rate_usual_tok_s", usual.low, "assumed"),
        "rate_measured_tok_s": origins.known("prediction.rate_measured_tok_s", measured.low, "derived"),
    }


def _measurement(facts: Facts) -> dict[str, Any]:
    told = measurement(facts)
    effect = facts.effect
    return {
        "unknown": None if effect is None else effect.unknown,
        "depth": None if effect is None else effect.depth,
        "plausible_range": None if effect is None else _span(effect.plausible),
        "speedup_range": None if effect is None else _span(effect.speedup),
        "asks": told.asks or None,
        "do": told.do,
        "expect": told.expect,
        "commands": list(told.commands),
        "caution": told.caution or None,
    }


def _root(span: RootSpan | None) -> tuple[float | str | None, list[float | str] | None]:
    if span is None:
        return None, None
    return (span.low if span.exact else None), [span.low, span.high]


def _span(span: Span | None) -> list[float | None] | None:
    return None if span is None else [_finite(span.low), _finite(span.high)]


def _ends(low: float | None, high: float | None) -> list[float | None] | None:
    return None if low is None and high is None else [low, high]


def _pair(ends: tuple[float, float] | None) -> list[float | None] | None:
    return None if ends is None else [_finite(end) for end in ends]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None

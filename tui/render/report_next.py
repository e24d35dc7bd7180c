"""Part (e) of the report: the one measurement that would settle the answer, and what to expect of it."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.model.rates import expected_tokens
from tui.model.unknowns import typical_acceptance
from tui.render import numbers
from tui.session.intervals import NEEDS_REQUESTS

if TYPE_CHECKING:
    from tui.model.figures import Span
    from tui.model.unknowns import Effect
    from tui.render.report_facts import Facts
    from tui.session.snapshot import View

INVALID_TEXT = (
    "its timing is real, but the text it writes is invalid and its acceptance is what you set: run it on a"
    " spare port, never for users"
)


@dataclass(frozen=True, slots=True)
class Measurement:
    """What to do next.

    Attributes:
        asks: what it answers; empty when nothing is asked.
        do: in words. expect: what to expect of it.
        commands: shell lines, with words in capitals to fill in.
        caution: what must not be done with it; may be empty.
    """

    asks: str
    do: str
    expect: str
    commands: tuple[str, ...] = ()
    caution: str = ""


def measurement(facts: Facts) -> Measurement:
    """The measurement for the unknown that moves the answer most."""
    effect, view = facts.effect, facts.view
    if view.canary is None:
        return Measurement("", "let requests finish in this source", "the first figures after the first one")
    if view.judgement is not None and view.judgement.reason.startswith(NEEDS_REQUESTS):
        return _single_requests(view)
    if effect is None:
        return _nothing(facts)
    match effect.unknown:
        case "requests":
            return _requests(view)
        case "basis":
            return _basis(view, effect)
        case "incumbent":
            return _incumbent(view, effect)
        case "acceptance":
            return _acceptance(facts, effect)
        case "target_step_ms":
            return _target_step(facts, effect)
        case "draft_step_ms" | "verify_factor":
            return _cost(facts, effect)


def _nothing(facts: Facts) -> Measurement:
    if facts.verdict in ("NO_DATA", "INCONCLUSIVE"):
        return Measurement("", "none can be named from this log", "unknown")
    if not facts.depths_told:
        return Measurement("", "none: the verdict stands", "another depth cannot be told from this log")
    if facts.verdict == "PASS":
        return Measurement(
            "", "none: the verdict stands", "none of the depths asked can plausibly make it faster still"
        )
    return Measurement(
        "",
        "none: the verdict stands",
        "no plausible value of what is still unknown makes this drafter pay at any of the depths asked",
    )


def _single_requests(view: View) -> Measurement:
    """Counters hold all requests together: more of them settle nothing."""
    asks = "is the canary faster or slower?"
    if view.source.engine not in ("llama.cpp", "halogen"):
        do = "none here: this engine tells no single requests; time one load on both arms from the client"
        return Measurement(asks, do, "unknown until then")
    do = "read the logs of both arms: they tell single requests"
    return Measurement(asks, do, "unknown until then", ("spectop report LOG --incumbent INCUMBENT_LOG",))


def _requests(view: View) -> Measurement:
    asks, judgement = "is the canary faster or slower?", view.judgement
    if judgement is None:
        return Measurement(asks, "more requests", "unknown")
    if judgement.ratio is None and judgement.canary.strata and judgement.incumbent.strata:
        do = "the same load on both arms: they never had as many requests in flight at the same time"
        return Measurement(asks, do, "unknown until then")
    closed = "gets no more requests" in judgement.reason
    if judgement.requests_needed is not None:
        do = f"about {judgement.requests_needed} more requests like these"
    elif closed:
        do = "longer runs of the arms that lack requests: a log named as the incumbent is read once"
    else:
        do = "many more requests: at this spread their number cannot be foreseen"
    so_far = "no ratio yet"
    if judgement.ratio is not None:
        so_far = f"{_x(judgement.ratio)} so far"
        if judgement.interval is not None:
            low, high = judgement.interval
            so_far += f", anything from {_x(low)} to {_x(high)} is possible"
    command = f"spectop check {_source(view)} --incumbent {_incumbent_option(view)} --for 2h"
    return Measurement(asks, do, so_far, () if closed else (command,))


def _basis(view: View, effect: Effect) -> Measurement:
    asks, incumbent, judgement = "which rate counts?", view.incumbent, view.judgement
    span = _speedups(effect.speedup)
    if incumbent is not None and incumbent.kind == "typed":
        return Measurement(
            asks,
            "find out what the typed rate counts: decode time alone, or prefill too (what clients see)",
            f"the speed-up is {span}, by which it is",
            tuple(
                f"spectop report {_source(view)} --incumbent {_incumbent_option(view, basis=basis)}"
                for basis in ("decode", "delivered")
            ),
        )
    other = "delivered" if judgement is None or judgement.basis == "decode" else "decode"
    return Measurement(
        asks,
        f"send the same prompts to both arms: decode and {other} rate disagree, as their prefill differs",
        f"the speed-up is {span}, by which rate counts",
    )


def _incumbent(view: View, effect: Effect) -> Measurement:
    expect = "unknown until then"
    if effect.speedup is not None:
        base = "over plain steps as measured here"
        if not effect.speedup.exact:
            base = "over plain steps, by what rounds of published pairs cost"
        expect = f"a speed-up of {_speedups(effect.speedup)} {base}"
    asks, do, named = "does this drafter pay?", "the same requests on what ran before", "OLD.log"
    serial = next((arm for arm in view.others if not arm.drafted and arm.rounds == 0 and arm.drafter), None)
    if serial is not None and view.source.engine == "halogen":
        do = "name what it has to beat; this log holds requests without drafting too"
        named = shlex.quote(harmless(f"drafter:{serial.drafter}"))
    return Measurement(asks, do, expect, (f"spectop report {_source(view)} --incumbent {named}",))


def _acceptance(facts: Facts, effect: Effect) -> Measurement:
    view = facts.view
    p = _range(effect.plausible, numbers.p).replace("...", "-.")
    expect = f"with p {p} at K={effect.depth} the speed-up is {_speedups(effect.speedup)}"
    if view.canary is not None and view.canary.drafted and not view.canary.synthetic:
        return Measurement(
            _asks(facts, effect),
            "a run at trace verbosity: it prints acceptance per position",
            expect,
            ("llama-server ... -lv 4 --log-file CANARY.log",),
        )
    return Measurement(
        _asks(facts, effect),
        "a trained drafter on your own requests; as a stand-in, how often the two models agree",
        expect,
        ("spectop agree TARGET_URL DRAFT_URL",),
    )


def _target_step(facts: Facts, effect: Effect) -> Measurement:
    commands = ("llama-server ... (no -md, no --spec-type) --log-file PLAIN.log",)
    return Measurement(
        _asks(facts, effect),
        "a run without drafting: it tells the target step",
        f"it lies in {_range(effect.plausible, numbers.ms)} ms, the speed-up at K={effect.depth} in"
        f" {_speedups(effect.speedup)}",
        () if facts.view.source.engine == "halogen" else commands,
    )


def _cost(facts: Facts, effect: Effect) -> Measurement:
    view, depth, asks = facts.view, effect.depth or 1, _asks(facts, effect)
    name = "a draft step" if effect.unknown == "draft_step_ms" else f"the verify pass over {depth + 1} tokens"
    unit = " ms" if effect.unknown == "draft_step_ms" else " plain steps"
    write = numbers.ms if effect.unknown == "draft_step_ms" else numbers.factor
    expect = (
        f"{name} takes {_range(effect.plausible, write)}{unit}; the speed-up at K={depth} is"
        f" {_speedups(effect.speedup)}"
    )
    if effect.bar > 1:
        expect += f", against {_x(effect.bar)} now"
    if view.source.engine == "halogen":
        return Measurement(asks, 'requests that name a drafter ("drafter": "mtp") among the others', expect)
    if facts.drafts and view.canary is not None and not view.canary.synthetic:
        flag = "--spec-draft-n-max"
        if view.canary.drafter == "ngram-mod":
            flag = "--spec-ngram-mod-n-max"
        return Measurement(
            asks,
            f"the same run at K={depth}, with -lv 4 for draft times; or the verify pass alone, by a bench",
            expect,
            (
                f"llama-server ... {flag} {depth} -lv 4 --log-file CANARY.log",
                f"llama-batched-bench -m TARGET -npp 512 -ntg 64 -npl {_sizes(depth)}"
                " --output-format jsonl > bench.jsonl",
                f"spectop report {_source(view)} --incumbent {_incumbent_option(view)} --cost bench.jsonl",
            ),
        )
    return _synthetic(facts, depth, asks, expect)


def _synthetic(facts: Facts, depth: int, asks: str, expect: str) -> Measurement:
    """Timing without a trained drafter: the server accepts drafts at the rates it is told."""
    typical = typical_acceptance(None)
    p = (typical.low + typical.high) / 2
    rates = ",".join(f"{p**position:.2f}" for position in range(1, depth + 1))
    against = _incumbent_option(facts.view) if facts.view.incumbent is not None else _source(facts.view)
    return Measurement(
        asks,
        "a timing run with acceptance set by the server: any model of a drafter's size and vocabulary does",
        expect,
        (
            f"llama-server -m TARGET -md DRAFT --spec-type draft-simple --spec-draft-n-max {depth}"
            f" --spec-synth-rates {rates} -lv 4 --log-file SYNTH.log",
            f"# or --spec-synth-len {expected_tokens(p, depth):.2f} in place of the rates",
            f"spectop report SYNTH.log --incumbent {against}",
        ),
        INVALID_TEXT,
    )


def _asks(facts: Facts, effect: Effect) -> str:
    if not facts.drafts or facts.view.judgement is None:
        return f"would a drafter pay at K={effect.depth}?"
    return f"would K={effect.depth} pay{' more' if facts.verdict == 'PASS' else ''}?"


def _sizes(depth: int) -> str:
    return ",".join(str(n) for n in range(1, max(depth + 1, 4) + 1))


def _source(view: View) -> str:
    return shlex.quote(harmless(view.source.name))


def _incumbent_option(view: View, basis: str | None = None) -> str:
    """What to write after --incumbent to name the same again."""
    incumbent = view.incumbent
    if incumbent is None:
        return "OLD.log"
    if incumbent.kind == "typed":
        rate = incumbent.decode_tok_s if incumbent.decode_tok_s is not None else incumbent.delivered_tok_s
        stated = basis or incumbent.basis
        return f"{rate:g}" + (f" --basis {stated}" if basis or stated == "delivered" else "")
    if incumbent.kind == "drafter" and incumbent.arm is not None and incumbent.arm.drafter is not None:
        return shlex.quote(harmless(f"drafter:{incumbent.arm.drafter}"))
    return shlex.quote(harmless(incumbent.label)) if incumbent.kind == "log" else "OLD.log"


def _range(span: Span | None, write: numbers.Write) -> str:
    return numbers.span(span, write)


def _speedups(span: Span | None) -> str:
    if span is None:
        return "unknown"
    return _x(span.low) if span.exact else f"{_x(span.low)} to {_x(span.high)}"


def _x(value: float) -> str:
    return f"{numbers.significant(value)}x"

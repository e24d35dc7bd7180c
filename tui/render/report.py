"""The report in words: plain text for a terminal or a screen, Markdown for an issue."""

from __future__ import annotations

import shlex
import textwrap
from pathlib import PurePath
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.render import numbers
from tui.render.costs import cost_words, prediction_words
from tui.render.report_facts import facts_of, worst
from tui.render.report_layout import Row, Section, bullets, escaped, laid
from tui.render.report_next import measurement

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from tui.model.comparison import Judged, Judgement
    from tui.model.unknowns import Prospect
    from tui.model.whatif import WhatIf
    from tui.preflight.findings import Finding
    from tui.render.report_facts import BreakEven, Facts, Projection
    from tui.session.snapshot import ArmView, Incumbent, Snapshot, View

    Checked = Mapping[str, Sequence[Finding]]

WIDTH = 80
TEMPERATURE = "temperature is not read: greedy and sampled requests are not told apart"


def report_lines(view: View, width: int = WIDTH, findings: Sequence[Finding] | None = None) -> list[str]:
    """The report on one view as lines of plain text of at most `width` characters.

    Args:
        view: what is known of a source.
        width: columns; a command goes on over a backslash, and only its longest word may stand out.
        findings: of the pre-flight checks; None when they were not run.
    """
    lines: list[str] = []
    for section in sections(facts_of(view), findings):
        lines += [*([""] if lines else []), *textwrap.wrap(section.title, width)]
        for row in section.rows:
            lines += laid(row, width)
    return lines


def report_text(snapshot: Snapshot, checked: Checked | None = None) -> str:
    """The report on all views, one below the other.

    Args:
        snapshot: what is known.
        checked: findings of the pre-flight checks by source; those of others were not run.
    """
    checked = checked or {}
    parts = ["\n".join(report_lines(view, WIDTH, checked.get(view.source.name))) for view in snapshot.views]
    if len(parts) != 1:
        parts.insert(0, _overall(snapshot))
    return f"\n\n{'=' * WIDTH}\n".join(parts)


def report_markdown(snapshot: Snapshot, checked: Checked | None = None) -> str:
    """The report on all views as Markdown in which nothing from a log is markup; see `report_text`."""
    parts = []
    for view in snapshot.views:
        blocks = []
        findings = (checked or {}).get(view.source.name)
        for number, section in enumerate(sections(facts_of(view), findings)):
            level = "###" if number == 0 else "####"
            blocks.append(f"{level} {escaped(section.title)}\n\n{bullets(section.rows)}")
        parts.append("\n\n".join(blocks))
    if len(parts) != 1:
        parts.insert(0, f"### {escaped(_overall(snapshot))}")
    return "\n\n---\n\n".join(parts)


def sections(facts: Facts, findings: Sequence[Finding] | None) -> list[Section]:
    """The verdict, then the five questions in their order."""
    told = measurement(facts)
    rows = [Row("question", told.asks)] if told.asks else []
    rows += [Row("do", told.do), Row("expect", told.expect)]
    rows += [Row("", command, command=True) for command in told.commands]
    if told.caution:
        rows.append(Row("caution", told.caution))
    return [
        Section(_headline(facts), tuple(_verdict(facts))),
        Section("a. Does the target already draft, and at what rate?", tuple(_drafting(facts))),
        Section("b. Where does drafting break even?", tuple(_break_even(facts))),
        Section("c. What acceptance is there, and what rate does it give?", tuple(_acceptance(facts))),
        Section(
            "d. Does the drafter fit, and is there a place to attach it?", tuple(_preflight(facts, findings))
        ),
        Section("e. Which one measurement would settle it?", tuple(rows)),
    ]


def _overall(snapshot: Snapshot) -> str:
    facts = [facts_of(view) for view in snapshot.views]
    return f"{worst(each.verdict for each in facts)}  the worst of {len(facts)} sources"


def _headline(facts: Facts) -> str:
    view, judgement = facts.view, facts.view.judgement
    words: list[str] = [facts.verdict]
    if view.ratio is not None:
        words.append(f"{numbers.significant(view.ratio)}x")
        if judgement is not None and judgement.interval is not None:
            words.append("[{}, {}]".format(*map(numbers.significant, judgement.interval)))
    words.append(_name(view.source.name))
    return "  ".join(words)


def _verdict(facts: Facts) -> Iterator[Row]:
    view, judgement = facts.view, facts.view.judgement
    yield Row("reason", _clean(facts.reason))
    if judgement is not None:
        yield Row("canary", _counted(judgement.canary, judgement))
        yield Row("incumbent", _counted(judgement.incumbent, judgement))
        if judgement.ratio is not None:
            yield Row("compared", _compared(judgement))
        if judgement.requests_needed is not None and judgement.verdict in ("NO_DATA", "INCONCLUSIVE"):
            yield Row("needed", f"about {judgement.requests_needed} more requests for each arm that grows")
    server = " ".join(_clean(word, 60) for word in (view.source.engine, view.source.build) if word)
    model = _name(view.source.model) if view.source.model else ""
    if server or model:
        yield Row("server", ", ".join(word for word in (server, model) if word))
    for text in facts.warnings:
        yield Row("note", _clean(text, 400))
    yield Row("note", TEMPERATURE)


def _counted(judged: Judged, judgement: Judgement) -> str:
    delivered = judgement.basis == "delivered"
    rate = judged.delivered_tok_s if delivered else judged.rate_tok_s
    words = f"{numbers.rate(rate)} tok/s"
    if judged.n_effective is None:
        return f"{words}, typed"
    words += f", n {judged.requests} (effective {judged.n_effective:.1f})"
    out = ", ".join(f"{count} {reason}" for reason, count in judged.left_out.items())
    return f"{words}; left out: {out}" if out else words


def _compared(judgement: Judgement) -> str:
    basis = "decode rate, n - 1 tokens over decode time"
    if judgement.basis == "delivered":
        basis = "delivered rate, n tokens over prefill and decode time"
    stratum = {
        None: "at any concurrency",
        "alone": "of requests that ran alone",
        "unknown": "of requests whose overlap the log does not tell",
    }.get(judgement.stratum, f"of requests with {judgement.stratum} in flight")
    words = f"{basis}, {stratum}; the interval holds however often it is looked at"
    if judgement.other_ratio is not None:
        other = "decode" if judgement.basis == "delivered" else "delivered"
        words += f"; {other} rate {numbers.significant(judgement.other_ratio)}x"
    return words


def _drafting(facts: Facts) -> Iterator[Row]:
    view, arm = facts.view, facts.view.canary
    if view.incumbent is not None:
        yield Row("incumbent", _incumbent(view.incumbent))
    name = "this log" if view.incumbent is None else "canary"
    yield Row(name, "nothing finished yet" if arm is None else _drafts(arm, drafts=facts.drafts))


def _incumbent(incumbent: Incumbent) -> str:
    label = _clean(incumbent.label)
    if incumbent.message:
        return f"{label}: {_clean(incumbent.message)}"
    if incumbent.kind == "typed":
        return f"{label}, {incumbent.basis}; whether it drafts is not known"
    arm = incumbent.arm
    if arm is None:
        return label
    return f"{label}: {_drafts(arm, drafts=bool(incumbent.drafts))}"


def _drafts(arm: ArmView, *, drafts: bool) -> str:
    rates = (
        f"{numbers.rate(arm.decode_tok_s)} tok/s decode, {numbers.rate(arm.delivered_tok_s)} delivered, over"
        f" all {numbers.count(arm.requests)} requests"
    )
    drafter = _clean(arm.drafter, 60) if arm.drafter else ""
    if not drafts:
        serial = drafter in ("batch", "serial")
        idle = f"no: {drafter} was on and drafted nothing" if drafter and not serial else "no"
        return f"{idle}; {rates}"
    depth = f" {numbers.depth(arm.depth)}".rstrip()
    share = ""
    if arm.coverage.value is not None:
        share = f" in {numbers.percent(arm.coverage.value)} of its passes"
    return f"yes: {drafter or 'a drafter'}{depth}{share}; {rates}"


def _break_even(facts: Facts) -> Iterator[Row]:
    beaten = facts.beaten
    if beaten.value is None:
        yield Row("against", f"-- ({_clean(beaten.note)})")
    else:
        note = f" ({_clean(beaten.note)})" if beaten.note else ""
        yield Row("against", f"{numbers.rate(beaten.value)} tok/s decode{note}")
    classes = dict.fromkeys(each.drafter_class for each in facts.break_even)
    for kind in classes:
        mine = [each for each in facts.break_even if each.drafter_class == kind]
        told = "   ".join(f"K={each.depth} {_root(each)}" for each in mine)
        yield Row(f"p, {kind}" if len(classes) > 1 else "p", told)
    if any(each.provenance == "assumed" for each in facts.break_even):
        yield Row("assumed", "round costs as published pairs had them: 1.4 to 3.9 plain steps")
    what = facts.view.what_if
    if facts.view.cost is not None:
        yield Row("cost", cost_words(facts.view.cost))
    bounded = any(
        each.provenance == "derived" and each.span is not None and not each.span.exact
        for each in facts.break_even
    )
    if bounded and what is not None and what.measured is not None:
        yield Row("bounds", _bounds(what, what.measured.depth))
    if facts.view.canary is not None and facts.drafts:
        yield Row("round", _round(facts.view.canary))
        if words := prediction_words(facts.view):
            yield Row("by model", words)


def _bounds(what: WhatIf, depth: int) -> str:
    if what.profile is None:
        return f"the cost of a round was measured at K={depth} only"
    if what.draft_step_ms.value is None and what.drafter_class != "ngram":
        return f"the time of a draft is not known but for K={depth}, where the whole round was measured"
    return f"beyond {len(what.profile)} tokens a pass, where the costs end, by what was measured at K={depth}"


def _root(each: BreakEven) -> str:
    # Two dots before a p that starts with one would read as three.
    return numbers.root_span(each.span, open_ended=each.open_ended).replace("...", "-.")


def _round(arm: ArmView) -> str:
    steps, commit = arm.steps, arm.mean_accepted_length
    if commit.value is None:
        return f"what a round commits is unknown: {_clean(commit.note)}"
    if steps.round_ms.value is None:
        return f"commits {numbers.tokens(commit.value)}; its time is unknown: {_clean(steps.round_ms.note)}"
    words = f"{numbers.ms(steps.round_ms.value)} ms"
    parts = [
        f"{name} {numbers.ms(figure.value)}"
        for name, figure in (("draft", steps.draft_ms), ("verify", steps.verify_ms))
        if figure.value is not None
    ]
    if parts:
        words += f" ({', '.join(parts)})"
    if steps.verify_factor.value is not None:
        words += f", v {numbers.factor(steps.verify_factor.value)}"
    words += f", commits {numbers.tokens(commit.value)}"
    if arm.commit_needed.value is not None:
        words += f", must commit {numbers.tokens(arm.commit_needed.value)} to break even"
        if arm.most_committed is not None:
            words += f", {numbers.depth(arm.depth)} allows {arm.most_committed:.0f}"
    return words


def _acceptance(facts: Facts) -> Iterator[Row]:
    arm = facts.view.canary
    if arm is None:
        yield Row("p", "--")
        return
    if not facts.drafts:
        if not facts.projections:
            yield Row("p", "not measured; no typical band holds for n-grams: it is the text that repeats")
    elif arm.synthetic:
        yield Row(
            "p", f"set by the operator for this run ({numbers.acceptance(arm.acceptance)}): not measured"
        )
        yield Row("rate", f"{_measured_rate(arm, facts.view)}, at the acceptance that was set")
    else:
        yield Row("p", _p(arm))
        yield Row("rate", f"{_measured_rate(arm, facts.view)}, measured")
        if arm.commit_spread is not None and arm.commit_spread[0] < arm.commit_spread[2]:
            low, middle, high = (numbers.tokens(value) for value in arm.commit_spread)
            yield Row(
                "commit", f"{middle} in the middle request, {low} to {high} from the 10th to the 90th %"
            )
    yield from _projected(facts.projections)


def _p(arm: ArmView) -> str:
    p, ratio = arm.acceptance, arm.acceptance_ratio
    words = numbers.acceptance(p)
    if p.interval is not None:
        words += f" [{numbers.p(p.interval[0])}, {numbers.p(p.interval[1])}]"
    if p.note:
        words += f" ({_clean(p.note)})"
    if ratio.value is not None:
        words += f"; ratio {numbers.percent(ratio.value)}, which is not p"
    return words


def _measured_rate(arm: ArmView, view: View) -> str:
    words = f"{numbers.rate(arm.decode_tok_s)} tok/s decode"
    if arm.depth.value is not None:
        words += f" at {numbers.depth(arm.depth)}"
    beaten = view.incumbent.decode_tok_s if view.incumbent is not None else None
    # Where the arms were never under the same load, a ratio of whole arms would mislead.
    if beaten and arm.decode_tok_s is not None and view.ratio is not None:
        words += f", {numbers.significant(arm.decode_tok_s / beaten)}x"
    return words


def _projected(projections: Sequence[Projection]) -> Iterator[Row]:
    for p in dict.fromkeys(each.acceptance for each in projections if each.acceptance is not None):
        span = f"{numbers.p(p.low)}-{numbers.p(p.high)}"
        yield Row("typical", f"matched trained pairs accept 40-60 % as a ratio: here p {span}, at any depth")
    for each in projections:
        told = "; ".join(_prospect(one) for one in each.prospects if one.rate_tok_s is not None)
        if told:
            label = "plausible" if each.acceptance is None else "would give"
            yield Row(label if len(projections) == 1 else each.drafter_class, told)


def _prospect(prospect: Prospect) -> str:
    rate = numbers.span(prospect.rate_tok_s, numbers.rate)
    words = f"K={prospect.depth} {rate} tok/s"
    if prospect.speedup is not None:
        words += f" ({numbers.span(prospect.speedup, numbers.factor)}x)"
    return words


def _preflight(facts: Facts, findings: Sequence[Finding] | None) -> Iterator[Row]:
    arm, source = facts.view.canary, facts.view.source
    if facts.drafts and arm is not None:
        drafted = f"{arm.drafted} tokens" if arm.drafted else "its rounds"
        yield Row("attached", f"yes: it drafted {drafted} here")
    if findings is None:
        yield Row("checks", "not checked")
        target, draft = (
            shlex.quote(_clean(name or other))
            for name, other in ((source.model, "TARGET.gguf"), (source.draft_model, "DRAFT.gguf"))
        )
        asked = "URL" if source.engine == "halogen" else f"--target {target} --draft {draft}"
        yield Row("", f"spectop preflight {asked}", command=True)
        return
    for each in findings:
        advice = f"; {_clean(each.advice)}" if each.advice else ""
        mark = {True: "ok", False: "NO", None: ""}[each.ok]
        yield Row(mark, f"{_clean(each.question)} {_clean(each.answer, 400)} ({each.sure}){advice}")


def _name(path: str) -> str:
    return _clean(PurePath(path).name or path)


def _clean(text: str, limit: int = 200) -> str:
    return harmless(text, limit)

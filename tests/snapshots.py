"""Hand-made snapshots, with values of their own."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

from tui.formats.events import Request
from tui.model.acceptance import Acceptance
from tui.model.comparison import Judged, Judgement
from tui.model.cost import CostKey, Profile
from tui.model.figures import Figure
from tui.model.steps import StepFigures
from tui.model.whatif import Measured, WhatIf
from tui.session.snapshot import (
    ArmView,
    HistoryPoint,
    Incumbent,
    InFlight,
    RequestRow,
    Snapshot,
    SourceState,
    VerifyCost,
    View,
    Window,
)

WAVE = (0.0, 0.05, -0.04, 0.02, -0.06, 0.07, 0.01, -0.02)
NO_DRAFT_TIME = "no draft time in this log: llama-server prints it with -lv 4"


def wave(around: float, count: int = 40) -> tuple[float, ...]:
    """A repeatable series around a value."""
    return tuple(around * (1 + WAVE[i % len(WAVE)]) for i in range(count))


def measured(value: float) -> Figure:
    return Figure(value, "measured")


def unknown(reason: str = "not in this log") -> Figure:
    return Figure.unknown(reason)


def source(**changes: object) -> SourceState:
    state = SourceState(
        name="canary.log",
        engine="llama.cpp",
        build="b11434",
        model="target-4b.gguf",
        draft_model="draft-half.gguf",
        drafter="draft-simple",
        depth=measured(4),
        synthetic=False,
        state="live",
        message="",
        last_line_age_s=2.0,
        requests=27,
        problems=0,
        restarts=0,
        restarted=False,
    )
    return replace(state, **changes)  # type: ignore[arg-type]  # fields by name


LOSING_STEPS = StepFigures(
    round_ms=measured(104.4),
    pass_ms=measured(103.9),
    draft_ms=measured(46.8),
    draft_step_ms=measured(11.7),
    verify_ms=Figure(57.6, "derived"),
    target_step_ms=measured(26.2),
    verify_factor=Figure(2.198, "derived"),
    target_over_draft=Figure(2.239, "derived", "plain drafters need 10 to 50"),
)
NO_STEPS = StepFigures(
    round_ms=unknown("rounds unknown"),
    pass_ms=unknown("target passes unknown"),
    draft_ms=unknown(NO_DRAFT_TIME),
    draft_step_ms=unknown(NO_DRAFT_TIME),
    verify_ms=unknown("rounds unknown"),
    target_step_ms=unknown("no stretch without drafting seen"),
    verify_factor=unknown("rounds unknown"),
    target_over_draft=unknown(NO_DRAFT_TIME),
)
CURVE = (0.66, 0.40, 0.23, 0.13)
COMMIT = 1 + sum(CURVE)
RATE = COMMIT / 104.4 * 1000


def arm(**changes: object) -> ArmView:
    view = ArmView(
        label="canary.log draft-simple K=4",
        drafter="draft-simple",
        drafter_class="plain",
        drafter_class_from="spec type",
        synthetic=False,
        requests=27,
        tokens=5321,
        decode_tok_s=RATE,
        delivered_tok_s=18.9,
        drafted=8700,
        accepted=3088,
        acceptance_ratio=measured(0.355),
        acceptance=Acceptance(
            point=None,
            low=0.601,
            high=0.617,
            interval=None,
            evidence="per_position",
            note="drafts cut short",
            conditional=(0.66, 0.606, 0.575, 0.565),
            conditional_is_lower_bound=(False, True, True, True),
        ),
        reached=CURVE,
        depth=measured(4),
        mean_accepted_length=measured(COMMIT),
        commit_spread=(2.11, 2.4, 2.88),
        commit_needed=Figure(38.1 * 0.1044, "derived"),
        tokens_per_pass=measured(2.41),
        coverage=measured(0.992),
        rounds=2175,
        rounds_range=None,
        plain_steps=18,
        head_off_share=None,
        steps=LOSING_STEPS,
        now=Window(20, 22.6, 18.4, 0.349, 2.38, 105.3),
        rates=wave(RATE),
        ratios=wave(0.355),
        commits=wave(COMMIT),
    )
    return replace(view, **changes)  # type: ignore[arg-type]  # fields by name


UNKNOWN_ARM = arm(
    drafter=None,
    drafter_class=None,
    drafter_class_from="",
    requests=1,
    tokens=1,
    decode_tok_s=None,
    delivered_tok_s=None,
    drafted=12,
    acceptance_ratio=unknown(),
    acceptance=Acceptance(None, None, None, None, None, "p not derivable: depth unknown"),
    reached=None,
    depth=unknown(),
    mean_accepted_length=unknown("rounds unknown"),
    commit_spread=None,
    commit_needed=unknown("no incumbent"),
    tokens_per_pass=unknown("rounds unknown"),
    coverage=unknown("rounds unknown"),
    rounds=None,
    plain_steps=None,
    steps=NO_STEPS,
    now=Window(0, None, None, None, None, None),
    rates=(),
    ratios=(),
    commits=(),
)
INCUMBENT = Incumbent(
    label="serial.log no drafting",
    kind="log",
    basis="decode",
    decode_tok_s=38.1,
    delivered_tok_s=29.4,
    requests=25,
    drafts=False,
    target_step_ms=measured(26.2),
)
LIVE = WhatIf(
    drafter_class="plain",
    depth=4,
    target_step_ms=measured(26.2),
    draft_step_ms=measured(11.7),
    verify_factor=Figure(2.198, "derived"),
    coverage=1.0,
    incumbent_tok_s=38.1,
    measured=Measured(4, 104.4, 46.8, COMMIT, CURVE),
)
BENCH = Profile(
    "bench.jsonl",
    (1, 2, 3, 4, 5, 6, 8),
    (1.0, 1.15, 1.3, 1.9, 1.7, 1.8, 2.0),
    26.0,
    CostKey("llama.cpp", context=900),
)
DOUBT = "4.98 tokens cost 2.20 plain steps here, 1.70 by the profile: its other sizes may be as far off"
FAIL = Judgement(
    verdict="FAIL",
    reason="the interval of the ratio lies below 1",
    ratio=0.607,
    interval=(0.533, 0.692),
    basis="decode",
    other_ratio=0.643,
    stratum="alone",
    requests_needed=None,
    incumbent=Judged(38.1, 29.4, 24, 23.1, {"warm-up": 1}),
    canary=Judged(23.1, 18.9, 26, 24.6, {"warm-up": 1}),
)


def request(number: int, **changes: object) -> RequestRow:
    event = Request(
        source="canary.log",
        engine="llama.cpp",
        slot=number % 4,
        task=400 + 7 * number,
        drafter="draft-simple",
        tokens=180 + number,
        decode_ms=8000.0,
        drafted=320,
        accepted=112 + number % 5,
        acceptance_ratio=(112 + number % 5) / 320,
        rounds=80,
        mean_accepted_length=1 + (112 + number % 5) / 80,
        concurrency=1,
        raw=(f"slot print_timing: id 0 | task {400 + 7 * number} |", "   eval time = 8000.00 ms"),
    )
    event = replace(event, **changes)  # type: ignore[arg-type]  # fields by name
    return RequestRow(
        number=number,
        request=event,
        arm="canary.log draft-simple K=4",
        rate_tok_s=22.4 + number % 3,
        round_ms=measured(99.5 + number % 4),
        left_out="warm-up" if number == 1 else "",
    )


def view(**changes: object) -> View:
    shown = View(
        source=source(),
        canary=arm(),
        others=(),
        ratio=0.607,
        basis="decode",
        judgement=FAIL,
        what_if=LIVE,
        in_flight=(InFlight(None, 0, 611, 40, 22.1, 21.7),),
        requests=tuple(request(n) for n in range(27, 0, -1)),
        history=tuple(
            HistoryPoint(n, 0.607 + 0.02 * WAVE[n % 8], None if n < 5 else (0.6 - 0.9 / n, 0.61 + 1.4 / n))
            for n in range(2, 28)
        ),
        offered=None,
        incumbent=INCUMBENT,
    )
    return replace(shown, **changes)  # type: ignore[arg-type]  # fields by name


def snapshot(*views: View) -> Snapshot:
    return Snapshot(taken_at=1_750_000_000.0, views=views or (view(),))


def no_incumbent() -> View:
    return view(
        canary=arm(commit_needed=unknown("no incumbent")),
        ratio=None,
        judgement=None,
        what_if=replace(LIVE, incumbent_tok_s=None),
        history=(),
        incumbent=None,
        offered="canary.log no drafting #1",
    )


def priced() -> View:
    """A bench of the target is loaded, which does not fit well."""
    cost = VerifyCost(BENCH, True, (DOUBT,), ("model", "device", "build"))
    return view(what_if=replace(LIVE, profile=BENCH.steps), cost=cost)


def nothing_known() -> View:
    return view(
        source=source(
            engine=None, build=None, model=None, drafter=None, depth=unknown(), last_line_age_s=None
        ),
        canary=UNKNOWN_ARM,
        ratio=None,
        judgement=None,
        what_if=None,
        in_flight=(),
        requests=(),
        history=(),
        incumbent=None,
    )


def waiting() -> View:
    return replace(
        nothing_known(),
        canary=None,
        source=source(
            state="waiting", message="no such file yet: canary.log", requests=0, last_line_age_s=None
        ),
    )


def head() -> View:
    """A second source: a head that pays."""
    steps = StepFigures(
        round_ms=measured(41.3),
        pass_ms=measured(41.3),
        draft_ms=unknown("halogen does not print it"),
        draft_step_ms=unknown("halogen does not print it"),
        verify_ms=unknown("halogen does not print it"),
        target_step_ms=Figure(33.0, "measured", "upper bound"),
        verify_factor=unknown("the target step is only an upper bound: a run without drafting tells it"),
        target_over_draft=unknown("halogen does not print it"),
    )
    canary = arm(
        label="halogen.log mtp",
        drafter="mtp",
        drafter_class="head",
        acceptance=Acceptance(0.78, 0.78, 0.78, (0.76, 0.80), "halogen_head", ""),
        reached=None,
        acceptance_ratio=measured(0.71),
        depth=measured(2),
        mean_accepted_length=measured(2.39),
        commit_needed=Figure(1.68, "derived"),
        coverage=measured(0.87),
        head_off_share=0.13,
        steps=steps,
        decode_tok_s=57.9,
        rates=(*wave(57.9, 9), None, None, *wave(58.4, 12)),
    )
    judged = replace(
        FAIL,
        verdict="PASS",
        ratio=1.43,
        interval=(1.21, 1.69),
        reason="the interval of the ratio lies above 1",
        canary=replace(FAIL.canary, rate_tok_s=57.9),
        incumbent=replace(FAIL.incumbent, rate_tok_s=40.5),
        warnings=("requests overlapped more in the canary than in the incumbent",),
    )
    return view(
        source=source(
            name="/var/log/halogen.log", engine="halogen", build="0.14.2", drafter="mtp", depth=measured(2)
        ),
        canary=canary,
        ratio=1.43,
        judgement=judged,
        what_if=WhatIf(
            drafter_class="head",
            depth=2,
            coverage=0.87,
            incumbent_tok_s=40.5,
            measured=Measured(2, 41.3, None, 2.39, None),
        ),
        incumbent=replace(INCUMBENT, label="halogen.log batch", kind="drafter", decode_tok_s=40.5),
    )


def fleet() -> tuple[View, ...]:
    """Sources of every kind and state."""
    return (
        head(),
        view(source=source(name="/srv/a/llama.log")),
        replace(no_incumbent(), source=source(name="/srv/b/llama.log", drafter="ngram-mod+draft-mtp")),
        waiting(),
        view(source=source(name="docker:llama", state="stale", last_line_age_s=200.0, synthetic=True)),
        view(
            source=source(name="http://203.0.113.7:8080", restarted=True, state="failed", message="refused"),
            judgement=replace(FAIL, verdict="EVEN", ratio=1.01, interval=(0.97, 1.04)),
            ratio=1.01,
        ),
    )


HOSTILE = "\x1b[31m[/x] [red]evil[/red] \u202e\x07" + "w" * 120


def hostile() -> View:
    """Outside text everywhere it can come from."""
    return view(
        source=source(name=HOSTILE, engine="llama.cpp", build=HOSTILE, model=HOSTILE, drafter=HOSTILE),
        canary=arm(
            label=HOSTILE,
            acceptance_ratio=unknown(HOSTILE),
            acceptance=Acceptance(None, None, None, None, None, HOSTILE),
            reached=None,
            steps=dataclasses.replace(LOSING_STEPS, draft_ms=unknown(HOSTILE)),
        ),
        judgement=replace(FAIL, verdict="NO_DATA", reason=HOSTILE, warnings=(HOSTILE,)),
        requests=(request(1, drafter=HOSTILE, raw=(HOSTILE, "[/x]", "\x00\x1b]0;title\x07")),),
        incumbent=replace(INCUMBENT, label=HOSTILE, message=HOSTILE),
        offered=HOSTILE,
    )

"""The report in words."""

from __future__ import annotations

import dataclasses
import random
import re
from typing import TYPE_CHECKING

import pytest

from tests.render.judged import PLAIN_START, canary, log, losing, several, view_of, winning
from tests.session.build import drafted, plain, start
from tui.formats.events import Engine, Interval
from tui.model.comparison import Rules, TypedRate
from tui.preflight.findings import Finding
from tui.render.report import report_lines, report_markdown, report_text
from tui.render.report_facts import facts_of
from tui.session.incumbent import DrafterArm
from tui.session.session import Policy

if TYPE_CHECKING:
    from tui.formats.events import Event
    from tui.session.snapshot import View

HEADINGS = [f"{letter}. " for letter in "abcde"]


def text_of(view: View, width: int = 80) -> str:
    return "\n".join(report_lines(view, width))


def flowed(view: View) -> str:
    """The text with its line breaks undone, so that words can be looked for."""
    return re.sub(r"( \\)?\s+", " ", text_of(view))


def part(view: View, letter: str) -> str:
    """One of the five parts, flowed."""
    after = flowed(view).split(f" {letter}. ", 1)[1]
    return after.split(f" {chr(ord(letter) + 1)}. ", 1)[0]


def test_the_verdict_comes_first_then_the_five_questions_in_their_order() -> None:
    lines = report_lines(view_of(losing(), log()))
    assert lines[0].startswith("FAIL  0.556x  [0.556, 0.556]  a.log")
    assert [line[:3] for line in lines if line[:3] in HEADINGS] == HEADINGS


def test_the_verdict_has_its_counts_stratum_and_what_was_left_out() -> None:
    said = flowed(view_of([*losing(), plain(tokens=3)], log()))
    assert "canary 27.8 tok/s, n 30 (effective 30.0); left out: 1 warm-up, 1 short" in said
    assert "incumbent 50.0 tok/s, n 30 (effective 30.0); left out: 1 warm-up" in said
    assert "of requests that ran alone" in said
    assert "delivered rate 0.61" in said
    assert "temperature is not read" in said


@pytest.mark.parametrize("width", [40, 80, 120])
def test_no_line_is_wider_than_asked_for(width: int) -> None:
    for view in (view_of(losing(), log()), view_of(winning(), TypedRate(50.0)), view_of([])):
        assert max(map(len, report_lines(view, width))) <= width


def test_whether_the_incumbent_drafts_and_at_what_rate() -> None:
    assert "old.log: no; 50.0 tok/s decode, 40.4 delivered" in part(view_of(losing(), log()), "a")
    typed = part(view_of(losing(), TypedRate(25.0, "delivered")), "a")
    assert "25 tok/s, typed, delivered; whether it drafts is not known" in typed
    drafting = log([drafted(source="old.log") for _ in range(31)])
    assert "old.log: yes: draft-simple K=3" in part(view_of(losing(), drafting), "a")


def test_configured_and_never_drafting_is_told_from_no_drafter() -> None:
    idle = [start(spec_types=("ngram-mod",), depth=16), *[plain() for _ in range(5)]]
    assert "ngram-mod was on and drafted nothing" in part(view_of(idle, log()), "a")
    none = [start(**PLAIN_START), *[plain() for _ in range(5)]]
    assert "was on" not in part(view_of(none, log()), "a")


def test_break_even_is_exact_where_it_was_measured_and_bounded_elsewhere() -> None:
    said = part(view_of(losing(), log()), "b")
    # a round of 90 ms must commit 4.5 of at most 4; at K=1 it lies between a plain step and that
    assert "K=1 .25..never K=3 never K=7" in said
    assert "measured at K=3 only" in said
    assert "commits 2.50, must commit 4.50 to break even, K=3 allows 4" in said
    winner = part(view_of(winning(), log()), "b")
    assert re.search(r"K=3 \.\d\d ", winner)


def test_a_measured_p_is_not_the_ratio_and_gives_the_measured_rate() -> None:
    said = part(view_of(winning(), log()), "c")
    assert ".67" in said
    assert "ratio 50.0 %, which is not p" in said
    assert "83.3 tok/s decode at K=3, 1.67x, measured" in said
    assert "typical" not in said


def test_without_any_drafting_the_typical_ratio_is_turned_into_a_p_and_a_band() -> None:
    view = view_of([start(**PLAIN_START), *[plain() for _ in range(25)]])
    said = part(view, "c")
    assert "40-60 % as a ratio: here p .61-.77" in said
    assert "K=3" in said
    assert re.search(r"K=3 \d+\.\d\.\.\d+ tok/s \(0\.\d+\.\.\d\.\d+x\)", said)
    assert "1.4 to 3.9 plain steps" in part(view, "b")
    assert "50.0 tok/s decode (this log's own: it does not draft, and no other is named)" in part(view, "b")


def test_a_timing_run_is_proposed_where_no_drafter_ran_and_its_text_is_called_invalid() -> None:
    said = part(view_of([start(**PLAIN_START), *[plain() for _ in range(25)]]), "e")
    assert "--spec-synth-rates 0.69,0.47" in said
    assert "--spec-synth-len" in said
    assert "the text it writes is invalid" in said


def test_a_synthetic_run_speaks_of_timing_only() -> None:
    events = canary(31, begin={"synthetic": True}, decode_ms=3600.0)
    view = view_of(events, log())
    said = part(view, "c")
    assert "set by the operator for this run (.67): not measured" in said
    assert "40-60 % as a ratio" in said
    assert "SYNTHETIC" in flowed(view)
    assert "hold for those rates only" in flowed(view)


def test_a_typed_incumbent_of_the_wrong_basis_is_told_and_asked_about() -> None:
    # 50 tok/s decode, 40.4 delivered: a typed 45 is beaten on one basis and not on the other.
    view = view_of(canary(), TypedRate(45.0))
    assert facts_of(view).verdict == "PASS"
    assert "45 tok/s is taken as a decode rate; as a delivered rate the ratio would be 0.90x" in flowed(view)
    asked = part(view, "e")
    assert "what the typed rate counts" in asked
    assert "0.898x to 1.11x" in asked
    assert "--basis delivered" in asked


def test_a_delivered_incumbent_has_no_break_even_and_says_why() -> None:
    said = part(view_of(canary(), TypedRate(45.0, "delivered")), "b")
    assert "-- (a delivered rate was typed: break-even needs a decode rate)" in said


def test_mixed_concurrency_warns() -> None:
    mixed = [start(), *[drafted(concurrency=1 + n % 3) for n in range(90)]]
    assert "different concurrency: incumbent 100% alone" in flowed(view_of(mixed, log()))
    assert "other concurrency" in flowed(view_of(mixed, log()))
    assert "mixed concurrency" in flowed(view_of(mixed, TypedRate(45.0)))


def test_no_concurrency_in_common_asks_for_the_same_load() -> None:
    view = view_of([start(), *[drafted(concurrency=2) for _ in range(30)]], log())
    assert facts_of(view).verdict == "NO_DATA"
    assert "the same load on both arms" in part(view, "e")
    assert not re.search(r"\dx", part(view, "c").split("measured")[0])


@pytest.mark.parametrize("events", [[], [start()], canary(3), losing(15)])
def test_too_little_is_never_better_than_no_data(events: list[Event]) -> None:
    view = view_of(events, log())
    assert facts_of(view).verdict == "NO_DATA"
    assert text_of(view).startswith("NO_DATA")


def test_no_incumbent_is_no_data_in_words_and_asks_for_one() -> None:
    view = view_of(losing())
    assert facts_of(view).verdict == "NO_DATA"
    assert "no incumbent named" in flowed(view)
    asked = part(view, "e")
    assert "the same requests on what ran before" in asked
    assert "spectop report a.log --incumbent OLD.log" in asked


def test_of_several_halogen_drafters_the_serial_one_is_offered() -> None:
    serial = plain(engine="halogen", drafter="batch", concurrency=None, plain_steps=None)
    mtp = dataclasses.replace(
        serial, drafter="mtp", rounds=50, mean_accepted_length=2.0, decode_ms=1500.0, rounds_from="printed"
    )
    view = view_of([serial, mtp] * 25)
    assert "drafter:batch" in part(view, "e")
    chosen = view_of([serial, mtp] * 25, DrafterArm("batch"))
    assert facts_of(chosen).verdict == "PASS"
    assert "drafted nothing" not in part(chosen, "a")
    # nobody can set its depth, so no other one is asked about
    assert "another depth cannot be told" in part(chosen, "e")
    assert "spectop preflight URL" in part(chosen, "d")


def test_the_first_half_of_an_arm_against_its_second_is_never_a_pass_or_a_fail() -> None:
    for seed in range(20):
        chance = random.Random(seed)
        requests = []
        for _ in range(60):
            tokens = 1 + int(chance.lognormvariate(5, 1))
            requests.append(
                plain(tokens=tokens, decode_ms=(tokens - 1) * 20 * chance.lognormvariate(0, 0.1) + 0.01)
            )
        view = view_of([start(**PLAIN_START), *requests[30:]], log(requests[:30]))
        assert facts_of(view).verdict in ("EVEN", "INCONCLUSIVE", "NO_DATA"), seed


def test_an_open_verdict_says_how_many_requests_are_missing_and_how_to_wait() -> None:
    events = [start(), *[drafted(decode_ms=2000.0 + 400 * (n % 5)) for n in range(10)]]
    asked = part(view_of(events, TypedRate(45.0)), "e")
    assert re.search(r"about \d+ more requests", asked)
    assert "spectop check a.log --incumbent 45 --for 2h" in asked


@pytest.mark.parametrize(("engine", "words"), [("vLLM", "from the client"), ("llama.cpp", "report LOG")])
def test_of_counters_no_number_of_requests_is_asked_for(engine: Engine, words: str) -> None:
    counted = [
        Interval(source="a.log", engine=engine, seconds=2.0, tokens=100, drafted=90, accepted=50, requests=1)
    ] * 9
    asked = flowed(view_of([*counted], TypedRate(40.0))).split(" e. ", 1)[1]
    assert words in asked
    assert "more requests" not in asked
    assert "spectop check" not in asked


def test_a_settled_loss_proposes_the_depth_that_might_pay() -> None:
    asked = part(view_of(losing(), log()), "e")
    assert "would K=1 pay?" in asked
    assert "--spec-draft-n-max 1" in asked
    assert "llama-batched-bench" in asked


def test_a_loss_that_no_depth_can_turn_asks_for_nothing() -> None:
    asked = part(view_of(canary(decode_ms=8000.0), TypedRate(1000.0)), "e")
    assert "none: the verdict stands" in asked
    assert "no plausible value of what is still unknown makes this drafter pay" in asked


def test_preflight_findings_fill_part_d() -> None:
    view = view_of(losing(), log())
    assert "not checked spectop preflight --target target.gguf --draft draft.gguf" in part(view, "d")
    finding = Finding(
        question="Do the vocabularies agree?",
        asked="two headers",
        answer="yes, all 262144 tokens",
        sure="certain",
        ok=True,
    )
    lines = "\n".join(report_lines(view, 120, [finding]))
    assert "   ok          Do the vocabularies agree? yes, all 262144 tokens (certain)" in lines
    assert "not checked" not in lines
    both = several(losing(), losing())
    for text in (report_text(both, {"b.log": [finding]}), report_markdown(both, {"b.log": [finding]})):
        assert text.count("not checked") == 1
        assert text.index("not checked") < text.index("all 262144 tokens")


def test_several_sources_are_told_together_the_worst_first() -> None:
    snapshot = several(winning(), losing(), incumbent=log())
    text = report_text(snapshot)
    assert text.startswith("FAIL  the worst of 2 sources")
    assert "PASS  1.67x" in text
    assert "FAIL  0.556x" in text


def test_markdown_is_headings_and_lists_with_commands_fenced() -> None:
    text = report_markdown(several(losing(), incumbent=log()))
    assert text.startswith("### FAIL  0.556x  \\[0.556, 0.556\\]  a.log\n")
    assert "\n#### b. Where does drafting break even?\n" in text
    assert "\n- **reason** the canary is slower" in text
    assert "```sh\nllama-server ... --spec-draft-n-max 1" in text
    assert text.count("```") % 2 == 0


HOSTILE = "\x1b[2J[/red]`rm`<b>@all #1 \u202e"


def test_text_from_logs_reaches_neither_the_terminal_nor_the_markup() -> None:
    events = [start(model=HOSTILE, build=HOSTILE), *[drafted(drafter=HOSTILE) for _ in range(31)]]
    incumbent = dataclasses.replace(log(), label=HOSTILE)
    snapshot = several(events, incumbent=incumbent)
    for text in (report_text(snapshot), report_markdown(snapshot)):
        assert not [c for c in text if not c.isprintable() and c != "\n"]
    prose = "\n".join(report_markdown(snapshot).split("```")[::2])
    assert "\\<b\\>" in prose
    assert re.search(r"(?<!\\)[<`](?!!--)", prose) is None
    assert "@all" not in prose
    assert "#1" not in prose


def test_thresholds_are_those_of_the_policy() -> None:
    few = losing(12)
    assert facts_of(view_of(few, log())).verdict == "NO_DATA"
    eased = Policy(rules=Rules(min_requests=8))
    assert facts_of(view_of(few, log(), eased)).verdict == "FAIL"

"""The report as an object for scripts."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.render.judged import PLAIN_START, canary, log, losing, several, winning
from tests.session.build import drafted, plain, start
from tui.formats.events import Problem
from tui.model.comparison import TypedRate
from tui.preflight.findings import Finding
from tui.render.report import report_text
from tui.render.report_object import SCHEMA, report_json, report_object

if TYPE_CHECKING:
    from tui.formats.events import Event
    from tui.session.incumbent import Choice
    from tui.session.snapshot import Snapshot

SERIAL = plain(engine="halogen", drafter="batch", concurrency=None, plain_steps=None)
MTP = dataclasses.replace(
    SERIAL, drafter="mtp", rounds=50, mean_accepted_length=2.0, decode_ms=1500.0, rounds_from="printed"
)
RANGED = dataclasses.replace(
    drafted(), rounds=None, rounds_range=(38, 41), rounds_from=None, mean_accepted_length=None
)
CASES: dict[str, tuple[list[Event], Choice | None]] = {
    "nothing": ([], None),
    "a start alone": ([start()], log()),
    "a loss": (losing(), log()),
    "a win": (winning(), log()),
    "no incumbent": (losing(), None),
    "no drafting": ([start(**PLAIN_START), *[plain() for _ in range(25)]], None),
    "typed": (canary(), TypedRate(45.0)),
    "typed delivered": (canary(), TypedRate(45.0, "delivered")),
    "synthetic": (canary(31, begin={"synthetic": True}), log()),
    "halogen": ([SERIAL, MTP] * 25, None),
    "overlapping": ([start(), *[drafted(concurrency=2) for _ in range(30)]], log()),
    "ranges": ([start(), *[RANGED] * 30], log()),
    "unreadable lines": ([*losing(), Problem(source="a.log", problem="cut", text="x")], log()),
}


def schema() -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))
    return loaded


def one(events: list[Event], incumbent: Choice | None = None) -> dict[str, Any]:
    return report_object(several(events, incumbent=incumbent))


def valid(snapshot: Snapshot, checked: dict[str, list[Finding]] | None = None) -> dict[str, Any]:
    """The object as it is written, checked against the schema."""
    read: dict[str, Any] = json.loads(report_json(snapshot, checked))
    jsonschema.validate(read, schema(), jsonschema.Draft202012Validator)
    return read


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(schema())


@pytest.mark.parametrize("case", CASES)
def test_every_report_is_valid(case: str) -> None:
    events, incumbent = CASES[case]
    row = valid(several(events, incumbent=incumbent))
    assert row["schema_version"] == 1
    assert row["verdict"] in report_text(several(events, incumbent=incumbent)).splitlines()[0]


@pytest.mark.parametrize(
    "change",
    [
        {"verdict": "MAYBE"},
        {"ratio": "0.5"},
        {"interval": [0.5]},
        {"schema_version": 2},
        {"canary": {"p": 0.5}},
        {"surprise": 1},
    ],
)
def test_the_schema_refuses_what_is_not_documented(change: dict[str, Any]) -> None:
    row = {**one(losing(), log()), **change}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(row, schema(), jsonschema.Draft202012Validator)


def test_a_loss_in_numbers() -> None:
    row = one(losing(), log())
    assert (row["verdict"], row["basis"], row["stratum"]) == ("FAIL", "decode", "alone")
    assert row["ratio"] == pytest.approx(2.5 / 90 * 1000 / 50)
    assert row["interval"] == pytest.approx([row["ratio"]] * 2)
    assert row["requests_needed"] is None
    incumbent, new = row["incumbent"], row["canary"]
    assert incumbent["rate_tok_s"] == pytest.approx(50.0)
    assert incumbent["target_step_ms"] == pytest.approx(20.0)
    assert incumbent["drafts"] is False
    assert (incumbent["requests"], incumbent["left_out"]) == (30, {"warm-up": 1})
    assert new["rate_tok_s"] == pytest.approx(2.5 / 90 * 1000)
    assert new["acceptance_ratio"] == pytest.approx(0.5)
    assert new["p"] == pytest.approx(60 / 90)
    assert new["mean_accepted_length"] == pytest.approx(2.5)
    assert new["commit_needed"] == pytest.approx(4.5)
    assert new["rounds"] == 31 * 40
    assert new["round_ms"] == pytest.approx(90.0)
    assert new["draft_step_ms"] == pytest.approx(5.0)
    assert new["verify_ms"] == pytest.approx(75.0)
    assert new["verify_factor"] == pytest.approx(3.75)
    assert new["coverage"] == 1.0
    assert new["reached"] == pytest.approx([0.75, 0.5, 0.25])


def test_break_even_is_a_number_a_word_or_null_with_its_range() -> None:
    row = one(losing(), log())
    assert row["break_even_p"] == {"1": None, "3": "never", "7": None}
    low, high = row["break_even_p_range"]["1"]
    assert (low, high) == (pytest.approx(0.25), "never")
    won = one(winning(), log())
    # 1.5 tokens are needed: p + p^2 + p^3 = .5
    p = won["break_even_p"]["3"]
    assert p + p**2 + p**3 == pytest.approx(0.5)


def test_every_field_says_where_it_comes_from_or_why_it_is_null() -> None:
    row = one(losing(), log())
    came = row["from"]
    assert came["canary.round_ms"] == came["canary.verify_factor"] == "measured"
    assert came["canary.verify_ms"] == came["break_even_p.3"] == "derived"
    typed = one(canary(), TypedRate(45.0))
    assert typed["from"]["incumbent.rate_tok_s"] == "typed"
    assert typed["incumbent"]["n_effective"] is None
    guessed = one([start(**PLAIN_START), *[plain() for _ in range(25)]])
    assert guessed["from"]["break_even_p.3"] == "assumed"
    silent = one([start(), *[drafted(draft_ms=None) for _ in range(30)]], log())
    assert silent["canary"]["draft_ms"] is None
    assert "-lv 4" in silent["notes"]["canary.draft_ms"]
    assert "canary.draft_ms" not in silent["from"]


def test_a_synthetic_p_is_the_operators_own() -> None:
    row = one(canary(31, begin={"synthetic": True}), log())
    assert row["canary"]["synthetic"] is True
    assert row["from"]["canary.p"] == "typed"
    assert row["projections"][0]["p_range"] == pytest.approx([0.607, 0.765], abs=0.001)


def test_unknown_is_null_and_never_nought() -> None:
    row = one([start()], log())
    assert row["verdict"] == "NO_DATA"
    assert row["canary"] is None or row["canary"]["rate_tok_s"] is None
    assert row["ratio"] is None
    overlapping = one([start(), *[drafted(concurrency=2) for _ in range(30)]], log())
    assert overlapping["canary"]["round_ms"] is None
    assert "shared" in overlapping["notes"]["canary.round_ms"]


def test_rounds_known_as_a_range_stay_one() -> None:
    events, incumbent = CASES["ranges"]
    new = one(events, incumbent)["canary"]
    assert new["rounds"] is None
    assert new["rounds_range"] == [30 * 38, 30 * 41]


def test_several_sources_stand_in_a_list_under_the_worst_verdict() -> None:
    row = valid(several(winning(), losing(), canary(3), incumbent=log()))
    assert row["verdict"] == "FAIL"
    assert [(each["source"], each["verdict"]) for each in row["sources"]] == [
        ("a.log", "PASS"),
        ("b.log", "FAIL"),
        ("c.log", "NO_DATA"),
    ]
    assert "canary" not in row
    assert valid(several(winning(), canary(3), incumbent=log()))["verdict"] == "NO_DATA"


def test_preflight_findings_are_in_it_and_null_when_nothing_was_checked() -> None:
    snapshot = several(losing(), incumbent=log())
    assert valid(snapshot)["preflight"] is None
    finding = Finding(question="Does it fit?", asked="a.gguf", answer="yes", sure="likely", ok=True)
    (told,) = valid(snapshot, {"a.log": [finding]})["preflight"]
    assert told == {"question": "Does it fit?", "answer": "yes", "sure": "likely", "ok": True, "advice": None}
    rows = valid(several(losing(), losing()), {"b.log": [finding]})["sources"]
    assert [row["preflight"] is None for row in rows] == [True, False]


def test_the_measurement_is_named_with_what_to_expect() -> None:
    told = one(losing(), log())["measurement"]
    assert (told["unknown"], told["depth"]) == ("verify_factor", 1)
    low, high = told["speedup_range"]
    assert low < 1 < high
    assert told["commands"]
    waiting = one(canary(5), TypedRate(45.0))
    assert waiting["measurement"]["unknown"] == "requests"
    assert waiting["requests_needed"] > 0


def test_the_text_is_ascii_and_has_no_numbers_that_json_lacks() -> None:
    text = report_json(several([start(model="\x1b[2Jé"), *losing()], incumbent=log()))
    assert text.isascii()
    assert "\x1b" not in text
    json.loads(text, parse_constant=pytest.fail)

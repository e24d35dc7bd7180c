"""What a report says of the costs that verify passes are priced with."""

from __future__ import annotations

import dataclasses
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest

from tests.render.judged import canary, log, losing, session_of, view_of, winning
from tests.session.build import drafted, plain, start
from tui.model.cost import CostKey, Profile
from tui.render.report import report_lines
from tui.render.report_object import SCHEMA, report_json
from tui.session.session import Policy

if TYPE_CHECKING:
    from tui.formats.events import Event
    from tui.session.incumbent import Choice

BENCH = Profile("bench.jsonl", (1, 2, 3, 4, 5), (1.0, 1.2, 1.5, 1.75, 2.0), 21.0, CostKey(context=900))
STEP, ROUND, VERIFY = 27.683, 113.124, 63.049
"""A recorded canary at K = 3: times in ms of its 1,014 rounds, with 9 plain steps among them."""


def recorded() -> tuple[list[Event], Choice]:
    """Its totals as one request, and its incumbent's."""
    request = drafted(
        1014,
        (644, 374, 226),
        tokens=1 + 1014 + 1244 + 9,
        decode_ms=1014 * ROUND + 9 * STEP,
        drafted=3008,
        draft_ms=1014 * (ROUND - VERIFY),
        plain_steps=9,
    )
    before = plain(source="old.log", tokens=2281, decode_ms=2280 * STEP)
    return [start(), request], log([before])


def said(events: list[Event], choice: Choice | None, cost: Profile | None = None) -> str:
    lines = report_lines(view_of(events, choice, Policy(cost=cost)))
    assert max(map(len, lines)) <= 80
    return re.sub(r"( \\)?\s+", " ", "\n".join(lines))


def row_of(events: list[Event], choice: Choice | None, cost: Profile | None = None) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(report_json(session_of(events, choice, Policy(cost=cost)).snapshot(1.0)))
    schema = json.loads(SCHEMA.read_text("utf-8"))
    jsonschema.validate(row, schema, jsonschema.Draft202012Validator)
    return row


def test_the_usual_verify_factor_beside_the_measured_one() -> None:
    text = said(*recorded())
    assert "v 1.1 as usually assumed gives 27.5 tok/s, v 2.28 as measured 19.6; it ran at 19.7" in text
    row = row_of(*recorded())
    assert row["prediction"]["usual_verify_factor"] == 1.1
    assert row["prediction"]["rate_usual_tok_s"] == pytest.approx(27.5, abs=0.05)
    assert row["prediction"]["rate_measured_tok_s"] == pytest.approx(19.7, rel=0.005)
    assert row["from"]["prediction.rate_usual_tok_s"] == "assumed"
    assert row["from"]["prediction.rate_measured_tok_s"] == "derived"


@pytest.mark.parametrize(
    ("events", "choice"),
    [([], log()), (losing(), None), (canary(draft_ms=None), log())],
    ids=["nothing", "target step unknown", "draft time unknown"],
)
def test_nothing_is_predicted_from_an_unknown_verify_factor(
    events: list[Event], choice: Choice | None
) -> None:
    assert row_of(events, choice)["prediction"] is None
    assert "usually assumed" not in said(events, choice)


def test_a_profile_makes_numbers_of_bounds_and_is_named() -> None:
    before, after = row_of(canary(), log()), row_of(canary(), log(), BENCH)
    assert before["break_even_p"]["1"] is None
    # A draft of 5 ms and a pass of 1.2 plain steps of 20 ms must commit 50 tok/s x 29 ms.
    assert after["break_even_p"]["1"] == pytest.approx(0.45)
    assert after["break_even_p"]["3"] == before["break_even_p"]["3"]
    assert after["break_even_p"]["7"] is None
    assert after["break_even_p_range"]["7"] == before["break_even_p_range"]["7"]
    assert after["from"]["break_even_p.1"] == "derived"
    cost = after["verify_cost"]
    assert (cost["name"], cost["given_by"], cost["context"]) == ("bench.jsonl", "file", 900)
    assert cost["time_ratio"] == list(BENCH.time_ratio)
    assert (cost["rounds"], cost["doubts"]) == (None, [])
    assert after["from"]["verify_cost.time_ratio"] == "measured"
    text = said(canary(), log(), BENCH)
    assert "p K=1 .45 K=3 .69 K=7 >= .74" in text
    assert "cost bench.jsonl: passes of 1 to 5 tokens, measured; at a context of 900;" in text
    assert "whether server, model, device, build and context are the server's is not told" in text
    assert "bounds beyond 5 tokens a pass, where the costs end, by what was measured at K=3" in text
    untimed = said(canary(draft_ms=None), log(), BENCH)
    assert (
        "bounds the time of a draft is not known but for K=3, where the whole round was measured" in untimed
    )
    assert before["verify_cost"] is None
    assert "tokens, measured" not in said(canary(), log())


def test_a_profile_that_does_not_fit_is_doubted_in_a_note() -> None:
    other = dataclasses.replace(BENCH, key=CostKey(model="larger.gguf"))
    text = said(canary(), log(), other)
    assert (
        "note the costs of bench.jsonl may not hold here: measured with larger, this server runs target"
        in text
    )
    (doubt,) = row_of(canary(), log(), other)["verify_cost"]["doubts"]
    assert doubt.startswith("measured with larger")
    assert "may not hold" not in said(canary(), log(), BENCH)


def test_costs_that_grew_from_the_log_tell_their_passes_and_spread() -> None:
    two = [drafted(50, (30, 15), decode_ms=50 * ms, draft_ms=500.0) for ms in (38.0, 42.0)]
    text = said([start(), *two, *[drafted() for _ in range(31)]], log())
    assert (
        "cost this log: passes of 1 (3100), 3 (100, sd 2.0 ms), 4 (1240, sd 0.00 ms) tokens, measured" in text
    )
    row = row_of([start(), *two, *[drafted() for _ in range(31)]], log())
    assert row["verify_cost"]["given_by"] == "log"
    assert row["verify_cost"]["rounds"] == [3100, 100, 1240]
    assert row["verify_cost"]["spread_ms"] == [None, pytest.approx(2.0), pytest.approx(0.0, abs=1e-6)]


def test_a_fixed_cost_is_noted() -> None:
    lengths = [
        drafted(40, (30, 20, 10), drafted=round(40 * mean), decode_ms=40 * (38.0 + mean + 0.1 * (-1) ** i))
        for i, mean in enumerate((1.5, 2.25, 3.75, 5.125, 7.0, 2.125))
    ]
    events: list[Event] = [start(depth=8), *lengths]
    assert "note a round takes 18.0" in said(events, log())
    assert "a smaller depth will not fix a fixed cost" in row_of(events, log())["fixed_cost"]
    assert row_of(winning(), log())["fixed_cost"] is None


def test_names_from_a_file_are_harmless() -> None:
    text = said(
        canary(), log(), dataclasses.replace(BENCH, name="b\x1b[2Jench", key=CostKey(model="\x1b]0;x"))
    )
    assert "\x1b" not in text

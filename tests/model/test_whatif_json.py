from __future__ import annotations

import dataclasses
import json

import pytest

from tui.model.figures import Figure, Provenance
from tui.model.whatif import Measured, WhatIf
from tui.model.whatif_json import to_json

CAME: dict[str, Provenance] = {
    "depth": "typed",
    "acceptance": "typed",
    "coverage": "assumed",
    "incumbent_tok_s": "typed",
}
EXAMPLE = WhatIf(
    "plain",
    3,
    0.6,
    Figure(67.0, "typed"),
    Figure(12.0, "typed"),
    Figure(1.1, "typed"),
    incumbent_tok_s=25.0,
)
ASSUMED = dataclasses.replace(EXAMPLE, verify_factor=Figure(1.1, "assumed"))


def test_the_documented_example() -> None:
    row = to_json(EXAMPLE, CAME)
    came = row.pop("from")
    at = row.pop("break_even_at")
    assert row == {
        "drafter_class": "plain",
        "depth": 3,
        "acceptance": 0.6,
        "coverage": 1.0,
        "target_step_ms": 67.0,
        "draft_step_ms": 12.0,
        "verify_factor": 1.1,
        "incumbent_tok_s": 25.0,
        "expected_tokens": pytest.approx(2.176, rel=1e-9),
        "round_ms": pytest.approx(109.7, rel=1e-9),
        "rate_tok_s": pytest.approx(19.836, abs=5e-4),
        "speedup": pytest.approx(0.7934, abs=5e-5),
        "commit_needed": pytest.approx(2.7425, rel=1e-9),
        "break_even_p": pytest.approx(0.75194, abs=5e-6),
        "best_depth": 2,
        "best_rate_tok_s": pytest.approx(20.061, abs=5e-4),
    }
    assert at == {"1": "never", "3": pytest.approx(0.75194, abs=5e-6), "7": pytest.approx(0.78173, abs=5e-6)}
    assert came["verify_factor"] == "typed"
    assert came["coverage"] == "assumed"
    assert came["rate_tok_s"] == "derived"


def test_an_assumed_factor_adds_bands_to_the_sharp_figures_and_says_assumed() -> None:
    row = to_json(ASSUMED, CAME)
    sharp = to_json(EXAMPLE, CAME)
    bands = {"rate_band_tok_s", "speedup_band", "break_even_band"}
    assert set(row) - set(sharp) == bands
    assert {name: row[name] for name in sharp if name != "from"} == {
        name: value for name, value in sharp.items() if name != "from"
    }
    assert row["rate_band_tok_s"] == pytest.approx([2176 / (36 + 3.9 * 67), 2176 / (36 + 1.4 * 67)])
    assert row["speedup_band"] == pytest.approx([band / 25 for band in row["rate_band_tok_s"]])
    assert row["break_even_band"] == [pytest.approx(0.86189, abs=1e-5), "never"]
    assert row["from"]["verify_factor"] == row["from"]["rate_tok_s"] == "assumed"
    assert row["from"]["expected_tokens"] == "derived"


def test_what_is_unknown_is_null_and_comes_from_nowhere() -> None:
    row = to_json(dataclasses.replace(EXAMPLE, target_step_ms=Figure.unknown("not given")), CAME)
    assert row["target_step_ms"] is row["rate_tok_s"] is row["break_even_p"] is row["best_depth"] is None
    assert row["break_even_at"] == {"1": None, "3": None, "7": None}
    assert "rate_tok_s" not in row["from"]
    assert "rate_band_tok_s" not in row


def test_bounds_without_an_end_stay_valid_json() -> None:
    live = WhatIf("head", 5, incumbent_tok_s=25.0, measured=Measured(3, 80.0, None, 2.0))
    row = json.loads(json.dumps(to_json(live, CAME), allow_nan=False))
    assert row["rate_tok_s"] is None
    assert row["rate_band_tok_s"][0] == 0.0
    assert row["break_even_band"][1] == "never"
    shallow = json.loads(json.dumps(to_json(dataclasses.replace(live, depth=2), CAME), allow_nan=False))
    assert shallow["rate_band_tok_s"][1] is None


def test_a_profile_shows_the_factor_it_gives_at_this_depth() -> None:
    row = to_json(dataclasses.replace(EXAMPLE, profile=(1.0, 1.1, 1.2, 1.4)), CAME)
    assert row["verify_factor"] == 1.4
    assert row["from"]["verify_factor"] == "measured"
    assert row["round_ms"] == pytest.approx(36 + 1.4 * 67)
    beyond = to_json(dataclasses.replace(EXAMPLE, depth=4, profile=(1.0, 1.1, 1.2, 1.4)), CAME)
    assert beyond["verify_factor"] is beyond["round_ms"] is None

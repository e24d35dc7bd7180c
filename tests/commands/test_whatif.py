"""`spectop whatif` as scripts and people see it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from tui.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

WORKED = ("--depth", "3", "--target-step", "67ms", "--draft-step", "12ms", "--incumbent", "25")


def run(*args: str) -> tuple[int, str]:
    result = CliRunner().invoke(cli, ["whatif", *args])
    return result.exit_code, result.output


def asked(*args: str) -> dict[str, Any]:
    code, output = run(*args, "--json")
    assert code == 0, output
    row: dict[str, Any] = json.loads(output)
    return row


def test_the_documented_example() -> None:
    row = asked(*WORKED, "--acceptance", "0.6", "--verify-factor", "1.1", "--drafter-class", "plain")
    assert row["schema_version"] == 1
    assert row["expected_tokens"] == pytest.approx(2.176)
    assert row["round_ms"] == pytest.approx(109.7)
    assert row["rate_tok_s"] == pytest.approx(19.836, abs=5e-4)
    assert row["speedup"] == pytest.approx(0.7934, abs=5e-5)
    assert row["commit_needed"] == pytest.approx(2.7425)
    assert row["break_even_p"] == pytest.approx(0.75194, abs=5e-6)
    assert row["break_even_at"]["1"] == "never"
    assert row["break_even_at"]["7"] == pytest.approx(0.78173, abs=5e-6)
    assert (row["best_depth"], row["best_rate_tok_s"]) == (2, pytest.approx(20.061, abs=5e-4))
    assert row["from"]["verify_factor"] == "typed"
    assert "rate_band_tok_s" not in row


def test_times_carry_units() -> None:
    other = ("--depth", "3", "--target-step", "0.067s", "--draft-step", "12", "--incumbent", "25")
    assert asked(*WORKED, "--acceptance", "60%") == asked(*other, "--acceptance", "0.6")


def test_an_assumed_verify_cost_gives_bands_and_people_see_only_these() -> None:
    row = asked(*WORKED, "--acceptance", "0.6")
    assert row["from"]["verify_factor"] == "assumed"
    assert row["from"]["rate_tok_s"] == "assumed"
    low, high = row["rate_band_tok_s"]
    # 2.176 tokens over 3 x 12 ms and a verify pass of 3.9 or 1.4 target steps.
    assert low == pytest.approx(2.176 / (0.036 + 3.9 * 0.067))
    assert high == pytest.approx(2.176 / (0.036 + 1.4 * 0.067))
    assert row["break_even_band"][1] == "never"
    code, text = run(*WORKED, "--acceptance", "0.6")
    assert code == 0
    assert "7.319 .. 16.76" in text
    assert "19.84" not in text


def test_a_ratio_is_turned_into_p() -> None:
    row = asked("--depth", "7", "--acceptance-ratio", "0.41")
    assert row["acceptance"] == pytest.approx(0.7754, abs=1e-4)
    assert row["from"]["acceptance"] == "derived"


def test_what_is_not_given_is_null_and_shown_as_unknown() -> None:
    row = asked("--depth", "3")
    for name in ("acceptance", "target_step_ms", "rate_tok_s", "break_even_p", "incumbent_tok_s"):
        assert row[name] is None
        assert name not in row["from"]
    assert "--" in run("--depth", "3")[1]


def test_a_measured_profile_replaces_the_factor(tmp_path: Path) -> None:
    bench = tmp_path / "bench.jsonl"
    rows = [
        {"pl": n, "tg": 32, "t_tg": 32 * 0.02 * (1 + 0.25 * (n - 1)), "pp": 128, "t_pp": 0.1}
        for n in range(1, 6)
    ]
    bench.write_text("".join(json.dumps(row) + "\n" for row in rows))
    row = asked("--acceptance", "0.5", "--draft-step", "2", "--incumbent", "40", "--cost", str(bench))
    assert row["target_step_ms"] == pytest.approx(20.0)
    assert row["verify_factor"] == pytest.approx(1.75)
    assert row["round_ms"] == pytest.approx(3 * 2 + 20 * 1.75)
    assert row["from"]["target_step_ms"] == "measured"
    assert row["break_even_at"]["7"] is None


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--depth", "0"), "1<=x<=64"),
        (("--acceptance", "1.2"), "at most 1"),
        (("--target-step", "67kg"), "67ms"),
        (("--acceptance", ".5", "--acceptance-ratio", ".4"), "one of them"),
    ],
)
def test_wrong_usage_says_what_is_right(args: tuple[str, ...], said: str) -> None:
    code, output = run(*args)
    assert code == 2
    assert said in output

"""`spectop cost` as a script and as a person meet it."""

from __future__ import annotations

import itertools
import json
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from tui.commands.cost import command
from tui.costfile import read_cost

if TYPE_CHECKING:
    from pathlib import Path

TIMES = {1: 0.60, 2: 0.68, 3: 0.74, 4: 0.80, 5: 1.40, 6: 1.42, 7: 1.40, 8: 1.46}
"""Seconds for 20 tokens at n: a plain step takes 30 ms, n = 5 leaps, n = 7 falls."""


@pytest.fixture
def bench(tmp_path: Path) -> str:
    file = tmp_path / "bench.jsonl"
    rows = [{"pp": 100, "tg": 20, "pl": n, "t_tg": s} for n, s in TIMES.items()]
    file.write_text("\n".join(json.dumps(row) for row in rows))
    return str(file)


@pytest.fixture
def ratios(tmp_path: Path) -> str:
    file = tmp_path / "list.txt"
    file.write_text("1.0, 0.6, 0.45, 0.4")
    return str(file)


def unwrapped(text: str) -> str:
    return " ".join(text.split())


def run(*args: str, stdin: bytes | None = None) -> Result:
    return CliRunner().invoke(command, args, input=stdin)


def read(*args: str) -> dict[str, Any]:
    result = run(*args, "--json")
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    assert value["schema_version"] == 1
    return value


def test_json_is_the_documented_object(bench: str) -> None:
    (profile,) = read(bench)["profiles"]
    assert profile["name"] == "bench.jsonl"
    assert profile["batch"] == list(TIMES)
    assert profile["time_ratio"] == pytest.approx([s / 0.60 for s in TIMES.values()])
    assert profile["cost_per_token"][1] == pytest.approx(0.68 / 1.2)
    assert profile["marginal"][0] == pytest.approx(0.08 / 0.60)
    assert (profile["draft_min"], profile["draft_max"], profile["usable_depth"]) == (1, 8, 7)
    assert profile["non_monotone"] == [7]
    assert [jump["n"] for jump in profile["jumps"]] == [5]
    assert {"b", "rmse"} <= profile["fit_two"].keys()
    assert profile["target_step_ms"] == pytest.approx(30.0)
    assert (profile["server"], profile["context"]) == ("llama.cpp", 110)
    assert profile["from"]["target_step_ms"] == "measured"


def test_without_acceptance_nothing_is_made_up(bench: str) -> None:
    (profile,) = read(bench, "--drafter-class", "ngram")["profiles"]
    assert profile["thresholds_at_speedup"] == 1.0
    assert profile["thresholds_alone"][0] == pytest.approx(0.08 / 0.60)
    for unknown in ("best_depth", "best_rate_tok_s", "reached", "pays_to", "thresholds_given", "p_min_range"):
        assert profile[unknown] is None
    assert profile["flags"]["--spec-draft-p-min"] is None


def test_thresholds_for_a_drafter(bench: str) -> None:
    (profile,) = read(bench, "--drafter-class", "plain", "--draft-step", "0.0015s", "--acceptance", "70%")[
        "profiles"
    ]
    cost = [k * 1.5 + TIMES[k + 1] * 50 for k in range(8)]
    rates = [sum(0.7**i for i in range(k + 1)) / cost[k] for k in range(8)]
    best = max(rates)
    assert profile["best_depth"] == rates.index(best) == 3
    assert profile["best_rate_tok_s"] == pytest.approx(1000 * best)
    assert profile["thresholds_alone"] == pytest.approx([best * (b - a) for a, b in itertools.pairwise(cost)])
    assert profile["thresholds"][3] == pytest.approx(best * (cost[7] - cost[3]) / 4)
    assert profile["pays_to"][:4] == [3, 3, 3, None]
    assert profile["flags"]["--spec-draft-n-max"] == 3
    low, high = profile["p_min_range"]
    assert low < profile["flags"]["--spec-draft-p-min"] < high


def test_a_head_pays_one_pass(bench: str) -> None:
    args = (bench, "--acceptance", "0.7", "--draft-step", "3", "--drafter-class")
    (head,) = read(*args, "head")["profiles"]
    (plain,) = read(*args, "plain")["profiles"]
    assert head["best_rate_tok_s"] > plain["best_rate_tok_s"]


def test_positions_as_printed_and_as_chances_are_the_same(bench: str) -> None:
    printed = read(bench, "--drafter-class", "ngram", "--per-position", "0.8,0.6,0.3")
    chances = read(bench, "--drafter-class", "ngram", "--conditional", "0.8,0.75,0.5")
    assert printed["profiles"][0]["reached"] == pytest.approx(chances["profiles"][0]["reached"])
    assert printed["profiles"][0]["reached"][:4] == pytest.approx([0.8, 0.6, 0.3, 0.15])


def test_positions_that_nothing_reached(bench: str) -> None:
    (profile,) = read(bench, "--drafter-class", "ngram", "--per-position", "0.8,0,0")["profiles"]
    assert profile["reached"][1:] == [0.0] * 6


def test_a_rate_to_beat(bench: str) -> None:
    (profile,) = read(bench, "--drafter-class", "ngram", "--rate", "50")["profiles"]
    assert profile["thresholds_at_tok_s"] == pytest.approx(50)
    assert profile["thresholds_alone"][0] == pytest.approx(50 * 0.004)
    assert profile["from"]["thresholds_at_speedup"] == "typed"


def test_ratios_take_their_step_from_the_command_line(ratios: str) -> None:
    (profile,) = read(ratios, "--target-step", "0.02s", "--rate", "60", "--drafter-class", "ngram")[
        "profiles"
    ]
    assert profile["thresholds_at_speedup"] == pytest.approx(1.2)
    assert profile["from"]["target_step_ms"] == "typed"
    (bare,) = read(ratios)["profiles"]
    assert bare["target_step_ms"] is None
    assert bare["thresholds_at_tok_s"] is None


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ((), "Missing argument"),
        (("f", "--acceptance", "0.5", "--conditional", "0.5"), "give one of them"),
        (("f", "--draft-step", "3ms"), "needs --drafter-class"),
        (("f", "--drafter-class", "ngram", "--draft-step", "3"), "no draft step"),
        (("f", "--per-position", "0.5,0.6"), "--conditional"),
        (("f", "--acceptance", "41"), "at most 1"),
        (("f", "--target-step", "fast"), "0.067s"),
    ],
)
def test_wrong_usage(args: tuple[str, ...], words: str) -> None:
    result = run(*args)
    assert result.exit_code == 2
    assert words in result.stderr
    assert result.stdout == ""


def test_ratios_alone_cannot_take_times(ratios: str) -> None:
    result = run(ratios, "--rate", "50")
    assert result.exit_code == 2
    assert "--target-step" in result.stderr


def test_what_is_refused_is_told_and_the_rest_is_shown(bench: str, tmp_path: Path) -> None:
    bad = tmp_path / "bad.json"
    bad.write_text('{"batch": [4, 6], "ms_per_batch": [140, 167]}')
    missing = str(tmp_path / "missing.md")
    result = run(bench, str(bad), missing, "--json")
    assert result.exit_code == 1
    value = json.loads(result.stdout)
    assert len(value["profiles"]) == 1
    assert [one["file"] for one in value["refused"]] == [str(bad), missing]
    assert "no batch of 1" in value["refused"][0]["reason"]
    assert "No such file" in value["refused"][1]["reason"]
    assert "no batch of 1" in result.stderr


def test_nothing_readable_prints_no_data(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.write_bytes(b"")
    result = run(str(empty))
    assert (result.exit_code, result.stdout) == (1, "")
    assert "the file is empty" in result.stderr


def test_report_fits_80_columns(bench: str, ratios: str) -> None:
    result = run(bench, ratios, "--drafter-class", "ngram", "--acceptance", "0.9")
    assert result.exit_code == 0
    assert max(len(line) for line in result.stdout.splitlines()) <= 80
    assert "^ n=5" in result.stdout
    assert "v T is lower" in result.stdout
    assert "--spec-draft-n-max 3" in result.stdout
    assert "it cannot ask more of some tokens" in unwrapped(result.stdout)
    assert "\nA  bench.jsonl" in result.stdout
    assert "\nB  list.txt" in result.stdout


def test_the_picture_shows_every_profile(bench: str, ratios: str) -> None:
    picture = run(bench, ratios, "--drafter-class", "ngram").stdout.split("T(n)/T(1): a pass")[1]
    grid = picture.split("\nA  ")[0]
    assert grid.count("A") >= 4
    assert grid.count("B") >= 3


def test_ascii_is_ascii(bench: str) -> None:
    result = run(bench, "--ascii", "--drafter-class", "ngram", "--acceptance", "0.6")
    assert result.stdout.isascii()
    assert "-----" in result.stdout


def test_words_go_to_stderr(bench: str) -> None:
    result = run(bench, "--acceptance", "0.6")
    assert "drafting is left out" in result.stderr
    assert "drafting is left out" not in result.stdout
    assert run(bench, "--drafter-class", "ngram").stderr == ""


def test_whole_rounds_take_no_drafting_on_top(tmp_path: Path) -> None:
    file = tmp_path / "rounds.json"
    file.write_text('{"batch": [1, 2, 3], "ms_per_batch": [10, 15, 19], "includes_draft": true}')
    result = run(str(file), "--drafter-class", "head", "--draft-step", "3", "--acceptance", "0.8")
    assert "include drafting" in result.stderr
    assert "drafting included" in result.stdout
    assert "K=2: 128 tok/s" in result.stdout


def test_a_target_that_no_draft_pays_on(tmp_path: Path) -> None:
    file = tmp_path / "moe.json"
    file.write_text('{"batch": [1, 2, 3], "ms_per_batch": [51, 112, 160]}')
    result = run(str(file), "--drafter-class", "ngram", "--acceptance", "0.95")
    assert "drafts lose here even if all is accepted" in unwrapped(result.stdout)
    assert "best   not drafting" in result.stdout
    assert "flags  none: do not draft" in result.stdout
    (profile,) = read(str(file), "--drafter-class", "ngram")["profiles"]
    assert profile["draft_min"] is None
    assert profile["fit_two"] is None


def test_svg_stands_alone(bench: str, tmp_path: Path) -> None:
    file = tmp_path / "cost.svg"
    result = run(bench, "--drafter-class", "ngram", "--svg", str(file))
    assert result.exit_code == 0
    text = file.read_text("utf-8")
    root = ET.fromstring(text)
    assert root.tag.endswith("svg")
    assert "bench.jsonl" in "".join(root.itertext()).replace("\xa0", " ")
    assert text.count("http") == text.count("http://www.w3.org/")
    assert run(bench, "--svg", str(tmp_path / "no" / "such.svg")).exit_code == 1


def test_standard_input() -> None:
    result = run("-", "--json", stdin=b"1.0 0.6 0.5")
    assert json.loads(result.stdout)["profiles"][0]["name"] == "stdin"


def test_outside_text_reaches_the_terminal_harmless(tmp_path: Path) -> None:
    file = tmp_path / "x\x1b[2J.json"
    file.write_text(
        json.dumps({"\x1b]0;own\x07[red]": {"relative_cost": [1.0, 0.6, 0.5]}, "b": {"\x1b[1m": 1}})
    )
    result = run(str(file), "--svg", str(tmp_path / "out.svg"))
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr
    assert "[red]" in result.stdout
    ET.parse(tmp_path / "out.svg")


def test_a_saved_answer_is_a_bench_again(bench: str, tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text(run(bench, "--json").stdout)
    profile = read_cost(str(saved))
    assert profile.name == "bench.jsonl"
    assert profile.steps == read_cost(bench).steps
    assert profile.target_step_ms == pytest.approx(30.0)
    assert profile.key == read_cost(bench).key

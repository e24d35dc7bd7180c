"""`--cost FILE` where a canary is judged."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from tests.commands import logs
from tui.cli import cli

if TYPE_CHECKING:
    from pathlib import Path

WHOLE_ROUNDS = json.dumps({"batch": [1, 2, 3], "ms_per_batch": [20, 30, 35], "includes_draft": True})


@pytest.fixture
def arms(tmp_path: Path) -> list[str]:
    (tmp_path / "old.log").write_text(logs.incumbent())
    (tmp_path / "new.log").write_text(logs.canary(90.0))
    return [str(tmp_path / "new.log"), "--incumbent", str(tmp_path / "old.log")]


@pytest.fixture
def bench(tmp_path: Path) -> str:
    file = tmp_path / "bench.jsonl"
    rows = [{"pp": 100, "tg": 20, "pl": n, "t_tg": 20 * 0.021 * (1 + (n - 1) / 4)} for n in range(1, 9)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(file)


def run(*args: str, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(cli, args, env=env)


@pytest.mark.parametrize(("command", "code"), [("report", 0), ("check", 10)])
def test_costs_are_taken_from_a_file(command: str, code: int, arms: list[str], bench: str) -> None:
    done = run(command, *arms, "--cost", bench, "--json")
    assert done.exit_code == code, done.output
    row = json.loads(done.stdout)
    assert row["verify_cost"]["name"] == "bench.jsonl"
    assert row["verify_cost"]["time_ratio"] == pytest.approx([1 + n / 4 for n in range(8)])
    assert row["from"]["verify_cost.time_ratio"] == "measured"


def test_the_environment_names_the_file_too(arms: list[str], bench: str) -> None:
    done = run("report", *arms, env={"SPECTOP_COST": bench})
    assert "bench.jsonl: passes of 1 to 8 tokens, measured; at a context of 110" in " ".join(
        done.stdout.split()
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WHOLE_ROUNDS, "times whole rounds, drafting included"),
        ("to be done", "neither a bench result nor a list"),
    ],
)
def test_a_file_that_prices_nothing_is_wrong_usage(
    arms: list[str], tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "costs").write_text(text)
    done = run("report", *arms, "--cost", str(tmp_path / "costs"))
    assert done.exit_code == 2
    assert said in done.stderr
    missing = run("report", *arms, "--cost", str(tmp_path / "none"))
    assert missing.exit_code == 2
    assert "does not exist" in missing.stderr

"""`spectop report` as a shell sees it."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from tests.commands import logs
from tests.tiny_models import write_tiny_model
from tui.cli import cli

if TYPE_CHECKING:
    from pathlib import Path


def report(*args: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(cli, ["report", *map(str, args)], input=stdin)


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.log"
    path.write_text(logs.incumbent())
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    path = tmp_path / "new.log"
    path.write_text(logs.canary(90.0))
    return path


def test_a_canary_that_loses(old: Path, new: Path) -> None:
    done = report(new, "--incumbent", old)
    assert done.exit_code == 0
    assert done.stderr == ""
    assert done.stdout.startswith("FAIL  0.556x  [0.")
    assert "draft-simple K=3" in done.stdout
    assert max(len(line) for line in done.stdout.splitlines() if str(new) not in line) <= 80


def test_json_by_either_option_and_markdown(old: Path, new: Path) -> None:
    short = report(new, "--incumbent", old, "--json")
    long = report(new, "--incumbent", old, "--format", "json")
    row = json.loads(short.stdout)
    assert row == json.loads(long.stdout)
    assert row["verdict"] == "FAIL"
    assert row["canary"]["rate_tok_s"] == pytest.approx(2500 / 90, rel=1e-3)
    assert row["incumbent"]["target_step_ms"] == pytest.approx(20.0, rel=1e-2)
    markdown = report(new, "--incumbent", old, "--format", "markdown")
    assert markdown.stdout.startswith("### FAIL")


def test_a_glob_is_several_sources(tmp_path: Path, old: Path) -> None:
    for name, round_ms in (("canary-a.log", 30.0), ("canary-b.log", 90.0)):
        (tmp_path / name).write_text(logs.canary(round_ms))
    row = json.loads(report(tmp_path / "canary-*.log", "--incumbent", old, "--json").stdout)
    assert row["verdict"] == "FAIL"
    assert [each["verdict"] for each in row["sources"]] == ["PASS", "FAIL"]


def test_standard_input_is_a_source(old: Path) -> None:
    command = [sys.executable, "-m", "tui", "report", "-", "--incumbent", str(old), "--json"]
    done = subprocess.run(
        command, input=logs.canary(30.0), capture_output=True, text=True, check=True, timeout=60
    )
    row = json.loads(done.stdout)
    assert (row["source"], row["verdict"]) == ("-", "PASS")


def test_without_an_incumbent_it_still_reports(new: Path) -> None:
    done = report(new)
    assert done.exit_code == 0
    assert done.stdout.startswith("NO_DATA")
    assert "no incumbent named" in done.stdout


def test_a_typed_incumbent_may_say_its_basis(new: Path) -> None:
    # 27.8 tok/s decode, 24.6 delivered
    decode = json.loads(report(new, "--incumbent", "26", "--json").stdout)
    assert (decode["verdict"], decode["basis"]) == ("PASS", "decode")
    assert any("--basis delivered" in warning for warning in decode["warnings"])
    delivered = json.loads(report(new, "--incumbent", "26", "--basis", "delivered", "--json").stdout)
    assert (delivered["verdict"], delivered["basis"]) == ("FAIL", "delivered")


def test_what_cannot_be_read_is_a_failure_and_what_makes_no_sense_wrong_usage(
    tmp_path: Path, new: Path
) -> None:
    missing = report(tmp_path / "none.log")
    assert missing.exit_code == 1
    assert "none.log" in missing.stderr
    assert report().exit_code == 2
    for words in ("0", "25 often", "drafter:"):
        wrong = report(new, "--incumbent", words)
        assert wrong.exit_code == 2, words
        assert "--incumbent" in wrong.stderr


def test_part_d_is_filled_by_what_the_files_at_hand_say(tmp_path: Path, new: Path) -> None:
    models = {name: str(write_tiny_model(tmp_path / f"{name}.gguf")) for name in ("target", "draft")}
    for name, path in models.items():
        new.write_text(new.read_text().replace(f"'{name}.gguf'", f"'{path}'"))
    assert json.loads(report(new, "--json").stdout)["preflight"] is None
    found = json.loads(report(new, "--preflight", "--json").stdout)["preflight"]
    answers = {each["question"]: each["answer"] for each in found}
    assert answers["Are the token ids interchangeable?"] == "all token ids are interchangeable"
    assert "Do the target and drafter fit on host memory?" in answers
    assert "token ids are interchangeable (certain)" in " ".join(report(new, "--preflight").stdout.split())


def test_part_d_tells_which_files_are_not_here(new: Path) -> None:
    done = report(new, "--preflight")
    assert done.exit_code == 0
    text = " ".join(done.stdout.split())
    assert "Is the target's file at hand? no such file on this machine (unknown)" in text

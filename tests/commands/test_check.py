"""`spectop check` as a script sees it: exit codes, and following until there is a verdict."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from typing import TYPE_CHECKING

import click
import pytest
from click.testing import CliRunner, Result

from tests.commands import logs
from tests.commands.logs import LlamaLog
from tui.cli import cli
from tui.commands.check import Duration, Progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PATIENCE_S = 60.0


def check(*args: str | Path) -> Result:
    return CliRunner().invoke(cli, ["check", *map(str, args)])


@pytest.fixture
def old(tmp_path: Path) -> Path:
    path = tmp_path / "old.log"
    path.write_text(logs.incumbent())
    return path


@pytest.fixture
def new(tmp_path: Path) -> Path:
    return tmp_path / "new.log"


@pytest.mark.parametrize(
    ("log", "verdict", "code"),
    [
        (logs.canary(30.0), "PASS", 0),
        (logs.canary(90.0), "FAIL", 10),
        (logs.canary(50.0), "EVEN", 11),
        (logs.canary(48.0, spread=0.4), "INCONCLUSIVE", 12),
        (logs.canary(30.0, requests=10), "NO_DATA", 13),
        (logs.canary(30.0, requests=0), "NO_DATA", 13),
        ("", "NO_DATA", 13),
    ],
)
def test_the_verdict_is_the_exit_code(old: Path, new: Path, log: str, verdict: str, code: int) -> None:
    new.write_text(log)
    done = check(new, "--incumbent", old)
    assert done.exit_code == code
    assert done.stdout.split()[0] == verdict


def test_the_shell_gets_the_code(old: Path, new: Path) -> None:
    new.write_text(logs.canary(90.0))
    command = [sys.executable, "-m", "tui", "check", str(new), "--incumbent", str(old), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 10
    assert json.loads(done.stdout)["verdict"] == "FAIL"
    assert done.stderr == ""


def test_no_incumbent_is_wrong_usage_in_words(new: Path) -> None:
    new.write_text(logs.canary(30.0))
    done = check(new)
    assert done.exit_code == 2
    assert "--incumbent 25" in done.stderr
    assert done.stdout == ""


@pytest.mark.parametrize("options", [["--for", "30"], ["--for", "soon"], ["--for", "0s"], ["--effect", "x"]])
def test_options_that_make_no_sense_are_wrong_usage(new: Path, options: list[str]) -> None:
    new.write_text(logs.canary(30.0))
    done = check(new, "--incumbent", "25", *options)
    assert done.exit_code == 2
    assert options[0] in done.stderr


def test_what_cannot_be_read_is_a_failure(tmp_path: Path, new: Path) -> None:
    assert check(new, "--incumbent", "25").exit_code == 1
    new.write_text(logs.canary(30.0))
    missing = check(new, "--incumbent", tmp_path / "none.log")
    assert missing.exit_code == 1
    assert "none.log" in missing.stderr


def test_the_worst_of_several_sources_decides(tmp_path: Path, old: Path) -> None:
    paths = []
    for name, round_ms, requests in (("a", 30.0, 25), ("b", 30.0, 10), ("c", 90.0, 25)):
        paths.append(tmp_path / f"{name}.log")
        paths[-1].write_text(logs.canary(round_ms, requests))
    assert check(*paths[:1], "--incumbent", old).exit_code == 0
    assert check(*paths[:2], "--incumbent", old).exit_code == 13
    assert check(*paths, "--incumbent", old).exit_code == 10


def test_thresholds_come_from_the_configuration_file(
    tmp_path: Path, old: Path, new: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "config.toml"
    config.write_text(f'min-requests = 8\nincumbent = "{old}"\n')
    new.write_text(logs.canary(30.0, 12))
    monkeypatch.setenv("SPECTOP_CONFIG", str(config))
    assert check(new).exit_code == 0
    assert check(new, "--min-requests", "20").exit_code == 13


def test_a_smallest_effect_makes_a_difference_even(old: Path, new: Path) -> None:
    new.write_text(logs.canary(48.0))
    assert check(new, "--incumbent", old, "--effect", "20%").exit_code == 11


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("30m", 1800.0), ("2h", 7200.0), ("1.5h", 5400.0)]
)
def test_durations(text: str, seconds: float) -> None:
    assert Duration().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["30", "", "-5s", "1d", "0m"])
def test_a_duration_without_a_known_unit_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter):
        Duration().convert(text, None, None)


def test_progress_speaks_when_something_changed_and_not_too_often(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress = Progress(quiet=False)
    for text, now in (("a", 0.0), ("a", 20.0), ("b", 1.0), ("c", 4.0), ("c", 30.0), ("c", 60.0)):
        progress.tell(text, now)
    assert capsys.readouterr().err.splitlines() == ["spectop: a", "spectop: c"]
    Progress(quiet=True).tell("a", 0.0)
    assert capsys.readouterr().err == ""


@pytest.fixture
def following(old: Path, new: Path) -> Iterator[subprocess.Popen[str]]:
    """A check that follows the canary's log, and has said that there is too little of it."""
    new.write_text(logs.canary(30.0, 5))
    command = [sys.executable, "-m", "tui", "check", str(new), "--incumbent", str(old), "--for", "10m"]
    running = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert running.stderr is not None
    while "NO_DATA" not in (line := running.stderr.readline()):
        assert line, "it ended before it said anything"
    yield running
    running.kill()
    running.communicate()


def test_it_follows_until_there_is_a_verdict(following: subprocess.Popen[str], new: Path) -> None:
    log = LlamaLog(drafting=True, step_ms=30.0).serve(5)
    written = len(log.text())
    with new.open("a") as file:
        file.write(log.serve(20).text()[written:])
    stdout, _ = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 0
    assert stdout.startswith("PASS  1.67x")
    assert "n 24 (effective 24.0); left out: 1 warm-up" in stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_prints_what_is_known_and_ends_with_its_number(
    following: subprocess.Popen[str], number: signal.Signals
) -> None:
    following.send_signal(number)
    stdout, stderr = following.communicate(timeout=PATIENCE_S)
    assert following.returncode == 128 + number
    assert stdout.startswith("NO_DATA  1.6")
    assert "Traceback" not in stderr


def test_when_the_time_is_over_it_says_what_there_is(old: Path, new: Path) -> None:
    new.write_text(logs.canary(30.0, 5))
    done = check(new, "--incumbent", old, "--for", "1s", "--quiet")
    assert done.exit_code == 13
    assert done.stdout.startswith("NO_DATA")
    assert done.stderr == ""


def test_a_verdict_that_is_there_already_ends_it_at_once(old: Path, new: Path) -> None:
    new.write_text(logs.canary(90.0))
    assert check(new, "--incumbent", old, "--for", "10m").exit_code == 10


def test_a_log_that_never_comes_is_no_data(tmp_path: Path, old: Path) -> None:
    done = check(tmp_path / "later.log", "--incumbent", old, "--for", "1s")
    assert done.exit_code == 13
    assert "later.log" in done.stderr


def test_a_pipe_that_ends_is_judged(old: Path) -> None:
    command = [sys.executable, "-m", "tui", "check", "-", "--incumbent", str(old), "--for", "10m"]
    done = subprocess.run(
        command, input=logs.canary(30.0, 5), capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    assert done.returncode == 13
    assert done.stdout.startswith("NO_DATA")


def test_a_source_that_cannot_be_read_ends_it(
    old: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    command = [sys.executable, "-m", "tui", "check", "podman:llama", "--incumbent", str(old), "--for", "10m"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE_S)
    assert done.returncode == 13
    assert "podman is not on this machine's PATH" in done.stdout

"""`spectop replay` and `spectop watch --record`, without a screen."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from tests.session.build import drafted, start
from tui.cli import cli
from tui.commands import terminal
from tui.commands.replay import SPEED
from tui.recorder import Recorder, read_recording
from tui.replay import Replay

if TYPE_CHECKING:
    from pathlib import Path


class Screen:
    """Stands for the terminal: keeps what it was asked to show."""

    def __init__(self) -> None:
        self.watch: Any = None
        self.options: dict[str, Any] = {}

    def run(self, watch: Any, **options: Any) -> None:
        self.watch = watch
        self.options = options
        raise SystemExit(0)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> Screen:
    screen = Screen()
    monkeypatch.setattr(terminal, "require_terminal", lambda _: None)
    monkeypatch.setattr(terminal, "run_screen", screen.run)
    return screen


def spectop(*args: str) -> Result:
    return CliRunner().invoke(cli, args)


@pytest.fixture
def night(tmp_path: Path) -> str:
    path = tmp_path / "night.jsonl"
    with Recorder(path) as recorder:
        recorder.write([start(), *[drafted() for _ in range(4)]])
    return str(path)


def test_recording_goes_to_the_screen_with_all_options(screen: Screen, night: str) -> None:
    done = spectop(
        "replay",
        night,
        "--speed",
        "max",
        "--incumbent",
        "40",
        "--warm-up",
        "0",
        "--theme",
        "light",
        "--quiet",
    )
    assert done.exit_code == 0, done.output
    assert isinstance(screen.watch, Replay)
    (view,) = screen.watch.snapshot().views
    assert view.incumbent is not None
    assert view.incumbent.decode_tok_s == 40.0
    assert [row.left_out for row in view.requests] == [""] * 4
    assert screen.options == {"theme": "light", "ascii_only": False, "quiet": True}


@pytest.mark.parametrize(("text", "speed"), [("6", 6.0), ("0.5", 0.5), ("2x", 2.0), ("MAX", math.inf)])
def test_speeds_that_are_understood(text: str, speed: float) -> None:
    assert SPEED.convert(text, None, None) == speed


@pytest.mark.parametrize("text", ["0", "-1", "fast", "", "inf", "nan"])
def test_a_speed_that_makes_no_sense_is_wrong_usage(night: str, text: str) -> None:
    done = spectop("replay", night, "--speed", text)
    assert done.exit_code == 2
    assert "speed" in done.output


def test_a_missing_file_is_told_in_words(screen: Screen, tmp_path: Path) -> None:
    done = spectop("replay", str(tmp_path / "none.jsonl"))
    assert done.exit_code == 1
    assert "no such file" in done.output
    assert screen.watch is None


def test_without_a_terminal_it_is_refused_with_a_way_out(night: str) -> None:
    done = spectop("replay", night)
    assert done.exit_code == 2
    assert "no terminal" in done.output


def test_watch_records_to_a_new_file_and_closes_it(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, path = tmp_path / "a.log", tmp_path / "night.jsonl.gz"
    log.write_text("")

    def run(watch: Any, **options: Any) -> None:
        watch.recorder.write([drafted()])
        raise SystemExit(0)

    monkeypatch.setattr(terminal, "run_screen", run)
    assert spectop("watch", str(log), "--record", str(path)).exit_code == 0
    recording = read_recording(path)
    assert [entry.what for entry in recording.entries] == [drafted()]
    assert recording.notes == ()


def test_a_path_that_cannot_be_recorded_to_is_told_before_the_screen_opens(
    screen: Screen, tmp_path: Path, night: str
) -> None:
    for path in (str(tmp_path / "none" / "a.jsonl"), night):
        done = spectop("watch", str(tmp_path / "a.log"), "--record", path)
        assert done.exit_code == 1
        assert "Error: " in done.output
        assert path in done.output
    assert screen.watch is None


def test_nothing_is_left_behind_when_the_incumbent_is_wrong(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "night.jsonl"
    done = spectop("watch", str(tmp_path / "a.log"), "--record", str(path), "--incumbent", "-5")
    assert done.exit_code == 1
    assert not path.exists()

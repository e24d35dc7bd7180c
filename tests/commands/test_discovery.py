"""spectop without a source: the list, the choice, and what is said where nobody can choose."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from tui.cli import cli
from tui.feeds.discovery import Found

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG = Found(11, "llama.cpp", "llama.cpp a.gguf, process 11", "/srv/my logs/a.log@http://127.0.0.1:8080")
BOX = Found(12, "halogen", "halogen, process 12", "docker:halogen", ("port 8731 is in its container",))
DARK = Found(13, "llama.cpp", "llama.cpp, process 13", None, ("its counters are off",))


class WatchedError(Exception):
    """A watch was started."""


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    started: list[tuple[str, ...]] = []

    def start(sources: Sequence[str], *_: object, **__: object) -> None:
        started.append(tuple(sources))
        raise WatchedError

    monkeypatch.setattr("tui.pipeline.Watch", start)
    monkeypatch.setattr("tui.commands.terminal.require_terminal", lambda _: None)
    return started


def run(monkeypatch: pytest.MonkeyPatch, found: list[Found], typed: str | None) -> tuple[int, str]:
    monkeypatch.setattr("tui.feeds.discovery.discover", lambda: found)
    monkeypatch.setattr("tui.commands.discovery._can_ask", lambda: typed is not None)
    result = CliRunner().invoke(cli, [], input=typed)
    return result.exit_code, result.output


@pytest.mark.parametrize(
    ("typed", "sources"),
    [
        ("1\n", ("/srv/my logs/a.log@http://127.0.0.1:8080",)),
        ("2\n", ("docker:halogen",)),
        ("2,1\n", ("docker:halogen", "/srv/my logs/a.log@http://127.0.0.1:8080")),
        ("\n", ("/srv/my logs/a.log@http://127.0.0.1:8080", "docker:halogen")),
    ],
)
def test_numbers_choose(
    monkeypatch: pytest.MonkeyPatch, watched: list[tuple[str, ...]], typed: str, sources: tuple[str, ...]
) -> None:
    _, output = run(monkeypatch, [LOG, DARK, BOX], typed)
    assert watched == [sources]
    for words in ("process 11", "process 13", "its counters are off", "port 8731 is in its container"):
        assert words in output
    assert "spectop '/srv/my logs/a.log@http://127.0.0.1:8080'" in output


@pytest.mark.parametrize("typed", ["3\n", "0\n", "x\n"])
def test_other_answers_are_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, watched: list[tuple[str, ...]], typed: str
) -> None:
    code, output = run(monkeypatch, [LOG, BOX], typed)
    assert code == 2
    assert "from 1 to 2" in output
    assert watched == []


def test_without_a_terminal_the_list_is_printed_with_what_to_type(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, [DARK, BOX], None)
    assert code == 2
    assert "process 12" in output
    assert output.rstrip().endswith("type spectop docker:halogen")


def test_nothing_that_runs_is_told_with_other_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    code, output = run(monkeypatch, [], None)
    assert code == 2
    assert "spectop demo" in output
    code, output = run(monkeypatch, [DARK], "1\n")
    assert code == 2
    assert "its counters are off" in output


def test_no_command_line_draws_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    evil = Found(14, "llama.cpp", "llama.cpp, process 14", "/tmp/\x1b[2Jx.log")
    _, output = run(monkeypatch, [evil], None)
    assert "\x1b" not in output
    assert "\\x1b" in output


def test_an_interrupt_ends_with_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    code, _ = run(monkeypatch, [LOG], "")  # the end of input is as good as one
    assert code == 130

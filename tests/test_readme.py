"""The README shows what the program draws: these pictures are the ones it links to."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import textual

from tests.watches import FakeWatch
from tui.app import SpectopApp
from tui.cli import COMMANDS
from tui.demo import Demo
from tui.render import plot

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.pilot import Pilot

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")


async def drawn(pilot: Pilot[None]) -> None:
    await pilot.pause(0.3)


@pytest.fixture
def loss(monkeypatch: pytest.MonkeyPatch) -> SpectopApp:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr("tui.app.speaks_utf8", lambda: True)
    plot.load()
    demo = Demo(speed=math.inf, clock=lambda: 0.0)
    return SpectopApp(FakeWatch(*demo.snapshot().views))


same_textual = pytest.mark.skipif(
    textual.__version__ != "8.2.8", reason="the pictures were made with Textual 8.2.8"
)


@same_textual
def test_loss_120x40(loss: SpectopApp, snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(loss, terminal_size=(120, 40), run_before=drawn)


@same_textual
def test_loss_80x24(loss: SpectopApp, snap_compare: Callable[..., bool]) -> None:
    assert snap_compare(loss, terminal_size=(80, 24), run_before=drawn)


def test_every_file_that_the_readme_names_is_there() -> None:
    linked = re.findall(r"\]\(([^)#]+)\)", README)
    assert any(name.endswith(".svg") for name in linked)
    assert [name for name in linked if "://" not in name and not (ROOT / name).exists()] == []


def test_every_command_stands_in_the_readme() -> None:
    assert [name for name in COMMANDS if f"spectop {name}" not in README and name != "watch"] == []

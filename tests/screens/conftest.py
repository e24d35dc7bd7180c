"""The same terminal everywhere: 256 colours and UTF-8, whatever the machine that runs the tests has."""

from __future__ import annotations

import pytest

from tui.render import plot


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.setattr("tui.app.speaks_utf8", lambda: True)
    plot.load()

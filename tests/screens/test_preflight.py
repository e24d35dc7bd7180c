"""The pre-flight screen, and what it leaves for the report."""

from __future__ import annotations

import asyncio
import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.screens.driving import LARGE, SMALL, Driven, driving
from tests.snapshots import head, view
from tests.watches import FINDINGS, CheckedWatch, FakeWatch
from tui.preflight import known
from tui.screens.main import MainScreen
from tui.screens.preflight import PreflightScreen

if TYPE_CHECKING:
    from tui.preflight.findings import Finding
    from tui.session.snapshot import SourceState


class Asked:
    """Stands for the checks: notes what it was asked, and answers when told to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None, str | None]] = []
        self.go = threading.Event()
        self.go.set()

    def __call__(
        self, source: SourceState, url: str | None = None, api_key: str | None = None
    ) -> tuple[Finding, ...]:
        self.asked.append((source.name, url, api_key))
        assert self.go.wait(30)
        return FINDINGS


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch) -> Asked:
    asked = Asked()
    monkeypatch.setattr(known, "check", asked)
    monkeypatch.setattr(time, "time", lambda: 1_750_000_000.0)
    return asked


async def press(spectop: Driven, *keys: str) -> None:
    await spectop.press(*keys)
    await spectop.settled()


async def test_f_asks_what_is_known_of_the_source_and_shows_what_answered(checks: Asked) -> None:
    async with driving(view(), head(), watch=CheckedWatch) as spectop:
        await press(spectop, "n", "f")
        assert checks.asked == [("/var/log/halogen.log", "http://halogen.log:8080", "key")]
        assert "1 ok, 1 NO, 1 unknown, 1 fact; asked 0s ago" in spectop.text
        assert "NO  Are the token ids interchangeable?" in spectop.text
        assert "certain; asked: /srv/logs/canary.log" in spectop.text
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, MainScreen)


async def test_the_screen_goes_on_while_it_asks_and_tells_how_long(checks: Asked) -> None:
    checks.go.clear()
    async with driving(watch=CheckedWatch) as spectop:
        await spectop.press("f")
        assert "asking its server, its log and its models' headers: 0 s" in spectop.text
        await spectop.press("f")
        checks.go.set()
        await spectop.settled()
        assert "1 fact;" in spectop.text
        assert len(checks.asked) == 1


async def test_what_was_found_is_kept_for_the_screen_and_the_report(checks: Asked) -> None:
    async with driving(size=LARGE, watch=CheckedWatch) as spectop:
        await press(spectop, "r", "end")
        assert "not checked" in spectop.text
        await press(spectop, "escape", "f", "escape", "f")
        assert len(checks.asked) == 1
        assert "1 fact;" in spectop.text
        await press(spectop, "escape", "r", "end")
        assert "2 ids differ" in spectop.text
        assert "not checked" not in spectop.text
        await press(spectop, "escape", "f", "f")
        assert len(checks.asked) == 2


async def test_findings_are_those_of_one_source_and_of_one_start(checks: Asked) -> None:
    async with driving(view(), head(), size=LARGE, watch=CheckedWatch) as spectop:
        await press(spectop, "f", "escape", "n", "r", "end")
        assert "not checked" in spectop.text
        await press(spectop, "escape", "n")
        spectop.watch.change(lambda v: replace(v, source=replace(v.source, restarts=1)))
        spectop.app.take()
        await press(spectop, "r", "end")
        assert "not checked" in spectop.text
        await press(spectop, "escape", "f")
        assert len(checks.asked) == 2


async def test_leaving_while_it_asks_is_no_wait(checks: Asked) -> None:
    checks.go.clear()
    async with driving(watch=CheckedWatch) as spectop:
        await spectop.press("f")
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, MainScreen)
        await spectop.press("q")
    checks.go.set()
    assert spectop.app.return_code == 0


async def test_a_replay_is_not_checked_and_says_why() -> None:
    async with driving(toasts=True, watch=FakeWatch) as spectop:
        await spectop.press("f")
        await asyncio.sleep(0.05)
        assert isinstance(spectop.app.screen, MainScreen)
        assert "what is replayed is not checked" in " ".join(spectop.text.split())


async def test_it_fits_the_screen_and_stays_ascii(checks: Asked) -> None:
    async with driving(size=SMALL, watch=CheckedWatch, ascii_only=True) as spectop:
        await press(spectop, "f")
        assert isinstance(spectop.app.screen, PreflightScreen)
        assert spectop.text.isascii()
        await spectop.pilot.resize_terminal(60, 16)
        await spectop.pilot.pause()
        assert "    no: no implementation was started" in spectop.text

"""The dialog that sets what has to be beaten."""

import asyncio
import threading
from dataclasses import replace

import pytest

from tests.screens.driving import driving
from tests.snapshots import FAIL, head, no_incumbent, snapshot, view
from tui.model.comparison import TypedRate
from tui.screens.incumbent import IncumbentScreen
from tui.screens.main import MainScreen


async def test_b_takes_a_typed_rate_and_says_why_it_did_not_take_something() -> None:
    async with driving(no_incumbent()) as spectop:
        await spectop.press("b", *"nonsense", "enter")
        await spectop.settled()
        assert isinstance(spectop.app.screen, IncumbentScreen)
        assert "[/x] is neither a rate nor a log" in spectop.text
        await spectop.press("escape", "b", *"old.log", "enter")
        await spectop.settled()
        assert "no such file: old.log" in spectop.text
        await spectop.press("escape", "b", *"25", "space", *"delivered", "enter")
        await spectop.settled()
        assert spectop.watch.asked == [("choose", TypedRate(25.0, "delivered"), None)]
        assert isinstance(spectop.app.screen, MainScreen)


async def test_b_reads_a_log_without_holding_the_screen_up(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(text: str) -> TypedRate:
        begun.set()
        assert go.wait(30)
        return TypedRate(25.0)

    async with driving() as spectop:
        monkeypatch.setattr(spectop.watch, "read_incumbent", slow)
        await spectop.press("b", *"old.log", "enter")
        assert await asyncio.to_thread(begun.wait, 30)
        await spectop.pilot.pause()
        assert "reading old.log" in spectop.text
        spectop.watch.finish(1)
        spectop.app.take()
        assert spectop.watch.asked == []
        go.set()
        await spectop.settled()
        assert spectop.watch.asked == [("choose", TypedRate(25.0), None)]
        assert "28 req" in spectop.text


async def test_a_log_that_is_read_in_vain_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go = threading.Event(), threading.Event()

    def slow(text: str) -> TypedRate:
        begun.set()
        assert go.wait(30)
        return TypedRate(25.0)

    async with driving() as spectop:
        monkeypatch.setattr(spectop.watch, "read_incumbent", slow)
        await spectop.press("b", *"old.log", "enter")
        assert await asyncio.to_thread(begun.wait, 30)
        await spectop.press("escape")
        go.set()
        await spectop.pilot.pause(0.1)
        assert spectop.watch.asked == []
        assert isinstance(spectop.app.screen, MainScreen)


async def test_b_freezes_the_present_arm_or_takes_the_offered_one() -> None:
    async with driving(no_incumbent()) as spectop:
        await spectop.press("b", "down", "enter")
        await spectop.press("b", "down", "down", "enter")
        assert spectop.watch.asked == [("freeze", 0, False), ("offer", 0)]


async def test_a_verdict_that_the_operator_changed_rings_no_bell(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving(toasts=True) as spectop:
        rung: list[None] = []
        monkeypatch.setattr(spectop.app, "bell", lambda: rung.append(None))
        passed = replace(FAIL, verdict="PASS", ratio=1.2)

        def choose(*_: object) -> None:
            spectop.watch.change(lambda v: replace(v, judgement=passed))

        monkeypatch.setattr(spectop.watch, "choose", choose)
        await spectop.press("b", *"20", "enter")
        await spectop.settled()
        assert " PASS " in spectop.text
        assert rung == []
        spectop.watch.change(lambda v: replace(v, judgement=FAIL))
        spectop.app.take()
        assert rung == [None]


async def test_of_several_sources_b_sets_the_incumbent_of_the_one_that_is_shown() -> None:
    async with driving(view(), head()) as spectop:
        await spectop.press("n", "b")
        assert "by /var/log/halogen.log alone" in spectop.text
        await spectop.press(*"30", "enter")
        await spectop.settled()
        await spectop.press("b", "down", "enter")
        assert spectop.watch.asked == [
            ("choose", TypedRate(30.0), "/var/log/halogen.log"),
            ("freeze", 1, True),
        ]


async def test_an_arm_of_a_source_that_went_is_not_frozen() -> None:
    async with driving(view(), head()) as spectop:
        await spectop.press("n", "b")
        spectop.watch.now = snapshot(view())
        await spectop.press("down", "enter")
        assert "this source is gone" in spectop.text
        assert spectop.watch.asked == []


async def test_typing_in_the_dialog_moves_no_lever() -> None:
    async with driving() as spectop:
        before = spectop.pane
        await spectop.press("b", *"kKpP", "escape")
        assert spectop.pane == before

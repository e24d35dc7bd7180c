"""The fleet view by its keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rich.cells import cell_len

from tests.screens.driving import LARGE, SMALL, Driven, driving, lines
from tests.snapshots import FAIL, head, hostile, no_incumbent, snapshot, source, view
from tui.model.comparison import TypedRate
from tui.screens import main
from tui.screens.fleet import FleetScreen
from tui.screens.main import MainScreen

if TYPE_CHECKING:
    import pytest

    from tui.session.snapshot import View

THREE = (head(), view(), no_incumbent())


def chosen(spectop: Driven) -> str:
    return next(row[1:] for row in spectop.text.splitlines() if row.startswith("▸")).split()[0]


def late(name: str) -> View:
    return replace(view(), source=source(name=name))


async def test_more_than_two_sources_start_with_all_of_them_and_the_worst_is_chosen() -> None:
    async with driving(*THREE) as spectop:
        assert isinstance(spectop.app.screen, FleetScreen)
        assert chosen(spectop) == "canary.log"
        assert "2/3 canary.log" in spectop.text
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, FleetScreen)
    async with driving(*THREE[:2]) as spectop:
        assert isinstance(spectop.app.screen, MainScreen)


async def test_sources_found_at_once_start_it_and_later_ones_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving() as spectop:
        spectop.watch.now = snapshot(*THREE)
        spectop.app.take()
        await spectop.pilot.pause()
        assert isinstance(spectop.app.screen, FleetScreen)
    monkeypatch.setattr(main, "START_S", 0.01)
    async with driving() as spectop:
        await spectop.pilot.pause(0.1)
        spectop.watch.now = snapshot(*THREE)
        spectop.app.take()
        await spectop.pilot.pause()
        assert isinstance(spectop.app.screen, MainScreen)


async def test_enter_opens_a_source_and_escape_comes_back_to_it() -> None:
    async with driving(*THREE) as spectop:
        await spectop.press("end", "enter")
        assert isinstance(spectop.app.screen, MainScreen)
        assert "1/3 halogen.log" in spectop.text
        await spectop.press("n", "4", "z", "escape")
        assert isinstance(spectop.app.screen, MainScreen)
        assert "1 acceptance" in spectop.text
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, FleetScreen)
        assert chosen(spectop) == "canary.log"


async def test_s_opens_it_where_there_are_several_and_s_or_escape_leave_it() -> None:
    async with driving(view(), head()) as spectop:
        for key in ("s", "escape"):
            await spectop.press("s")
            assert isinstance(spectop.app.screen, FleetScreen)
            await spectop.press("down", key)
            assert isinstance(spectop.app.screen, MainScreen)
            assert "1/2 canary.log" in spectop.text
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, MainScreen)
    async with driving() as spectop:
        await spectop.press("s")
        assert isinstance(spectop.app.screen, MainScreen)


async def test_the_cursor_stays_on_its_source_when_the_order_changes() -> None:
    async with driving(head(), view()) as spectop:
        await spectop.press("s")
        assert chosen(spectop) == "halogen.log"
        before = next(row for row in spectop.text.splitlines() if "halogen.log " in row)
        spectop.watch.change(lambda v: replace(v, source=replace(v.source, state="failed")))
        spectop.app.take()
        await spectop.pilot.pause()
        rows = spectop.text.splitlines()
        assert chosen(spectop) == "halogen.log"
        assert rows[2].startswith("▸halogen.log")
        assert "FAILED" in rows[2]
        assert before not in rows
        await spectop.press("down")
        assert chosen(spectop) == "canary.log"


async def test_b_sets_the_incumbent_of_all() -> None:
    async with driving(*THREE) as spectop:
        await spectop.press("b")
        assert "by all 3 sources" in spectop.text
        await spectop.press(*"30", "enter")
        await spectop.settled()
        assert spectop.watch.asked == [("choose", TypedRate(30.0), None)]
        assert isinstance(spectop.app.screen, FleetScreen)
        await spectop.press("end", "b", "down", "enter")
        assert spectop.watch.asked[1:] == [("freeze", 0, False)]


async def test_pausing_holds_the_rows_still() -> None:
    async with driving(*THREE) as spectop:
        await spectop.press("space")
        spectop.watch.finish(5)
        spectop.watch.change(lambda v: replace(v, judgement=replace(FAIL, verdict="EVEN")))
        spectop.app.take()
        await spectop.pilot.pause()
        assert "PAUSED +5" in spectop.text
        assert "EVEN" not in spectop.text
        await spectop.press("space")
        assert "EVEN" in spectop.text


async def test_many_sources_scroll_and_every_row_fits() -> None:
    views = [late(f"source-{n:02}.log") for n in range(40)]
    async with driving(*views, hostile()) as spectop:
        for size in (SMALL, LARGE, (60, 16)):
            await spectop.pilot.resize_terminal(*size)
            await spectop.press("home")
            assert chosen(spectop) == "source-00.log"
            await spectop.press("end")
            drawn = lines(spectop.app)
            assert {cell_len(row) for row in drawn} == {size[0]}
            assert not {"\x1b", "\u202e", "\x07"} & set(spectop.text)
            await spectop.press("up")
            assert chosen(spectop) == "source-39.log"
            await spectop.press("pageup", "pageup", "pagedown")
            assert chosen(spectop) == "source-29.log"


async def test_a_click_chooses_and_a_second_one_opens() -> None:
    async with driving(*THREE) as spectop:
        await spectop.pilot.click("FleetTable", offset=(5, 3))
        await spectop.pilot.pause()
        assert chosen(spectop) == "halogen.log"
        await spectop.pilot.click("FleetTable", offset=(5, 3), times=2)
        await spectop.pilot.pause()
        assert isinstance(spectop.app.screen, MainScreen)
        assert "1/3 halogen.log" in spectop.text


async def test_a_chosen_source_that_goes_leaves_the_cursor_on_one_that_is_there() -> None:
    async with driving(*THREE) as spectop:
        await spectop.press("end")
        spectop.watch.now = snapshot(view(), late("other.log"))
        spectop.app.take()
        await spectop.pilot.pause()
        assert chosen(spectop) == "canary.log"
        spectop.watch.now = snapshot()
        spectop.watch.now = replace(spectop.watch.now, views=())
        spectop.app.take()
        await spectop.press("down", "enter", "b", "escape")
        assert "fleet  0 sources" in spectop.text

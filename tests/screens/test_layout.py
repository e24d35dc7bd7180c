from dataclasses import replace

import pytest
from rich.cells import cell_len

from tests.screens.driving import LARGE, SMALL, WIDE, Driven, driving, lines
from tests.snapshots import (
    HOSTILE,
    head,
    hostile,
    no_incumbent,
    nothing_known,
    snapshot,
    source,
    view,
    waiting,
)
from tui.screens.lines import LinesScreen

VIEWS = {
    "unknown": (nothing_known(), waiting(), no_incumbent()),
    "loss": (view(), head()),
    "hostile": (hostile(),),
}
SIZES = [(60, 16), (79, 24), SMALL, (110, 34), LARGE, WIDE]


@pytest.mark.parametrize("name", VIEWS)
async def test_every_row_has_exactly_the_terminals_width(name: str) -> None:
    async with driving(*VIEWS[name]) as spectop:
        for size in SIZES:
            await spectop.pilot.resize_terminal(*size)
            await spectop.pilot.pause()
            drawn = lines(spectop.app)
            assert len(drawn) == size[1]
            assert {cell_len(row) for row in drawn} == {size[0]}
            assert "FAIL" in drawn[0] or name != "loss"


async def test_at_80x24_nothing_essential_is_cut() -> None:
    async with driving() as spectop:
        shown = spectop.text
        for words in (
            "0.61x [0.53, 0.69]",
            "it must commit 3.98, K=4 allows 5",
            "p .60-.62 drafts cut short",
            "ratio 35.5 % not p",
            "commits  2.42",
            "coverage 99.2 %",
            "verify     57.6 derived",
            "t_s/d_s   2.24x needs 10-50",
            "delivered now 18.4 all 18.9  0.64x of 29.4",
            "p* K=7   >= .88",
            "class      plain spec type",
            "q quit",
        ):
            assert words in shown
        assert "…" not in shown


async def test_a_warning_leaves_the_head_room_in_place() -> None:
    async with driving(head()) as spectop:
        assert "note  requests overlapped more" in spectop.text
        assert "p - p*" in spectop.text


@pytest.mark.parametrize("size", [(59, 24), (80, 15), (1, 1)])
async def test_too_small_says_so_and_still_quits(size: tuple[int, int]) -> None:
    async with driving(size=size) as spectop:
        if size[0] > 40 and size[1] > 2:
            assert f"too small: {size[0]} x {size[1]}" in spectop.text
        assert "acceptance" not in spectop.text
        await spectop.press("q")
    assert spectop.app.return_code == 0


async def test_growing_again_brings_the_panels_back() -> None:
    async with driving(size=(40, 10)) as spectop:
        await spectop.pilot.resize_terminal(*SMALL)
        await spectop.pilot.pause()
        assert "1 acceptance" in spectop.text
        assert "too small" not in spectop.text


async def test_two_sources_stand_side_by_side_where_there_is_room() -> None:
    async with driving(view(), head(), size=WIDE) as spectop:
        first = lines(spectop.app)[0]
        assert "FAIL" in first[:100]
        assert "PASS" in first[100:]
        await spectop.press("n", "K")
        assert "typed: K" not in "".join(row[:100] for row in lines(spectop.app))
        assert "typed: K" in "".join(row[100:] for row in lines(spectop.app))


async def test_a_source_that_goes_takes_the_screen_back_to_one_that_is_there() -> None:
    async with driving(view(), head()) as spectop:
        await spectop.press("n")
        spectop.watch.now = snapshot(view())
        spectop.app.take()
        await spectop.pilot.pause()
        assert "canary.log" in spectop.text


async def test_no_source_at_all_is_no_crash() -> None:
    async with driving() as spectop:
        spectop.watch.now = replace(spectop.watch.now, views=())
        spectop.app.take()
        await spectop.pilot.pause()
        await spectop.press("K", "p", "6", "enter", "b", "escape")
        assert "no source yet" in spectop.text


async def walk(spectop: Driven) -> list[str]:
    """The text of every screen there is."""
    seen = [spectop.text]
    for keys in (["1", "z"], ["4"], ["6"], ["enter"], ["escape", "escape", "b"], ["escape", "question_mark"]):
        await spectop.press(*keys)
        seen.append(spectop.text)
    await spectop.press("escape", "ctrl+p")
    await spectop.pilot.pause(0.2)
    seen.append(spectop.text)
    return seen


async def test_ascii_means_ascii_on_every_screen() -> None:
    async with driving(view(), hostile(), ascii_only=True, toasts=True) as spectop:
        spectop.app.alert("canary.log: no line for 31s", "warning")
        await spectop.pilot.pause(0.2)
        for shown in await walk(spectop):
            assert [c for c in shown if not c.isascii()] == []


@pytest.mark.parametrize("size", [SMALL, LARGE])
async def test_hostile_text_neither_crashes_nor_styles_nor_escapes(size: tuple[int, int]) -> None:
    async with driving(hostile(), size=size, toasts=True) as spectop:
        spectop.app.alert(HOSTILE, "warning")
        await spectop.pilot.pause()
        for shown in await walk(spectop):
            assert "[/x]" in shown or "spectop: keys" in shown or "words of a command" in shown
            assert not {"\x1b", "\u202e", "\x07"} & set(shown)


async def test_raw_lines_are_shown_as_they_were_read_but_harmless() -> None:
    async with driving(hostile()) as spectop:
        await spectop.press("6", "enter")
        assert isinstance(spectop.app.screen, LinesScreen)
        assert "\\x1b[31m[/x] [red]evil[/red]" in spectop.text
        assert "\\x00\\x1b]0;title\\x07" in spectop.text


async def test_what_happened_is_told_once_unless_quiet() -> None:
    async with driving(toasts=True) as spectop:
        spectop.watch.change(lambda v: replace(v, source=source(restarts=1)))
        for _ in range(2):
            spectop.app.take()
            await spectop.pilot.pause()
            assert [n.message for n in spectop.app._notifications] == ["canary.log: the server was restarted"]
        spectop.app.quiet = True
        spectop.watch.change(lambda v: replace(v, source=source(restarts=9)))
        spectop.app.take()
        await spectop.pilot.pause()
        assert len(spectop.app._notifications) == 1

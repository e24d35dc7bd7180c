"""Verify costs on the screen: loading them, and what they change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from tests.screens.driving import LARGE, SMALL, WIDE, driving, lines, text
from tests.screens.test_app import alone
from tests.snapshots import DOUBT, priced, view
from tui.model.cost import Profile
from tui.screens.cost import CostScreen
from tui.screens.main import MainScreen
from tui.session.snapshot import VerifyCost

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a bench and what is none."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bench.txt").write_text("1.0, 0.6, 0.5, 0.45")
    (tmp_path / "[red]server.log").write_text("nothing of use")
    return tmp_path


async def test_other_depths_show_numbers_and_whose_they_are() -> None:
    async with driving(priced()) as spectop:
        assert "what if - live, other depths by profile" in spectop.text
        assert spectop.pane["v"] == "2.20 derived"
        assert spectop.pane["p* K=1"] == ".59"
        await spectop.press("k", "k")
        # A draft of two: 2 x 11.7 ms, and 1.3 plain steps of 26.2 ms. The profile is doubted.
        assert spectop.pane["v"] == "1.30 profile?"
        assert spectop.pane["round ms"] == "57.5"
        await spectop.press("5", "down", "down", "down", "down", *"1.5", "enter")
        assert spectop.pane["v"] == "1.50 typed"
        assert spectop.pane["round ms"] == "62.7"


async def test_where_it_pays_to_go_on_stands_in_the_pane() -> None:
    async with driving(priced(), size=LARGE) as spectop:
        assert "go on to  1 yes  2 no  3 no  4 no  5 yes  6 no  7 no" in spectop.text
        assert "4.98 tokens cost 2.20 plain steps here, 1.70 by the profile" in spectop.text
        await spectop.press("5", "z")
        shown = spectop.text
        assert "  K    v  tok/s  needs  reach  go on" in shown
        assert "to beat: 39.7 tok/s, K=1" in shown
        assert DOUBT in shown
        assert "bench.jsonl: passes of 1, 2, 3, 4, 5, 6, 8 tokens, measured" in shown
        await spectop.press("P")
        assert "  1  1.15  38.5    .59   .61   yes" in spectop.text


@pytest.mark.parametrize("zoomed", [False, True])
async def test_every_row_has_the_terminals_width(zoomed: bool) -> None:
    async with driving(priced()) as spectop:
        await spectop.press("m", "m", *(("5", "z") if zoomed else ()))
        for size in [(60, 16), SMALL, (100, 34), LARGE, WIDE]:
            await spectop.pilot.resize_terminal(*size)
            await spectop.pilot.pause()
            assert {cell_len(row) for row in lines(spectop.app)} == {size[0]}


async def test_at_80x24_nothing_is_lost_for_it() -> None:
    async with driving(view()) as before, driving(priced()) as after:
        same = [(a, b) for a, b in zip(lines(before.app), lines(after.app), strict=True) if a != b]
        # The frame says so; only figures of other depths differ.
        assert all(a.split()[0] == b.split()[0] for a, b in same)
        assert "…" not in after.text


async def test_m_goes_round_three_pictures() -> None:
    async with driving(priced(), size=LARGE) as spectop:
        await spectop.press("m", "m")
        assert "n 1" in spectop.text
        assert "1.10┼" in spectop.text
        await spectop.press("m")
        assert "p 0" in spectop.text
    async with driving(size=LARGE) as bare:
        await bare.press("m", "m")
        assert "no profile of verify costs: v loads one" in bare.text


async def test_v_loads_a_file_and_says_what_is_wrong_with_another(folder: Path) -> None:
    async with driving() as spectop:
        await spectop.press("v")
        assert isinstance(spectop.app.screen, CostScreen)
        await spectop.press(*"nope.jsonl", "enter")
        assert "nope.jsonl: No such file or directory" in spectop.text
        await spectop.press("escape", "v", *"[red]server.log", "enter")
        assert "[red]server.log: neither a bench result nor a list of numbers" in spectop.text
        assert spectop.watch.asked == []
        await spectop.press("escape", "v", *"bench.txt", "enter")
        assert isinstance(spectop.app.screen, MainScreen)
        ((asked, profile),) = spectop.watch.asked
        assert asked == "cost"
        assert_named(profile, "bench.txt")


def assert_named(profile: object, name: str) -> None:
    loaded: Profile = profile  # type: ignore[assignment]  # what was asked for
    assert loaded.name == name


async def test_v_offers_the_benches_at_hand_and_takes_a_profile_away(folder: Path) -> None:
    async with driving(priced()) as spectop:
        await spectop.press("v")
        assert "now bench.jsonl: passes of 1, 2, 3" in spectop.text
        await spectop.press("down", "enter")
        await spectop.press("v", "enter")
        first, second = spectop.watch.asked
        assert_named(first[1], "bench.txt")
        assert second == ("cost", None)


async def test_p_for_each_position_is_typed() -> None:
    async with driving(priced(), size=LARGE) as spectop:
        await spectop.press("5", "down", *".9,.8,.1")
        assert ".9,.8,.1_" in spectop.text
        await spectop.press("enter")
        assert "5 what if - typed: p" in spectop.text
        assert spectop.pane["p"].startswith("each .90 .80")
        # Four deep: the last chance stands for the fourth position too.
        assert spectop.pane["commits"].startswith("~2.70")
        await spectop.press("k")
        assert spectop.pane["commits"].startswith("2.69")
        await spectop.press("P")
        assert spectop.pane["p"] == ".61 typed"
        await spectop.press("R")
        assert "what if - live" in spectop.text


async def test_what_a_file_calls_itself_is_never_markup_nor_an_escape() -> None:
    evil = Profile("[red]x\x1b[2J", (1, 2, 3), (1.0, 1.2, 1.4), notes=("[bold]note\x1b]0;own\x07",))
    shown = view(cost=VerifyCost(evil, True, ("[/b]doubt\x1b[1m",)))
    assert shown.what_if is not None
    shown = replace(shown, what_if=replace(shown.what_if, profile=evil.steps))
    async with driving(shown, size=LARGE) as spectop:
        await spectop.press("5", "z")
        assert "[red]x\\x1b[2J" in spectop.text
        assert "[/b]doubt\\x1b[1m" in spectop.text
        await spectop.press("v")
        assert "[bold]note" in spectop.text
        assert "\x1b" not in spectop.text


async def test_a_comma_belongs_to_p_alone() -> None:
    async with driving() as spectop:
        await spectop.press("5", *"1,2", "enter")
        assert spectop.pane["K"] == "12 typed"


async def test_the_pane_alone_loads_costs_too(folder: Path) -> None:
    app = alone()
    async with app.run_test(size=LARGE) as pilot:
        await pilot.press("v", *"bench.txt", "enter")
        await pilot.pause()
        assert "what if, other depths by profile" in text(app)
        assert "go on" in text(app)
        assert "1.80 profile" in text(app)
        await pilot.press("v", "enter")
        await pilot.pause()
        assert "by profile" not in text(app)
        assert "1.20 typed" in text(app)

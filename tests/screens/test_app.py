import asyncio
import os
import signal
from pathlib import Path

import pytest
from textual.filter import Monochrome, NoColor

from tests.screens.driving import driving, pane, text
from tests.snapshots import view
from tests.watches import FakeWatch
from tui.app import SpectopApp
from tui.model.figures import Figure
from tui.model.whatif import WhatIf
from tui.render.glyphs import ASCII, UNICODE


def app() -> SpectopApp:
    return SpectopApp(FakeWatch(view()))


def test_a_terminal_with_many_colours_gets_the_dark_theme() -> None:
    assert app().theme == "dark"


@pytest.mark.parametrize("term", ["xterm", "screen", "linux", "vt220"])
def test_a_terminal_with_sixteen_colours_gets_the_ansi_theme(
    term: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", term)
    monkeypatch.delenv("COLORTERM")
    assert app().theme == "ansi"


def test_a_theme_that_was_asked_for_is_taken_anywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("COLORTERM")
    assert SpectopApp(FakeWatch(view()), theme="light").theme == "light"


def colours(shown: SpectopApp) -> set[str]:
    """Colours as the terminal gets them, the default ones left out."""
    strips = shown.screen._compositor.render_strips()
    used = set()
    for strip in strips:
        filtered = strip.apply_filter(shown._filters[-1], shown.screen.background_colors[1])
        for segment in filtered:
            if segment.style is not None:
                used |= {
                    str(c) for c in (segment.style.color, segment.style.bgcolor) if c and not c.is_default
                }
    return used


async def test_no_color_means_no_colour_and_words_still_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    async with driving() as spectop:
        assert spectop.app.theme == "ansi"
        assert any(isinstance(f, NoColor) for f in spectop.app._filters)
        assert not any(isinstance(f, Monochrome) for f in spectop.app._filters)
        assert colours(spectop.app) == set()
        assert "FAIL" in spectop.text


async def test_an_empty_no_color_counts_as_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "")
    async with driving() as spectop:
        assert spectop.app.theme == "dark"
        assert len(colours(spectop.app)) > 3


@pytest.mark.parametrize(
    ("encoding", "term", "glyphs"),
    [
        ("utf-8", "xterm", UNICODE),
        ("ISO-8859-1", "xterm", ASCII),
        ("ascii", "xterm", ASCII),
        ("utf-8", "linux", ASCII),
    ],
)
def test_glyphs_follow_the_terminal(
    encoding: str, term: str, glyphs: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("TERM", term)
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    with (tmp_path / "terminal").open("w", encoding=encoding) as terminal:
        monkeypatch.setattr("sys.__stderr__", terminal)
        assert app().glyphs is glyphs


@pytest.mark.parametrize(
    ("locale", "glyphs"),
    [
        ({"LC_ALL": "C"}, ASCII),
        ({"LANG": "C"}, ASCII),
        ({"LANG": "POSIX", "LC_CTYPE": "C.UTF-8"}, ASCII),
        ({"LANG": "C", "LC_ALL": "en_US.UTF-8"}, UNICODE),
        ({"LANG": "C", "LC_CTYPE": "de_DE.UTF-8"}, UNICODE),
        ({"LC_CTYPE": "C.UTF-8"}, UNICODE),
        ({}, UNICODE),
    ],
)
def test_a_plain_locale_gets_plain_characters(
    locale: dict[str, str], glyphs: object, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.undo()
    monkeypatch.setenv("TERM", "xterm")
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        monkeypatch.delenv(name, raising=False)
    for name, value in locale.items():
        monkeypatch.setenv(name, value)
    with (tmp_path / "terminal").open("w", encoding="utf-8") as terminal:
        monkeypatch.setattr("sys.__stderr__", terminal)
        assert app().glyphs is glyphs


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_signals_leave_through_the_apps_own_door(number: signal.Signals) -> None:
    async with driving() as spectop:
        os.kill(os.getpid(), number)
        await asyncio.sleep(0.05)
    assert spectop.app.return_code == 128 + number


async def test_the_watch_runs_while_the_screen_stands_and_is_cancelled_after() -> None:
    watch = FakeWatch(view())
    states = []

    async def run() -> None:
        states.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            states.append("ended")

    watch.run = run  # type: ignore[method-assign]  # a spy
    async with SpectopApp(watch).run_test() as pilot:
        await pilot.pause()
        assert states == ["started"]
    assert states == ["started", "ended"]


async def test_the_screen_takes_a_new_snapshot_by_itself() -> None:
    async with driving() as spectop:
        spectop.watch.finish(3)
        async with asyncio.timeout(30):
            while "30 req" not in spectop.text:
                await asyncio.sleep(0.05)


async def test_text_can_be_selected_and_is_marked() -> None:
    def grounds() -> set[str]:
        row = spectop.app.screen._compositor.render_strips()[1]
        return {str(segment.style.bgcolor) for segment in row if segment.style and segment.text.strip()}

    async with driving() as spectop:
        plain = grounds()
        spectop.app.screen.text_select_all()
        await spectop.pilot.pause()
        assert grounds().isdisjoint(plain)
        assert "tok/s" in (spectop.app.screen.get_selected_text() or "")
        spectop.app.screen.clear_selection()
        await spectop.pilot.pause()
        assert grounds() == plain


async def test_nothing_is_repainted_when_nothing_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving() as spectop:
        column = spectop.app.main.columns[0]
        painted: list[object] = []
        for widget in (column.headline, *column.panels):
            monkeypatch.setattr(widget, "refresh", lambda *regions, **_: painted.append(regions))
        spectop.app.take()
        assert painted == []
        spectop.watch.finish(1)
        spectop.app.take()
        assert len(painted) == 1
        (regions,) = painted
        assert [region.y for region in regions] == [2]  # type: ignore[attr-defined]


def alone() -> SpectopApp:
    return SpectopApp(
        None,
        what_if_only=WhatIf(
            drafter_class="plain",
            depth=3,
            acceptance=0.5,
            target_step_ms=Figure(40.0, "typed"),
            draft_step_ms=Figure(3.0, "typed"),
            verify_factor=Figure(1.2, "typed"),
            incumbent_tok_s=24.0,
        ),
    )


async def test_the_what_if_pane_works_without_any_log() -> None:
    shown = alone()
    async with shown.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        assert "5 what if" in text(shown)
        assert "acceptance" not in text(shown).splitlines()[0]
        assert pane(shown)["round ms"] == "57.0"
        assert pane(shown)["commits"] == "1.88 needs 1.37"
        await pilot.press("K")
        assert pane(shown)["round ms"] == "60.0"
        await pilot.press("escape", "z", "6", "b", "slash")
        assert "5 what if" in text(shown)
        await pilot.press("R")
        assert pane(shown)["round ms"] == "57.0"
        await pilot.press("q")
    assert shown.return_code == 0

from dataclasses import replace
from pathlib import Path

import pytest
from textual.binding import Binding

from tests.screens.driving import LARGE, driving
from tests.snapshots import arm, head, request, source, view
from tui.app import SpectopApp
from tui.model.acceptance import Acceptance
from tui.panels.requests import RequestsPanel
from tui.panels.whatif import WhatIfPanel
from tui.screens.fleet import FleetScreen
from tui.screens.help import HelpScreen
from tui.screens.lines import LinesScreen
from tui.screens.main import MainScreen


@pytest.mark.parametrize("key", ["q", "ctrl+c"])
async def test_quit(key: str) -> None:
    async with driving() as spectop:
        await spectop.press(key)
    assert spectop.app.return_code == 0


async def test_help_tells_every_binding_and_goes_away_again() -> None:
    async with driving(size=(80, 80)) as spectop:
        await spectop.press("question_mark")
        assert isinstance(spectop.app.screen, HelpScreen)
        shown = spectop.text
        for place in (MainScreen, SpectopApp, WhatIfPanel, RequestsPanel, FleetScreen):
            for binding in Binding.make_bindings(place.BINDINGS):
                assert binding.id
                assert binding.tooltip
                assert binding.tooltip in shown
        await spectop.press("escape")
        assert isinstance(spectop.app.screen, MainScreen)
        await spectop.press("f1")
        assert isinstance(spectop.app.screen, HelpScreen)


async def test_k_and_p_answer_at_once_wherever_the_focus_is() -> None:
    async with driving() as spectop:
        for focus in ("1", "4"):
            await spectop.press(focus)
            before = spectop.pane
            # No pause after the key: its own handler has answered before the next event is taken.
            await spectop.pilot.press("K")
            assert spectop.pane["K"] != before["K"]
            assert spectop.pane["tok/s"] != before["tok/s"]
            await spectop.pilot.press("k")
            assert spectop.pane["tok/s"] == before["tok/s"]
        await spectop.pilot.press("P")
        assert spectop.pane["p"] == ".61 typed"
        raised = spectop.pane["tok/s"]
        await spectop.pilot.press("p")
        assert spectop.pane["p"] == ".60 typed"
        assert spectop.pane["tok/s"] != raised
        assert not spectop.app.paused


async def test_levers_follow_the_log_until_touched_and_after_r() -> None:
    async with driving() as spectop:
        measured = spectop.pane["tok/s"]
        assert measured.startswith("23.2")
        await spectop.press("K", "P", "c")
        assert "typed: K, p, class" in spectop.text
        assert spectop.pane["tok/s"] != measured
        await spectop.press("R")
        assert spectop.pane["tok/s"] == measured
        assert "5 what if - live" in spectop.text


async def test_before_the_first_request_the_typed_incumbent_stands_in_the_pane() -> None:
    async with driving(replace(view(), canary=None, what_if=None)) as spectop:
        assert spectop.pane["incumbent"].startswith("38.1")


async def test_head_room_is_unknown_while_p_is_until_p_is_set() -> None:
    untold = arm(acceptance=Acceptance.unknown("p not derivable: depth unknown"))
    async with driving(replace(view(), canary=untold)) as spectop:
        assert spectop.pane["p - p*"].startswith("--")
        await spectop.press("p")
        assert not spectop.pane["p - p*"].startswith("--")


async def test_other_inputs_stay_live_while_one_is_moved() -> None:
    async with driving() as spectop:
        await spectop.press("K")
        live = view().what_if
        assert live is not None
        spectop.watch.change(lambda v: replace(v, what_if=replace(live, incumbent_tok_s=51.5)))
        spectop.app.take()
        await spectop.pilot.pause()
        assert spectop.pane["incumbent"].startswith("51.5")
        assert spectop.pane["K"].startswith("5")


async def test_arrows_choose_and_change_and_digits_type() -> None:
    async with driving() as spectop:
        await spectop.press("5", "down", "down", "right")
        assert spectop.pane["t_s"] == "27.0 typed"
        await spectop.press("left", "left")
        assert spectop.pane["t_s"] == "25.0 typed"
        await spectop.press("3", "1", ".", "5", "backspace", "2", "enter")
        assert spectop.pane["t_s"] == "31.2 typed"
        await spectop.press("up", ".", "7", "down")
        assert spectop.pane["p"] == ".70 typed"
        assert spectop.whatif.cursor.lever == "target_step_ms"


async def test_a_value_out_of_range_is_refused_with_words() -> None:
    async with driving() as spectop:
        await spectop.press("5", "9", "9", "enter")
        assert "K runs from 1 to 64" in spectop.text
        assert spectop.pane["K"].startswith("4")
        await spectop.press("K")
        assert "K runs from 1 to 64" not in spectop.text


async def test_digits_go_to_panels_except_in_the_what_if_pane() -> None:
    async with driving(size=LARGE) as spectop:
        for digit in "13":
            await spectop.press(digit)
            assert spectop.app.focused is spectop.app.main.columns[0].panels[int(digit) - 1]
        await spectop.press("5", "6")
        assert spectop.whatif.has_focus
        assert "6_" in spectop.pane["K"]
        await spectop.press("escape")
        assert spectop.whatif.has_focus
        assert spectop.pane["K"] == "4 measured"
        await spectop.press("escape", "6")
        assert spectop.app.focused is spectop.app.main.columns[0].requests


async def test_m_changes_the_picture() -> None:
    async with driving() as spectop:
        assert "p 0" in spectop.text
        await spectop.press("m")
        assert "K 1" in spectop.text
        assert "p 0" not in spectop.text


async def test_tab_goes_round_the_panels() -> None:
    async with driving(size=LARGE) as spectop:
        panels = spectop.app.main.columns[0].panels
        for panel in panels:
            await spectop.press("tab")
            assert spectop.app.focused is panel
        await spectop.press("shift+tab")
        assert spectop.app.focused is panels[4]


async def test_zoom_gives_a_panel_the_screen_and_takes_it_back() -> None:
    async with driving() as spectop:
        await spectop.press("4", "z")
        assert "ratio with its interval" in spectop.text
        assert "1 acceptance" not in spectop.text
        await spectop.press("z")
        assert "1 acceptance" in spectop.text
        await spectop.press("3", "z", "escape")
        assert "1 acceptance" in spectop.text


async def test_pause_freezes_the_screen_and_counts_on() -> None:
    async with driving() as spectop:
        await spectop.press("space")
        assert "PAUSED +0" in spectop.text
        spectop.watch.finish(12)
        spectop.app.take()
        await spectop.pilot.pause()
        assert "PAUSED +12" in spectop.text
        assert "27 req" in spectop.text
        await spectop.press("K")
        assert spectop.pane["K"] == "5 typed"
        await spectop.press("space")
        assert "PAUSED" not in spectop.text
        assert "39 req" in spectop.text


async def test_what_goes_on_to_another_canary_counts_no_requests_back_and_leaves_its_levers() -> None:
    async with driving() as spectop:
        await spectop.press("space", "K")
        other = replace(source(name="other.log"), requests=2)
        spectop.watch.change(lambda shown: replace(shown, source=other))
        spectop.app.take()
        await spectop.pilot.pause()
        assert "PAUSED +0" in spectop.text
        await spectop.press("space")
        assert "other.log" in spectop.text
        assert "5 what if - live" in spectop.text


async def test_requests_have_a_screen_of_their_own_where_room_is_short() -> None:
    async with driving() as spectop:
        assert "6 requests -" not in spectop.text
        await spectop.press("6")
        assert "6 requests - newest first" in spectop.text
        assert "1 acceptance" not in spectop.text
        await spectop.press("escape")
        assert "1 acceptance" in spectop.text
    async with driving(size=LARGE) as spectop:
        assert "6 requests -" in spectop.text
        assert "1 acceptance" in spectop.text


async def test_the_filter_and_the_raw_lines() -> None:
    async with driving() as spectop:
        await spectop.press("slash", "5", "8", "2")
        assert "1 of 27 match" in spectop.text
        await spectop.press("enter", "enter")
        assert isinstance(spectop.app.screen, LinesScreen)
        assert "request 26, task 582" in spectop.text
        assert "eval time = 8000.00 ms" in spectop.text
        await spectop.press("escape", "escape")
        assert "6 requests - newest first" in spectop.text


async def test_the_chosen_request_stays_chosen_when_others_finish() -> None:
    async with driving() as spectop:
        await spectop.press("6", "down", "down")
        row = next(line for line in spectop.text.splitlines() if line.startswith("▸"))
        assert row.split()[1] == "25"
        spectop.watch.change(lambda v: replace(v, requests=(request(28), *v.requests)))
        spectop.app.take()
        await spectop.pilot.pause()
        row = next(line for line in spectop.text.splitlines() if line.startswith("▸"))
        assert row.split()[1] == "25"
        await spectop.press("home")
        row = next(line for line in spectop.text.splitlines() if line.startswith("▸"))
        assert row.split()[1] == "28"


async def test_pages_of_requests_end_at_both_ends() -> None:
    async with driving() as spectop:
        await spectop.press("6", "pagedown", "pagedown", "pagedown")
        assert next(line for line in spectop.text.splitlines() if line.startswith("▸")).split()[1] == "1"
        await spectop.press("pageup", "pageup", "pageup")
        assert next(line for line in spectop.text.splitlines() if line.startswith("▸")).split()[1] == "27"


async def test_n_goes_through_the_sources_and_their_levers_are_their_own() -> None:
    async with driving(view(), head()) as spectop:
        await spectop.press("K", "n")
        assert "2/2 halogen.log" in spectop.text
        assert "5 what if - live" in spectop.text
        await spectop.press("n")
        assert "1/2 canary.log" in spectop.text
        assert "typed: K" in spectop.text
        await spectop.press("N")
        assert "2/2 halogen.log" in spectop.text


async def test_what_is_bound_and_what_makes_no_sense() -> None:
    async with driving() as spectop:
        keys = {key: active.binding.action for key, active in spectop.app.screen.active_bindings.items()}
        assert keys["ctrl+z"] == "suspend_process"
        assert "n" not in keys
        await spectop.press("n")
        assert "canary.log" in spectop.text
        assert not spectop.app.main.check_action("source", (1,))


async def test_r_shows_the_report_of_the_chosen_source() -> None:
    async with driving(view(), head()) as spectop:
        await spectop.press("r")
        assert isinstance(spectop.app.screen, LinesScreen)
        assert "FAIL" in spectop.text
        await spectop.press("escape", "n", "r")
        assert "PASS" in spectop.text


async def test_t_changes_the_theme() -> None:
    async with driving() as spectop:
        seen = {spectop.app.theme}
        for _ in range(4):
            await spectop.press("T")
            seen.add(spectop.app.theme)
        assert seen == {"dark", "light", "colour-blind", "high-contrast", "ansi"}


async def test_e_writes_a_picture_here_and_says_where(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with driving() as spectop:
        await spectop.press("e")
        (picture,) = tmp_path.glob("*.svg")
        assert "acceptance" in picture.read_text(encoding="utf-8")
        assert any(picture.name in note.message for note in spectop.app._notifications)


async def test_e_where_nothing_can_be_written(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving(toasts=True) as spectop:

        def refuse(**_: object) -> str:
            raise PermissionError(13, "Permission denied [/x]")

        monkeypatch.setattr(spectop.app, "save_screenshot", refuse)
        await spectop.press("e")
        assert "Permission denied [/x]" in spectop.text


async def test_the_palette_offers_themes_panels_pause_and_incumbent() -> None:
    async with driving() as spectop:
        titles = {command.title for command in spectop.app.get_system_commands(spectop.app.screen)}
        assert {"Pause", "Incumbent", "Acceptance", "Requests", "Theme: light", "Quit"} <= titles
        await spectop.press("ctrl+p", *"requests")
        await spectop.pilot.pause(0.3)
        await spectop.press("enter")
        await spectop.pilot.pause(0.3)
        assert "6 requests - newest first" in spectop.text


async def test_a_click_focuses_a_panel_and_chooses_a_row() -> None:
    async with driving(size=LARGE) as spectop:
        await spectop.pilot.click(RequestsPanel, offset=(10, 4))
        await spectop.pilot.pause()
        assert spectop.app.focused is spectop.app.main.columns[0].requests
        row = next(line for line in spectop.text.splitlines() if "▸" in line)
        assert "25" in row.split("▸")[1].split()[0]
        await spectop.pilot.click(RequestsPanel, offset=(10, 4), times=2)
        await spectop.pilot.pause()
        assert isinstance(spectop.app.screen, LinesScreen)


async def test_a_click_chooses_an_input() -> None:
    async with driving() as spectop:
        await spectop.pilot.click(WhatIfPanel, offset=(4, 4))
        await spectop.press("right")
        assert spectop.pane["d_s"] == "12.0 typed"

"""Going back and on in a replay."""

from dataclasses import replace

import pytest

from tests.screens.driving import driving
from tests.snapshots import FAIL, view
from tests.watches import SoughtWatch


async def test_brackets_go_back_and_on_in_a_replay_and_say_where_it_is() -> None:
    async with driving(view(), toasts=True, watch=SoughtWatch) as spectop:
        await spectop.press("left_square_bracket")
        assert "at 0:20 of 1:30" in spectop.text
        spectop.watch.change(lambda v: replace(v, source=replace(v.source, restarts=1, requests=99)))
        await spectop.press("right_square_bracket", "right_square_bracket")
        assert [note.message for note in spectop.app._notifications] == ["at 0:40 of 1:30"]
        assert "99 req" in spectop.text


async def test_seeking_shows_the_place_even_while_paused(monkeypatch: pytest.MonkeyPatch) -> None:
    async with driving(view(), toasts=True, watch=SoughtWatch) as spectop:
        rung: list[None] = []
        monkeypatch.setattr(spectop.app, "bell", lambda: rung.append(None))
        await spectop.press("space")
        spectop.watch.change(lambda v: replace(v, judgement=replace(FAIL, verdict="PASS", ratio=1.2)))
        await spectop.press("left_square_bracket")
        assert " PASS " in spectop.text
        assert "PAUSED +0" in spectop.text
        assert rung == []


async def test_brackets_do_nothing_where_nothing_is_replayed() -> None:
    async with driving(toasts=True) as spectop:
        before = spectop.text
        await spectop.press("left_square_bracket", "right_square_bracket")
        assert spectop.text == before
        assert not {"left_square_bracket", "right_square_bracket"} & spectop.app.screen.active_bindings.keys()

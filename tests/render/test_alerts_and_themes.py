from dataclasses import replace

import pytest

from tests.snapshots import FAIL, HOSTILE, snapshot, source, view
from tui.render.alerts import between
from tui.render.themes import SEMANTIC, load_themes


def texts(before: object, after: object) -> list[str]:
    return [alert.text for alert in between(before, after)]  # type: ignore[arg-type]  # snapshots or None


def test_the_first_snapshot_and_an_equal_one_alert_nobody() -> None:
    assert texts(None, snapshot(view())) == []
    assert texts(snapshot(view()), snapshot(view())) == []


def test_a_changed_verdict_is_told_with_its_figures() -> None:
    before = snapshot(view(judgement=replace(FAIL, verdict="NO_DATA", interval=None)))
    assert texts(before, snapshot(view())) == ["canary.log: NO_DATA became FAIL, 0.61x [0.53, 0.69]"]


def test_silence_and_restarts_are_told_once() -> None:
    stale = snapshot(view(source=source(state="stale", last_line_age_s=31.0)))
    assert texts(snapshot(view()), stale) == ["canary.log: no line for 31s"]
    assert texts(stale, stale) == []
    read = snapshot(view(source=source(state="reading")))
    assert texts(read, stale) == []  # an old log that was just read
    restarted = snapshot(view(source=source(restarts=1)))
    assert texts(snapshot(view()), restarted) == ["canary.log: the server was restarted"]


def test_notices_are_told_harmless() -> None:
    after = replace(snapshot(view()), notices=(HOSTILE,))
    (told,) = texts(snapshot(view()), after)
    assert "\x1b" not in told
    assert "[/x]" in told


def test_there_are_five_themes_and_each_colours_every_meaning() -> None:
    themes = {theme.name: theme for theme in load_themes()}
    assert set(themes) == {"dark", "light", "colour-blind", "high-contrast", "ansi"}
    for theme in themes.values():
        assert set(SEMANTIC) <= set(theme.variables)
        assert theme.variables["good"] != theme.variables["bad"]
    assert themes["ansi"].ansi
    assert not themes["light"].dark


@pytest.mark.parametrize("name", ["dark", "light", "colour-blind", "high-contrast"])
def test_text_stands_out_from_its_ground(name: str) -> None:
    theme = next(theme for theme in load_themes() if theme.name == name)
    ground = _luminance(str(theme.background))
    for meaning in ("good", "bad", "warn", "incumbent", "canary", "draft", "muted"):
        high, low = sorted((_luminance(theme.variables[meaning]), ground), reverse=True)
        assert (high + 0.05) / (low + 0.05) >= 4.5, meaning


def _luminance(colour: str) -> float:
    """Relative luminance as the accessibility guidelines (WCAG 2) define it."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue

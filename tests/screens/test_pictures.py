"""The screen as pictures. Made with one release of Textual: another may draw its own parts differently."""

import time
from collections.abc import Callable
from pathlib import Path

import pytest
import textual
from textual.pilot import Pilot

from tests.screens.test_app import alone
from tests.snapshots import fleet, head, hostile, no_incumbent, nothing_known, priced, view
from tests.watches import FINDINGS, CheckedWatch, FakeWatch
from tui.app import SpectopApp
from tui.preflight import known

pytestmark = pytest.mark.skipif(
    textual.__version__ != "8.2.8", reason="the pictures were made with Textual 8.2.8"
)
STATES = {
    "loss": (view(),),
    "no_incumbent": (no_incumbent(),),
    "unknown": (nothing_known(),),
    "head": (head(),),
    "two_sources": (view(), head()),
    "hostile": (hostile(),),
    "priced": (priced(),),
}
Compare = Callable[..., bool]


async def settled(pilot: Pilot[None]) -> None:
    """The footer and the pictures come after the first paint."""
    await pilot.pause(0.3)


@pytest.mark.parametrize("state", STATES)
def test_main(state: str, snap_compare: Compare) -> None:
    assert snap_compare(SpectopApp(FakeWatch(*STATES[state])), terminal_size=(80, 24), run_before=settled)


@pytest.mark.parametrize("state", ["loss", "no_incumbent", "unknown", "priced"])
def test_large(state: str, snap_compare: Compare) -> None:
    assert snap_compare(SpectopApp(FakeWatch(*STATES[state])), terminal_size=(120, 40), run_before=settled)


def test_two_sources_side_by_side(snap_compare: Compare) -> None:
    assert snap_compare(SpectopApp(FakeWatch(view(), head())), terminal_size=(200, 60), run_before=settled)


def test_ascii(snap_compare: Compare) -> None:
    assert snap_compare(SpectopApp(FakeWatch(view()), ascii=True), terminal_size=(80, 24), run_before=settled)


@pytest.mark.parametrize("theme", ["light", "colour-blind", "high-contrast", "ansi"])
def test_themes(theme: str, snap_compare: Compare) -> None:
    assert snap_compare(
        SpectopApp(FakeWatch(view()), theme=theme), terminal_size=(80, 24), run_before=settled
    )


def test_what_if_alone(snap_compare: Compare) -> None:
    assert snap_compare(alone(), terminal_size=(80, 24), run_before=settled)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("levers moved", ["5", "K", "K", "P", "down"]),
        ("rate zoomed", ["4", "z"]),
        ("requests", ["6", "down"]),
        ("help", ["question_mark"]),
        ("incumbent", ["b"]),
        ("costs", ["m", "m", "5", "z"]),
        ("cost dialog", ["v"]),
    ],
)
def test_after_keys(
    name: str, keys: list[str], snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def pressed(pilot: Pilot[None]) -> None:
        await pilot.press(*keys)
        await settled(pilot)

    shown = priced() if "cost" in name else view()
    assert snap_compare(SpectopApp(FakeWatch(shown)), terminal_size=(80, 24), run_before=pressed)


def test_depths(snap_compare: Compare) -> None:
    async def pressed(pilot: Pilot[None]) -> None:
        await pilot.press("5", "z")
        await settled(pilot)

    assert snap_compare(SpectopApp(FakeWatch(priced())), terminal_size=(120, 40), run_before=pressed)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_fleet(size: tuple[int, int], snap_compare: Compare) -> None:
    async def pressed(pilot: Pilot[None]) -> None:
        await pilot.press("down")
        await settled(pilot)

    assert snap_compare(SpectopApp(FakeWatch(*fleet())), terminal_size=size, run_before=pressed)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_preflight(size: tuple[int, int], snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "check", lambda *_: FINDINGS)
    monkeypatch.setattr(time, "time", lambda: 1_750_000_000.0)

    async def pressed(pilot: Pilot[None]) -> None:
        await pilot.press("f")
        await settled(pilot)

    assert snap_compare(SpectopApp(CheckedWatch(view())), terminal_size=size, run_before=pressed)


def test_incumbent_of_one_source(snap_compare: Compare) -> None:
    async def pressed(pilot: Pilot[None]) -> None:
        await pilot.press("n", "b")
        await settled(pilot)

    assert snap_compare(SpectopApp(FakeWatch(view(), head())), terminal_size=(80, 24), run_before=pressed)

"""Running the app in tests, and reading what stands on its screen."""

from __future__ import annotations

import contextlib
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from textual.worker import WorkerCancelled

from tests.snapshots import view
from tests.watches import FakeWatch
from tui.app import SpectopApp

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from textual.pilot import Pilot

    from tui.panels.whatif import WhatIfPanel
    from tui.session.snapshot import View

SMALL, LARGE, WIDE = (80, 24), (120, 40), (200, 60)


def lines(app: SpectopApp) -> list[str]:
    """What the terminal shows, row by row."""
    # The compositor is the only one who knows; its method is the one that exports use.
    strips = app.screen._compositor.render_strips()
    return ["".join(segment.text for segment in strip) for strip in strips]


def text(app: SpectopApp) -> str:
    return "\n".join(lines(app))


def pane(app: SpectopApp) -> dict[str, str]:
    """Label and value of the what-if pane's inputs and answers, as drawn last."""
    drawn = [line.plain for line in app.main.columns[0].whatif._lines]
    inputs = {line[1:10].strip(): line[10:27].strip() for line in drawn[:8]}
    answers = {line[28:37].strip(): line[37:56].strip() for line in drawn[:8]}
    return inputs | answers


class Driven:
    """An app under test with its fake watch and its keyboard."""

    def __init__(self, app: SpectopApp, watch: FakeWatch, pilot: Pilot[None]) -> None:
        self.app, self.watch, self.pilot = app, watch, pilot

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def settled(self) -> None:
        """What is done aside is done."""
        for worker in list(self.app.workers):
            if worker.name != "watch":
                with contextlib.suppress(WorkerCancelled):
                    await worker.wait()
        await self.pilot.pause()

    @property
    def text(self) -> str:
        return text(self.app)

    @property
    def pane(self) -> dict[str, str]:
        return pane(self.app)

    @property
    def whatif(self) -> WhatIfPanel:
        return self.app.main.columns[0].whatif


@asynccontextmanager
async def driving(
    *views: View,
    size: tuple[int, int] = SMALL,
    ascii_only: bool = False,
    theme: str | None = None,
    toasts: bool = False,
    watch: type[FakeWatch] = FakeWatch,
) -> AsyncIterator[Driven]:
    watched = watch(*(views or (view(),)))
    app = SpectopApp(watched, ascii=ascii_only, theme=theme)
    async with app.run_test(size=size, notifications=toasts) as pilot:
        await pilot.pause()
        yield Driven(app, watched, pilot)

"""The pre-flight screen: what can be asked of a source, and what answered."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tui.panels.keyline import KeyLine
from tui.render.preflight import lines, summary
from tui.render.text import clean
from tui.screens.aside import aside

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tui.preflight.findings import Finding
    from tui.render.glyphs import Glyphs


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found of a source.

    Attributes:
        at: when, seconds since the epoch.
        restarts: of its server until then: another server may be another pair.
    """

    findings: tuple[Finding, ...]
    at: float
    restarts: int


class PreflightScreen(Screen[None]):
    """Asks, in a thread, unless it was asked before; keeps what it finds."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("f", "ask", "ask again", id="preflight.ask", tooltip="Ask again"),
        Binding("escape,q", "dismiss", "back", id="preflight.back", tooltip="Back to the panels"),
    ]

    def __init__(
        self,
        name: str,
        ask: Callable[[], tuple[Finding, ...]],
        checked: Checked | None,
        keep: Callable[[tuple[Finding, ...]], Checked],
        glyphs: Glyphs,
    ) -> None:
        """Nothing is asked before it stands.

        Args:
            name: the source's.
            ask: asks everything, which takes seconds.
            checked: what was found before.
            keep: takes what was found.
            glyphs: the characters that may be used.
        """
        super().__init__()
        self._ask, self._checked, self._keep, self._glyphs = ask, checked, keep, glyphs
        self._begun: float | None = None
        self._title = Content(
            clean(f"pre-flight of {name}: can a drafter be attached, and does it fit?", glyphs)
        )

    def compose(self) -> ComposeResult:
        """What is asked of, how far that is, and the findings."""
        yield Static(self._title, classes="page-title", markup=False)
        yield Static("", classes="page-state", markup=False)
        with VerticalScroll(classes="page"):
            yield Static("", classes="page-text", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """Ask, unless it was asked before."""
        self.set_interval(1.0, self._tell)
        if self._checked is None:
            self.action_ask()
        self._show()

    def action_ask(self) -> None:
        """Ask now."""
        if self._begun is None:
            self._begun = time.monotonic()
            self.run_worker(self._find())
            self._tell()

    async def _find(self) -> None:
        self._checked = self._keep(await aside(self._ask))
        self._begun = None
        self._show()

    def on_resize(self) -> None:
        """Lay the words out anew."""
        self._show()

    def _show(self) -> None:
        self._tell()
        if self._checked is not None:
            told = lines(self._checked.findings, self.size.width - 2, self._glyphs)
            self.query_one(".page-text", Static).update(Content("\n").join(told))

    def _tell(self) -> None:
        """How far it is."""
        if self._begun is not None:
            words = (
                f"asking its server, its log and its models' headers: {time.monotonic() - self._begun:.0f} s"
            )
        elif self._checked is not None:
            words = summary(self._checked.findings, time.time() - self._checked.at)
        else:
            words = ""
        self.query_one(".page-state", Static).update(Content(words))

"""All panels of one source, laid out by the room they have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.containers import Container

from tui.panels.panels import AcceptancePanel, CommitPanel, Headline, RatePanel, StepsPanel
from tui.panels.requests import RequestsPanel
from tui.panels.typing_line import typing_line
from tui.panels.whatif import WhatIfPanel

if TYPE_CHECKING:
    from textual import events
    from textual.app import ComposeResult

    from tui.panels.drawn import Panel
    from tui.render.scene import Scene


class SourceColumn(Container):
    """One source: headline and the six panels."""

    def __init__(self, *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self.whatif = WhatIfPanel()
        self.requests = RequestsPanel()
        self.headline = Headline()
        self.panels: tuple[Panel, ...] = (
            AcceptancePanel(),
            CommitPanel(),
            StepsPanel(),
            RatePanel(),
            self.whatif,
            self.requests,
        )
        self.filter = typing_line("words to look for", "filter")
        self._panelled: Scene | None = None

    def compose(self) -> ComposeResult:
        """Headline, numbers, rate, and the levers with the table."""
        yield self.headline
        with Container(classes="numbers group"):
            yield from self.panels[:3]
        yield self.panels[3]
        with Container(classes="levers group"):
            yield self.whatif
            with Container(classes="table"):
                yield self.requests
                yield self.filter

    def show(self, scene: Scene, notes: int) -> None:
        """Hand the scene to the headline, and to every panel when it tells them anything new.

        Args:
            scene: what is shown.
            notes: lines of notes below the headline.
        """
        self.headline.styles.height = 3 + notes
        self.headline.show(scene)
        panelled = scene.without_age()
        if panelled != self._panelled:
            self._panelled = panelled
            for panel in self.panels:
                panel.show(scene)

    def zoom(self, panel: Panel | None) -> None:
        """Give one panel the whole column, or all of them their places back."""
        self.set_class(panel is not None, "-zoom")
        for each in self.panels:
            each.set_class(each is panel, "-zoomed")
        for group in self.query(".group, .table"):
            group.set_class(panel is not None and group in panel.ancestors, "-holds")

    @property
    def zoomed(self) -> Panel | None:
        """The panel that has the whole column."""
        return next((panel for panel in self.panels if panel.has_class("-zoomed")), None)

    def reach(self, panel: Panel) -> None:
        """Focus a panel; one that has no place gets the whole column."""
        if self.zoomed is not None and self.zoomed is not panel:
            self.zoom(None)
        if not self._has_place(panel):
            self.zoom(panel)
        self.screen.set_focus(panel, scroll_visible=False)

    def _has_place(self, panel: Panel) -> bool:
        """Whether the layout shows a panel when none is zoomed."""
        if panel is self.requests:
            return self.has_class("-beside") or self.has_class("-below")
        if panel is self.whatif:
            return not self.has_class("-short")
        return not (isinstance(panel, CommitPanel) and self.has_class("-narrow"))

    def on_resize(self, event: events.Resize) -> None:
        """Choose the layout by the column's own size."""
        width, height = event.size
        roomy = width >= 98 and height >= 33
        self.set_class(roomy, "-roomy")
        self.set_class(roomy and width >= 116, "-beside")
        self.set_class(roomy and width < 116 and height >= 50, "-below")
        self.set_class(width < 78, "-narrow")
        self.set_class(height < 23, "-short")
        self._panelled = None

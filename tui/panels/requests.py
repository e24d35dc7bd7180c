"""The requests panel: newest first, with a cursor that stays on its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.panels.drawn import Panel
from tui.render import requests

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual import events
    from textual.content import Content

    from tui.render.scene import Scene
    from tui.session.snapshot import RequestRow


class RequestsPanel(Panel):
    """The finished requests of a source."""

    number, label = 6, "requests"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "newer", show=False, id="requests.up", tooltip="The request above"),
        Binding("down", "move(1)", "older", show=False, id="requests.down", tooltip="The request below"),
        Binding(
            "pageup",
            "page(-1)",
            "page up",
            show=False,
            id="requests.pageup",
            tooltip="A screen of newer ones",
        ),
        Binding(
            "pagedown",
            "page(1)",
            "page down",
            show=False,
            id="requests.pagedown",
            tooltip="A screen of older ones",
        ),
        Binding(
            "home", "newest", "newest", show=False, id="requests.home", tooltip="Follow the newest request"
        ),
        Binding(
            "enter", "open", "raw lines", id="requests.enter", tooltip="The lines the request was read from"
        ),
    ]

    class Opened(Message):
        """A request's raw lines are wanted."""

        def __init__(self, row: RequestRow) -> None:
            super().__init__()
            self.row = row

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, classes=classes)
        self.wanted = ""
        self._chosen: int | None = None
        self._top = 0

    def title(self, scene: Scene | None) -> str:
        """How many match the filter."""
        if scene is None or scene.view is None:
            return self.label
        rows = scene.view.requests
        if not self.wanted:
            return f"{self.label} - newest first (/ filters)"
        return f"{self.label} - {len(self._rows())} of {len(rows)} match"

    def filter(self, text: str) -> None:
        """Show only requests in which every word occurs."""
        self.wanted = text
        self._chosen = None
        if self.scene is not None:
            self.show(self.scene)

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The window of rows around the cursor."""
        rows = self._rows()
        at, page = self._at(rows), max(1, height - 1)
        self._top = min(max(self._top, at - page + 1), at)
        return requests.draw(
            rows[self._top : self._top + page],
            at - self._top if self.has_focus else None,
            width,
            height,
            scene.glyphs,
            empty="no request matches the filter" if self.wanted else "no finished request yet",
        )

    def action_move(self, by: int) -> None:
        """Move the cursor; on the newest row it follows what comes."""
        rows = self._rows()
        if rows:
            at = min(max(self._at(rows) + by, 0), len(rows) - 1)
            self._chosen = rows[at].number if at else None
            self.redraw()

    def action_page(self, by: int) -> None:
        """Move by the panel's height."""
        self.action_move(by * max(1, self.size.height - 2))

    def action_newest(self) -> None:
        """Back to the newest one."""
        self._chosen = None
        self.redraw()

    def action_open(self) -> None:
        """Ask for the raw lines of the chosen request."""
        rows = self._rows()
        if rows:
            self.post_message(self.Opened(rows[self._at(rows)]))

    def on_click(self, event: events.Click) -> None:
        """A click chooses a row, a second one opens it."""
        offset = event.get_content_offset(self)
        rows = self._rows()
        if offset is None or not 0 < offset.y <= len(rows) - self._top:
            return
        at = self._top + offset.y - 1
        self._chosen = rows[at].number if at else None
        self.redraw()
        if event.chain > 1:
            self.action_open()

    def on_mouse_scroll_down(self) -> None:
        """Older ones."""
        self.action_move(3)

    def on_mouse_scroll_up(self) -> None:
        """Newer ones."""
        self.action_move(-3)

    def on_focus(self) -> None:
        """The cursor comes with the focus."""
        super().on_focus()
        self.redraw()

    def on_blur(self) -> None:
        """The cursor goes with the focus."""
        self.redraw()

    def _rows(self) -> Sequence[RequestRow]:
        if self.scene is None or self.scene.view is None:
            return ()
        return requests.matching(self.scene.view.requests, self.wanted)

    def _at(self, rows: Sequence[RequestRow]) -> int:
        if self._chosen is None:
            return 0
        return next((i for i, row in enumerate(rows) if row.number == self._chosen), 0)

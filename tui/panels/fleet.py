"""The fleet view's lines: the count of verdicts, and a row a source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.message import Message

from tui.panels.drawn import Drawn
from tui.render import fleet

if TYPE_CHECKING:
    from textual import events
    from textual.content import Content


class FleetTitle(Drawn[fleet.Fleet]):
    """How many sources there are, by verdict."""

    def draw(self, scene: fleet.Fleet, width: int, height: int) -> list[Content]:  # noqa: ARG002  # one line
        """The line."""
        return [fleet.title(scene, width)]


class FleetTable(Drawn[fleet.Fleet]):
    """A row a source; scrolls so far that the chosen one is seen."""

    class Clicked(Message):
        """A row was clicked, `chain` times in a row."""

        def __init__(self, row: int, chain: int) -> None:
            super().__init__()
            self.row, self.chain = row, chain

    class Scrolled(Message):
        """The wheel was turned by so many rows."""

        def __init__(self, by: int) -> None:
            super().__init__()
            self.by = by

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, classes=classes)
        self._top = 0

    def draw(self, scene: fleet.Fleet, width: int, height: int) -> list[Content]:
        """The head and the rows around the chosen one."""
        page = max(1, height - 1)
        first = max(0, len(scene.views) - page)
        self._top = min(max(self._top, scene.at - page + 1), scene.at, first)
        return fleet.table(scene, self._top, width, height)

    def on_click(self, event: events.Click) -> None:
        """A click on a row."""
        offset = event.get_content_offset(self)
        if (
            offset is not None
            and self.scene is not None
            and 0 < offset.y <= len(self.scene.views) - self._top
        ):
            self.post_message(self.Clicked(self._top + offset.y - 1, event.chain))

    def on_mouse_scroll_down(self) -> None:
        """Rows below."""
        self.post_message(self.Scrolled(3))

    def on_mouse_scroll_up(self) -> None:
        """Rows above."""
        self.post_message(self.Scrolled(-3))

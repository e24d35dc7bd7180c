"""A screen of plain lines: the raw lines of a request, or any other text."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tui.panels.keyline import KeyLine
from tui.render.text import clean

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.app import ComposeResult

    from tui.render.glyphs import Glyphs

_LONGEST = 4000
"""Characters shown of one line."""


class LinesScreen(Screen[None]):
    """Text as it was read, made harmless."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "dismiss", "back", id="lines.back", tooltip="Back to the panels"),
    ]

    def __init__(self, title: str, lines: Sequence[str], glyphs: Glyphs) -> None:
        """Keep the text.

        Args:
            title: what the lines are.
            lines: outside text.
            glyphs: the characters that may be used.
        """
        super().__init__()
        self._title = Content(clean(title, glyphs))
        self._text = Content("\n".join(clean(line, glyphs, _LONGEST) for line in lines))

    def compose(self) -> ComposeResult:
        """The title and the lines."""
        yield Static(self._title, classes="page-title", markup=False)
        with VerticalScroll(classes="page"):
            yield Static(self._text, classes="page-text", markup=False)
        yield KeyLine()

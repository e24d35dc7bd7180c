"""A line to type into."""

from __future__ import annotations

from textual.widgets import Input


def typing_line(placeholder: str, classes: str | None = None) -> Input:
    """An input whose cursor stands still: a blinking one is sent to the terminal twice a second."""
    line = Input(placeholder=placeholder, classes=classes, compact=True)
    line.cursor_blink = False
    return line

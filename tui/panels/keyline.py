"""The line of keys at the bottom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual.widgets import Footer

if TYPE_CHECKING:
    from textual.screen import Screen


class KeyLine(Footer):
    """Textual's footer, made anew only when it would show something else; each remake lays the screen out."""

    def __init__(self) -> None:
        super().__init__(compact=True, show_command_palette=False)
        self._shown: list[tuple[str, bool]] = []

    def bindings_changed(self, screen: Screen[object]) -> None:
        """Remake it when the shown keys are others than before."""
        active = screen.active_bindings.values()
        shown = [(each.binding.key, each.enabled) for each in active if each.binding.show]
        if shown != self._shown:
            self._shown = shown
            super().bindings_changed(screen)

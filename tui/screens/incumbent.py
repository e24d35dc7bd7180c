"""The dialog that sets what has to be beaten."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Protocol

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.render import numbers
from tui.render.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tui.render.glyphs import Glyphs
    from tui.session.snapshot import View


class Incumbents(Protocol):
    """What the dialog can ask for; each raises ValueError with words for people."""

    def set_incumbent(self, text: str) -> None:
        """Take a typed rate, a log's path or drafter:NAME."""
        ...

    def freeze_incumbent(self, view: int) -> None:
        """The present arm of that view becomes the incumbent."""
        ...

    def offer_incumbent(self, view: int) -> None:
        """The offered earlier arm becomes the incumbent."""
        ...


class IncumbentScreen(ModalScreen[bool]):
    """Type it, or choose one of the arms at hand; ends with whether one was set."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", "cancel", id="incumbent.cancel", tooltip="Leave it as it is"),
        Binding(
            "down", "app.focus_next", "arms", show=False, id="incumbent.down", tooltip="To the arms at hand"
        ),
    ]

    def __init__(self, watch: Incumbents, index: int, view: View | None, glyphs: Glyphs) -> None:
        """Keep what can be chosen from.

        Args:
            watch: who sets it.
            index: the view that the present and the offered arm belong to.
            view: as shown.
            glyphs: the characters that may be used.
        """
        super().__init__()
        self._watch, self._index, self._glyphs = watch, index, glyphs
        self._options: list[Option] = []
        if view is not None and view.canary is not None:
            arm = view.canary
            text = (
                f"freeze the present arm: {clean(arm.label, glyphs)}, {numbers.rate(arm.decode_tok_s)} tok/s"
            )
            self._options.append(Option(Content(text), id="freeze"))
        if view is not None and view.offered is not None:
            self._options.append(
                Option(Content(f"take the earlier arm: {clean(view.offered, glyphs)}"), id="offer")
            )

    def compose(self) -> ComposeResult:
        """A line to type in, and the arms at hand."""
        with Vertical(classes="dialog"):
            yield Static("incumbent: what has to be beaten", classes="page-title", markup=False)
            yield Input(placeholder="25, or 25 delivered", compact=True)
            yield Static(
                "a rate in tok/s (decode; add `delivered` for what clients see), a log's path, "
                "or drafter:NAME for another drafter in the same log",
                classes="hint",
                markup=False,
            )
            yield Static("", classes="error", markup=False)
            if self._options:
                yield OptionList(*self._options, markup=False)
            yield Static("Enter takes it, Tab goes to the arms, Esc leaves", classes="hint", markup=False)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        text = event.value.strip()
        if text:
            self._take(lambda: self._watch.set_incumbent(text))

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        ask = self._watch.freeze_incumbent if event.option.id == "freeze" else self._watch.offer_incumbent
        self._take(lambda: ask(self._index))

    def _take(self, ask: Callable[[], None]) -> None:
        try:
            ask()
        except ValueError as error:
            self.query_one(".error", Static).update(Content(clean(str(error), self._glyphs)))
        else:
            self.dismiss(True)

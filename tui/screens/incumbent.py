"""The dialog that sets what has to be beaten."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.feeds.protocol import FeedError
from tui.panels.typing_line import typing_line
from tui.render import numbers
from tui.render.text import clean
from tui.screens.aside import aside

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from tui.render.glyphs import Glyphs
    from tui.screens.watching import Watching
    from tui.session.snapshot import View


class IncumbentScreen(ModalScreen[bool]):
    """Type it, or choose one of the arms at hand; ends with whether one was set."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", "cancel", id="incumbent.cancel", tooltip="Leave it as it is"),
        Binding(
            "down", "app.focus_next", "arms", show=False, id="incumbent.down", tooltip="To the arms at hand"
        ),
    ]

    def __init__(
        self, watch: Watching, view: View | None, glyphs: Glyphs, *, alone: bool, of: int = 1
    ) -> None:
        """Keep what can be chosen from.

        Args:
            watch: who sets it.
            view: the source that the present and the offered arm belong to, as shown.
            glyphs: the characters that may be used.
            alone: set it for that source only, not for all.
            of: how many sources there are.
        """
        super().__init__()
        self._watch, self._glyphs = watch, glyphs
        self._name = None if view is None else view.source.name
        self._alone = alone and self._name is not None
        self._options: list[Option] = []
        self._title = "incumbent: what has to be beaten"
        if of > 1:
            whose = (
                f"by {clean(self._name or '', glyphs, 40)} alone" if self._alone else f"by all {of} sources"
            )
            self._title = f"{self._title} {whose}"
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
            yield Static(Content(self._title), classes="page-title", markup=False)
            yield typing_line("25, or 25 delivered")
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
            self.run_worker(self._read(text), exclusive=True)

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        try:
            view = self._place()
            if event.option.id == "freeze":
                self._watch.freeze_incumbent(view, alone=self._alone)
            else:
                self._watch.offer_incumbent(view)
        except ValueError as error:
            self._say(str(error))
        else:
            self.dismiss(True)

    async def _read(self, text: str) -> None:
        """Take what was typed; a log that has to be read for it holds nothing up."""
        self._say(f"reading {text} ...", error=False)
        try:
            choice = await aside(partial(self._watch.read_incumbent, text))
        except (ValueError, FeedError) as error:
            self._say(str(error))
        else:
            self._watch.choose(choice, self._name if self._alone else None)
            self.dismiss(True)

    def _place(self) -> int:
        """Where the source stands by now.

        Raises:
            ValueError: it is gone.
        """
        names = [view.source.name for view in self._watch.snapshot().views]
        if self._name not in names:
            raise ValueError("this source is gone")
        return names.index(self._name)

    def _say(self, text: str, *, error: bool = True) -> None:
        line = self.query_one(".error", Static)
        line.set_class(not error, "-reading")
        line.update(Content(clean(text, self._glyphs, 400)))

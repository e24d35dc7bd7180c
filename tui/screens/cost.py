"""The dialog that loads a cost profile."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from tui.panels.typing_line import typing_line
from tui.render.costs import cost_words
from tui.render.text import clean

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult

    from tui.render.glyphs import Glyphs
    from tui.session.snapshot import VerifyCost


class CostScreen(ModalScreen[bool]):
    """Type a file, or choose one at hand; ends with whether anything was set."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss(False)", "cancel", id="cost.cancel", tooltip="Leave it as it is"),
        Binding(
            "down", "app.focus_next", "files", show=False, id="cost.down", tooltip="To the files at hand"
        ),
    ]

    def __init__(
        self, take: Callable[[str], None], now: VerifyCost | None, files: Sequence[str], glyphs: Glyphs
    ) -> None:
        """Keep what can be chosen from.

        Args:
            take: loads the file of that name, or none for an empty name; ValueError says why not.
            now: what is in force.
            files: names at hand that may be benches.
            glyphs: the characters that may be used.
        """
        super().__init__()
        self._take, self._now, self._files, self._glyphs = take, now, files, glyphs

    def compose(self) -> ComposeResult:
        """What is in force, a line to type in, and the files at hand."""
        with Vertical(classes="dialog"):
            yield Static("verify cost: what a pass costs by its size", classes="page-title", markup=False)
            yield typing_line("bench.jsonl")
            yield Static(self._hint(), classes="hint", markup=False)
            yield Static("", classes="error", markup=False)
            if self._files:
                options = (
                    Option(Content(clean(name, self._glyphs)), id=str(i))
                    for i, name in enumerate(self._files)
                )
                yield OptionList(*options, markup=False)
            yield Static("Enter takes it, Tab goes to the files, Esc leaves", classes="hint", markup=False)

    def _hint(self) -> Content:
        text = (
            "what llama-batched-bench -npl 1,2,3,... wrote for this target (a table, or jsonl),"
            " or relative costs per token; nothing typed: none"
        )
        if self._now is not None:
            text += f"\nnow {clean(cost_words(self._now), self._glyphs, 400)}"
        return Content(text)

    @on(Input.Submitted)
    def _typed(self, event: Input.Submitted) -> None:
        self._load(event.value.strip())

    @on(OptionList.OptionSelected)
    def _selected(self, event: OptionList.OptionSelected) -> None:
        self._load(self._files[event.option_index])

    def _load(self, name: str) -> None:
        try:
            self._take(name)
        except ValueError as error:
            self.query_one(".error", Static).update(Content(clean(str(error), self._glyphs, 400)))
        else:
            self.dismiss(True)

"""The help screen, made from the bindings: what is bound is what is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.keys import format_key
from textual.screen import Screen
from textual.widgets import Static

from tui.panels.keyline import KeyLine

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from textual.app import ComposeResult

_KEYS = 18
_WORDS = """\
p is the chance that a draft token is accepted when all before it were; the ratio that servers print falls \
with the depth and is not p. needed commit = incumbent rate x round time: what a round must commit to break \
even. t_s target step, d_s draft step, v = verify pass / t_s, p* break-even acceptance. measured, derived, \
assumed, typed: where a number comes from; -- is unknown; ~ is cut or extended from another depth."""


class HelpScreen(Screen[None]):
    """Every key with what it does."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,question_mark,f1", "dismiss", "back", id="help.back", tooltip="Back to the panels"),
    ]

    def __init__(self, sections: Sequence[tuple[str, Iterable[BindingType]]]) -> None:
        """Keep the bindings.

        Args:
            sections: bindings with the place where they hold.
        """
        super().__init__()
        self._sections = sections

    def compose(self) -> ComposeResult:
        """The keys by place, then the words."""
        yield Static("spectop: keys", classes="page-title", markup=False)
        with VerticalScroll(classes="page"):
            yield Static(self._text(), classes="page-text", markup=False)
        yield KeyLine()

    def _text(self) -> Content:
        parts: list[str | tuple[str, str]] = []
        for title, bindings in self._sections:
            parts.append((f"{title}\n", "$accent bold"))
            for keys, told in _rows(bindings):
                parts += [(f"  {keys:<{_KEYS}}", "bold"), f" {told}\n"]
        parts += [("words\n", "$accent bold"), _WORDS]
        return Content.assemble(*parts)


def key_name(key: str) -> str:
    """A key as it is written on the keyboard."""
    short = format_key(key)
    return short if len(short) == 1 and short.isascii() else key


def _rows(bindings: Iterable[BindingType]) -> list[tuple[str, str]]:
    """Keys and what they do, in the order they are bound; keys of one binding in one row."""
    rows: dict[str, tuple[list[str], str]] = {}
    for binding in Binding.make_bindings(bindings):
        keys, _ = rows.setdefault(binding.id or binding.key, ([], binding.tooltip or binding.description))
        keys.append(key_name(binding.key))
    return [(" ".join(keys), told) for keys, told in rows.values()]

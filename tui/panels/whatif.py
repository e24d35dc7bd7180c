"""The what-if panel: levers that answer at once."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from textual.binding import Binding, BindingType
from textual.message import Message

from tui.panels.drawn import Pictured
from tui.render import plot, whatif
from tui.render.levers import LABELS, NUMBERS, LeverName
from tui.render.whatif import Cursor

if TYPE_CHECKING:
    from textual import events
    from textual.content import Content

    from tui.render.scene import Scene


PictureKind = Literal["p", "K", "cost"]
_SHORT, _LONG = 6, 60
"""Characters that can be typed for a number, and for one p for each position."""


class WhatIfPanel(Pictured):
    """Inputs, answers and a picture; the arrows choose and change, digits type."""

    number, label = 5, "what if"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            "up", "choose(-1)", "previous input", show=False, id="whatif.up", tooltip="Choose the input above"
        ),
        Binding(
            "down", "choose(1)", "next input", show=False, id="whatif.down", tooltip="Choose the input below"
        ),
        Binding(
            "left,minus", "step(-1)", "lower", show=False, id="whatif.left", tooltip="Lower the chosen input"
        ),
        Binding(
            "right,plus", "step(1)", "raise", show=False, id="whatif.right", tooltip="Raise the chosen input"
        ),
        Binding(
            "enter",
            "take",
            "take",
            show=False,
            id="whatif.enter",
            tooltip="Take what was typed; p for each position: .8,.7,.5",
        ),
        Binding(
            "backspace",
            "rub_out",
            "rub out",
            show=False,
            id="whatif.backspace",
            tooltip="Take back a typed digit",
        ),
    ]

    class Stepped(Message):
        """The chosen input goes up or down."""

        def __init__(self, name: LeverName, direction: int) -> None:
            super().__init__()
            self.name, self.direction = name, direction

    class Typed(Message):
        """Digits were typed for an input and are to be taken."""

        def __init__(self, name: LeverName, text: str) -> None:
            super().__init__()
            self.name, self.text = name, text

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, classes=classes)
        self.cursor = Cursor("depth")
        self.pictured: PictureKind = "p"

    def title(self, scene: Scene | None) -> str:
        """Whether it is live, or what was moved."""
        return self.label if scene is None else whatif.title(scene)

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """Inputs, answers, and the picture drawn last."""
        cursor = self.cursor if self.has_focus else replace(self.cursor, lever=None, typing="")
        return whatif.draw(scene, cursor, self.picture, width, height)

    def picture_size(self, width: int, height: int) -> tuple[int, int] | None:
        """Beside the text, or below it."""
        return whatif.picture_size(self.scene, width, height)

    def paint(self, scene: Scene, width: int, height: int) -> list[Content]:
        """Rate over p, rate over K, or verify cost over the tokens of a pass."""
        if self.pictured == "K":
            return plot.rate_over_depth(scene.what, width, height, scene.glyphs)
        if self.pictured == "cost":
            profile = None if scene.cost is None else scene.cost.profile
            measured = whatif.measured_pass(scene)
            return plot.verify_cost(profile, measured, scene.what.depth, width, height, scene.glyphs)
        return plot.rate_over_p(scene.what, whatif.p_in_force(scene), width, height, scene.glyphs)

    def swap_picture(self) -> None:
        """The next picture."""
        kinds = get_args(PictureKind)
        self.pictured = kinds[(kinds.index(self.pictured) + 1) % len(kinds)]
        self.redraw()

    def complain(self, text: str) -> None:
        """Say why a value was not taken; an empty text takes the words back."""
        self._move(replace(self.cursor, complaint=text))

    def action_choose(self, by: int) -> None:
        """Move the cursor; digits typed so far are taken."""
        self.action_take()
        at = NUMBERS.index(self.cursor.lever) if self.cursor.lever in NUMBERS else 0
        self._move(Cursor(NUMBERS[(at + by) % len(NUMBERS)]))

    def action_step(self, direction: int) -> None:
        """Lower or raise the chosen input."""
        if self.cursor.lever is not None:
            self._move(Cursor(self.cursor.lever))
            self.post_message(self.Stepped(self.cursor.lever, direction))

    def action_take(self) -> None:
        """Hand the typed digits to the screen."""
        if self.cursor.typing and self.cursor.lever is not None:
            self.post_message(self.Typed(self.cursor.lever, self.cursor.typing))
            self._move(Cursor(self.cursor.lever))

    def action_rub_out(self) -> None:
        """Take back the last digit."""
        self._move(replace(self.cursor, typing=self.cursor.typing[:-1]))

    def on_key(self, event: events.Key) -> None:
        """Digits and the point type a value, for p the comma too; Esc drops it."""
        by_position = self.cursor.lever == "acceptance"
        if event.character is not None and event.character in (
            "0123456789.," if by_position else "0123456789."
        ):
            event.stop()
            if len(self.cursor.typing) < (_LONG if by_position else _SHORT):
                self._move(replace(self.cursor, typing=self.cursor.typing + event.character, complaint=""))
        elif event.key == "escape" and self.cursor.typing:
            event.stop()
            self._move(Cursor(self.cursor.lever))

    def on_click(self, event: events.Click) -> None:
        """A click on an input chooses it."""
        offset = event.get_content_offset(self)
        if offset is not None and offset.x < whatif.INPUTS:
            name = whatif.lever_at(offset.y)
            if name in LABELS and name in NUMBERS:
                self.action_take()
                self._move(Cursor(name))

    def _move(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.redraw()

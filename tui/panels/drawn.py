"""Widgets that show lines which a pure function makes, and repaint only the lines that changed."""

from __future__ import annotations

from itertools import zip_longest
from typing import TYPE_CHECKING, ClassVar, Generic, TypeVar

from rich.segment import Segment
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widget import Widget

if TYPE_CHECKING:
    from textual import events

    from tui.render.scene import Scene


Shown = TypeVar("Shown")


class Drawn(Widget, Generic[Shown]):
    """Lines of text made from a scene of some kind. It keeps no numbers of its own."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, classes=classes)
        self.scene: Shown | None = None
        self._lines: list[Content] = []

    def show(self, scene: Shown) -> None:
        """Take what is to be shown from now on."""
        self.scene = scene
        self.redraw()

    def draw(self, scene: Shown, width: int, height: int) -> list[Content]:
        """The lines, each of exactly `width` cells."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw again; only lines that differ are sent to the terminal."""
        width, height = self.size
        if self.scene is None or width < 1 or height < 1:
            return
        before, self._lines = self._lines, self.draw(self.scene, width, height)
        if len(before) != len(self._lines):
            self.refresh()
            return
        changed = [
            Region(0, y, width, 1)
            for y, (old, new) in enumerate(zip_longest(before, self._lines))
            if not old.is_same(new)
        ]
        if changed:
            self.refresh(*changed)

    def on_resize(self) -> None:
        """Draw for the new size."""
        self.redraw()

    def render(self) -> Content:
        """The lines as one text."""
        return Content("\n").join(self._lines)

    def render_line(self, y: int) -> Strip:
        """One line by itself; Textual would make all of them anew when one has changed."""
        if y >= len(self._lines) or self.text_selection is not None:
            return super().render_line(y)
        base, x = self.visual_style, 0
        segments = []
        for text, style in self._lines[y].render(base, end=""):
            segments.append(Segment(text, (base + style).rich_style_with_offset(x, y)))
            x += len(text)
        return Strip(segments)


class Panel(Drawn["Scene"], can_focus=True):
    """A titled place that a digit reaches."""

    number: ClassVar[int]
    label: ClassVar[str]

    class Chosen(Message):
        """The panel got the focus: its column is the one that keys act on."""

    def on_mount(self) -> None:
        """Name it."""
        self._retitle(None)

    def title(self, scene: Scene | None) -> str:  # noqa: ARG002  # others say more
        """What stands in the frame after the number, without outside text."""
        return self.label

    def show(self, scene: Scene) -> None:
        """Take what is to be shown from now on; a panel without a place gets its title with its size."""
        super().show(scene)
        if self.size:
            self._retitle(scene)

    def on_resize(self) -> None:
        """Draw for the new size; a new frame needs its title written anew."""
        self._retitle(self.scene)
        super().on_resize()

    def _retitle(self, scene: Scene | None) -> None:
        # A frame with corners leaves a space on both sides of its title, a lone rule does not.
        space = "" if self.styles.border_left[0] else " "
        title = f"{space}{self.number} {self.title(scene)}{space}"
        if title != self.border_title:
            self.border_title = title

    def on_focus(self) -> None:
        """Tell the screen."""
        self.post_message(self.Chosen())


class Pictured(Panel):
    """A panel with a picture, which is drawn after the numbers have reached the screen."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:  # noqa: A002  # Textual's name
        super().__init__(id=id, classes=classes)
        self.picture: list[Content] = []

    def picture_size(self, width: int, height: int) -> tuple[int, int] | None:
        """Cells for the picture in a panel of this size; None for no picture."""
        raise NotImplementedError

    def paint(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The picture's lines."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Numbers at once, the picture when they are out."""
        super().redraw()
        self.call_after_refresh(self._paint)

    def on_blur(self, _event: events.Blur) -> None:
        """The cursor goes with the focus."""
        self.redraw()

    def on_focus(self) -> None:
        """The cursor comes with the focus."""
        super().on_focus()
        self.redraw()

    def _paint(self) -> None:
        size = self.picture_size(*self.size)
        picture: list[Content] = []
        if size is not None and self.scene is not None and self.scene.plots:
            picture = self.paint(self.scene, *size)
        if picture is not self.picture:
            self.picture = picture
            super().redraw()

"""The fleet view: all sources at once, and the chosen one's headline."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.binding import Binding, BindingType
from textual.screen import Screen

from tui.panels.fleet import FleetTable, FleetTitle
from tui.panels.keyline import KeyLine
from tui.panels.panels import Headline
from tui.render.fleet import Fleet

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult

    from tui.render.glyphs import Glyphs
    from tui.render.scene import Scene
    from tui.session.snapshot import Snapshot, View


class FleetScreen(Screen[int]):
    """A row a source; ends with the place of the one to open, or nothing."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "open", "open", id="fleet.open", tooltip="Open the source"),
        Binding(
            "b",
            "app.incumbent",
            "incumbent of all",
            id="fleet.incumbent",
            tooltip="Set what all have to beat",
        ),
        Binding("space", "app.pause", "pause", id="fleet.pause", tooltip="Hold the screen still"),
        Binding("s,escape", "back", "back", id="fleet.back", tooltip="Back to the source"),
        Binding("up", "move(-1)", "up", show=False, id="fleet.up", tooltip="The source above"),
        Binding("down", "move(1)", "down", show=False, id="fleet.down", tooltip="The source below"),
        Binding("pageup", "move(-10)", "page up", show=False, id="fleet.pageup", tooltip="Ten rows up"),
        Binding(
            "pagedown", "move(10)", "page down", show=False, id="fleet.pagedown", tooltip="Ten rows down"
        ),
        Binding("home", "move(-9999)", "first", show=False, id="fleet.home", tooltip="The first row"),
        Binding("end", "move(9999)", "last", show=False, id="fleet.end", tooltip="The last row"),
    ]

    def __init__(self, scene: Callable[[int], Scene], chosen: str, glyphs: Glyphs, *, home: bool) -> None:
        """Nothing is shown before the first `show`.

        Args:
            scene: what the headline of a source is made from, by its place.
            chosen: the name of the source that the cursor is on; empty for whichever comes first.
            glyphs: the characters to draw with.
            home: there is no source to go back to: only opening one leaves.
        """
        super().__init__()
        self._scene, self._glyphs, self._home = scene, glyphs, home
        self._fleet = Fleet((), chosen, glyphs)
        self._title, self._table = FleetTitle(classes="fleet-title"), FleetTable()
        self._headline = Headline(classes="fleet-headline")

    def compose(self) -> ComposeResult:
        """The count, the rows, the chosen source."""
        yield self._title
        yield self._table
        yield self._headline
        yield KeyLine()

    def show(self, snapshot: Snapshot, paused: int | None) -> None:
        """Show a snapshot; see `MainScreen.show`."""
        self._set(Fleet(snapshot.views, self._fleet.chosen, self._glyphs, paused))

    @property
    def view(self) -> View | None:
        """The chosen source, as shown."""
        fleet = self._fleet
        return fleet.views[fleet.order[fleet.at]] if fleet.views else None

    def _set(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._title.show(fleet)
        self._table.show(fleet)
        if fleet.views:
            self._headline.show(replace(self._scene(fleet.order[fleet.at]), paused=None))

    def _choose(self, row: int) -> None:
        fleet = self._fleet
        if fleet.views:
            row = min(max(row, 0), len(fleet.views) - 1)
            self._set(replace(fleet, chosen=fleet.views[fleet.order[row]].source.name))

    def action_move(self, by: int) -> None:
        """Choose another source."""
        self._choose(self._fleet.at + by)

    def action_open(self) -> None:
        """To the chosen source."""
        if self._fleet.views:
            self.dismiss(self._fleet.order[self._fleet.at])

    def action_back(self) -> None:
        """Back to where it was opened."""
        self.dismiss(None)

    @on(FleetTable.Clicked)
    def _clicked(self, message: FleetTable.Clicked) -> None:
        self._choose(message.row)
        if message.chain > 1:
            self.action_open()

    @on(FleetTable.Scrolled)
    def _scrolled(self, message: FleetTable.Scrolled) -> None:
        self.action_move(message.by)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """At home there is no way back, only to a source."""
        if action == "back" and self._home:
            return False
        return super().check_action(action, parameters)

"""The main screen: it holds what is shown and where the levers stand, and hands both to the panels."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, Static

from tui.model.whatif import WhatIf, answer
from tui.panels.column import SourceColumn
from tui.panels.drawn import Panel
from tui.panels.keyline import KeyLine
from tui.panels.requests import RequestsPanel
from tui.panels.whatif import WhatIfPanel
from tui.render import plot
from tui.render.headline import notes
from tui.render.levers import NOTHING_KNOWN, LeverName, Levers, measured_p, parse, stepped
from tui.render.scene import Scene
from tui.screens.fleet import FleetScreen
from tui.screens.keys import KEYS
from tui.screens.lines import LinesScreen
from tui.screens.preflight import Checked, PreflightScreen
from tui.session.inputs import priced
from tui.session.snapshot import VerifyCost

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual import events
    from textual.app import ComposeResult
    from textual.binding import BindingType

    from tui.model.cost import Profile
    from tui.preflight.findings import Finding
    from tui.render.glyphs import Glyphs
    from tui.screens.watching import Checkable
    from tui.session.snapshot import Snapshot, SourceState, View

SMALLEST = (60, 16)
FEW = 2
"""With more sources than that, all of them together are shown first."""
START_S = 3.0
"""Sources that are found later than that do not change what is looked at."""
_TWO_COLUMNS, _TALL = 190, 31
_REPORT = 100
"""Cells that a report is laid out over at most."""
_answer = lru_cache(maxsize=8)(answer)


class MainScreen(Screen[None]):
    """Everything at a glance, one column a source."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = KEYS

    def __init__(self, glyphs: Glyphs, alone: WhatIf | None = None) -> None:
        """Nothing is shown before the first `show`.

        Args:
            glyphs: the characters to draw with.
            alone: inputs of the what-if pane when there is no source at all; `cost` prices them.
        """
        super().__init__()
        self.glyphs = glyphs
        self.alone = alone
        self.cost: Profile | None = None
        self.shown: Snapshot | None = None
        self.paused: int | None = None
        self.current = 0
        self.levers: dict[str, Levers] = {}
        self.fleet: FleetScreen | None = None
        self._checked: dict[str, Checked] = {}
        self._through_fleet = False
        self._starting = True
        self.columns = (SourceColumn(classes="-first"), SourceColumn(classes="-second"))

    def compose(self) -> ComposeResult:
        """Two columns, the second only for two sources on a wide screen."""
        with Container(id="columns"):
            yield from self.columns
        yield Static(id="too-small", markup=False)
        yield KeyLine()

    def on_mount(self) -> None:
        """The pane alone has the whole screen."""
        self.set_timer(START_S, self._started)
        if self.alone is not None:
            self.add_class("-alone")
            self.columns[0].reach(self.columns[0].whatif)
            self.columns[0].zoom(self.columns[0].whatif)

    def show(self, snapshot: Snapshot | None, paused: int | None = None) -> None:
        """Show a snapshot.

        Args:
            snapshot: None for the what-if pane alone.
            paused: finished requests since the screen was paused; None while it is not.
        """
        self.shown, self.paused = snapshot, paused
        self.current = min(self.current, max(0, self._sources - 1))
        if self._starting and self._sources > FEW and self.is_current:
            self._open_fleet("", home=True)
        elif self.fleet is not None and snapshot is not None:
            self.fleet.show(snapshot, paused)
        else:
            self.redraw()

    def _started(self) -> None:
        self._starting = False

    def action_fleet(self) -> None:
        """All sources at once."""
        if self.view is not None:
            self._open_fleet(self.view.source.name, home=False)

    def _open_fleet(self, chosen: str, *, home: bool) -> None:
        """Show all sources; see `FleetScreen`."""
        self._started()
        if self.shown is not None:
            self.fleet = FleetScreen(self.scene, chosen, self.glyphs, home=home)
            self.fleet.show(self.shown, self.paused)
            self.app.push_screen(self.fleet, self._leave_fleet)

    def _leave_fleet(self, place: int | None) -> None:
        self.fleet = None
        self._through_fleet = place is not None
        if place is not None:
            self.current = place
        self.redraw()

    def redraw(self) -> None:
        """Hand every visible column its scene."""
        self.set_class(self._side_by_side, "-two")
        indices = [self._first]
        if self._side_by_side and self._first + 1 < self._sources:
            indices.append(self._first + 1)
        scenes = [self.scene(index) for index in indices]
        tall = self.size.height >= _TALL
        noted = max(len(notes(scene.view, tall=tall)) for scene in scenes)
        noted = noted if tall else min(1, noted)
        for column, scene in zip(self.columns, scenes, strict=False):
            column.show(scene, noted)

    def scene(self, index: int) -> Scene:
        """What the column of one source shows."""
        views = () if self.shown is None else self.shown.views
        view = views[index] if index < len(views) else None
        levers = self._levers(index)
        what = levers.over(self._live(index))
        return Scene(
            view=view,
            levers=levers,
            what=what,
            answer=_answer(what),
            glyphs=self.glyphs,
            number=index + 1,
            of=max(1, len(views)),
            cost=self._cost(index),
            paused=self.paused,
            plots=plot.loaded(),
        )

    @property
    def view(self) -> View | None:
        """The source that keys act on, as shown; None without one."""
        if self.fleet is not None:
            return self.fleet.view
        views = () if self.shown is None else self.shown.views
        return views[self.current] if self.current < len(views) else None

    @property
    def column(self) -> SourceColumn:
        """The column that keys act on."""
        return self.columns[min(self.current - self._first, 1)]

    @property
    def _sources(self) -> int:
        return 0 if self.shown is None else len(self.shown.views)

    @property
    def _side_by_side(self) -> bool:
        return self._sources > 1 and self.size.width >= _TWO_COLUMNS

    @property
    def _first(self) -> int:
        """The source in the left column."""
        return self.current - self.current % 2 if self._side_by_side else self.current

    def _cost(self, index: int) -> VerifyCost | None:
        if self.alone is not None:
            return None if self.cost is None else VerifyCost(self.cost, typed=True)
        views = () if self.shown is None else self.shown.views
        return views[index].cost if index < len(views) else None

    def _source_name(self, index: int) -> str:
        """What levers are kept under: another source has its own, also one in the place of the last."""
        views = () if self.shown is None else self.shown.views
        return views[index].source.name if index < len(views) else ""

    def _levers(self, index: int) -> Levers:
        return self.levers.get(self._source_name(index), Levers())

    def _live(self, index: int) -> WhatIf:
        if self.alone is not None:
            return self.alone if self.cost is None else priced(self.alone, self.cost)
        views = () if self.shown is None else self.shown.views
        if index >= len(views):
            return NOTHING_KNOWN
        view = views[index]
        beaten = None if view.incumbent is None else view.incumbent.decode_tok_s
        return view.what_if or replace(NOTHING_KNOWN, incumbent_tok_s=beaten)

    def _set(self, change: Callable[[Levers, WhatIf], Levers]) -> None:
        """Move levers and answer in this very handler."""
        pane = self.column.whatif
        levers, name = self._levers(self.current), self._source_name(self.current)
        try:
            self.levers[name] = change(levers, levers.over(self._live(self.current)))
        except ValueError as error:
            pane.complain(str(error))
            return
        if pane.cursor.complaint:
            pane.complain("")
        pane.show(self.scene(self.current))

    def action_step(self, name: LeverName, direction: int) -> None:
        """One step of one input."""
        start = measured_p(self.view)
        self._set(lambda levers, what: stepped(what, levers, name, direction, start))

    def action_drafter_class(self) -> None:
        """The next drafter class."""
        self._set(lambda levers, what: levers.next_class(what))

    def action_live(self) -> None:
        """All levers back to what the log says."""
        self._set(lambda _levers, _what: Levers())

    def action_picture(self) -> None:
        """The next picture."""
        self.column.whatif.swap_picture()

    @on(WhatIfPanel.Stepped)
    def _stepped(self, message: WhatIfPanel.Stepped) -> None:
        self.action_step(message.name, message.direction)

    @on(WhatIfPanel.Typed)
    def _typed(self, message: WhatIfPanel.Typed) -> None:
        self._set(lambda levers, _: levers.with_value(message.name, parse(message.name, message.text)))

    @on(Panel.Chosen)
    def _chosen(self, message: Panel.Chosen) -> None:
        if self.columns[1] in (message.control or self).ancestors and self._side_by_side:
            self.current = self._first + 1
        elif self._side_by_side:
            self.current = self._first

    def action_panel(self, number: int) -> None:
        """Focus a panel of the column."""
        self.column.reach(self.column.panels[number - 1])

    def action_zoom(self) -> None:
        """Zoom the focused panel, or back."""
        if self.column.zoomed is not None:
            self.action_back()
        elif isinstance(self.focused, Panel):
            self.column.zoom(self.focused)

    def action_back(self) -> None:
        """Leave the filter, the zoom, the panel, then the source for the fleet that it was chosen from."""
        column = self.column
        if self.focused is column.filter or column.requests.wanted:
            self._end_filter()
        elif column.zoomed is not None and self.alone is None:
            column.zoom(None)
            self.set_focus(None)
        elif self.focused is None and self._through_fleet and self.view is not None:
            self._open_fleet(self.view.source.name, home=True)
        else:
            self.set_focus(None)

    def action_filter(self) -> None:
        """Type words that requests must have."""
        column = self.column
        column.reach(column.requests)
        column.query_one(".table").add_class("-filtering")
        self.set_focus(column.filter)

    def _end_filter(self) -> None:
        column = self.column
        column.filter.value = ""
        column.query_one(".table").remove_class("-filtering")
        column.requests.filter("")
        self.set_focus(column.requests)

    @on(Input.Changed, ".filter")
    def _filtered(self, event: Input.Changed) -> None:
        self.column.requests.filter(event.value)

    @on(Input.Submitted, ".filter")
    def _filter_taken(self) -> None:
        self.set_focus(self.column.requests)

    @on(RequestsPanel.Opened)
    def _opened(self, message: RequestsPanel.Opened) -> None:
        row = message.row
        name = "" if row.request.task is None else f", task {row.request.task}"
        lines = row.request.raw or ("(the lines were not kept)",)
        self.app.push_screen(LinesScreen(f"request {row.number}{name}", lines, self.glyphs))

    def action_report(self) -> None:
        """The report on the column's source."""
        from tui.render.report import report_lines  # 45 ms that the first paint need not wait for

        if self.view is not None:
            checked = self._checked_of(self.view.source)
            findings = None if checked is None else checked.findings
            lines = report_lines(self.view, min(_REPORT, self.size.width - 2), findings)
            self.app.push_screen(LinesScreen("report", lines, self.glyphs))

    def preflight(self, watch: Checkable) -> None:
        """Check the source that keys act on, or show what was found before."""
        if self.view is None:
            return
        source = self.view.source
        url, api_key = watch.address_of(source.name), watch.api_key

        def ask() -> tuple[Finding, ...]:
            from tui.preflight.known import check  # HTTP costs half a second to import

            return check(source, url, api_key)

        def keep(findings: tuple[Finding, ...]) -> Checked:
            self._checked[source.name] = Checked(findings, time.time(), source.restarts)
            return self._checked[source.name]

        checked = self._checked_of(source)
        self.app.push_screen(PreflightScreen(source.name, ask, checked, keep, self.glyphs))

    def _checked_of(self, source: SourceState) -> Checked | None:
        """What was found of a source, as long as its server is the same."""
        checked = self._checked.get(source.name)
        return checked if checked is not None and checked.restarts == source.restarts else None

    def action_source(self, by: int) -> None:
        """The next source, or the one before."""
        if self._sources > 1:
            self.current = (self.current + by) % self._sources
            self.redraw()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """What makes no sense now is neither shown nor done."""
        if action in ("source", "fleet"):
            return self._sources > 1
        if self.alone is not None and action in ("panel", "filter", "zoom", "report"):
            return False
        return super().check_action(action, parameters)

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest size, say so and nothing else."""
        width, height = event.size
        small = width < SMALLEST[0] or height < SMALLEST[1]
        self.set_class(small, "-too-small")
        if small:
            text = f"too small: {width} x {height}\nspectop needs {SMALLEST[0]} x {SMALLEST[1]}; q quits"
            self.query_one("#too-small", Static).update(Content(text))
        self.redraw()

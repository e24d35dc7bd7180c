"""The application: it takes snapshots, holds the shown one still while paused, and wires the keys."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual.app import App, SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.filter import Monochrome, NoColor

from tui.costfile import benches_at_hand, read_typed
from tui.panels.requests import RequestsPanel
from tui.panels.whatif import WhatIfPanel
from tui.render import alerts, plot
from tui.render.glyphs import ASCII, UNICODE, speaks_utf8
from tui.render.text import clean
from tui.render.themes import COLOURLESS, DARK, load_themes
from tui.screens.cost import CostScreen
from tui.screens.fleet import FleetScreen
from tui.screens.help import HelpScreen, key_name
from tui.screens.incumbent import IncumbentScreen
from tui.screens.main import MainScreen
from tui.screens.watching import Checkable, Seekable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from textual.screen import Screen

    from tui.model.cost import Profile
    from tui.model.whatif import WhatIf
    from tui.screens.watching import Watching
    from tui.session.snapshot import Snapshot

PACE_S = 0.5
"""The screen changes at most this often, whatever the log's rate."""
MANY, SLOW_PACE_S = 8, 2.0
"""With more sources than so many it changes more slowly: what is drawn of each adds up."""
GRACE_S = 3.0
"""How long an orderly end may take after a signal."""


class SpectopApp(App[None]):
    """spectop on a terminal."""

    TITLE = "spectop"
    CSS_PATH = "screens/spectop.tcss"
    ENABLE_COMMAND_PALETTE = True
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("question_mark,f1", "help", "help", id="help", tooltip="All keys", key_display="?"),
        Binding("q", "quit", "quit", id="quit", tooltip="Leave"),
        Binding("ctrl+c", "quit", "quit", show=False, priority=True, id="quit.now", tooltip="Leave"),
        Binding(
            "ctrl+z",
            "suspend_process",
            "suspend",
            show=False,
            id="suspend",
            tooltip="To the shell; fg returns",
        ),
        Binding("T", "next_theme", "theme", show=False, id="theme", tooltip="The next theme"),
        Binding(
            "e", "picture_file", "picture", show=False, id="export", tooltip="Write the screen as an SVG file"
        ),
    ]

    def __init__(
        self,
        watch: Watching | None,
        *,
        ascii: bool = False,  # noqa: A002  # the option's name
        theme: str | None = None,
        what_if_only: WhatIf | None = None,
        cost: Profile | None = None,
        quiet: bool = False,
    ) -> None:
        """Nothing is followed before the screen stands.

        Args:
            watch: who follows the sources; None for the what-if pane alone.
            ascii: draw with ASCII only; a terminal that is not UTF-8 gets that anyway.
            theme: a theme's name; None chooses by the terminal.
            what_if_only: inputs of the what-if pane when there is no source.
            cost: what prices these.
            quiet: no toasts and no bell for alerts.
        """
        super().__init__()
        self.animation_level = "none"
        self.watch_sources = watch
        self.quiet = quiet
        self.glyphs = ASCII if ascii or not speaks_utf8() else UNICODE
        self.set_class(self.glyphs.ascii, "-ascii")
        self.live: Snapshot | None = None
        self.shown: Snapshot | None = None
        self.paused = False
        self.main = MainScreen(self.glyphs, what_if_only)
        self.main.cost = cost
        self._set_colour()
        self._set_themes(theme)

    def _set_colour(self) -> None:
        """NO_COLOR: what is set but empty asks for nothing, and greys are colours too."""
        self.no_color = bool(os.environ.get("NO_COLOR"))
        self._filters = [each for each in self._filters if not isinstance(each, (Monochrome, NoColor))]
        if self.no_color:
            self._filters.append(NoColor())

    def _set_themes(self, wanted: str | None) -> None:
        for name in list(self.available_themes):
            self.unregister_theme(name)
        for theme in load_themes():
            self.register_theme(theme)
        few = self.console.color_system in (None, "standard")
        self.theme = wanted or (COLOURLESS if self.no_color or few else DARK)

    def get_default_screen(self) -> Screen[None]:
        """The main screen."""
        return self.main

    def on_mount(self) -> None:
        """Start to follow, and to look."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, self._leave, 128 + number)
        self.app_resume_signal.subscribe(self, lambda _: self.refresh())
        if self.watch_sources is None:
            self.main.show(None)
        else:
            self.run_worker(self.watch_sources.run(), name="watch", exit_on_error=True)
            self._look()
        if not plot.loaded():
            self.call_after_refresh(self._load_plots)

    def _leave(self, code: int) -> None:
        """End in order, so that the terminal is as it was."""
        self.exit(return_code=code)
        if not self.is_headless:
            # A terminal that is gone takes no more output, and Textual would wait for it without end.
            last_resort = threading.Timer(GRACE_S, os._exit, (code,))
            last_resort.daemon = True
            last_resort.start()

    def on_unmount(self) -> None:
        """Hand the signals back."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)

    async def _load_plots(self) -> None:
        await asyncio.to_thread(plot.load)
        self.main.redraw()

    def _look(self) -> None:
        self.take()
        many = self.live is not None and len(self.live.views) > MANY
        self.set_timer(SLOW_PACE_S if many else PACE_S, self._look)

    def take(self) -> None:
        """Look at what is known now; while paused the screen keeps what it shows."""
        if self.watch_sources is None:
            return
        before, self.live = self.live, self.watch_sources.snapshot()
        for alert in alerts.between(before, self.live):
            self.alert(alert.text, alert.severity)
        if not self.paused or self.shown is None:
            self.shown = self.live
        since = max(0, _requests(self.live) - _requests(self.shown))  # a demo goes on to another canary
        self.main.show(self.shown, since if self.paused else None)

    def _retake(self) -> None:
        """Look anew after what the operator changed: what differs from before is no news."""
        self.live = None
        self.take()

    def alert(self, text: str, severity: alerts.Severity) -> None:
        """Tell something that happened, with a toast and the bell."""
        if not self.quiet:
            self.tell(text, severity)
            self.bell()

    def tell(self, text: str, severity: alerts.Severity = "information") -> None:
        """A toast; whatever outside text is in it is harmless."""
        self.notify(clean(text, self.glyphs), severity=severity, markup=False)

    def action_pause(self) -> None:
        """Hold the screen still, or let it go on."""
        self.paused = not self.paused
        self.take()

    def action_incumbent(self) -> None:
        """Ask what has to be beaten: by all sources, or by the one that is shown of several."""
        if self.watch_sources is None:
            return
        views = () if self.shown is None else self.shown.views
        alone = len(views) > 1 and self.main.fleet is None
        dialog = IncumbentScreen(self.watch_sources, self.main.view, self.glyphs, alone=alone, of=len(views))
        self.push_screen(dialog, lambda is_set: self._retake() if is_set else None)

    def action_seek(self, direction: int) -> None:
        """Go on or back in what is replayed, and say where that is."""
        if isinstance(self.watch_sources, Seekable):
            self.watch_sources.seek(direction * self.watch_sources.step_s)
            self.shown = None
            self._retake()
            self.clear_notifications()
            self.tell(f"at {self.watch_sources.place}")

    def action_preflight(self) -> None:
        """Ask whether the drafter of the source can be attached, and is the right one."""
        if isinstance(self.watch_sources, Checkable):
            self.main.preflight(self.watch_sources)
        else:
            self.tell("what is replayed is not checked: the checks would ask this machine of today")

    def action_cost(self) -> None:
        """Ask for a profile of verify costs."""
        now = self.main.scene(self.main.current).cost
        self.push_screen(CostScreen(self.set_cost, now, benches_at_hand(), self.glyphs))

    def set_cost(self, name: str) -> None:
        """Price verify passes with the profile in a file; ValueError tells why not."""
        cost = read_typed(name)
        if self.watch_sources is None:
            self.main.cost = cost
            self.main.redraw()
        else:
            self.watch_sources.set_cost(cost)
            self.take()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a source there is nothing to pause, to beat or to check; only a replay is sought in."""
        if self.main.alone is not None and action in ("pause", "incumbent", "preflight"):
            return False
        if action == "seek":
            return isinstance(self.watch_sources, Seekable)
        return super().check_action(action, parameters)

    def action_help(self) -> None:
        """All keys."""
        sections = (
            ("everywhere", [*MainScreen.BINDINGS, *SpectopApp.BINDINGS]),
            ("in the what-if panel (5)", WhatIfPanel.BINDINGS),
            ("in the requests panel (6)", RequestsPanel.BINDINGS),
            ("among all sources (s)", FleetScreen.BINDINGS),
        )
        self.push_screen(HelpScreen(sections))

    def get_key_display(self, binding: Binding) -> str:
        """Keys by their names on the keyboard, so that footer and help agree and ASCII stays ASCII."""
        return binding.key_display or key_name(binding.key)

    def action_command_palette(self) -> None:
        """All commands."""
        if not isinstance(self.screen, CommandPalette):
            self.push_screen(CommandPalette(placeholder="words of a command"))

    def action_next_theme(self) -> None:
        """The next theme by name."""
        names = sorted(self.available_themes)
        self.theme = names[(names.index(self.theme) + 1) % len(names)]
        self.clear_notifications()
        self.tell(f"theme: {self.theme}")

    def action_picture_file(self) -> None:
        """Write the screen as an SVG into the current folder, without what it says about that."""
        self.clear_notifications()
        try:
            path = self.save_screenshot(path=str(Path.cwd()))
        except OSError as error:
            self.tell(f"no picture: {error}", "error")
        else:
            self.tell(f"picture: {path}")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:  # noqa: ARG002  # Textual's
        """What the palette offers."""
        yield SystemCommand("Pause", "Hold the screen still, or let it go on (space)", self.action_pause)
        yield SystemCommand("Incumbent", "Set what has to be beaten (b)", self.action_incumbent)
        yield SystemCommand("Verify cost", "Load what a pass costs by its size (v)", self.action_cost)
        for panel in self.main.columns[0].panels:
            name, number = panel.label.capitalize(), panel.number
            yield SystemCommand(name, f"Go to panel {number}", partial(self.main.action_panel, number))
        for name in sorted(self.available_themes):
            yield SystemCommand(
                f"Theme: {name}", "Change the colours (T)", partial(setattr, self, "theme", name)
            )
        yield SystemCommand("Help", "All keys (?)", self.action_help)
        yield SystemCommand("Picture", "Write the screen as an SVG file (e)", self.action_picture_file)
        yield SystemCommand("Quit", "Leave (q)", self.action_quit)


def _requests(snapshot: Snapshot) -> int:
    return sum(view.source.requests for view in snapshot.views)

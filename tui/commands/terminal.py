"""Before and after a screen: is there a terminal, and what does the shell get?"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import click

from tui.commands.failures import NoTerminal

if TYPE_CHECKING:
    from tui.model.cost import Profile
    from tui.model.whatif import WhatIf
    from tui.screens.watching import Watching


def require_terminal(instead: str) -> None:
    """Refuse to draw where nothing can be drawn.

    Args:
        instead: the command that prints the same without a terminal.

    Raises:
        NoTerminal: exit code 2.
    """
    if not (sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()):
        raise NoTerminal(f"no terminal to draw on; {instead}")
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise NoTerminal(f"TERM=dumb cannot draw a screen: set TERM (TERM=xterm-256color), or {instead}")


def run_screen(
    watch: Watching | None,
    *,
    theme: str | None,
    ascii_only: bool,
    quiet: bool,
    what_if: WhatIf | None = None,
    cost: Profile | None = None,
) -> None:
    """Run the app until the operator or a signal ends it, and exit with its code."""
    from tui.app import SpectopApp

    app = SpectopApp(watch, theme=theme, ascii=ascii_only, quiet=quiet, what_if_only=what_if, cost=cost)
    app.run()
    sys.exit(app.return_code or 0)


def say(text: str) -> None:
    """Words about the output go to standard error."""
    click.echo(f"spectop: {text}", err=True)

"""`spectop demo`: the whole product without a server."""

from __future__ import annotations

import click

from tui.commands.replay import SPEED
from tui.settings import SCREEN, options


@click.command()
@click.option(
    "--speed",
    type=SPEED,
    default="6",
    show_default=True,
    metavar="N|max",
    help="Times faster than recorded.",
)
@options(SCREEN)
def command(speed: float, theme: str | None, ascii: bool, quiet: bool) -> None:  # noqa: A002
    """Replay two canaries recorded from real servers: one that loses, one that wins.

    At the default speed both have their verdict within a minute; then they start over.
    """
    from tui.commands.failures import failures
    from tui.commands.terminal import require_terminal, run_screen
    from tui.demo import Demo

    with failures():
        require_terminal("run spectop demo in a terminal")
        run_screen(Demo(speed=speed), theme=theme, ascii_only=ascii, quiet=quiet)

"""`spectop replay`: a recording or a log as if live."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import click

from tui.commands.values import Quantity
from tui.settings import JUDGING, SCREEN, options


class Speed(Quantity):
    """How many times faster than recorded: 6, 0.5, 6x; max is infinite."""

    name = "speed"
    units: ClassVar = {"": "1", "x": "1"}
    example = "6, 0.5 or max"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The factor, infinite for max."""
        if str(value).strip().lower() == "max":
            return math.inf
        return super().convert(value, param, ctx)


SPEED = Speed()


@click.command()
@click.argument("file", metavar="FILE")
@click.option(
    "--speed",
    type=SPEED,
    default="1",
    show_default=True,
    metavar="N|max",
    help="Times faster than recorded; max opens at the end.",
)
@options(JUDGING, SCREEN)
def command(file: str, speed: float, **settings: Any) -> None:
    """Show a recording (spectop --record FILE) or a log as if live.

    [ goes back, ] on. Pauses in which nothing was worked on are shortened to 10 s.
    """
    from tui.commands.failures import failures
    from tui.commands.terminal import require_terminal, run_screen
    from tui.replay import Replay, read_timeline
    from tui.settings import policy_of

    with failures():
        require_terminal("spectop events LOG prints a log's events, spectop report LOG its numbers")
        replay = Replay(read_timeline(file), policy_of(settings), basis=settings["basis"], speed=speed)
        if settings["incumbent"]:
            replay.choose(replay.read_incumbent(settings["incumbent"]))
        run_screen(replay, theme=settings["theme"], ascii_only=settings["ascii"], quiet=settings["quiet"])

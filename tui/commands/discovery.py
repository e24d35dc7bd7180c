"""`spectop` without a source: what runs here, to pick from."""

from __future__ import annotations

import os
import shlex
import signal
import sys
from typing import TYPE_CHECKING

import click

from tui.commands.failures import NoTerminal
from tui.formats.events import harmless

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.feeds.discovery import Found

NOTHING = (
    "no llama-server or halogen that this user can see runs here; name what to watch: spectop llama.log, "
    "docker:NAME, journal:UNIT or http://HOST:PORT (or try spectop demo)"
)


def choose_sources() -> tuple[str, ...]:
    """Show the servers that run here and ask which to watch.

    Raises:
        click.UsageError: none runs, or none can be watched.
        NoTerminal: nobody can be asked; the list has been printed.
    """
    from tui.feeds.discovery import discover

    found = discover()
    if not found:
        raise click.UsageError(NOTHING)
    choices = [server for server in found if server.source is not None]
    click.echo("\n".join(_lines(found)))
    if not choices:
        raise click.UsageError("none of them can be watched as they run")
    if not _can_ask():
        raise NoTerminal(f"no terminal to choose on: type spectop {_typed(choices[0].source or '')}")
    try:
        picked = click.prompt("Which to watch? numbers, or Enter for all", default="all", show_default=False)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    return _picked(picked, choices)


def _lines(found: Sequence[Found]) -> list[str]:
    """The list: a number for each that can be watched, with what to type for it and what cannot be read."""
    lines: list[str] = []
    number = 0
    for server in found:
        number += server.source is not None
        lines.append(f"{number if server.source else '-':>3}  {server.what}")
        if server.source is not None:
            lines.append(f"     spectop {_typed(server.source)}")
        lines += [f"     {note}" for note in server.notes]
    return lines


def _typed(source: str) -> str:
    """A source as it is typed in a shell; nobody's command line can draw on the terminal by it."""
    return harmless(shlex.quote(source), 4096)


def _picked(text: str, choices: Sequence[Found]) -> tuple[str, ...]:
    """The sources behind the numbers typed.

    Raises:
        click.UsageError: one is no number of the list.
    """
    words = text.replace(",", " ").split()
    if words == ["all"]:
        words = [str(number + 1) for number in range(len(choices))]
    sources: list[str] = []
    for word in words:
        if not word.isdecimal() or not 1 <= int(word) <= len(choices):
            raise click.UsageError(f"{word} is no number from 1 to {len(choices)}")
        sources.append(choices[int(word) - 1].source or "")
    return tuple(dict.fromkeys(sources))


def _can_ask() -> bool:
    return sys.stdin.isatty() and sys.stdout.isatty() and os.environ.get("TERM", "dumb") not in ("", "dumb")

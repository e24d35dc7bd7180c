"""`spectop SOURCE...`: the live screen."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import click

from tui.settings import JUDGING, SCREEN, WATCHING, options


@click.command()
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@options(JUDGING, WATCHING, SCREEN)
def command(sources: tuple[str, ...], **settings: Any) -> None:
    """Watch logs live: does the drafter pay for itself against the incumbent?

    SOURCE is a path or glob (followed through rotation), - for standard input, docker:NAME, podman:NAME,
    journal:UNIT (journal:user/UNIT for a user's), or a server, http://HOST:PORT. A log and its server are one
    source when given as LOG@http://HOST:PORT, or when the log says that it listens there. A key is taken from
    SPECTOP_API_KEY or --api-key-file. Without a SOURCE, what runs here is offered.
    """
    from tui.commands.discovery import choose_sources
    from tui.commands.failures import failures
    from tui.commands.terminal import require_terminal, run_screen
    from tui.feeds.sources import STDIN, read_api_key
    from tui.feeds.stdin import take_over_stdin
    from tui.pipeline import Watch
    from tui.recorder import Recorder
    from tui.settings import policy_of

    sources = sources or choose_sources()
    with failures(), ExitStack() as stack:
        pipe = take_over_stdin() if STDIN in sources else None
        require_terminal("spectop events SOURCE... prints the events, spectop report SOURCE... the numbers")
        watch = Watch(
            sources,
            policy_of(settings),
            basis=settings["basis"],
            backfill=settings["backfill"],
            stdin=pipe,
            api_key=read_api_key(settings["api_key_file"]),
        )
        if settings["incumbent"]:
            watch.choose(watch.read_incumbent(settings["incumbent"]))
        if settings["record"]:
            watch.recorder = stack.enter_context(Recorder(settings["record"]))
        run_screen(watch, theme=settings["theme"], ascii_only=settings["ascii"], quiet=settings["quiet"])

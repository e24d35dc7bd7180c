"""`spectop events`: what a log says, as JSON Lines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from tui.settings import API_KEY, options

if TYPE_CHECKING:
    from collections.abc import Callable

    from tui.formats.events import Event
    from tui.pipeline import Watch

LOOK_S = 0.5


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option("--follow", "-f", is_flag=True, help="Go on as the sources grow.")
@options(API_KEY)
def command(sources: tuple[str, ...], follow: bool, api_key_file: str | None) -> None:
    """Print the events in logs as JSON Lines, one object a line.

    SOURCE is a path, a glob, - for standard input, docker:NAME, podman:NAME, journal:UNIT, or a server,
    http://HOST:PORT, whose counters are told. Unknown values are null, never 0.
    """
    from tui.commands.failures import failures
    from tui.feeds.sources import read_api_key

    with failures():
        key = read_api_key(api_key_file)
        if follow:
            _follow(sources, key)
        else:
            _print_whole(sources, key)


def _print_whole(sources: tuple[str, ...], key: str | None) -> None:
    import gc
    import sys

    from tui.formats.events import Event, harmless
    from tui.whole import NOT_KNOWN, paths_of, read_whole

    # Events hold no cycles and are let go of one by one: looking for garbage is a tenth of the time.
    gc.disable()
    line = _encoder()
    try:
        for path in (path for source in sources for path in paths_of(source)):
            known = False
            for event in read_whole(path, key):
                known = True
                if isinstance(event, Event):
                    sys.stdout.write(line(event.to_json()) + "\n")
            if not known:
                _say(f"{harmless(path)}: {NOT_KNOWN}")
    finally:
        gc.enable()


def _follow(sources: tuple[str, ...], key: str | None) -> None:
    import asyncio
    import sys

    from tui.pipeline import Watch
    from tui.session.session import Policy

    line = _encoder()

    def show(events: list[Event]) -> None:
        for event in events:
            sys.stdout.write(line(event.to_json()) + "\n")
        sys.stdout.flush()

    watch = Watch(sources, Policy(), backfill=None, api_key=key, on_events=show, on_notice=_say)
    if (number := asyncio.run(_run(watch))) is not None:
        sys.exit(128 + number)
    if any(view.source.state == "failed" for view in watch.snapshot().views):
        sys.exit(1)


async def _run(watch: Watch) -> int | None:
    """Follow until no source can say more, or a signal: an orderly end, so that the sources' clients end too.

    Returns:
        The signal that ended it.
    """
    import asyncio
    import signal

    loop = asyncio.get_running_loop()
    running = asyncio.create_task(watch.run())
    signals: list[int] = []

    def end(number: int) -> None:
        signals.append(number)
        running.cancel()

    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, end, number)
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=LOOK_S)
            states = [view.source.state for view in watch.snapshot().views]
            if states and all(state in ("ended", "failed") for state in states):
                break
        if running.done() and not running.cancelled():
            running.result()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return signals[0] if signals else None


def _encoder() -> Callable[[Any], str]:
    """One encoder for all lines; `json.dumps` would make one for each."""
    import json

    return json.JSONEncoder(ensure_ascii=False).encode


def _say(text: str) -> None:
    click.echo(f"spectop: {text}", err=True)

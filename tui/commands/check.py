"""`spectop check`: judge a canary for a script, by exit code."""

from __future__ import annotations

import asyncio
import signal
import sys
import time
from typing import TYPE_CHECKING, Any, ClassVar

import click

from tui.commands.report import FORMS, choice_of, print_report
from tui.commands.values import Quantity
from tui.settings import API_KEY, JUDGING, options

if TYPE_CHECKING:
    from tui.model.comparison import Verdict
    from tui.pipeline import Watch
    from tui.session.snapshot import Snapshot

EXIT_CODES: dict[Verdict, int] = {"PASS": 0, "FAIL": 10, "EVEN": 11, "INCONCLUSIVE": 12, "NO_DATA": 13}
LOOK_S = 0.5
TELL_S = 5.0
"""At most one line of progress in this time."""


class Duration(Quantity):
    """A time to wait, with its unit: 90s, 30m, 2h."""

    name = "duration"
    units: ClassVar = {"s": "1", "m": "60", "h": "3600"}
    example = "90s, 30m or 2h"


@click.command(
    epilog="""\b
Exit codes: 0 PASS, 10 FAIL, 11 EVEN, 12 INCONCLUSIVE, 13 NO_DATA,
2 wrong usage, 1 anything else, 128 + number for signals.
The worst verdict of several sources decides: FAIL, NO_DATA, INCONCLUSIVE, EVEN, PASS."""
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--for",
    "seconds",
    type=Duration(),
    metavar="TIME",
    help="Follow the sources until there is a verdict, at most so long (90s, 30m, 2h).",
)
@click.option("--quiet", is_flag=True, envvar="SPECTOP_QUIET", help="No progress on standard error.")
@options(FORMS, JUDGING, API_KEY)
def command(
    sources: tuple[str, ...],
    seconds: float | None,
    quiet: bool,
    form: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Judge a canary without a screen: prints the report, and tells the verdict by its exit code.

    Without --for it judges what the sources hold; they are read whole. With --for it follows them as they
    grow, until a verdict other than INCONCLUSIVE and NO_DATA, or until the time is over. SOURCE is a path or
    glob, or - for standard input.
    """
    if settings["incumbent"] is None:
        raise click.UsageError(
            "a gate needs something to beat: --incumbent 25 (tok/s), --incumbent OLD.log, or"
            " --incumbent drafter:NAME"
        )
    from tui.commands.failures import failures
    from tui.feeds.sources import read_api_key
    from tui.pipeline import Watch
    from tui.settings import policy_of
    from tui.whole import read_session

    with failures():
        policy = policy_of(settings)
        key = read_api_key(settings["api_key_file"])
        choice = choice_of(settings, policy, key)
        stopped: signal.Signals | None = None
        if seconds is None:
            session = read_session(sources, policy, key)
            session.choose(choice)
            snapshot = session.snapshot(time.time())
        else:
            progress = Progress(quiet=quiet)
            watch = Watch(
                sources,
                policy,
                basis=settings["basis"],
                backfill=None,
                api_key=key,
                on_notice=progress.say,
            )
            watch.session.choose(choice)
            stopped = asyncio.run(follow(watch, seconds, progress))
            snapshot = watch.snapshot()
        print_report(snapshot, form, as_json=as_json)
    sys.exit(EXIT_CODES[verdict_over(snapshot)] if stopped is None else 128 + stopped)


class Progress:
    """Says on standard error what has changed, now and then."""

    def __init__(self, *, quiet: bool) -> None:
        """Nothing has been said.

        Args:
            quiet: never say anything.
        """
        self._quiet = quiet
        self._said = ""
        self._at: float | None = None

    def say(self, text: str) -> None:
        """A line at once."""
        if not self._quiet:
            click.echo(f"spectop: {text}", err=True)

    def tell(self, text: str, now: float) -> None:
        """A line unless it was said last, or another was only just.

        Args:
            text: the state of things.
            now: seconds of a clock that only goes forward.
        """
        if text == self._said or (self._at is not None and now - self._at < TELL_S):
            return
        self._said, self._at = text, now
        self.say(text)


async def follow(watch: Watch, seconds: float, progress: Progress) -> signal.Signals | None:
    """Follow until a verdict, the end of all sources, the end of the time, or a signal.

    Returns:
        SIGINT or SIGTERM when that ended it.

    Raises:
        FeedError: a source cannot be read at all.
    """
    loop = asyncio.get_running_loop()
    stop: asyncio.Future[signal.Signals] = loop.create_future()

    def end(number: signal.Signals) -> None:
        if not stop.done():
            stop.set_result(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, end, number)
    running = asyncio.create_task(watch.run())
    until = loop.time() + seconds
    try:
        while (left := until - loop.time()) > 0:
            awaited: set[asyncio.Future[Any]] = {running, stop}
            await asyncio.wait(awaited, timeout=min(LOOK_S, left), return_when=asyncio.FIRST_COMPLETED)
            if stop.done():
                return stop.result()
            if running.done():
                _raise_first(running)
            snapshot = watch.snapshot()
            if _is_over(snapshot):
                break
            progress.tell(_state(snapshot), loop.time())
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    return None


def _raise_first(task: asyncio.Task[None]) -> None:
    """What ended the task: the first of the errors that a task group collects."""
    error = task.exception()
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None:
        raise error


def verdict_over(snapshot: Snapshot) -> Verdict:
    """The worst verdict of all sources."""
    from tui.render.report_facts import verdict_of, worst

    return worst(verdict_of(view)[0] for view in snapshot.views)


def _is_over(snapshot: Snapshot) -> bool:
    """Whether there is a verdict, or nothing more can come."""
    from tui.model.unknowns import OPEN

    states = [view.source.state for view in snapshot.views]
    if not states or "reading" in states:
        return False
    return verdict_over(snapshot) not in OPEN or all(state in ("ended", "failed") for state in states)


def _state(snapshot: Snapshot) -> str:
    """A line of progress: each source's verdict so far, and why."""
    from tui.formats.events import harmless
    from tui.render import numbers
    from tui.render.report_facts import verdict_of

    parts = []
    for view in snapshot.views:
        verdict, reason = verdict_of(view)
        ratio = f" {numbers.ratio(view.ratio)}" if view.ratio is not None else ""
        parts.append(f"{harmless(view.source.name)}: {verdict}{ratio}, {harmless(reason)}")
    return "; ".join(parts)

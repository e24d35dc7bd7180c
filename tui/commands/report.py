"""`spectop report`: judge a canary from whole logs, in words or as an object."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from tui.settings import JUDGING, options

if TYPE_CHECKING:
    from tui.session.incumbent import Choice
    from tui.session.session import Policy
    from tui.session.snapshot import Snapshot

FORMS = (
    click.option(
        "--format",
        "form",
        type=click.Choice(["text", "markdown", "json"]),
        default="text",
        show_default=True,
        help="Plain text of 80 columns, Markdown for an issue, or one JSON object.",
    ),
    click.option("--json", "as_json", is_flag=True, help="The same as --format json."),
)
"""Options of every command that prints a report."""


@click.command()
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@options(FORMS, JUDGING)
def command(sources: tuple[str, ...], form: str, as_json: bool, **settings: Any) -> None:
    """Judge a canary from its logs: verdict, break-even, acceptance, and what to measure next.

    SOURCE is a path or glob, or - for standard input; it is read whole.

    The JSON object of one source has its fields at the top level; of several, an array "sources" with an
    object each, and the worst verdict above them. Unknown is null; "from" tells where a field comes from,
    "notes" why one is null. Its schema is report.schema.json in the package tui.render.
    """
    from tui.commands.failures import failures
    from tui.pipeline import read_session
    from tui.settings import policy_of

    with failures():
        policy = policy_of(settings)
        choice = choice_of(settings, policy)
        session = read_session(sources, policy)
        session.choose(choice)
        print_report(session.snapshot(time.time()), form, as_json=as_json)


def choice_of(settings: dict[str, Any], policy: Policy) -> Choice | None:
    """The incumbent that the options name, its log read whole; None without one.

    Raises:
        click.BadParameter: the words make no sense.
        FeedError, ValueError: its log cannot be read, or holds nothing.
    """
    from tui.pipeline import read_incumbent
    from tui.session.incumbent import parse_incumbent

    text = settings["incumbent"]
    if text is None:
        return None
    try:
        parse_incumbent(text, settings["basis"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--incumbent") from None
    return read_incumbent(text, settings["basis"], policy)


def print_report(snapshot: Snapshot, form: str, *, as_json: bool) -> None:
    """Write the report on all sources to standard output."""
    from tui.render.report import report_markdown, report_text
    from tui.render.report_object import report_json

    if as_json or form == "json":
        click.echo(report_json(snapshot))
    else:
        click.echo(report_markdown(snapshot) if form == "markdown" else report_text(snapshot))

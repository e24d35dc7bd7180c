"""`spectop report`: judge a canary from whole logs, in words or as an object."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click

from tui.settings import API_KEY, JUDGING, options

if TYPE_CHECKING:
    from tui.preflight.findings import Finding
    from tui.render.report import Checked
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
@click.option(
    "--preflight",
    is_flag=True,
    help="Fill part (d): ask the log's start-up lines, the headers of its models where they are files here,"
    " and the server where SOURCE is one (pages only, no request). spectop preflight asks more.",
)
@options(FORMS, JUDGING, API_KEY)
def command(sources: tuple[str, ...], preflight: bool, form: str, as_json: bool, **settings: Any) -> None:
    """Judge a canary from its logs: verdict, break-even, acceptance, and what to measure next.

    SOURCE is a path or glob, or - for standard input; it is read whole.

    The JSON object of one source has its fields at the top level; of several, an array "sources" with an
    object each, and the worst verdict above them. Unknown is null; "from" tells where a field comes from,
    "notes" why one is null. Its schema is report.schema.json in the package tui.render.
    """
    from tui.commands.failures import failures
    from tui.feeds.sources import read_api_key
    from tui.settings import policy_of
    from tui.whole import read_session

    with failures():
        policy = policy_of(settings)
        key = read_api_key(settings["api_key_file"])
        choice = choice_of(settings, policy, key)
        session = read_session(sources, policy, key)
        session.choose(choice)
        snapshot = session.snapshot(time.time())
        print_report(snapshot, form, as_json=as_json, checked=_checked(snapshot, key) if preflight else None)


def _checked(snapshot: Snapshot, key: str | None) -> dict[str, tuple[Finding, ...]]:
    from tui.feeds.sources import is_url
    from tui.preflight.known import check

    sources = [view.source for view in snapshot.views]
    return {each.name: check(each, each.name if is_url(each.name) else None, key) for each in sources}


def choice_of(settings: dict[str, Any], policy: Policy, key: str | None) -> Choice | None:
    """The incumbent that the options name, its log read whole; None without one.

    Raises:
        click.BadParameter: the words make no sense.
        FeedError, ValueError: its log cannot be read, or holds nothing.
    """
    from tui.session.incumbent import parse_incumbent
    from tui.whole import read_incumbent

    text = settings["incumbent"]
    if text is None:
        return None
    try:
        parse_incumbent(text, settings["basis"])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--incumbent") from None
    return read_incumbent(text, settings["basis"], policy, key)


def print_report(snapshot: Snapshot, form: str, *, as_json: bool, checked: Checked | None = None) -> None:
    """Write the report on all sources, with what was checked of them, to standard output."""
    from tui.render.report import report_markdown, report_text
    from tui.render.report_object import report_json

    if as_json or form == "json":
        click.echo(report_json(snapshot, checked))
    else:
        write = report_markdown if form == "markdown" else report_text
        click.echo(write(snapshot, checked))

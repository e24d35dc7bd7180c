"""`spectop preflight`: whether a drafter can be attached to a target, and is the right one."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tui.feeds.sources import read_api_key
from tui.preflight.footprint import CACHE_TYPES
from tui.settings import API_KEY, options

if TYPE_CHECKING:
    from tui.preflight.findings import Finding

SCHEMA_VERSION = 1


@click.command()
@click.argument("url", required=False)
@click.option("--target", metavar="FILE", help="The target's GGUF, a path or URL (only its header is read).")
@click.option("--draft", metavar="FILE", help="The drafter's GGUF, a path or URL.")
@click.option("--log", type=click.Path(path_type=Path), help="The target's llama-server log.")
@click.option("--spec-type", metavar="TYPE[,TYPE]", help="How the drafter would be attached (draft-mtp).")
@click.option("--llama-server", metavar="PATH", help="Ask this binary what its build offers.")
@click.option("--probe", metavar="NAME", help="Send halogen one short request that names this drafter.")
@click.option("--context", type=click.IntRange(1), help="Tokens over all slots; else the log's.")
@click.option("--cache-type", type=click.Choice(CACHE_TYPES), default="f16", help="The target's cache.")
@click.option(
    "--draft-cache-type", type=click.Choice(CACHE_TYPES), default="f16", help="The drafter's cache."
)
@click.option("--slots", type=click.IntRange(1, 1024), help="Requests at once (--parallel); else by itself.")
@options(API_KEY)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    url: str | None,
    target: str | None,
    draft: str | None,
    log: Path | None,
    spec_type: str | None,
    llama_server: str | None,
    probe: str | None,
    context: int | None,
    cache_type: str,
    draft_cache_type: str,
    slots: int | None,
    api_key_file: str | None,
    as_json: bool,
) -> None:
    """Ask everything that must be known before a drafter is attached.

    URL is the running target (llama.cpp or halogen). Give what there is: each thing given answers its part.
    """
    from tui.commands.failures import failures
    from tui.preflight.footprint import Setup
    from tui.preflight.run import READABLE, Ask, run

    if not (url or target or draft or log or llama_server or spec_type):
        raise click.UsageError("nothing to ask: give URL, --target, --draft, --log or --llama-server")
    if probe is not None and url is None:
        raise click.UsageError("--probe needs the URL of a running server")
    setup = Setup(
        context=context,
        cache_type=cache_type,
        draft_cache_type=draft_cache_type,
        slots=slots,
        unified=slots is None,
    )
    ask = Ask(
        url=url,
        api_key=read_api_key(api_key_file),
        target=target,
        draft=draft,
        log=log,
        setup=setup,
        spec_types=tuple(name for name in (spec_type or "").split(",") if name),
        llama_server=llama_server,
        probe=probe,
    )
    with failures():
        findings = run(ask, lambda words: click.echo(f"spectop: {words}", err=True))
    if as_json:
        rows = [asdict(finding) for finding in findings]
        click.echo(json.dumps({"schema_version": SCHEMA_VERSION, "findings": rows}, indent=2))
    else:
        click.echo("\n".join(_text(finding) for finding in findings))
    if any(finding.question == READABLE for finding in findings):
        sys.exit(1)


def _text(finding: Finding) -> str:
    mark = {True: "ok  ", False: "NO  ", None: "    "}[finding.ok]
    lines = [f"{mark}{finding.question}", f"      {finding.answer}"]
    lines.append(f"      {finding.sure}, by {finding.asked}")
    if finding.advice:
        lines.append(f"      -> {finding.advice}")
    return "".join(f"{line}\n" for line in lines)

"""`spectop agree`: how often two running servers agree on the next token."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tui.feeds.sources import read_api_key
from tui.settings import API_KEY, options

if TYPE_CHECKING:
    from tui.preflight.agree import Agreement

SCHEMA_VERSION = 1


@click.command()
@click.argument("target_url")
@click.argument("draft_url")
@click.option("--prompts", type=click.Path(exists=True, dir_okay=False, path_type=Path), help="One a line.")
@click.option("--tokens", type=click.IntRange(1, 4096), default=64, show_default=True, help="Each prompt's.")
@options(API_KEY)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def command(
    target_url: str,
    draft_url: str,
    prompts: Path | None,
    tokens: int,
    api_key_file: str | None,
    as_json: bool,
) -> None:
    """Measure the cheapest stand-in for p: greedy continuations, compared token by token.

    Both are llama.cpp servers with the same tokenizer. The target continues each prompt once; the drafter is
    asked again behind every disagreement, so a bad one costs up to as many short requests as there are
    tokens. Ctrl+c ends it and leaves what was measured.
    """
    from tui.commands.failures import failures
    from tui.preflight.agree import PROMPTS, AgreeError, Agreement, agree

    chosen = PROMPTS if prompts is None else _prompts(prompts)
    with failures():
        key = read_api_key(api_key_file)
    done = Agreement(0, len(chosen), 0, 0)
    interrupted, trouble = False, ""
    with click.progressbar(length=len(chosen) * tokens, label="agree", file=sys.stderr) as bar:
        try:
            for done in agree(target_url, draft_url, chosen, tokens, key):
                bar.update(max(done.tokens, done.prompts * tokens) - bar.pos)
        except AgreeError as error:
            trouble = str(error)
        except KeyboardInterrupt:
            interrupted = True
    if as_json:
        click.echo(json.dumps(_object(done, interrupted), indent=2))
    else:
        click.echo(_text(done, interrupted))
    if trouble:
        raise click.ClickException(trouble)
    if interrupted:
        sys.exit(128 + signal.SIGINT)


def _prompts(path: Path) -> tuple[str, ...]:
    lines = path.read_text("utf-8", "replace").splitlines()
    found = tuple(line for line in lines if line.strip())
    if not found:
        raise click.UsageError(f"{path} holds no prompt: one a line")
    return found


def _object(done: Agreement, interrupted: bool) -> dict[str, Any]:
    return {
        "schema_version": SCHEMA_VERSION,
        "agreement": done.share,
        "interval": done.interval,
        "tokens": done.tokens,
        "agreed": done.agreed,
        "prompts": done.prompts,
        "prompts_planned": done.planned,
        "interrupted": interrupted,
        "from": {"agreement": "measured"},
    }


def _text(done: Agreement, interrupted: bool) -> str:
    share, interval = done.share, done.interval
    if share is None or interval is None:
        return "agreement  --  nothing was measured"
    cut = f", interrupted after {done.prompts} of {done.planned} prompts" if interrupted else ""
    low, high = interval
    return (
        f"agreement  {share:.3f}  [{low:.3f}, {high:.3f}]  {done.agreed} of {done.tokens} tokens{cut}\n"
        "a stand-in for p: greedy on both sides, and tokens of one prompt depend on each other"
    )

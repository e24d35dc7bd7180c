"""The command line. Commands are imported only when they run, so that --help and --version stay instant."""

from __future__ import annotations

import errno
import importlib
import os
import signal
import sys
from typing import Any, NoReturn

import click
from click_default_group import DefaultGroup

from tui import __version__

COMMANDS = {
    "watch": "Watch logs live: spectop FILE is spectop watch FILE.",
    "demo": "Replay two recorded canaries: one that loses, one that wins.",
    "events": "Print the events in logs as JSON Lines.",
    "whatif": "What another depth or acceptance would do.",
    "report": "Judge a canary from its logs.",
    "check": "Judge a canary for a script, by exit code.",
    "replay": "Show a recording or a log as if live.",
    "cost": "What a verify pass costs by its size, from a batch bench.",
    "tokenizer": "Whether the tokenizers of two models are the same.",
    "preflight": "Whether a drafter can be attached to a target at all.",
    "agree": "How often two running servers agree, token by token.",
    "config": "Print the settings and where each came from.",
}


class LazyGroup(DefaultGroup):
    """A group that knows its commands by name, and `watch` for everything that is none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        """Names in the order of `COMMANDS`."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Import the command's module; what is no command is a source, for the default command."""
        if cmd_name not in COMMANDS:
            ctx.arg0 = cmd_name  # type: ignore[attr-defined]  # how DefaultGroup hands it over
            cmd_name = self.default_cmd_name or "watch"
        command: click.Command = importlib.import_module(f"tui.commands.{cmd_name}").command
        command.name = cmd_name
        return command

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command; that the reader of its output has gone (spectop events | head) is no fault."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            _give_up_output(0)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        """List the commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


EPILOG = """\b
Sources: a path or glob, - for standard input, docker:NAME, podman:NAME,
journal:[user/]UNIT, http://HOST:PORT, or a log with its server: LOG@http://HOST:PORT.
Exit codes: 0 done (check: PASS), 1 failed, 2 wrong usage or no terminal,
10 FAIL, 11 EVEN, 12 INCONCLUSIVE, 13 NO_DATA, 128 + number for signals."""


@click.group(
    cls=LazyGroup,
    default="watch",
    default_if_no_args=True,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="spectop")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Top for speculative decoding: does the drafter pay for itself against what ran before it?"""
    from tui.settings import config_path, known_settings, load_config

    values = load_config(config_path(), known_settings())
    ctx.default_map = dict.fromkeys(COMMANDS, values)


def main(args: list[str] | None = None) -> Any:
    """Run spectop; the exit code is the process's."""
    try:
        try:
            return cli.main(args=args, prog_name="spectop")
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _give_up_output(0)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        click.echo("spectop: the output cannot be written: no space left there", err=True)
        _give_up_output(1)
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def _give_up_output(code: int) -> NoReturn:
    """End without the flush at exit, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(code)

"""`spectop config`: the settings, and where each came from."""

from __future__ import annotations

from typing import Any

import click
from click.core import ParameterSource

from tui.settings import JUDGING, SCREEN, WATCHING, config_path, options

_FROM = {
    ParameterSource.DEFAULT: "default",
    ParameterSource.DEFAULT_MAP: "configuration file",
    ParameterSource.ENVIRONMENT: "environment",
    ParameterSource.COMMANDLINE: "option",
}


@click.command()
@options(JUDGING, WATCHING, SCREEN)
@click.pass_context
def command(ctx: click.Context, /, **settings: Any) -> None:
    """Print the settings and where each came from: option, environment, file or default.

    The file holds one setting a line, as options are named: min-requests = 30
    """
    path = config_path()
    click.echo(f"# {path}{'' if path.exists() else ' (not there)'}")
    for name, value in settings.items():
        origin = ctx.get_parameter_source(name)
        shown = "--" if value is None else str(value).lower() if isinstance(value, bool) else value
        click.echo(f"{name.replace('_', '-'):15} {shown!s:12} {_FROM.get(origin, '') if origin else ''}")

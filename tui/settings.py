"""Settings: defaults < configuration file < SPECTOP_* environment < options.

click keeps where each value came from (`Context.get_parameter_source`); `spectop config` prints it.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from tui.commands.values import SHARE, Concurrency

if TYPE_CHECKING:
    from tui.model.cost import Profile
    from tui.session.session import Policy

F = TypeVar("F", bound=Callable[..., Any])

THEMES = ("dark", "light", "colour-blind", "high-contrast", "ansi")
LARGEST_CONFIG = 1 << 20
_names: set[str] = set()


class _Setting(click.Option):
    """An option whose wrong value is told with the place that it came from."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """The value in its type; an error names the variable or the file where it was not typed."""
        try:
            return super().process_value(ctx, value)
        except click.BadParameter as error:
            name = self.name or ""
            match ctx.get_parameter_source(name):
                case ParameterSource.ENVIRONMENT:
                    error.param_hint = str(self.envvar)
                case ParameterSource.DEFAULT_MAP:
                    error.param_hint = f"{name.replace('_', '-')} in {config_path()}"
            raise


def _option(name: str, **attributes: Any) -> Callable[[F], F]:
    """An option that the environment can set too: --min-requests is SPECTOP_MIN_REQUESTS."""
    _names.add(name.removeprefix("--").replace("-", "_"))
    variable = "SPECTOP_" + name.removeprefix("--").replace("-", "_").upper()
    return click.option(name, cls=_Setting, envvar=variable, **attributes)


API_KEY = (
    _option(
        "--api-key-file",
        type=click.Path(dir_okay=False),
        help="File with the key for servers that ask for one; or SPECTOP_API_KEY holds it.",
    ),
)
"""How commands that ask a server get its key: never on a command line, which others can read."""

JUDGING = (
    _option(
        "--incumbent",
        metavar="RATE|SOURCE|drafter:NAME",
        help="What to beat: tok/s (25), another log (old.log), or a drafter in the same log (drafter:batch).",
    ),
    _option(
        "--basis",
        type=click.Choice(["decode", "delivered"]),
        default="decode",
        show_default=True,
        help="What a typed rate counts: decode time alone, or prefill too (what clients see).",
    ),
    _option("--depth", type=click.IntRange(1, 64), help="K, where the log does not tell it."),
    _option(
        "--drafter-class",
        type=click.Choice(["plain", "head", "ngram"]),
        help="K forwards a round (plain), one pass (head: MTP, EAGLE, DFlash) or no model (ngram).",
    ),
    _option(
        "--concurrency",
        type=Concurrency(),
        default="match",
        show_default=True,
        metavar="match|alone|any|N",
        help="Which requests are compared, by how many ran at once.",
    ),
    _option(
        "--cost",
        type=click.Path(exists=True, dir_okay=False),
        help="A batch bench of the target: what a verify pass costs at depths that did not run.",
    ),
    _option(
        "--min-requests",
        type=click.IntRange(2),
        default=20,
        show_default=True,
        help="Effective requests each arm needs before a verdict.",
    ),
    _option(
        "--effect",
        type=SHARE,
        default="5%",
        show_default=True,
        help="Differences below this are EVEN.",
    ),
    _option(
        "--warm-up",
        type=click.IntRange(0),
        default=1,
        show_default=True,
        help="Requests after a server start that the comparison leaves out.",
    ),
    _option(
        "--alpha",
        type=SHARE,
        default="0.05",
        show_default=True,
        help="Error rate under constant looking.",
    ),
)
"""Options of every command that judges."""

WATCHING = (
    _option(
        "--backfill",
        type=click.IntRange(0),
        default=200,
        show_default=True,
        help="Finished requests of an existing log to start with (64 MiB at most).",
    ),
    *API_KEY,
    _option(
        "--record",
        type=click.Path(dir_okay=False),
        help="Keep the events in this file (.gz: compressed).",
    ),
)
"""Options of the live screen alone."""

SCREEN = (
    _option("--theme", type=click.Choice(THEMES), help="Colours; chosen by the terminal when not given."),
    _option("--ascii", is_flag=True, help="ASCII characters only."),
    _option("--quiet", is_flag=True, help="No toasts and no bell."),
)
"""Options of every command with a screen."""


def options(*groups: tuple[Callable[[F], F], ...]) -> Callable[[F], F]:
    """Decorate a command with groups of options, in their order."""

    def decorate(function: F) -> F:
        for group in reversed(groups):
            for option in reversed(group):
                function = option(function)
        return function

    return decorate


def config_path() -> Path:
    """The configuration file: $SPECTOP_CONFIG, else config.toml in the user's configuration folder."""
    stated = os.environ.get("SPECTOP_CONFIG")
    if stated:
        return Path(stated)
    from platformdirs import user_config_path

    return user_config_path("spectop") / "config.toml"


def known_settings() -> set[str]:
    """The names a configuration file may hold, as parameter names."""
    return set(_names)


def policy_of(settings: dict[str, Any]) -> Policy:
    """How the options say that requests are read and judged.

    Raises:
        click.BadParameter: the file of a cost profile holds none that can be used; the message says why.
    """
    from tui.model.comparison import Rules
    from tui.session.session import Policy

    rules = Rules(alpha=settings["alpha"], min_requests=settings["min_requests"], effect=settings["effect"])
    return Policy(
        rules=rules,
        concurrency=settings["concurrency"],
        warm_up=settings["warm_up"],
        depth=settings["depth"],
        drafter_class=settings["drafter_class"],
        cost=None if settings["cost"] is None else _cost(settings["cost"]),
    )


def _cost(path: str) -> Profile:
    from tui.costfile import read_cost

    try:
        return read_cost(path)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--cost") from None


def load_config(path: Path, known: set[str]) -> dict[str, Any]:
    """Read the configuration file: one option a line, `min-requests = 20`.

    Args:
        path: a TOML file; a missing one is an empty one.
        known: the option names that may stand in it, with underscores.

    Returns:
        Values by parameter name.

    Raises:
        click.UsageError: it cannot be read, or holds a name that is no option.
    """
    if not path.exists():
        return {}
    if not path.is_file():
        raise click.UsageError(f"configuration file {path} is not a file")
    try:
        with path.open("rb") as file:
            table = tomllib.loads(file.read(LARGEST_CONFIG).decode())
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"configuration file {path}: {error}") from None
    except tomllib.TOMLDecodeError as error:
        hint = 'one setting a line; text in quotes: theme = "light"'
        raise click.UsageError(f"configuration file {path}: {error} ({hint})") from None
    values = {name.replace("-", "_"): value for name, value in table.items()}
    unknown = sorted(values.keys() - known)
    if unknown:
        names = ", ".join(name.replace("_", "-") for name in unknown)
        raise click.UsageError(f"configuration file {path}: no such setting: {names}")
    return values

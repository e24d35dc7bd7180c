"""Known failures end a command with words and an exit code, not with a traceback."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator


class NoTerminal(click.ClickException):
    """There is no terminal to draw on."""

    exit_code = 2


@contextmanager
def failures() -> Iterator[None]:
    """Turn a source that cannot be read, or a value that makes no sense, into a message and exit code 1.

    An interrupt ends with 128 + its number, as shells expect.
    """
    from tui.feeds.protocol import FeedError
    from tui.feeds.stdin import NoTerminalError

    try:
        yield
    except NoTerminalError as error:
        raise NoTerminal(str(error)) from None
    except (FeedError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)

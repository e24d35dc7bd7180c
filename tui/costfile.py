"""A cost profile out of a file: for `--cost FILE`, and for the what-if pane."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from tui.formats.bench import LARGEST_FILE, read_bench

if TYPE_CHECKING:
    from tui.formats.bench import Bench
    from tui.model.cost import Profile

_NAMES = re.compile(r"(bench|cost|profile).*\.(jsonl?|md|txt|csv)$", re.IGNORECASE)
_MOST = 8
"""Files offered at most."""


def read_bench_file(path: str) -> Bench:
    """All profiles in a file.

    Raises:
        ValueError: it holds none; the message says what to do.
        OSError: it cannot be read.
    """
    with Path(path).open("rb") as file:
        return read_bench(file.read(LARGEST_FILE + 1), Path(path).name)


def read_cost(path: str) -> Profile:
    """The one profile in a file that verify passes can be priced with.

    Raises:
        ValueError: it cannot be read, holds no profile, several, or one of whole rounds; the message names
            the file and says what to do.
    """
    try:
        profiles = read_bench_file(path).profiles
    except (ValueError, OSError) as error:
        raise ValueError(f"{path}: {reason(error)}") from None
    if len(profiles) > 1:
        names = "; ".join(profile.name for profile in profiles)
        raise ValueError(
            f"{path} holds {len(profiles)} profiles ({names}): give a file with the one that fits"
        )
    if profiles[0].includes_draft:
        raise ValueError(f"{path} times whole rounds, drafting included: measure the target alone")
    return profiles[0]


def read_typed(name: str) -> Profile | None:
    """The profile in a file that was typed on the screen; None for an empty name.

    Raises:
        ValueError: as `read_cost`, and where reading could wait for ever.
    """
    if not name:
        return None
    path = Path(name).expanduser()
    if path.exists() and not path.is_file():
        raise ValueError(f"{name}: this is no file")
    return read_cost(str(path))


def benches_at_hand() -> list[str]:
    """Files of the current folder that may hold a profile, by their names; the newest first."""
    found = [path for path in Path().glob("*") if _NAMES.search(path.name) and path.is_file()]
    found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    return [path.name for path in found[:_MOST]]


def reason(error: Exception) -> str:
    """What went wrong, in words."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

"""A cost profile out of a file: for `--cost FILE`, and for the what-if pane."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from tui.formats.bench import LARGEST_FILE, read_bench

if TYPE_CHECKING:
    from tui.formats.bench import Bench
    from tui.model.cost import Profile


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


def reason(error: Exception) -> str:
    """What went wrong, in words."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

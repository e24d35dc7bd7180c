"""Printed lines as skeletons: to read them, and to tell a cut line from a changed one."""

from __future__ import annotations

import itertools
import math
import re

_PLACES = {
    "{f}": r"(-?[0-9.,]+|-?nan\S*|-?inf)",
    "{2}": r"([0-9]{1,9}\.[0-9]{2})",
    "{i}": r"([0-9]{1,15})",
    "{l}": r"\(([^)]*)\)",
    "{w}": r"([\w-]+)",
    "~": " *",
}
_TOKEN = re.compile(r"\{[f2ilw]\}|~|[^~{]+")
_NUMBER_BEGUN = re.compile(r"-?[0-9]*\.?[0-9]?")


class Form:
    """One printed form, written as a skeleton.

    `{f}` is a number, `{2}` one with two decimals, `{i}` a count, `{l}` a bracketed list, `{w}` a name, `~`
    any blanks or none; the rest stands as it is.
    """

    def __init__(self, skeleton: str) -> None:
        """Compile the skeleton."""
        self._parts = [
            (token, re.compile(_PLACES.get(token, re.escape(token)))) for token in _TOKEN.findall(skeleton)
        ]
        self.match = re.compile("".join(part.pattern for _, part in self._parts)).match

    def ends_inside(self, text: str) -> bool:
        """Whether `text` begins like this form and ends before the form does."""
        text = text.rstrip()
        position = 0
        for token, part in self._parts:
            found = part.match(text, position)
            if found is None:
                return _begins(token, text[position:])
            position = found.end()
        return False


def number(text: str) -> float | None:
    """A printed number; None for what is not finite."""
    try:
        value = float(text)
    except ValueError:
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            return None
    return value if math.isfinite(value) else None


def shares(text: str) -> tuple[float, ...] | None:
    """A printed list of shares; None when one of them cannot be read."""
    if not text.strip():
        return ()
    try:
        values = tuple(map(float, text.split(",")))
    except ValueError:
        return None
    return values if all(map(math.isfinite, values)) else None


def is_falling(values: tuple[float, ...]) -> bool:
    """Whether these are shares that never rise from one position to the next."""
    return all(after <= before for before, after in itertools.pairwise((1.0, *values)))


def _begins(token: str, rest: str) -> bool:
    """Whether `rest`, the end of a line, is a beginning of this part."""
    if token == "{l}":
        return not rest or (rest.startswith("(") and ")" not in rest)
    if token in _PLACES:
        return _NUMBER_BEGUN.fullmatch(rest) is not None
    return token.startswith(rest)

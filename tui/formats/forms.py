"""Printed lines as skeletons: to read them, and to tell a cut line from a changed one."""

from __future__ import annotations

import math
import re

_PLACES = {
    "{f}": r"(-?nan(?:\(ind\))?|[-+]?inf|[-+]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)",
    "{2}": r"(\d+\.\d\d)",
    "{i}": r"(\d+)",
    "{l}": r"\(([^)]*)\)",
    "{w}": r"([\w-]+)",
}
_TOKEN = re.compile(r"\{[f2ilw]\}|[^\s{]+")


class Form:
    """One printed form. `{f}` is a number, `{2}` one of two decimals, `{i}` a count, `{l}` a bracketed list,
    `{w}` a name; blanks between the parts are free.
    """  # fmt: skip

    def __init__(self, skeleton: str) -> None:
        self._parts = [
            (token, re.compile(" *" + _PLACES.get(token, re.escape(token))))
            for token in _TOKEN.findall(skeleton)
        ]
        self.match = re.compile("".join(part.pattern for _, part in self._parts)).match

    def ends_inside(self, text: str) -> bool:
        """Whether `text` begins like this form and ends before the form does."""
        text = text.rstrip()
        position = 0
        for token, part in self._parts:
            if found := part.match(text, position):
                position = found.end()
                continue
            rest = text[position:].lstrip()
            return (
                rest in ("", ".", "-", "(")
                if token in _PLACES and token != "{l}"
                else self._unfinished(token, rest)
            )
        return False

    @staticmethod
    def _unfinished(token: str, rest: str) -> bool:
        if token == "{l}":
            return rest == "" or (rest.startswith("(") and ")" not in rest)
        return token.startswith(rest) or rest == "."


def number(text: str) -> float | None:
    """A printed number; None for what is not finite."""
    try:
        value = float(text.replace(",", "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def shares(text: str) -> tuple[float, ...] | None:
    """A printed list of shares; None when one of them cannot be read or there is none."""
    values = [number(part.strip()) for part in text.split(",") if part.strip()]
    known = tuple(value for value in values if value is not None)
    return known if known and len(known) == len(values) else None

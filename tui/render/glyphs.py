"""The characters that pictures are made of: one table for UTF-8 terminals, one for ASCII."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Glyphs:
    """One set of characters.

    Attributes:
        ascii: nothing outside ASCII may reach the terminal.
        levels: a cell filled from the bottom, lowest to full, without the empty one.
        dots: pictures with a line in them are made of braille dots, 2 x 4 a cell.
        bar: a cell filled from the left, least to full, without the empty one.
        reference: a piece of the line where there are no dots.
        mark: a vertical line on a gauge.
        plot: the marker plotext draws curves with. spot: a single point of a picture.
        ellipsis: what stands where text was cut.
        cursor: points at the chosen row.
    """

    ascii: bool
    levels: str
    dots: bool
    bar: str
    reference: str
    mark: str
    track: str
    plot: str
    spot: str
    ellipsis: str
    cursor: str


UNICODE = Glyphs(
    ascii=False,
    levels="▁▂▃▄▅▆▇█",
    bar="▏▎▍▌▋▊▉█",
    reference="─",
    dots=True,
    mark="┃",
    track="┄",
    plot="braille",
    spot="●",
    ellipsis="…",
    cursor="▸",
)
ASCII = Glyphs(
    ascii=True,
    levels=".:|",
    bar="#",
    reference="-",
    dots=False,
    mark="!",
    track=".",
    plot="*",
    spot="o",
    ellipsis=">",
    cursor=">",
)
_STAND_INS = ("C.UTF-8", "C.utf8", "UTF-8")
FRAME_TO_ASCII = str.maketrans("─│┌┐└┘├┤┬┴┼", "-|+++++++++")
"""Box drawing that plotext frames its pictures with, and what stands for it."""


def speaks_utf8() -> bool:
    """Whether the terminal can show more than ASCII; the Linux console has no small blocks."""
    encoding = getattr(sys.__stderr__, "encoding", None) or "ascii"
    return "utf" in encoding.lower() and os.environ.get("TERM") != "linux" and not _is_plain(_locale())


def _locale() -> str:
    """The locale that was asked for; where it was C, Python has put another one beside it (PEP 538)."""
    category = os.environ.get("LC_CTYPE", "")
    plain = os.environ.get("LANG", "")
    own = "" if category in _STAND_INS and _is_plain(plain) else category
    return os.environ.get("LC_ALL") or own or plain


def _is_plain(locale: str) -> bool:
    return locale in ("C", "POSIX")

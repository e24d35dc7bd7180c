"""The themes: one TOML file each, with semantic colours."""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

from textual.theme import Theme

if TYPE_CHECKING:
    from collections.abc import Iterator
    from importlib.resources.abc import Traversable

SEMANTIC = ("good", "bad", "warn", "incumbent", "canary", "draft", "verify", "muted")
"""The names that a theme gives colours to, besides Textual's own."""
DARK, COLOURLESS = "dark", "ansi"


def _folder() -> Traversable:
    """Inside the package when installed, beside it when it runs from its own tree."""
    package = resources.files("tui")
    inside = package / "themes"
    return inside if inside.is_dir() else Path(str(package)).parent / "themes"


def load_themes() -> Iterator[Theme]:
    """All themes, by name.

    Raises:
        KeyError: a theme lacks a semantic colour.
    """
    for file in sorted(_folder().iterdir(), key=lambda file: file.name):
        if file.name.endswith(".toml"):
            table = tomllib.loads(file.read_text(encoding="utf-8"))
            meanings = {name: table["meaning"][name] for name in SEMANTIC}
            yield Theme(
                name=file.name.removesuffix(".toml"),
                dark=table["dark"],
                ansi=table.get("ansi", False),
                variables={**table.get("variables", {}), **meanings},
                **table["base"],
            )

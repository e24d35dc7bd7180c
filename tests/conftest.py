"""What every test stands on: no settings of the person who runs them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture(autouse=True)
def own_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SPECTOP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SPECTOP_CONFIG", str(tmp_path / "no-config.toml"))
    monkeypatch.delenv("NO_COLOR", raising=False)

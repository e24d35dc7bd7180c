"""A profile that verify passes are priced with, out of a file."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from tui.costfile import benches_at_hand, read_cost, read_typed

if TYPE_CHECKING:
    from pathlib import Path


def test_the_one_profile_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "costs.txt").write_text("1.0, 0.6, 0.5")
    assert read_cost(str(tmp_path / "costs.txt")).time_ratio == pytest.approx((1.0, 1.2, 1.5))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": {"relative_cost": [1, 0.6]}, "b": {"relative_cost": [1, 0.7]}}', "holds 2 profiles"),
        (
            json.dumps({"batch": [1, 2, 3], "ms_per_batch": [20, 30, 35], "includes_draft": True}),
            "whole rounds",
        ),
        ("to be done", "neither a bench result nor a list"),
        ("", "empty"),
    ],
)
def test_a_file_that_prices_nothing_is_refused_by_name(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "costs"
    file.write_text(text)
    with pytest.raises(ValueError, match=said) as refused:
        read_cost(str(file))
    assert str(file) in str(refused.value)


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="No such file"):
        read_cost(str(tmp_path / "none"))
    with pytest.raises(ValueError, match="directory"):
        read_cost(str(tmp_path))


def test_what_is_typed_on_the_screen_is_never_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "costs.txt").write_text("1.0, 0.6, 0.5")
    profile = read_typed("~/costs.txt")
    assert profile is not None
    assert profile.name == "costs.txt"
    assert read_typed("") is None
    os.mkfifo(tmp_path / "pipe")
    for name in ("~/pipe", str(tmp_path)):
        with pytest.raises(ValueError, match="this is no file"):
            read_typed(name)


def test_benches_at_hand_newest_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for age, name in enumerate(
        ("old-bench.jsonl", "batched-BENCH.md", "costs.json", "server.log", "bench.py")
    ):
        (tmp_path / name).write_text("1.0, 0.6")
        os.utime(tmp_path / name, (1000 + age, 1000 + age))
    (tmp_path / "bench.json").mkdir()
    assert benches_at_hand() == ["costs.json", "batched-BENCH.md", "old-bench.jsonl"]

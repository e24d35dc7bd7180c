"""Estimates and agreement against llama.cpp's own server."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.tiny_models import write_tiny_model
from tui.preflight.agree import agree
from tui.preflight.fit import Model, against_log, setup_from_log
from tui.preflight.footprint import Setup, footprint
from tui.preflight.ranges import open_model
from tui.preflight.run import Ask, run
from tui.preflight.serverlog import read_server_log
from tui.preflight.speculates import QUESTION

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("xllamacpp")
PROMPTS = ["the cat sat on the mat", "one two three", "def f(x):"]


@contextlib.contextmanager
def running(folder: Path, target: Path, draft: Path | None = None, slots: int = 1) -> Iterator[str]:
    """A server in a process of its own, its log in `server.log`; gives its address."""
    settings = {
        "target": str(target),
        "draft": str(draft),
        "rates": [0.5, 0.2] if draft else [],
        "slots": slots,
        "verbosity": 4,
        "port": 0,
    }
    with (folder / "server.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.llama_server", json.dumps(settings)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            cwd=Path(__file__).parents[2],
            text=True,
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        address = next((line for line in process.stdout if line.startswith("http")), "").strip()
        assert address, (folder / "server.log").read_text(errors="replace")[-2000:]
        yield address
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=60)


TINY: dict[str, Any] = {}
LARGER: dict[str, Any] = {
    "layers": 4,
    "width": 512,
    "heads": 8,
    "kv_heads": 2,
    "feed_forward": 1536,
    "padding_tokens": 8_000,
}


@pytest.mark.parametrize(("shape", "slots"), [(TINY, 1), (LARGER, 2)], ids=["tiny", "larger"])
def test_sizes_are_within_a_tenth_of_what_the_server_allocated(
    tmp_path: Path, shape: dict[str, Any], slots: int
) -> None:
    target = write_tiny_model(tmp_path / "target.gguf", **shape)
    draft = write_tiny_model(tmp_path / "draft.gguf", seed=1, layers=1)
    small = shape is TINY
    with running(tmp_path, target, draft if small else None, slots):
        pass
    log = read_server_log(tmp_path / "server.log")
    models = [Model("target", str(target), open_model(str(target)))]
    if small:
        models.append(Model("drafter", str(draft), open_model(str(draft))))
    setup = setup_from_log(Setup(), log)
    assert (setup.context, setup.slots) == (2048 * slots, slots)
    assert len(log.models) == len(models)
    for model, seen in zip(models, log.models, strict=True):
        need = footprint(model.header, setup, draft=model.role == "drafter")
        assert need.weights == pytest.approx(seen.weights, rel=0.1, abs=10_000)  # the log rounds to .01 MiB
        assert need.cache == pytest.approx(seen.cache, rel=0.1)
        low, high = need.compute
        assert 0.9 * low <= seen.compute <= 1.1 * high
    findings = against_log(models, setup, log, "server.log")
    assert [finding.ok for finding in findings] == [True] * len(models)


def test_the_same_model_agrees_wholly_and_another_does_not(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("first", "second", "other")]
    for folder in folders:
        folder.mkdir()
    same, other = write_tiny_model(tmp_path / "a.gguf"), write_tiny_model(tmp_path / "b.gguf", seed=5)
    with (
        running(folders[0], same) as first,
        running(folders[1], same) as second,
        running(folders[2], other) as third,
    ):
        *_, equal = agree(first, second, PROMPTS, 24)
        *_, differs = agree(first, third, PROMPTS, 24)
        found = [f for f in run(Ask(url=first)) if f.question == QUESTION]
    assert equal.share == 1.0
    assert equal.tokens == differs.tokens > 24
    assert differs.share is not None
    assert differs.share < 0.5
    assert found[0].answer == "no: none of 1 slots can"


def test_a_server_that_speculates_says_so_over_http_and_in_its_log(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "target.gguf")
    draft = write_tiny_model(tmp_path / "draft.gguf", seed=1, layers=1)
    with running(tmp_path, target, draft) as address:
        found = [f for f in run(Ask(url=address, log=tmp_path / "server.log")) if f.question == QUESTION]
    slots, metrics, log = found
    assert slots.answer.startswith("yes: 1 of 1 slots can")
    assert metrics.sure == "unknown"  # nothing has been asked of it yet
    assert log.answer.startswith("yes: draft-simple, at most 2 tokens a round; acceptance is synthetic")

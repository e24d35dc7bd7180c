"""`spectop tokenizer` as a script and as a person meet it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner, Result

from tests.tiny_models import Vocabulary, write_tiny_model
from tui.commands.tokenizer import command

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def models(tmp_path: Path) -> dict[str, str]:
    """A model for each vocabulary, and a second one with the first's."""
    kinds: tuple[Vocabulary, ...] = ("bytes", "other-word", "other-special", "pairs")
    found = {kind: str(write_tiny_model(tmp_path / f"{kind}.gguf", vocabulary=kind)) for kind in kinds}
    return found | {"same": str(write_tiny_model(tmp_path / "same.gguf", seed=1, layers=1))}


def run(*files: str) -> Result:
    return CliRunner().invoke(command, files)


def read(*files: str, code: int = 0) -> dict[str, Any]:
    result = run(*files, "--json")
    assert result.exit_code == code, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    assert value["schema_version"] == 1
    return value


def test_equal_vocabularies_in_the_contract_with_scripts(models: dict[str, str]) -> None:
    value = read(models["bytes"], models["same"])
    assert value["interchangeable"] is True
    assert value["first_difference"] is None
    first, second = value["files"]
    assert first["path"] == models["bytes"]
    assert (first["vocab_size"], first["merges"], first["model"], first["pre"]) == (265, 0, "llama", None)
    assert first["sha256_first_2000"] == second["sha256_first_2000"]
    assert len(first["sha256_first_2000"]) == 16


def test_differing_vocabularies_in_the_contract_with_scripts(models: dict[str, str]) -> None:
    value = read(models["bytes"], models["other-word"])
    assert value["interchangeable"] is False
    assert value["first_difference"] == {"id": 262, "target": "▁sat", "draft": "▁dog"}
    assert value["files"][0]["sha256_first_2000"] != value["files"][1]["sha256_first_2000"]


def test_several_drafters_are_each_compared_with_the_target(models: dict[str, str]) -> None:
    value = read(*(models[name] for name in ("bytes", "same", "other-special", "pairs")))
    assert [each["interchangeable"] for each in value["comparisons"]] == [True, False, False]
    assert [each["only_special_tokens_differ"] for each in value["comparisons"]] == [None, True, False]
    assert value["interchangeable"] is False
    assert value["first_difference"]["id"] == 1
    assert "bos" in value["comparisons"][2]["special_ids_differ"]


def test_one_file_alone_is_described_and_not_compared(models: dict[str, str]) -> None:
    value = read(models["pairs"])
    assert value["files"][0]["pre"] == "gpt-2"
    assert value["interchangeable"] is None


def test_people_read_the_same(models: dict[str, str]) -> None:
    text = run(models["bytes"], models["same"], models["other-word"]).stdout
    assert "265, merges 0" in text
    assert "all token ids are interchangeable" in text
    assert "not interchangeable: 1 id differs: 262 is '▁sat' in the target and '▁dog' in the draft" in text


def test_a_file_that_cannot_be_read_is_told_and_the_others_are_shown(
    models: dict[str, str], tmp_path: Path
) -> None:
    (tmp_path / "no.gguf").write_text("<html>")
    result = run(models["bytes"], str(tmp_path / "no.gguf"), models["same"])
    assert result.exit_code == 1
    assert "not a GGUF file" in result.stderr
    assert "web page" in result.stderr
    assert "all token ids are interchangeable" in result.stdout
    value = read(models["bytes"], str(tmp_path / "missing.gguf"), code=1)
    assert value["interchangeable"] is None
    assert "No such file" in value["refused"][0]["reason"]


def test_without_its_target_nothing_is_compared(models: dict[str, str], tmp_path: Path) -> None:
    value = read(str(tmp_path / "missing.gguf"), models["bytes"], models["same"], code=1)
    assert (value["comparisons"], value["interchangeable"]) == ([], None)


def test_no_file_is_wrong_usage() -> None:
    assert run().exit_code == 2

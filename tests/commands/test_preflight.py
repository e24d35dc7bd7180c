"""`spectop preflight` as a script and as a person meet it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from click.testing import CliRunner, Result

from tests.preflight.fake_server import Reply, serving
from tests.tiny_models import write_tiny_model
from tui.commands.preflight import command

if TYPE_CHECKING:
    from pathlib import Path

HEALTH = {"drafters_available": ["serial", "mtp"], "drafter_default": "mtp", "version": {"api": "0.17.4"}}


def run(*args: str) -> Result:
    return CliRunner().invoke(command, args)


def read(*args: str, code: int = 0) -> list[dict[str, Any]]:
    result = run(*args, "--json")
    assert result.exit_code == code, result.output
    value = json.loads(result.stdout)
    assert value["schema_version"] == 1
    findings: list[dict[str, Any]] = value["findings"]
    assert all(
        set(f) == {"question", "asked", "answer", "sure", "ok", "advice"}
        and f["sure"] in ("certain", "likely", "unknown")
        and f["ok"] in (True, False, None)
        for f in findings
    )
    return findings


def test_a_pair_of_files_is_asked_everything_in_order(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "t.gguf")
    draft = write_tiny_model(tmp_path / "d.gguf", seed=1, layers=1, vocabulary="other-word")
    found = read("--target", str(target), "--draft", str(draft), "--spec-type", "draft-simple,ngram-mod")
    questions = [each["question"] for each in found]
    assert questions[:2] == [
        "Can draft-simple,ngram-mod run as a chain?",
        "Are the token ids interchangeable?",
    ]
    assert "How much memory does the drafter need?" in questions
    assert "Do the target and drafter fit on host memory?" in questions
    assert found[1]["ok"] is False
    assert "llama.cpp refuses the pair" in found[1]["answer"]


def test_people_see_what_speaks_against_the_pair_at_once(tmp_path: Path) -> None:
    target = write_tiny_model(tmp_path / "t.gguf")
    draft = write_tiny_model(tmp_path / "d.gguf", vocabulary="other-word")
    text = run("--target", str(target), "--draft", str(draft)).stdout
    assert "NO  Are the token ids interchangeable?" in text
    assert "certain, by the headers of" in text
    assert "-> a drafter of the same model family" in text


def test_context_and_cache_type_change_the_estimate(tmp_path: Path) -> None:
    target = str(write_tiny_model(tmp_path / "t.gguf"))
    f16 = read("--target", target, "--context", "8192")[0]["answer"]
    q8 = read("--target", target, "--context", "8192", "--cache-type", "q8_0", "--slots", "2")[0]["answer"]
    assert "cache 4.0 MiB (8192 tokens, f16, 4 slots)" in f16
    assert "cache 2.1 MiB (8192 tokens, q8_0, 2 slots)" in q8


def test_a_probe_is_announced_on_stderr_and_answered(tmp_path: Path) -> None:
    error = {"error": {"message": "drafter 'x' unknown; use serial | mtp"}}
    answers = {"/health": Reply(HEALTH), "/v1/chat/completions": Reply(error, 400)}
    with serving(answers) as server:
        result = run(server.url, "--probe", "x")
    assert result.exit_code == 0
    assert f"sending one request: POST {server.url}/v1/chat/completions" in result.stderr
    assert "unknown: no such drafter; it knows serial, mtp" in result.stdout
    assert server.paths() == ["/health", "/v1/chat/completions"]


def test_what_cannot_be_read_is_told_and_ends_with_1(tmp_path: Path) -> None:
    missing = str(tmp_path / "missing")
    good = str(write_tiny_model(tmp_path / "t.gguf"))
    found = read(
        "http://127.0.0.1:1",
        "--target",
        good,
        "--draft",
        missing,
        "--log",
        missing,
        "--context",
        "512",
        code=1,
    )
    unread = [each["asked"] for each in found if each["question"] == "Can it be read?"]
    assert unread == ["http://127.0.0.1:1", missing, missing]
    assert any(each["question"] == "How much memory does the target need?" for each in found)


def test_a_llama_server_binary_is_asked(tmp_path: Path) -> None:
    tool = tmp_path / "llama-server"
    tool.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --help ]; then echo "--spec-type none,draft-simple,draft-mtp"; fi\n'
        'if [ "$1" = --list-devices ]; then echo "Available devices:";'
        ' echo "  Vulkan0: Some Card (16000 MiB, 15000 MiB free)"; fi\n'
    )
    tool.chmod(0o755)
    target = str(write_tiny_model(tmp_path / "t.gguf"))
    found = read("--llama-server", str(tool), "--spec-type", "draft-mtp", "--target", target)
    answers = {each["question"]: each["answer"] for each in found}
    assert answers["Does this build have draft-mtp?"] == "yes"
    assert answers["Which devices does this build have?"] == "Vulkan: Vulkan0 (Some Card)"
    assert answers["Does the target fit on Vulkan0 (Some Card)?"].endswith("free 14.6 GiB")
    assert answers["Does the target carry MTP layers of its own?"] == "no"


def test_nothing_to_ask_is_wrong_usage() -> None:
    assert run().exit_code == 2
    assert run("--probe", "x", "--target", "m.gguf").exit_code == 2

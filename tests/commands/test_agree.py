"""`spectop agree` as a script and as a person meet it."""

from __future__ import annotations

import json
import os
import signal
from typing import TYPE_CHECKING

from click.testing import CliRunner, Result

from tests.preflight.fake_server import Asked, Reply, serving
from tui.commands.agree import command

if TYPE_CHECKING:
    from pathlib import Path

    from tests.preflight.fake_server import Answers


def llama(last: int = 10**9, interrupt: int = 10**9) -> Answers:
    """A server that counts on, up to `last` rightly; with its `interrupt`-th answer comes a ctrl+c."""
    answered = 0

    def complete(asked: Asked) -> Reply:
        nonlocal answered
        answered += 1
        if answered == interrupt:
            os.kill(os.getpid(), signal.SIGINT)
        start = len(asked.body["prompt"])
        numbers = range(start, start + asked.body["n_predict"])
        return Reply({"tokens": [number if number <= last else -number for number in numbers]})

    return {
        "/health": Reply({"status": "ok"}),
        "/props": Reply({"build_info": "b11434-x"}),
        "/tokenize": lambda asked: Reply({"tokens": [0] * len(asked.body["content"])}),
        "/completion": complete,
    }


def run(target: Answers, draft: Answers, *args: str) -> Result:
    with serving(target) as first, serving(draft) as second:
        return CliRunner().invoke(command, [first.url, second.url, *args])


def prompts(folder: Path, *lines: str) -> str:
    file = folder / "prompts.txt"
    file.write_text("\n".join(lines))
    return str(file)


def test_the_share_with_its_interval_for_scripts(tmp_path: Path) -> None:
    file = prompts(tmp_path, "abcd", "", "efgh")
    result = run(llama(), llama(last=10), "--prompts", file, "--tokens", "10", "--json")
    assert result.exit_code == 0, result.output
    value = json.loads(result.stdout)
    # of the tokens 4..13 behind each prompt the drafter knows 4..10
    assert (value["schema_version"], value["tokens"], value["agreed"], value["prompts"]) == (1, 20, 14, 2)
    assert value["agreement"] == 0.7
    low, high = value["interval"]
    assert 0.4 < low < 0.7 < high < 0.9
    assert value["interrupted"] is False


def test_people_read_what_it_stands_for(tmp_path: Path) -> None:
    result = run(llama(), llama(), "--prompts", prompts(tmp_path, "abcd"), "--tokens", "5")
    assert "agreement  1.000  [0.566, 1.000]  5 of 5 tokens" in result.stdout
    assert "stand-in for p" in result.stdout


def test_ctrl_c_leaves_what_was_measured(tmp_path: Path) -> None:
    file = prompts(tmp_path, *["abcd"] * 5)
    result = run(llama(interrupt=3), llama(), "--prompts", file, "--tokens", "10", "--json")
    assert result.exit_code == 130
    value = json.loads(result.stdout)
    assert (value["interrupted"], value["prompts"], value["tokens"], value["agreed"]) == (True, 2, 20, 20)


def test_ctrl_c_before_the_first_token_claims_nothing(tmp_path: Path) -> None:
    result = run(llama(interrupt=1), llama(), "--prompts", prompts(tmp_path, "abcd"))
    assert result.exit_code == 130
    assert "nothing was measured" in result.stdout


def test_a_server_that_fails_midway_is_told_after_what_was_measured(tmp_path: Path) -> None:
    def cut(asked: Asked) -> Reply:
        if len(asked.body["prompt"]) > 4:
            return Reply({"error": {"message": "out of memory"}}, 500)
        return Reply({"tokens": list(range(4, 14))})

    file = prompts(tmp_path, "abcd", "abcdefgh")
    result = run(llama(), {**llama(), "/completion": cut}, "--prompts", file, "--tokens", "10")
    assert result.exit_code == 1
    assert "10 of 10 tokens" in result.stdout
    assert "out of memory" in result.stderr


def test_without_prompts_of_ones_own_there_are_some() -> None:
    result = run(llama(), llama(), "--tokens", "2", "--json")
    value = json.loads(result.stdout)
    assert value["prompts"] == value["prompts_planned"] >= 5


def test_wrong_usage(tmp_path: Path) -> None:
    assert run(llama(), llama(), "--prompts", prompts(tmp_path, "", " ")).exit_code == 2
    assert run(llama(), llama(), "--prompts", str(tmp_path / "missing")).exit_code == 2
    assert CliRunner().invoke(command, ["http://127.0.0.1:1"]).exit_code == 2

"""What a watched source lets one check by itself, and what stays open."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.preflight.fake_server import Reply, serving
from tests.snapshots import source
from tests.tiny_models import write_tiny_model
from tui.preflight.known import ask_of, check

if TYPE_CHECKING:
    from pathlib import Path

    from tui.preflight.findings import Finding

LOG = """\
0.00.100.000 I srv    load_model: loading model '/srv/target.gguf'
0.00.200.000 I srv    load_model: adding speculative implementation 'draft-simple'
"""


def by_question(findings: tuple[Finding, ...]) -> dict[str, Finding]:
    return {each.question: each for each in findings}


def test_files_at_hand_are_asked(tmp_path: Path) -> None:
    log = tmp_path / "llama.log"
    log.write_text(LOG)
    target, draft = (str(write_tiny_model(tmp_path / name)) for name in ("t.gguf", "d.gguf"))
    here = source(name=str(log), model=target, draft_model=draft, state="ended")
    found = by_question(check(here))
    assert found["Does the target already speculate?"].answer == "yes: draft-simple"
    assert found["Are the token ids interchangeable?"].ok is True
    assert "Do the target and drafter fit on host memory?" in found
    assert "file at hand" not in str(found)


def test_a_pair_that_runs_is_not_asked_to_fit_beside_itself(tmp_path: Path) -> None:
    target, draft = (str(write_tiny_model(tmp_path / name)) for name in ("t.gguf", "d.gguf"))
    running = source(model=target, draft_model=draft, drafter="ngram-mod+draft-simple")
    questions = by_question(check(running)).keys()
    assert "How much memory does the drafter need?" in questions
    assert not [question for question in questions if "fit on" in question or "chain" in question]
    plain = source(model=target, draft_model=None, drafter=None)
    assert ask_of(plain).runs == "target"
    assert not [question for question in by_question(check(plain)) if "fit on" in question]


def test_what_is_not_here_is_told_with_the_command_that_checks_it() -> None:
    found = by_question(check(source(name="docker:llama", model="/nowhere/t.gguf", draft_model=None)))
    told = found["Is the target's file at hand?"]
    assert (told.asked, told.answer, told.sure, told.ok) == (
        "/nowhere/t.gguf",
        "no such file on this machine",
        "unknown",
        None,
    )
    assert "spectop preflight --target" in told.advice
    assert found["Is a drafter's file at hand?"].answer == "the source names no drafter's file"
    for drafter in ("ngram-mod", "draft-mtp", "ngram-mod+draft-mtp"):
        found = by_question(check(source(draft_model=None, drafter=drafter)))
        assert "Is a drafter's file at hand?" not in found


def test_a_server_elsewhere_does_not_speak_of_files_here(tmp_path: Path) -> None:
    target = str(write_tiny_model(tmp_path / "t.gguf"))
    ask = ask_of(source(name="http://203.0.113.7:8080", model=target), "http://203.0.113.7:8080", "key")
    assert (ask.target, ask.draft, ask.log, ask.url, ask.api_key) == (
        None,
        None,
        None,
        "http://203.0.113.7:8080",
        "key",
    )


def test_a_server_is_asked_and_never_probed() -> None:
    health = {"drafters_available": ["serial", "mtp"], "drafter_default": "mtp"}
    with serving({"/health": Reply(health)}) as server:
        halogen = source(name=server.url, engine="halogen", drafter="mtp", model=None, draft_model=None)
        found = by_question(check(halogen, server.url))
        assert set(server.paths()) == {"/health"}
    assert found["Can an external drafter be attached?"].ok is False
    assert by_question(check(halogen)).keys() == {"What does its server say?"}


def test_other_engines_are_not_judged_by_the_rules_of_these() -> None:
    (finding,) = check(source(engine="vLLM", model="some/model", drafter="eagle"))
    assert "vLLM" in finding.answer
    assert finding.ok is None

"""Findings as the pre-flight screen tells them."""

from __future__ import annotations

from tests.snapshots import HOSTILE
from tests.watches import FINDINGS
from tui.preflight.findings import Finding
from tui.render.glyphs import ASCII, UNICODE
from tui.render.preflight import lines, summary


def test_each_finding_tells_question_answer_certainty_source_and_advice() -> None:
    told = [line.plain for line in lines(FINDINGS, 78, UNICODE)]
    assert told[:5] == [
        "    Does the target already speculate?",
        "    no: no implementation was started",
        "    certain; asked: /srv/logs/canary.log",
        "",
        "NO  Are the token ids interchangeable?",
    ]
    assert "    -> a drafter of the same model family and generation" in told
    assert "ok  Does the drafter fit on host memory?" in told
    assert "?   Is the target's file at hand?" in told


def test_the_summary_counts_what_speaks_for_and_against() -> None:
    assert summary(FINDINGS, 125.0) == "1 ok, 1 NO, 1 unknown, 1 fact; asked 2m ago (f asks again)"


def test_long_and_hostile_text_is_laid_out_and_harmless() -> None:
    finding = Finding(
        question=HOSTILE,
        asked=HOSTILE,
        answer=HOSTILE + " word" * 40,
        sure="unknown",
        ok=None,
        advice=HOSTILE,
    )
    for width in (24, 58, 118):
        told = lines([finding], width, ASCII)
        assert max(line.cell_length for line in told) <= width
        text = "\n".join(line.plain for line in told)
        assert text.isascii()
        assert "\x1b" not in text

from dataclasses import replace

import pytest

from tests.render.scenes import scene, text
from tests.snapshots import FAIL, INCUMBENT, NO_STEPS, arm, no_incumbent, source, unknown, view
from tui.model.comparison import Judged
from tui.model.figures import Figure
from tui.render import headline
from tui.session.snapshot import Load, View


def first(shown: View, width: int = 80, paused: int | None = None) -> str:
    return headline.draw(scene(shown, paused=paused), width, 3)[0].plain


def why(shown: View, width: int = 80) -> str:
    return headline.draw(scene(shown), width, 3)[1].plain.rstrip()


def third(shown: View, width: int = 80) -> str:
    return headline.draw(scene(shown), width, 3)[2].plain


def test_the_first_line_answers_with_verdict_interval_and_counts() -> None:
    line = first(view())
    assert line.startswith(" FAIL  0.61x [0.53, 0.69]  decode 23.1 against 38.1 tok/s")
    assert line.endswith("n 24+26, 2 out")
    assert "2 warm-up out" in first(view(), width=120)


def test_until_there_is_a_judgement_the_ratio_is_not_called_a_verdict() -> None:
    line = first(view(judgement=None))
    assert line.startswith("0.61x, not judged yet")
    assert "FAIL" not in line


def test_without_an_incumbent_it_says_how_to_set_one() -> None:
    line = first(no_incumbent(), width=120)
    assert line.startswith("no incumbent")
    assert "b takes canary.log no drafting #1, or sets another" in line
    assert "b sets what to beat" in first(replace(no_incumbent(), offered=None))


def test_a_typed_incumbent_has_no_count() -> None:
    typed = replace(FAIL, incumbent=Judged(38.1, None, 0, None, {}))
    assert "n 26" in first(view(judgement=typed))


def test_a_delivered_basis_is_named() -> None:
    delivered = replace(FAIL, basis="delivered", stratum=None)
    assert "delivered 18.9 against 29.4" in first(view(judgement=delivered))


def test_a_verdict_without_a_ratio_is_told_in_words() -> None:
    line = first(view(judgement=replace(FAIL, verdict="NO_DATA", ratio=None, interval=None)))
    assert line.startswith(" NO_DATA  too little to judge")


def test_pieces_that_do_not_fit_are_left_out_whole() -> None:
    line = first(view(judgement=replace(FAIL, verdict="INCONCLUSIVE")), width=70)
    assert "…" not in line
    assert "INCONCLUSIVE" in line


def test_pausing_shows_how_many_finished_since() -> None:
    assert first(view(), paused=12).endswith(" PAUSED +12 ")


def test_the_reason_is_commit_against_needed_commit() -> None:
    assert why(view()) == "why   a round takes 104 ms and commits 2.42; it must commit 3.98, K=4 allows 5"
    pays = view(canary=arm(commit_needed=Figure(2.01, "derived")))
    assert why(pays) == "why   a round takes 104 ms and commits 2.42; 2.01 would break even"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"mean_accepted_length": unknown("nothing drafted")}, "nothing was drafted: these are plain steps"),
        ({"mean_accepted_length": unknown("rounds unknown")}, "unknown: rounds unknown"),
        ({"steps": NO_STEPS, "commit_needed": unknown()}, "its time is unknown: rounds unknown"),
        ({"steps": NO_STEPS}, "a round commits 2.42; it must commit 3.98, K=4 allows 5"),
        ({"commit_needed": unknown("no incumbent")}, "a round takes 104 ms and commits 2.42"),
        ({"depth": unknown()}, "it must commit 3.98"),
    ],
)
def test_what_is_not_known_is_not_reasoned_with(changes: dict[str, object], words: str) -> None:
    assert why(view(canary=arm(**changes))).endswith(words)


def test_an_undecided_verdict_says_what_it_waits_for() -> None:
    waits = view(judgement=replace(FAIL, verdict="NO_DATA", reason="needs 20 requests an arm, has 24 and 9"))
    assert why(waits) == "why   needs 20 requests an arm, has 24 and 9"
    tall = text(headline.draw(scene(waits), 120, 4))
    assert "a round takes 104 ms" in tall
    assert "note  needs 20 requests" in tall


@pytest.mark.parametrize(
    ("changes", "badge"),
    [
        ({"state": "stale", "last_line_age_s": 42.0}, "STALE 42s"),
        ({"restarted": True}, "RESTARTED"),
        ({"synthetic": True}, "SYNTHETIC"),
        ({"state": "ended"}, "ENDED"),
        ({"problems": 3}, "3 problems"),
    ],
)
def test_badges(changes: dict[str, object], badge: str) -> None:
    assert badge in third(view(source=source(**changes)))
    assert badge not in third(view())


def test_the_source_line_says_who_speaks() -> None:
    line = third(view())
    assert line.startswith("canary.log  llama.cpp b11434  draft-simple K=4")
    assert line.rstrip().endswith("27 req  2s")


@pytest.mark.parametrize(
    ("load", "width", "shown", "hidden"),
    [
        (Load(2, 0, 0.25), 120, "2 running  KV 25 %", "queued"),
        (Load(2, 3, 0.25), 80, "2 running  3 queued", "KV"),
        (Load(0, 0, 0.95), 80, "KV 95 %", "running"),
        (Load(), 120, "req", "running"),
    ],
)
def test_what_the_server_is_busy_with_is_said(load: Load, width: int, shown: str, hidden: str) -> None:
    line = third(view(source=replace(source(), load=load)), width)
    assert shown in line
    assert hidden not in line


def test_requests_that_are_not_numbered_are_unknown_not_none() -> None:
    assert "-- req" in third(view(source=replace(source(), requests=0, unnumbered=True)))
    assert "12+ req" in third(view(source=replace(source(), requests=12, unnumbered=True)))
    assert "0 req" in third(view(source=replace(source(), requests=0)))


def test_a_long_name_gives_way_to_the_badges() -> None:
    line = third(view(source=source(name="x" * 300, synthetic=True)))
    assert "SYNTHETIC" in line
    assert "27 req" in line


@pytest.mark.parametrize(
    ("state", "message", "words"),
    [
        ("waiting", "no such file yet: a.log", "no such file yet: a.log"),
        ("live", "", "waiting for the first finished request"),
        ("live", "no line that is known", "no line that is known"),
        ("waiting", "", "opening"),
        ("ended", "", "ended without a finished request"),
        ("ended", "no line that is known", "without a finished request: no line that is known"),
    ],
)
def test_before_the_first_request(state: str, message: str, words: str) -> None:
    assert words in first(view(canary=None, source=source(state=state, message=message)))


def test_warnings_and_a_lost_source_are_told() -> None:
    lost = view(
        source=source(state="waiting", message="gone: canary.log"),
        judgement=replace(FAIL, warnings=("different concurrency",)),
    )
    assert headline.notes(lost, tall=False) == ("gone: canary.log", "different concurrency")
    assert "note  gone: canary.log" in text(headline.draw(scene(lost), 80, 4))


def test_what_moved_the_rate_is_told() -> None:
    moved = view(drift="a round takes 141 ms, not 104: residency, spill, clocks")
    assert "note  a round takes 141 ms, not 104" in text(headline.draw(scene(moved), 80, 4))


def test_an_incumbent_without_requests_says_so() -> None:
    empty = replace(INCUMBENT, decode_tok_s=None, message="no request by batch yet")
    line = first(view(judgement=None, ratio=None, incumbent=empty))
    assert line.startswith("no request by batch yet")

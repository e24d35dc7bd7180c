"""Numbers that are not so, by the build or by themselves: kept as printed, with the reason."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

import pytest

from tests.formats.reading import LISTENING, LOADING, Read, block, counters, launch, lines, read, release
from tui.formats.events import Request
from tui.formats.reader import LogReader

REPLAYS = "0.00.200.000 W srv    load_model: speculative decoding will use checkpoints"


def build(number: int) -> str:
    return f"0.00.001.000 I build_info: b{number}-abcdef12"


def served(number: int | None, *, accepted: int, drafted: int, replays: bool) -> Read:
    """One request of a server of some build, in the form of b9230 to b9665 unless that contradicts it."""
    start = [*([build(number)] if number else []), LOADING, *([REPLAYS] if replays else []), LISTENING]
    return read(
        lines(
            *start,
            launch(0, 1),
            block(0, 1, tokens=400, ms=8000.0, drafted=drafted, accepted=accepted, mean=False),
            release(0, 1),
        )
    )


INFLATED = "up to b10209 a draft verified again counts one token too many as accepted"
STUCK = "b8842 to b8977 print 1.00000 whenever drafts are verified again"
THROWN = "up to b5624 drafts thrown away for --draft-min count as drafted"


@pytest.mark.parametrize(
    ("number", "accepted", "replays", "doubt"),
    [
        (8841, 90, True, None),
        (8842, 90, True, STUCK),
        (8842, 90, False, None),
        (8977, 90, True, STUCK),
        (8978, 90, True, None),
        (8978, 60, True, INFLATED),
        (8978, 0, True, None),
        (10209, 60, True, INFLATED),
        (10209, 60, False, None),
        (10210, 60, True, None),
        (11434, 60, True, None),
        (4983, 60, False, None),
        (4984, 60, False, THROWN),
        (4984, 90, False, None),
        (5624, 60, False, THROWN),
        (5625, 60, False, None),
    ],
)
def test_what_a_build_is_known_to_miscount_is_doubted(
    number: int, accepted: int, replays: bool, doubt: str | None
) -> None:
    result = served(number, accepted=accepted, drafted=90, replays=replays)
    done = result.request
    assert (done.drafted, done.accepted, done.doubt) == (90, accepted, doubt)
    assert done.acceptance_ratio == pytest.approx(accepted / 90, abs=1e-5)
    assert result.problems == []


@pytest.mark.parametrize(("number", "doubted"), [(8841, False), (8842, True), (8977, True), (8978, False)])
@pytest.mark.parametrize("accepted", [90, 60])
def test_without_a_start_nothing_tells_whether_drafts_are_verified_again(
    number: int, accepted: int, doubted: bool
) -> None:
    reader = LogReader("a", build=f"b{number}")
    text = lines(
        launch(0, 1),
        block(0, 1, tokens=400, ms=8000.0, drafted=90, accepted=accepted, mean=False),
        release(0, 1),
    )
    events = [*reader.feed(text.encode(), 0), *reader.close()]
    (done,) = [event for event in events if isinstance(event, Request)]
    assert (done.doubt is not None and done.doubt.startswith(STUCK)) == doubted


@pytest.mark.parametrize("number", [7, 999])
def test_a_shallow_clones_number_tells_no_build(number: int) -> None:
    assert served(number, accepted=60, drafted=90, replays=False).request.doubt is None


def test_the_form_of_the_line_bounds_the_build_where_none_is_told() -> None:
    assert served(None, accepted=60, drafted=90, replays=True).request.doubt == INFLATED
    assert served(None, accepted=90, drafted=90, replays=True).request.doubt is None
    assert served(None, accepted=60, drafted=90, replays=False).request.doubt is None


def newest(over: str) -> str:
    """A request in the form of b9829 and later, with rates over one number of tokens or the other."""
    per, rate = ("20.00", "50.00") if over == "n" else ("20.05", "49.88")
    tag = "0.02.000.000 I slot print_timing: id  0 | task 1 | "
    return lines(
        LOADING,
        REPLAYS,
        LISTENING,
        launch(0, 1),
        f"{tag}       eval time =    8000.00 ms /   400 tokens ({per} ms per token, {rate} tokens per second)",
        f"{tag}draft acceptance = 0.66667 (   60 accepted /    90 generated), mean len =  3.00",
        release(0, 1),
    )


@pytest.mark.parametrize(("over", "doubt"), [("n", INFLATED), ("n-1", None)])
def test_what_rates_leave_out_tells_builds_apart(over: str, doubt: str | None) -> None:
    done = read(newest(over)).request
    assert (done.rate_over, done.doubt) == (over, doubt)


def test_a_round_seen_to_be_verified_again_is_as_good_as_the_start() -> None:
    log = lines(
        launch(0, 1),
        "0.01.100.000 I slot update_slots: id  0 | task 1 | accepted  1/ 3 draft tokens (restore checkpoint)",
        "0.01.200.000 I slot update_slots: id  0 | task 1 | accepted  2/ 2 draft tokens",
        block(0, 1, drafted=90, accepted=60, mean=False),
        release(0, 1),
    )
    assert read(log).request.doubt == INFLATED


def test_a_restart_with_another_build_ends_the_doubt() -> None:
    old = [build(9300), LOADING, REPLAYS, LISTENING]
    new = [build(10300), LOADING, REPLAYS, LISTENING]
    one = [launch(0, 1), block(0, 1, drafted=90, accepted=60, mean=False), release(0, 1)]
    assert [r.doubt is None for r in read(lines(*old, *one, *new, *one)).requests] == [False, True]


def test_more_accepted_than_drafted() -> None:
    log = lines(launch(0, 1), block(0, 1, drafted=30, accepted=40, mean=False), release(0, 1))
    result = read(log)
    assert (result.request.accepted, result.request.drafted) == (40, 30)
    assert result.request.doubt == "more accepted than drafted"
    assert result.problems == ["impossible"]


def test_a_line_against_itself() -> None:
    wrong = block(0, 1, drafted=90, accepted=30, mean=False).replace("0.33333", "0.91000")
    result = read(lines(launch(0, 1), wrong, release(0, 1)))
    assert result.request.doubt == "its acceptance line contradicts itself"
    assert result.problems == ["impossible"]


@pytest.mark.parametrize(
    ("tokens", "doubt"), [(118, None), (115, None), (114, "accepts 4 tokens more than the answer has")]
)
def test_more_committed_than_the_last_round_can_overshoot(tokens: int, doubt: str | None) -> None:
    """40 rounds of 3 drafts keep 77: with the first token 118; the last round may commit 3 too many."""
    start = [
        LOADING,
        "0.00.020.000 I spec common_specu: adding speculative implementation 'draft-simple'",
        "0.00.021.000 I spec common_specu: - n_max=3, n_min=0, p_min=0.00",
        LISTENING,
    ]
    log = lines(
        *start,
        launch(0, 1),
        block(0, 1, tokens=tokens, drafted=120, accepted=77, mean=False),
        counters("draft-simple", 1, 40, 120, 77, 100.0),
        release(0, 1),
    )
    done = read(log).request
    assert (done.rounds, done.doubt) == (40, doubt)


def test_counters_of_a_chain_that_count_replays_are_not_split_among_its_drafters() -> None:
    both = [counters("ngram-mod", 1, 10, 40, 21, 1.0), counters("draft-mtp", 1, 20, 60, 41, 50.0)]
    log = lines(launch(0, 1), block(0, 1, drafted=100, accepted=60, mean=False), *both, release(0, 1))
    assert (read(log).request.rounds, read(log).request.by_drafter) == (30, None)
    exact = log.replace("=    21,", "=    20,").replace("=    41,", "=    40,")
    assert len(read(exact).request.by_drafter or ()) == 2


@pytest.mark.parametrize("ms", ["-4611686018427387904.00", " 9223372036854775.00", "      -0.75"])
def test_times_that_were_never_set_are_no_times(ms: str) -> None:
    tag = "slot print_timing: id  0 | task 1 | "
    result = read(
        lines(
            f"{tag}prompt eval time = {ms} ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)",
            f"{tag}       eval time = {ms} ms /     1 tokens (    0.00 ms per token, 1000000.00 tokens per second)",
        )
    )
    done = result.request
    assert (done.tokens, done.decode_ms, done.prompt_ms, done.rate_tok_s) == (1, None, None, None)
    assert result.problems == ["impossible", "impossible"]


def test_debug_lines_over_no_drafts_count_no_rounds() -> None:
    """b7323 to b7487 printed every round as of 0 draft tokens."""
    rounds = [
        f"slot update_slots: id  0 | task 3 | accepted {n}/0 draft tokens, new n_tokens = 9{n}"
        for n in (2, 3)
    ]
    log = lines(
        "slot launch_slot_: id  0 | task 3 | processing task",
        *rounds,
        "slot print_timing: id  0 | task 3 | ",
        "       eval time =     180.00 ms /    10 tokens (   18.00 ms per token,    55.56 tokens per second)",
        "draft acceptance rate = 0.83333 (    5 accepted /     6 generated)",
    )
    done = read(log).request
    assert (done.accepted, done.drafted, done.rounds) == (5, 6, None)

"""Rounds: from the cumulative counters where they prove it, else from what the acceptance line allows."""

from __future__ import annotations

import pytest

from tests.formats.reading import (
    IDLE,
    LISTENING,
    LOADING,
    Read,
    block,
    counters,
    launch,
    lines,
    read,
    release,
)
from tui.formats.reader import LogReader


def one(slot: int, task: int, stats: str, **numbers: object) -> str:
    """A whole request, alone."""
    return lines(launch(slot, task), block(slot, task, **numbers), stats, release(slot, task), IDLE)  # type: ignore[arg-type]


START = lines(LOADING, LISTENING)


def test_the_first_request_of_a_server_is_counted_from_zero() -> None:
    log = one(0, 1, counters("draft-simple", 1, 40, 118, 60, 800.5), drafted=118, accepted=60, rounds=40)
    request = read(log).request
    assert (request.rounds, request.rounds_from, request.draft_ms) == (40, "statistics", 800.5)
    assert request.plain_steps == 0
    assert request.drafter == "draft-simple"
    assert request.by_drafter is None


def test_later_requests_get_the_difference() -> None:
    log = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0), drafted=150, accepted=50, rounds=50)
    log += one(0, 2, counters("draft-simple", 6, 431, 1290, 755, 9620.0), drafted=90, accepted=55, rounds=31)
    first, second = read(log).requests
    assert first.rounds_from == "mean_length"
    assert (second.rounds, second.rounds_from, second.draft_ms) == (31, "statistics", 620.0)


def test_every_statistics_line_is_an_event_with_its_cumulative_values() -> None:
    log = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0), drafted=150, accepted=50, rounds=50)
    (event,) = read(log).statistics
    assert (event.calls_begin, event.calls_accept, event.drafts) == (5, 400, 400)
    assert (event.drafted, event.accepted, event.draft_ms, event.accept_ms) == (1200, 700, 9000.0, 0.02)


def test_two_begins_since_the_last_line_prove_nothing() -> None:
    log = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0))
    log += one(0, 2, counters("draft-simple", 7, 431, 1290, 755, 9620.0), drafted=90, accepted=55, rounds=31)
    request = read(log).requests[1]
    assert (request.rounds, request.rounds_from, request.draft_ms) == (31, "mean_length", None)


def test_a_difference_that_is_not_this_requests_is_not_credited() -> None:
    log = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0))
    log += one(0, 2, counters("draft-simple", 6, 470, 1400, 800, 9900.0), drafted=90, accepted=55, rounds=31)
    assert read(log).requests[1].rounds_from == "mean_length"


def test_rounds_never_contradict_the_requests_own_mean_length() -> None:
    stats = counters("draft-simple", 1, 50, 118, 60, 800.5)
    request = read(one(0, 1, stats, drafted=118, accepted=60, rounds=40)).request
    assert (request.rounds, request.rounds_from) == (40, "mean_length")


def test_overlapping_requests_are_not_credited_even_if_the_numbers_agree() -> None:
    log = lines(
        LOADING,
        LISTENING,
        launch(0, 1),
        launch(1, 2),
        block(0, 1, drafted=90, accepted=30, rounds=30),
        counters("draft-simple", 2, 60, 180, 60, 900.0),
        release(0, 1),
        launch(0, 3),
        block(1, 2, drafted=90, accepted=30, rounds=30),
        counters("draft-simple", 3, 90, 270, 90, 1350.0),
        release(1, 2),
    )
    assert [(r.concurrency, r.rounds_from, r.draft_ms) for r in read(log).requests] == [
        (2, "mean_length", None),
        (2, "mean_length", None),
    ]


def test_a_chain_shares_the_rounds_among_its_drafters_in_order() -> None:
    stats = "\n".join(
        [counters("ngram-mod", 1, 3, 30, 18, 0.5), counters("draft-simple", 1, 27, 81, 40, 500.0)],
    )
    request = read(one(2, 7, stats, drafted=111, accepted=58, rounds=30)).request
    assert request.drafter == "ngram-mod+draft-simple"
    assert (request.rounds, request.draft_ms) == (30, 500.5)
    assert request.by_drafter is not None
    assert [(s.drafter, s.rounds, s.drafted, s.accepted, s.draft_ms) for s in request.by_drafter] == [
        ("ngram-mod", 3, 30, 18, 0.5),
        ("draft-simple", 27, 81, 40, 500.0),
    ]


def test_a_request_that_drafted_nothing_is_told_by_the_counters() -> None:
    log = one(0, 1, counters("ngram-mod", 1, 0, 0, 0, 0.4))
    request = read(log).request
    assert (request.drafted, request.rounds, request.rounds_from, request.plain_steps) == (
        0,
        0,
        "statistics",
        100,
    )
    assert request.acceptance_ratio is None


def old(
    name: str, begin: int | None, drafts: int, drafted: int, accepted: int, accepts: int | None = None
) -> str:
    """A statistics line of the builds before b9235."""
    calls = f"#calls(b,g,a) = {begin} {drafts + 2} {accepts if accepts is not None else drafts}"
    if begin is None:
        calls = f"#calls = {drafts + 2}"
    return (
        f"statistics {name}: {calls}, #gen drafts = {drafts}, #acc drafts = {min(drafts, accepted)},"
        f" #gen tokens = {drafted}, #acc tokens = {accepted}, dur(b,g,a) = 0.001, {drafts * 10}.500, 0.002 ms"
    )


def old_block(slot: int, task: int, drafted: int, accepted: int) -> str:
    return lines(
        f"slot print_timing: id  {slot} | task {task} | ",
        "prompt eval time =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)",
        "       eval time =    2000.00 ms /   100 tokens (   20.00 ms per token,    50.00 tokens per second)",
        "      total time =    2100.00 ms /   150 tokens",
        f"draft acceptance rate = {accepted / drafted:.5f} ({accepted:5} accepted / {drafted:5} generated)",
    )


def test_old_builds_count_rounds_by_drafts_not_by_accept_calls() -> None:
    log = old_block(0, 1, 90, 60) + old("ngram_mod", 1, 33, 90, 60, accepts=20) + "\n"
    request = read(log).request
    assert (request.rounds, request.rounds_from, request.draft_ms) == (33, "statistics", 330.5)


def test_counters_of_each_slot_are_told_apart() -> None:
    log = lines(
        old_block(0, 1, 90, 60) + old("ngram_mod", 1, 33, 90, 60),
        old_block(1, 2, 40, 20) + old("ngram_mod", 1, 14, 40, 20),
        old_block(0, 3, 50, 25) + old("ngram_mod", 2, 50, 140, 85),
        old_block(1, 4, 60, 30) + old("ngram_mod", 2, 35, 100, 50),
    )
    assert [r.rounds for r in read(log).requests] == [33, 14, 17, 21]


def test_the_oldest_counters_without_begins_need_both_sums() -> None:
    log = lines(
        old_block(0, 1, 90, 60) + old("ngram_mod", None, 33, 90, 60),
        old_block(0, 2, 50, 25) + old("ngram_mod", None, 50, 140, 85),
        old_block(0, 3, 50, 25) + old("ngram_mod", None, 70, 190, 111),
    )
    assert [r.rounds for r in read(log).requests] == [None, 17, None]


def test_a_plain_drafters_time_of_the_oldest_builds_holds_the_prompt_and_is_unknown() -> None:
    request = read(old_block(0, 1, 90, 60) + old("draft", 1, 33, 90, 60) + "\n").request
    assert (request.rounds, request.draft_ms) == (33, None)


def test_counters_begin_anew_with_a_server() -> None:
    first = one(0, 1, counters("draft-simple", 1, 40, 118, 60, 800.5), drafted=118, accepted=60, rounds=40)
    again = one(0, 1, counters("draft-simple", 1, 30, 88, 45, 600.0), drafted=88, accepted=45, rounds=30)
    for log in (first + START + again, first + again):
        assert [(r.rounds, r.rounds_from, r.draft_ms) for r in read(log).requests] == [
            (40, "statistics", 800.5),
            (30, "statistics", 600.0),
        ]


def test_a_restart_between_two_lines_leaves_the_first_difference_unknown() -> None:
    first = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0))
    second = one(
        0, 2, counters("draft-simple", 6, 431, 1290, 755, 9620.0), drafted=90, accepted=55, rounds=31
    )
    assert read(first + START + second).requests[1].rounds_from == "mean_length"


@pytest.mark.parametrize("jump", [1, 5_000_000])
def test_bytes_left_out_make_the_next_difference_unknown(jump: int) -> None:
    first = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0)).encode()
    second = one(
        0, 2, counters("draft-simple", 6, 431, 1290, 755, 9620.0), drafted=90, accepted=55, rounds=31
    ).encode()
    third = one(
        0, 3, counters("draft-simple", 7, 461, 1380, 800, 9900.0), drafted=90, accepted=45, rounds=30
    ).encode()
    reader = LogReader("test.log")
    events = reader.feed(first, 0)
    events += reader.feed(second + third, len(first) + jump)
    assert [r.rounds_from for r in Read(events).requests] == [None, "mean_length", "statistics"]


def test_a_replaced_file_is_another_log() -> None:
    first = one(0, 1, counters("draft-simple", 5, 400, 1200, 700, 9000.0)).encode()
    second = one(
        0, 2, counters("draft-simple", 6, 431, 1290, 755, 9620.0), drafted=90, accepted=55, rounds=31
    ).encode()
    reader = LogReader("test.log")
    events = reader.feed(first, 0) + reader.feed(second, 0)
    assert [r.rounds_from for r in Read(events).requests] == [None, "mean_length"]


def test_rounds_that_two_integers_fit_are_a_range() -> None:
    log = one(0, 1, "", drafted=700, accepted=300, rounds=250, tokens=601)
    request = read(log).request
    assert request.rounds is None
    assert request.rounds_range == (249, 251)
    assert request.rounds_from == "mean_length"
    assert request.plain_steps is None


def test_per_position_shares_cut_the_range() -> None:
    tag = "0.02.000.000 I slot print_timing: id  0 | task 1 | "
    log = lines(
        block(0, 1, drafted=700, accepted=300, rounds=250, tokens=601),
        f"{tag}     acc per pos = (0.600, 0.400, 0.200)",
        release(0, 1),
    )
    request = read(log).request
    assert request.accepted_per_position == (0.6, 0.4, 0.2)
    assert (request.rounds, request.rounds_range) == (250, None)


def test_nothing_but_meaningless_bounds_is_null() -> None:
    log = one(0, 1, "", drafted=90, accepted=30, rounds=30, mean=False)
    request = read(log).request
    assert (request.rounds, request.rounds_range, request.rounds_from) == (None, None, None)


DEPTH = lines(
    LOADING,
    "0.00.200.000 I spec common_specu: adding speculative implementation 'draft-simple'",
    "0.00.200.100 I spec common_specu: - n_max=3, n_min=0, p_min=0.000000",
    LISTENING,
)


def test_the_depth_of_the_start_bounds_the_rounds() -> None:
    log = DEPTH + one(0, 1, "", drafted=210, accepted=30, rounds=70, mean=False)
    request = read(log).request
    assert request.rounds_range == (70, 73)
    assert request.rounds_from is None
    assert request.drafter == "draft-simple"


def test_a_depth_that_not_every_drafter_printed_bounds_nothing() -> None:
    chain = DEPTH.replace(
        "0.00.200.000",
        "0.00.190.000 I spec common_specu: adding speculative implementation 'ngram-map-k'\n0.00.200.000",
    )
    log = chain + one(0, 1, "", drafted=210, accepted=30, rounds=70, mean=False)
    assert read(log).request.rounds_range is None


def test_nothing_accepted_tells_no_rounds_by_its_mean_length() -> None:
    request = read(one(0, 1, "", drafted=210, accepted=0, rounds=70)).request
    assert (request.rounds, request.rounds_range, request.mean_accepted_length) == (None, None, 1.0)


def test_known_rounds_give_the_mean_length_that_is_not_printed() -> None:
    some = one(
        0, 1, counters("draft-mtp", 1, 40, 118, 60, 800.5), drafted=118, accepted=60, rounds=40, mean=False
    )
    none = one(
        0, 1, counters("draft-mtp", 1, 40, 118, 0, 800.5), drafted=118, accepted=0, rounds=40, mean=False
    )
    assert read(some).request.mean_accepted_length == 2.5
    assert read(none).request.mean_accepted_length == 1.0


def test_the_length_of_the_per_position_list_bounds_drafts_but_not_those_of_an_n_gram() -> None:
    shares = "0.02.000.000 I slot print_timing: id  0 | task 1 |      acc per pos = (0.000, 0.000, 0.000)"
    for name, expected in (("draft-mtp", (40, 43)), ("ngram-mod", None)):
        log = lines(
            launch(0, 1),
            block(0, 1, drafted=120, accepted=0, rounds=40, tokens=41),
            shares,
            counters(name, 9, 900, 2700, 50, 900.0),
            release(0, 1),
        )
        assert read(log).request.rounds_range == expected

"""Rounds from an acceptance line: never a number that the line contradicts."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tui.model.rounds import candidate_rounds, fits_mean, fits_shares, mean_bounds


def test_a_mean_length_that_one_integer_fits() -> None:
    assert list(candidate_rounds(drafted=223, accepted=124, mean=2.65, tokens=200, depth=3)) == [75]


def test_several_integers_stay_a_range() -> None:
    found = candidate_rounds(drafted=700, accepted=300, mean=2.20, tokens=601, depth=None)
    assert list(found) == [249, 250, 251]


def test_shares_cut_it() -> None:
    found = candidate_rounds(
        drafted=700, accepted=300, mean=2.20, tokens=601, depth=3, per_position=(0.6, 0.4, 0.2)
    )
    assert list(found) == [250]


def test_shares_that_no_candidate_fits_cut_nothing() -> None:
    found = candidate_rounds(drafted=60, accepted=30, mean=2.00, tokens=61, depth=3, per_position=(0.555,))
    assert list(found) == [30]


def test_the_depth_bounds_from_below_and_the_tokens_from_above() -> None:
    found = candidate_rounds(drafted=210, accepted=30, mean=None, tokens=101, depth=3)
    assert (found[0], found[-1]) == (70, 73)


def test_without_depth_or_mean_nothing_is_known() -> None:
    assert not candidate_rounds(drafted=210, accepted=30, mean=None, tokens=101, depth=None)
    assert not candidate_rounds(drafted=210, accepted=0, mean=1.0, tokens=101, depth=None)
    assert not candidate_rounds(drafted=0, accepted=0, mean=None, tokens=101, depth=3)


def test_contradicting_numbers_leave_nothing() -> None:
    assert not candidate_rounds(drafted=20, accepted=15, mean=1.10, tokens=100, depth=None)
    assert not candidate_rounds(drafted=20, accepted=15, mean=9.00, tokens=100, depth=3)


def test_a_mean_that_may_be_one_has_no_upper_bound_but_the_drafts() -> None:
    found = candidate_rounds(drafted=633, accepted=1, mean=1.00, tokens=213, depth=None)
    assert (found[0], found[-1]) == (200, 633)
    assert mean_bounds(0, 1.0) is None


def test_a_mean_below_one_is_impossible() -> None:
    assert mean_bounds(5, 0.5) is None


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_the_true_rounds_are_always_among_the_candidates(data: st.DataObject) -> None:
    depth = data.draw(st.integers(1, 16))
    rounds = data.draw(
        st.lists(
            st.integers(1, depth).flatmap(lambda g: st.tuples(st.just(g), st.integers(0, g))),
            min_size=1,
            max_size=80,
        )
    )
    plain = data.draw(st.integers(0, 20))
    overshoot = data.draw(st.integers(0, rounds[-1][1]))
    drafted = sum(g for g, _ in rounds)
    accepted = sum(a for _, a in rounds)
    count = len(rounds)
    shares = tuple(round(sum(a > i for _, a in rounds) / count, 3) for i in range(depth))
    for known in (depth, None):
        for printed in (shares, None):
            found = candidate_rounds(
                drafted=drafted,
                accepted=accepted,
                mean=round(1 + accepted / count, 2),
                tokens=1 + count + accepted + plain - overshoot,
                depth=known,
                per_position=printed,
            )
            assert count in found or (accepted == 0 and known is None)
            assert all(accepted == 0 or fits_mean(r, accepted, round(1 + accepted / count, 2)) for r in found)
    assert fits_shares(count, shares)

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.model.acceptance import (
    Acceptance,
    estimate,
    from_halogen,
    from_mean_length,
    from_positions,
    from_ratio,
    halogen_head_depth,
    wilson,
)


def test_full_drafts_give_a_point_with_its_interval() -> None:
    found = from_positions(1000, [700, 500, 350], 3000, 3)
    assert found.point == pytest.approx(1550 / (1550 + 650))
    assert found.low == found.high == found.point
    assert found.interval is not None
    assert found.interval[0] < 1550 / 2200 < found.interval[1]
    assert found.interval[1] - found.interval[0] == pytest.approx(0.038, abs=0.001)
    assert found.conditional == pytest.approx((0.7, 5 / 7, 0.7))
    assert found.conditional_is_lower_bound == (False, False, False)
    assert found.note == ""


def test_drafts_cut_short_give_a_range_instead_of_a_point() -> None:
    found = from_positions(1014, [651, 370, 223], 3008, 3)
    assert found.point is None
    assert found.interval is None
    assert found.low == pytest.approx(1244 / 2035)
    assert found.high == pytest.approx(1244 / 2001)
    assert found.note == "drafts cut short"
    assert found.conditional_is_lower_bound == (False, True, True)


def test_few_cut_drafts_keep_the_point() -> None:
    found = from_positions(1000, [700, 500, 350], 2995, 3)
    assert found.point == found.low == pytest.approx(1550 / 2200)
    assert found.high == pytest.approx(1550 / 2195)
    assert found.interval is not None
    assert found.interval[1] > 1550 / 2195
    assert found.note == "drafts cut short"


def test_more_missing_tokens_than_rejections_leave_the_top_open() -> None:
    found = from_positions(100, [90, 85, 80], 150 + 105, 8)
    assert found.high == 1.0
    assert found.low == pytest.approx(255 / (255 + 100))


def test_nothing_accepted_is_zero_not_unknown() -> None:
    found = from_positions(40, [0, 0, 0], 115, 3)
    assert (found.point, found.low, found.high) == (0.0, 0.0, 0.0)
    assert found.conditional == (0.0, None, None)


def test_trailing_positions_may_be_left_out() -> None:
    found = from_positions(33, [30, 28, 25, 20], 33 * 15, 15)
    assert found.point == pytest.approx(103 / (103 + 33))
    assert len(found.conditional) == 15


def test_unknown_depth_is_named() -> None:
    found = from_positions(100, [70, 40], 200, None)
    assert found.point == pytest.approx(110 / (110 + 60))
    assert found.note == "depth taken as 2"


@pytest.mark.parametrize(
    ("rounds", "counts", "drafted", "depth"),
    [
        (100, [50, 60], 200, 2),
        (100, [101, 60], 200, 2),
        (100, [70, 40], 201, 2),
        (100, [70, 40], 90, 2),
        (100, [70, 40, 10], 200, 2),
    ],
    ids=["rising", "above the rounds", "more drafted than fits", "fewer drafted than rounds", "too deep"],
)
def test_counts_that_do_not_fit_give_no_p(rounds: int, counts: list[float], drafted: int, depth: int) -> None:
    found = from_positions(rounds, counts, drafted, depth)
    assert found.point is found.low is found.high is None
    assert found.evidence is None
    assert found.note.startswith("inconsistent")


@given(st.floats(0.05, 0.95), st.integers(1, 6), st.integers(0, 2**32))
def test_the_range_holds_the_share_seen_in_drafts_of_any_length(p: float, k: int, seed: int) -> None:
    dice = random.Random(seed)
    counts, drafted, looked_at, kept = [0.0] * k, 0, 0, 0
    for _ in range(300):
        length = dice.randint(1, k)
        drafted += length
        for position in range(length):
            looked_at += 1
            if dice.random() >= p:
                break
            kept += 1
            counts[position] += 1
    found = from_positions(300, counts, drafted, k)
    assert found.low is not None
    assert found.high is not None
    assert found.low - 1e-12 <= kept / looked_at <= found.high + 1e-12


def test_mean_length_of_the_published_head() -> None:
    found = from_mean_length(3.87, 7)
    assert found.point == pytest.approx(0.775, abs=0.0005)
    assert found.evidence == "mean_length"


def test_mean_length_at_a_fractional_depth_weighs_the_last_power() -> None:
    found = from_mean_length(1 + 0.7 + 0.49 + 0.5 * 0.343, 2.5)
    assert found.point == pytest.approx(0.7, abs=1e-9)


@given(st.floats(0.05, 0.95), st.integers(2, 8), st.integers(0, 2**32))
def test_a_mean_length_of_drafts_of_any_length_leaves_a_range(p: float, k: int, seed: int) -> None:
    dice = random.Random(seed)
    lengths = [dice.choice((1, dice.randint(1, k))) for _ in range(50)]
    mean = 1 + sum(sum(p**i for i in range(1, length + 1)) for length in lengths) / len(lengths)
    found = from_mean_length(mean, sum(lengths) / len(lengths), k)
    assert found.low is not None
    assert found.high is not None
    assert found.low - 1e-9 <= p <= found.high + 1e-9
    assert (found.point is None) == (found.high - found.low >= 0.01)


def test_drafts_cut_short_are_told_where_only_their_mean_length_is_known() -> None:
    # Half of the drafts were of one token, half of seven, all with p = 0.8.
    mean = 1 + (0.8 + sum(0.8**i for i in range(1, 8))) / 2
    found = from_mean_length(mean, 4, 7)
    assert found.point is None
    assert found.low == pytest.approx(0.738, abs=0.0005)
    assert found.high == pytest.approx(0.8)
    assert found.note == "drafts cut short"
    assert from_mean_length(mean, 4).point == found.low
    assert from_mean_length(mean, 4.5).note == "drafts taken as of one length"


@pytest.mark.parametrize(("mean", "p"), [(1.0, 0.0), (4.0, 1.0), (4.004, 1.0)])
def test_mean_length_at_its_ends(mean: float, p: float) -> None:
    assert from_mean_length(mean, 3).point == p


@pytest.mark.parametrize("mean", [0.9, 4.1, 190.0])
def test_an_impossible_mean_length_is_said_not_clamped(mean: float) -> None:
    found = from_mean_length(mean, 3)
    assert found.point is found.high is None
    assert found.note == f"inconsistent: {mean:.2f} tokens a round at depth 3"


def test_a_ratio_alone_is_an_upper_bound() -> None:
    found = from_ratio(0.41, 7)
    assert found.point is found.low is None
    assert found.high == pytest.approx(0.775, abs=0.0005)
    assert found.note == "upper bound unless every draft was full"


def test_a_ratio_at_depth_one_is_p() -> None:
    assert from_ratio(0.88, 1).point == pytest.approx(0.88)


def test_a_ratio_without_depth_gives_nothing() -> None:
    assert from_ratio(0.5, None).note == "p not derivable: depth unknown"


def test_a_ratio_above_one_is_inconsistent() -> None:
    assert from_ratio(1.08, 3) == Acceptance.unknown("inconsistent: a ratio of 1.08")


def test_the_best_evidence_is_taken() -> None:
    positions = estimate(rounds=100, drafted=200, accepted=110, depth=2, position_counts=[70, 40])
    length = estimate(rounds=100, drafted=200, accepted=110, depth=2)
    ratio = estimate(rounds=None, drafted=200, accepted=110, depth=2)
    assert [positions.evidence, length.evidence, ratio.evidence] == ["per_position", "mean_length", "ratio"]
    assert length.point == pytest.approx(0.661895, abs=1e-6)
    assert ratio.high == pytest.approx(0.661895, abs=1e-6)


@pytest.mark.parametrize(
    ("drafted", "accepted", "note"),
    [
        (0, 0, "nothing drafted"),
        (None, None, "no acceptance in this log"),
        (10, 11, "inconsistent: 11 accepted of 10 drafted"),
    ],
)
def test_no_p_without_sound_counts(drafted: int | None, accepted: int | None, note: str) -> None:
    found = estimate(rounds=5, drafted=drafted, accepted=accepted, depth=3)
    assert found == Acceptance.unknown(note)


def test_halogens_head_is_told_from_the_prompt_lookup() -> None:
    # 240 rounds at commit 1.80; 40 of them from the lookup, which had 2.00 accepted each.
    found = from_halogen(240, 192, 40, 80, head_depth=1)
    assert found.point == pytest.approx(112 / 200)
    assert found.note == "prompt lookup left out"
    deeper = from_halogen(100, 90, 0, 0, head_depth=2)
    assert deeper.point is not None
    assert deeper.point + deeper.point**2 == pytest.approx(0.9)
    assert deeper.note == ""


def test_halogen_without_a_fixed_head_depth_gives_no_p() -> None:
    assert from_halogen(100, 90, 0, 0, None).point is None
    assert "head depth" in from_halogen(100, 90, 0, 0, None).note


def test_halogen_with_lookup_rounds_alone_says_so() -> None:
    assert from_halogen(10, 20, 10, 20, 2).note == "the head drafted no round"


def test_halogen_commit_above_the_head_is_inconsistent() -> None:
    assert from_halogen(100, 130, 0, 0, 1).note.startswith("inconsistent")


@pytest.mark.parametrize(
    ("version", "depth"),
    [
        ("0.4.4", 1),
        ("0.13.8", 1),
        ("0.14.0", 2),
        ("v0.17.1", 2),
        ("0.17", 2),
        ("0.17.2", None),
        ("1.0", None),
        ("", None),
        (None, None),
        ("nightly", None),
    ],
)
def test_halogens_head_depth_by_version(version: str | None, depth: int | None) -> None:
    assert halogen_head_depth(version) == depth


def test_wilson_interval_reference_values() -> None:
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert wilson(0, 20)[0] == 0.0
    assert wilson(20, 20) == pytest.approx((0.8389, 1.0), abs=1e-4)

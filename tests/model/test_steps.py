from __future__ import annotations

import dataclasses

import pytest

from tui.model.figures import Figure
from tui.model.steps import StepSums, step_figures, target_step

T_S = Figure(27.68, "measured")
LOSS = StepSums(
    decode_ms=114_938.0,
    rounds=1014,
    plain_steps=9,
    draft_ms=50_775.248,
    drafts=1014,
    drafted=3008,
    drafter_class="plain",
    target_step=T_S,
)


def test_step_times_of_a_recorded_plain_drafter() -> None:
    found = step_figures(LOSS)
    assert found.round_ms.value == pytest.approx(113.1, abs=0.05)
    assert found.draft_ms.value == pytest.approx(50.1, abs=0.05)
    assert found.draft_step_ms.value == pytest.approx(16.9, abs=0.05)
    assert found.verify_ms.value == pytest.approx(63.0, abs=0.05)
    assert found.verify_factor.value == pytest.approx(2.28, abs=0.005)
    assert found.target_over_draft.value == pytest.approx(1.64, abs=0.005)
    assert found.target_over_draft.note == "plain drafters need 10 to 50"
    assert found.pass_ms.value == pytest.approx(114_938 / 1023)
    assert found.round_ms.provenance == "measured"
    assert found.verify_ms.provenance == "derived"
    assert found.verify_factor.provenance == "measured"
    assert found.target_step_ms is T_S


def test_a_typed_target_step_makes_what_rests_on_it_derived() -> None:
    found = step_figures(dataclasses.replace(LOSS, target_step=Figure(30.0, "typed")))
    assert found.round_ms.provenance == "derived"
    assert found.verify_factor.provenance == "derived"
    assert found.draft_ms.provenance == "measured"


def test_a_head_drafts_in_one_pass() -> None:
    found = step_figures(dataclasses.replace(LOSS, drafter_class="head"))
    assert found.draft_step_ms == found.draft_ms
    assert found.target_over_draft.note == ""


def test_without_a_target_step_plain_steps_hide_the_round() -> None:
    found = step_figures(dataclasses.replace(LOSS, target_step=Figure.unknown("none seen")))
    assert found.round_ms.value is None
    assert "9 plain steps" in found.round_ms.note
    assert found.pass_ms.value == pytest.approx(114_938 / 1023)
    assert found.verify_ms.value is None
    assert found.draft_step_ms.value is not None


def test_without_plain_steps_the_round_needs_no_target_step() -> None:
    found = step_figures(dataclasses.replace(LOSS, plain_steps=0, target_step=Figure.unknown("none seen")))
    assert found.round_ms.value == pytest.approx(114_938 / 1014)
    assert found.verify_ms.value is not None
    assert found.verify_factor.value is None
    assert found.verify_factor.note == "none seen"


def test_an_upper_bound_of_the_target_step_is_shown_and_built_on_by_nothing() -> None:
    bound = target_step(90_000.0, 1000, "upper bound")
    found = step_figures(dataclasses.replace(LOSS, target_step=bound))
    assert found.target_step_ms.value == 90.0
    assert found.round_ms.value is None
    assert found.verify_factor.value is None
    assert found.target_over_draft.value is None
    full = step_figures(dataclasses.replace(LOSS, target_step=bound, plain_steps=0))
    assert full.verify_ms.value is not None
    assert "upper bound" in full.verify_factor.note


def test_without_draft_time_the_reason_is_given_everywhere_it_matters() -> None:
    found = step_figures(
        dataclasses.replace(LOSS, draft_ms=None, drafts=0, drafted=0, no_draft_time="ask for it")
    )
    for figure in (found.draft_ms, found.draft_step_ms, found.verify_ms, found.verify_factor):
        assert figure.value is None
        assert figure.note == "ask for it"
    assert found.round_ms.value == pytest.approx(113.1, abs=0.05)


def test_overlapping_requests_give_no_step_times() -> None:
    found = step_figures(dataclasses.replace(LOSS, overlapped=True))
    for figure in (found.round_ms, found.pass_ms, found.draft_ms, found.verify_ms, found.verify_factor):
        assert figure.value is None
        assert figure.note.startswith("shared")
    assert found.target_step_ms is T_S


def test_rounds_known_only_as_a_range_leave_the_time_per_pass() -> None:
    found = step_figures(dataclasses.replace(LOSS, rounds=None, plain_steps=None, passes=1023))
    assert found.round_ms.value is None
    assert "range" in found.round_ms.note
    assert found.pass_ms.value == pytest.approx(112.35, abs=0.01)


def test_an_ngram_drafter_has_no_draft_step() -> None:
    found = step_figures(dataclasses.replace(LOSS, drafter_class="ngram"))
    assert found.draft_step_ms.value is None
    assert found.target_over_draft.value is None
    assert found.verify_factor.value == pytest.approx(2.28, abs=0.005)


def test_an_unknown_drafter_class_gives_no_draft_step() -> None:
    assert step_figures(dataclasses.replace(LOSS, drafter_class=None)).draft_step_ms.value is None


def test_an_arm_that_never_drafted_has_a_pass_time_only() -> None:
    plain = StepSums(decode_ms=27_680.0, rounds=0, plain_steps=1000, target_step=target_step(27_680.0, 1000))
    found = step_figures(plain)
    assert found.target_step_ms.value == pytest.approx(27.68)
    assert found.pass_ms.value == pytest.approx(27.68)
    assert {found.round_ms.note, found.draft_ms.note, found.verify_ms.note} == {"nothing drafted"}


@pytest.mark.parametrize("change", [{"draft_ms": 200_000.0}, {"target_step": Figure(20_000.0, "measured")}])
def test_times_that_contradict_each_other_give_no_verify_pass(change: dict[str, object]) -> None:
    found = step_figures(dataclasses.replace(LOSS, **change))  # type: ignore[arg-type]
    assert found.verify_ms.value is None
    assert found.verify_factor.value is None


def test_no_step_time_from_nothing() -> None:
    assert target_step(0.0, 0).value is None
    empty = step_figures(StepSums(decode_ms=0.0, rounds=0, plain_steps=0))
    assert empty.pass_ms.value is None

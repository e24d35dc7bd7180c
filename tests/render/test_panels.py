from collections.abc import Callable
from dataclasses import replace

import pytest
from textual.content import Content

from tests.render.scenes import GLYPHS, VIEWS, scene, text
from tests.snapshots import CURVE, HOSTILE, LIVE, LOSING_STEPS, arm, request, unknown, view
from tui.model.figures import Figure
from tui.model.whatif import WhatIf
from tui.render import acceptance, commit, headline, rate, requests, steps, whatif
from tui.render.levers import LABELS, Levers
from tui.render.scene import Scene
from tui.render.whatif import Cursor

Draw = Callable[[Scene, int, int], list[Content]]


def draw_rate(scene: Scene, width: int, height: int) -> list[Content]:
    return rate.draw(scene, [], width, height)


def draw_whatif(scene: Scene, width: int, height: int) -> list[Content]:
    return whatif.draw(scene, Cursor("acceptance", "6", "K runs from 1 to 64"), [], width, height)


def draw_requests(scene: Scene, width: int, height: int) -> list[Content]:
    rows = scene.view.requests if scene.view else ()
    return requests.draw(rows, 1, width, height, scene.glyphs, empty="nothing")


PANELS: dict[str, Draw] = {
    "headline": headline.draw,
    "acceptance": acceptance.draw,
    "commit": commit.draw,
    "steps": steps.draw,
    "rate": draw_rate,
    "whatif": draw_whatif,
    "requests": draw_requests,
}


@pytest.mark.parametrize("glyphs", GLYPHS.values(), ids=GLYPHS)
@pytest.mark.parametrize("shown", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("draw", PANELS.values(), ids=PANELS)
def test_no_line_is_wider_than_the_panel_and_none_is_too_many(
    draw: Draw, shown: object, glyphs: object
) -> None:
    made = scene(shown, glyphs)  # type: ignore[arg-type]  # parametrized
    for width in (20, 24, 26, 28, 43, 60, 80, 120):
        for height in (2, 3, 7, 8, 12, 20):
            lines = draw(made, width, height)
            assert len(lines) <= height
            assert {line.cell_length for line in lines} == {width}
            assert not any("\n" in line.plain or "\x1b" in line.plain for line in lines)
            if made.glyphs.ascii:
                assert all(line.plain.isascii() for line in lines)


@pytest.mark.parametrize("draw", PANELS.values(), ids=PANELS)
def test_without_any_source_nothing_is_said_to_be_measured(draw: Draw) -> None:
    assert "measured" not in text(draw(scene(None), 80, 8)).replace("not measured", "")


def test_the_ratio_is_said_not_to_be_p() -> None:
    drawn = text(acceptance.draw(scene(view()), 26, 7))
    assert "ratio 35.5 % not p" in drawn
    assert "p .60-.62 drafts cut short" in drawn


def test_positions_are_headed_and_bounds_are_marked() -> None:
    lines = [line.plain for line in acceptance.draw(scene(view()), 26, 7)]
    assert "reached" in lines[2]
    assert "given all before" in lines[2]
    assert lines[3].split()[-3:] == ["66", "%", ".66"]
    assert lines[4].split()[-3:] == ["40", "%", ">.61"]


def test_deep_drafts_show_the_first_positions_and_the_last() -> None:
    deep = arm(reached=tuple(0.8**i for i in range(1, 13)))
    firsts = [line.plain.split()[0] for line in acceptance.draw(scene(view(canary=deep)), 26, 7)[3:]]
    assert firsts == ["1", "2", "3", "12"]


def test_an_unknown_p_says_why() -> None:
    drawn = text(acceptance.draw(scene(VIEWS["nothing known"]), 60, 7))
    assert "p -- p not derivable: depth unknown" in drawn
    assert "ratio --" in drawn


def test_counts_per_position_of_too_few_requests_are_not_said_to_be_missing() -> None:
    few = arm(reached=None, mean_accepted_length=unknown("rounds of 20 of 21 requests unknown"))
    drawn = text(acceptance.draw(scene(view(canary=few)), 40, 7))
    assert "rounds of 20 of 21 requests unknown" in drawn
    assert "no counts per position" not in drawn


def test_commit_is_held_against_what_it_must_be_and_what_k_allows() -> None:
    drawn = text(commit.draw(scene(view()), 24, 7))
    assert "commits  2.42" in drawn
    assert "needs    3.98" in drawn
    assert "5 max" in drawn
    assert "coverage 99.2 % 18 plain" in drawn


def test_what_no_depth_allows_is_said_in_words() -> None:
    hopeless = arm(commit_needed=Figure(5.4, "derived"))
    assert "needs    5.40 over max" in text(commit.draw(scene(view(canary=hopeless)), 24, 7))


def test_the_head_off_share_is_halogens() -> None:
    assert "head off 13.0 %" in text(commit.draw(scene(VIEWS["head"]), 24, 8))
    assert "head off" not in text(commit.draw(scene(view()), 24, 8))


def test_rounds_known_as_a_range_stay_a_range() -> None:
    ranged = arm(rounds=None, rounds_range=(740, 760))
    assert "rounds   740..760" in text(commit.draw(scene(view(canary=ranged)), 40, 12))


def test_step_times_say_how_each_was_come_by() -> None:
    rows = {line.plain.split()[0]: line.plain.split()[1:] for line in steps.draw(scene(view()), 28, 7)}
    assert rows["round"] == ["104.4", "measured"]
    assert rows["verify"][:2] in (["57.6", "derived"], ["v", "2.20"])
    assert rows["t_s/d_s"] == ["2.24x", "needs", "10-50"]


def test_unknown_step_times_give_the_reason_over_the_lines_they_share() -> None:
    why = "no draft time in this log: llama-server prints it with -lv 4"
    blind = replace(
        LOSING_STEPS,
        draft_ms=unknown(why),
        verify_ms=unknown(why),
        draft_step_ms=unknown(why),
        verify_factor=unknown(why),
        target_over_draft=unknown(why),
    )
    drawn = [line.plain for line in steps.draw(scene(view(canary=arm(steps=blind))), 28, 7)]
    told = "".join("".join(line[11:].split()) for line in drawn[2:])
    assert told == why.replace(" ", "")
    assert all(line[8:10] == "--" for line in drawn[2:])


def test_an_upper_bound_is_shown_as_one() -> None:
    assert "<=33.0" in text(steps.draw(scene(VIEWS["head"]), 28, 7))


def test_without_rounds_the_pass_is_named_so() -> None:
    merged = replace(LOSING_STEPS, round_ms=unknown("rounds unknown"), pass_ms=Figure(71.2, "measured"))
    assert text(steps.draw(scene(view(canary=arm(steps=merged))), 28, 7)).startswith(
        "pass       71.2 measured"
    )


def test_both_bases_are_named_with_their_ratios() -> None:
    lines = [line.plain for line in rate.draw(scene(view()), [], 80, 2)]
    assert lines[0].startswith("decode    now 22.6 all 23.2  0.61x of 38.1")
    assert lines[1].startswith("delivered now 18.4 all 18.9  0.64x of 29.4")
    assert lines[1].rstrip().endswith("0")


def test_generations_in_flight_stand_in_the_frame() -> None:
    assert rate.title(scene(view())) == "rate, tok/s - 1 in flight: 21.7"
    assert rate.title(scene(view(in_flight=()))) == "rate, tok/s"


def test_other_arms_are_listed_where_there_is_room() -> None:
    other = arm(label="canary.log draft-simple K=2", decode_tok_s=27.4)
    drawn = text(rate.draw(scene(view(others=(other,))), [], 110, 6))
    assert "other arm canary.log draft-simple K=2" in drawn


def rows_of(lines: list[Content]) -> dict[str, str]:
    """The answers by their label."""
    return {line.plain[28:37].strip(): line.plain[37:56].strip() for line in lines}


def test_untouched_the_pane_says_what_was_measured() -> None:
    made = scene(view())
    rows = rows_of(whatif.draw(made, Cursor(), [], 80, 8))
    assert rows["tok/s"].startswith("23.2  0.61x")
    assert rows["round ms"] == "104.4"
    assert rows["commits"] == "2.42 needs 3.98"
    assert "live" in whatif.title(made)


def test_moved_levers_are_named_and_marked_typed() -> None:
    made = scene(view(), levers=Levers(depth=2, acceptance=0.7))
    drawn = text(whatif.draw(made, Cursor(), [], 80, 8))
    assert "typed: K, p" in whatif.title(made)
    assert " K              2 typed" in drawn
    assert " p            .70 typed" in drawn


def test_a_commit_cut_from_a_curve_is_marked() -> None:
    rows = rows_of(whatif.draw(scene(view(), levers=Levers(depth=2)), Cursor(), [], 80, 8))
    assert rows["commits"].startswith(f"~{1 + CURVE[0] + CURVE[1]:.2f}")


def test_a_cost_measured_at_one_depth_bounds_the_others() -> None:
    rows = rows_of(whatif.draw(scene(view()), Cursor(), [], 80, 8))
    assert rows["p* K=1"].endswith("..never")
    assert rows["p* K=7"].startswith(">= .")


def test_assumed_costs_give_a_band_and_name_the_measurement() -> None:
    what = WhatIf(
        drafter_class="head",
        depth=3,
        acceptance=0.6,
        target_step_ms=Figure(50.0, "typed"),
        verify_factor=Figure(1.1, "assumed"),
        incumbent_tok_s=20.0,
    )
    made = scene(view(what_if=what))
    drawn = text(whatif.draw(made, Cursor(), [], 80, 11))
    assert ".." in rows_of(whatif.draw(made, Cursor(), [], 80, 8))["tok/s"]
    assert "assumed: v" in drawn
    assert "to measure it:" in drawn


def test_the_cursor_shows_what_is_typed_and_why_it_was_refused() -> None:
    drawn = text(whatif.draw(scene(view()), Cursor("depth", "65"), [], 80, 8))
    assert "K            65_" in drawn
    refused = text(whatif.draw(scene(view()), Cursor("depth", "", "K runs from 1 to 64"), [], 80, 8))
    assert "K runs from 1 to 64" in refused


def test_every_lever_has_its_line() -> None:
    names = [whatif.lever_at(y) for y in range(len(LABELS))]
    assert names == list(LABELS)
    assert whatif.lever_at(len(LABELS)) is None
    assert whatif.lever_at(-1) is None


def test_requests_match_when_every_word_occurs() -> None:
    rows = (
        request(1, drafter="mtp", task=77),
        request(2, finish="cancelled", task=77),
        request(3, raw=("a line with [/x] in it",)),
    )
    assert [row.number for row in requests.matching(rows, "77")] == [1, 2]
    assert [row.number for row in requests.matching(rows, "77 CANCEL")] == [2]
    assert [row.number for row in requests.matching(rows, "[/x]")] == [3]
    assert requests.matching(rows, "  ") == rows
    assert requests.matching(rows, "nothing like it") == ()


def test_a_request_tells_what_is_odd_about_it() -> None:
    odd = request(1, finish="failed", concurrency=3, acceptance_ratio=None)
    assert requests.note(odd) == "draft-simple failed 3 in flight left out: warm-up"
    drawn = text(requests.draw((odd,), None, 90, 3, GLYPHS["unicode"], empty=""))
    assert "--" in drawn


def test_an_empty_table_says_so() -> None:
    assert "none yet" in text(requests.draw((), None, 60, 5, GLYPHS["unicode"], empty="none yet"))


def test_outside_text_is_shown_as_text() -> None:
    drawn = text(headline.draw(scene(VIEWS["hostile"]), 200, 6))
    assert "[/x] [red]evil[/red]" in drawn
    assert "\\x1b[31m" in drawn
    assert "\\u202e" in drawn
    assert HOSTILE not in drawn


def test_live_inputs_are_those_of_the_view() -> None:
    assert scene(view()).what is LIVE

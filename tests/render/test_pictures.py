import dataclasses

import pytest

from tests.snapshots import BENCH, LIVE, UNKNOWN_ARM, view, wave
from tui.model.figures import Figure
from tui.model.whatif import WhatIf
from tui.render import plot
from tui.render.bars import bar, gauge
from tui.render.glyphs import ASCII, UNICODE, Glyphs
from tui.render.sparkline import cells, sparkline, top
from tui.session.snapshot import HistoryPoint

BOTH = pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])


def test_a_sparkline_starts_at_nothing_so_that_small_changes_look_small() -> None:
    row = cells([100.0, 101.0], 2, 1, UNICODE)[0]
    assert row[0] == row[1]


def test_a_sparkline_is_full_near_its_highest_value_and_half_at_half_of_it() -> None:
    rows = cells([50.0, 100.0], 2, 4, UNICODE)
    assert rows[0][0] == " "
    assert rows[0][1] != " "
    assert rows[3] == "██"


@BOTH
def test_a_gap_stays_empty_and_a_small_value_does_not(glyphs: Glyphs) -> None:
    row = cells([0.001, None, 10.0], 3, 1, glyphs)[0]
    assert row[1] == " "
    assert row[0] == glyphs.levels[0]


@BOTH
def test_the_newest_value_stands_at_the_right_edge(glyphs: Glyphs) -> None:
    rows = cells([1.0, 10.0], 6, 1, glyphs)
    assert rows[0].startswith("    ")
    assert glyphs.levels.index(rows[0][-1]) > glyphs.levels.index(rows[0][-2])


def test_only_the_last_values_are_drawn_and_scaled() -> None:
    assert top([1000.0, 1.0, 2.0][-2:]) == pytest.approx(2.16)
    assert cells([1000.0, 1.0, 1.0], 2, 1, UNICODE)[0] == "▇▇"


@BOTH
def test_the_incumbent_is_a_line_over_lower_bars(glyphs: Glyphs) -> None:
    upper, lower = cells([10.0] * 8, 8, 2, glyphs, reference=38.0)
    assert len(set(upper)) == 1
    assert upper[0] != " "
    assert lower[-1] != " "


def test_a_row_has_one_style_and_the_line_alone_that_of_the_incumbent() -> None:
    rows = sparkline(wave(10.0), 20, 3, UNICODE, reference=40.0)
    assert [len(row.spans) for row in rows] == [1, 1, 1]
    assert rows[0].spans[0].style == "$incumbent"
    assert rows[2].spans[0].style == "$canary"


@BOTH
@pytest.mark.parametrize("values", [(), (None, None), (0.0,), wave(5.0, 300)])
@pytest.mark.parametrize("reference", [None, 7.0])
def test_every_row_is_as_wide_as_asked(
    glyphs: Glyphs, values: tuple[float | None, ...], reference: float | None
) -> None:
    for width in (0, 1, 7, 60):
        for height in (1, 2, 5):
            assert [len(row) for row in cells(values, width, height, glyphs, reference=reference)] == [
                width
            ] * height


@pytest.mark.parametrize(
    ("share", "shown"), [(0.0, "        "), (0.5, "████    "), (1.0, "████████"), (1.7, "████████")]
)
def test_bars(share: float, shown: str) -> None:
    assert bar(share, 8, UNICODE) == shown


@BOTH
def test_a_small_share_is_not_drawn_as_none(glyphs: Glyphs) -> None:
    assert bar(0.0001, 8, glyphs).strip()


@BOTH
def test_the_gauge_marks_what_is_needed_beyond_or_before_the_bar(glyphs: Glyphs) -> None:
    lacking = gauge(2.0, 4.0, 1.0, 5.0, 21, glyphs, "$bad").plain
    enough = gauge(4.0, 2.0, 1.0, 5.0, 21, glyphs, "$good").plain
    assert lacking.index(glyphs.mark) > lacking.rindex(glyphs.bar[-1])
    assert enough.index(glyphs.mark) < enough.rindex(glyphs.bar[-1])
    assert gauge(2.0, 99.0, 1.0, 5.0, 21, glyphs, "$bad").plain.endswith(glyphs.mark)
    assert len(lacking) == len(enough) == 21


def test_an_unknown_commit_draws_no_bar() -> None:
    assert UNICODE.bar[-1] not in gauge(None, 3.0, 1.0, 5.0, 20, UNICODE, "$bad").plain


PICTURES = {
    "p": lambda w, h, g: plot.rate_over_p(LIVE, 0.6, w, h, g),
    "depth": lambda w, h, g: plot.rate_over_depth(LIVE, w, h, g),
    "history": lambda w, h, g: plot.ratio_history(view().history, w, h, g),
    "unknown": lambda w, h, g: plot.rate_over_p(WhatIf("plain", 3), None, w, h, g),
    "cost": lambda w, h, g: plot.verify_cost(BENCH, (5, 2.2), 3, w, h, g),
    "no profile": lambda w, h, g: plot.verify_cost(None, None, 3, w, h, g),
    "no history": lambda w, h, g: plot.ratio_history((), w, h, g),
}


@BOTH
@pytest.mark.parametrize("name", PICTURES)
@pytest.mark.parametrize("size", [(20, 4), (24, 8), (70, 16)])
def test_pictures_fill_exactly_their_cells(glyphs: Glyphs, name: str, size: tuple[int, int]) -> None:
    lines = PICTURES[name](*size, glyphs)
    assert [line.cell_length for line in lines] == [size[0]] * size[1]
    if glyphs.ascii:
        assert all(line.plain.isascii() for line in lines)


def test_pictures_use_the_colours_of_the_theme_and_no_others() -> None:
    styles = {span.style for line in plot.rate_over_p(LIVE, 0.6, 60, 12, UNICODE) for span in line.spans}
    assert styles == {"$canary", "$incumbent", "$draft bold", "$muted"}


def test_a_long_history_keeps_its_ends_and_its_scale() -> None:
    long = tuple(HistoryPoint(n, 2.0 if n == 77 else 1.5, (1.4, 1.6)) for n in range(1, 1001))
    shown = [line.plain for line in plot.ratio_history(long, 40, 8, UNICODE)]
    assert shown[0].startswith("2.05x")
    assert "1000 req" in shown[-1]
    assert shown[-1].split()[0] == "1"


def test_verify_cost_has_the_usual_assumption_as_its_line_and_marks_what_was_measured() -> None:
    drawn = [line.plain for line in plot.verify_cost(BENCH, (5, 2.2), 3, 60, 14, UNICODE)]
    assert any(row.startswith("1.10┼") for row in drawn)
    assert drawn[-1].split() == ["n", "1", "4", "8"]
    assert sum(row.count(UNICODE.spot) for row in drawn) == 1
    # The pass of the present depth, four tokens, is marked where the ruler says 4.
    assert drawn[3][drawn[-1].index("4")] == "│"
    beyond = [line.plain for line in plot.verify_cost(BENCH, (17, 4.0), 16, 60, 14, UNICODE)]
    assert UNICODE.spot not in "".join(beyond)


def test_a_picture_of_bounds_shows_both() -> None:
    assumed = dataclasses.replace(
        LIVE,
        measured=None,
        acceptance=0.6,
        verify_factor=Figure(1.1, "assumed"),
        draft_step_ms=Figure(4.0, "typed"),
    )
    drawn = plot.rate_over_p(assumed, 0.6, 60, 14, UNICODE)
    braille = [
        {
            span.style
            for span in line.spans
            for c in line.plain[span.start : span.end]
            if "\u2801" <= c <= "\u28ff"
        }
        for line in drawn
    ]
    assert {"$canary", "$muted"} <= set().union(*braille)


def test_an_arm_without_rates_has_no_scale() -> None:
    assert top(UNKNOWN_ARM.rates, 38.0) is None

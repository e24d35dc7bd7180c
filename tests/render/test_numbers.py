import math

import pytest

from tui.model.acceptance import Acceptance
from tui.model.figures import RootSpan, Span
from tui.render import numbers


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (39.58, "39.6"),
        (5.4231, "5.42"),
        (120.4, "120"),
        (9.996, "10.0"),
        (0.5, "0.500"),
        (1234.6, "1235"),
        (0, "0"),
        (3.7e-13, "<0.001"),
    ],
)
def test_rates_have_three_significant_digits(value: float, text: str) -> None:
    assert numbers.rate(value) == text


@pytest.mark.parametrize(
    "write",
    [
        numbers.rate,
        numbers.ms,
        numbers.p,
        numbers.percent,
        numbers.ratio,
        numbers.factor,
        numbers.tokens,
        numbers.age,
    ],
)
def test_unknown_is_two_dashes_never_zero(write: numbers.Write) -> None:
    assert write(None) == "--"


@pytest.mark.parametrize(
    "write", [numbers.rate, numbers.ms, numbers.p, numbers.percent, numbers.ratio, numbers.tokens]
)
@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_what_is_no_number_is_unknown(write: numbers.Write, value: float) -> None:
    assert write(value) == "--"


@pytest.mark.parametrize(
    ("value", "text"),
    [(113.12, "113.1"), (0.6234, "0.62"), (27.68, "27.7"), (1234.5, "1234"), (999.96, "1000")],
)
def test_milliseconds(value: float, text: str) -> None:
    assert numbers.ms(value) == text


@pytest.mark.parametrize(("value", "text"), [(0.616, ".62"), (1.0, "1.00"), (0.0, ".00"), (-0.264, "-.26")])
def test_p_has_two_decimals_and_no_leading_zero(value: float, text: str) -> None:
    assert numbers.p(value) == text


def test_ratio_and_its_interval() -> None:
    assert numbers.ratio(0.549) == "0.55x"
    assert numbers.interval((0.464, 0.649)) == "[0.46, 0.65]"
    assert numbers.interval(None) == ""


@pytest.mark.parametrize(
    ("point", "low", "high", "text"),
    [
        (0.618, 0.618, 0.618, ".62"),
        (None, 0.611, 0.622, ".61-.62"),
        (None, None, 0.7, "<= .70"),
        (None, 0.7, None, ">= .70"),
        (None, None, None, "--"),
    ],
)
def test_acceptance_is_a_point_a_range_or_a_bound(
    point: float | None, low: float | None, high: float | None, text: str
) -> None:
    assert numbers.acceptance(Acceptance(point, low, high, None, None, "")) == text


@pytest.mark.parametrize(
    ("span", "open_ended", "text"),
    [
        (RootSpan(0.7519, 0.7519), False, ".75"),
        (RootSpan("never", "never"), False, "never"),
        (RootSpan("always", "always"), False, "always"),
        (RootSpan(0.61, "never"), False, ".61..never"),
        (RootSpan(0.94, "never"), True, ">= .94"),
        (RootSpan("always", 0.4), False, "<= .40"),
        (RootSpan(0.65, 0.92), False, ".65-.92"),
        (RootSpan("always", "never"), False, "--"),
        (None, False, "--"),
    ],
)
def test_break_even_says_what_is_bounded(span: RootSpan | None, open_ended: bool, text: str) -> None:
    assert numbers.root_span(span, open_ended=open_ended) == text


@pytest.mark.parametrize(
    ("span", "text"),
    [
        (Span.exactly(19.836), "19.8"),
        (Span(14.8, 41.23), "14.8..41.2"),
        (Span(0.0, 19.4), "<= 19.4"),
        (Span(127.8, math.inf), ">= 128"),
        (Span(-math.inf, 0.4), "<= 0.400"),
        (Span(19.81, 19.83), "19.8"),
        (None, "--"),
    ],
)
def test_spans(span: Span | None, text: str) -> None:
    assert numbers.span(span, numbers.rate) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0s"), (42.9, "42s"), (61, "1m"), (3601, "1h"), (90000, "1d"), (-3, "0s")]
)
def test_age_is_in_its_largest_unit(seconds: float, text: str) -> None:
    assert numbers.age(seconds) == text


@pytest.mark.parametrize(("value", "side"), [(1.2, "good"), (0.8, "bad"), (1.001, "even"), (None, None)])
def test_the_side_of_a_ratio_is_the_one_that_is_written(value: float | None, side: str | None) -> None:
    assert numbers.side(value) == side

"""The fleet view's rows: what they say, in which order, and how they give way."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from tests.render.scenes import GLYPHS
from tests.snapshots import (
    FAIL,
    HOSTILE,
    arm,
    head,
    hostile,
    no_incumbent,
    nothing_known,
    source,
    unknown,
    view,
    waiting,
)
from tui.render.fleet import Fleet, short_names, table, title
from tui.render.glyphs import ASCII, UNICODE

if TYPE_CHECKING:
    from tui.model.comparison import Verdict
    from tui.session.snapshot import View


def named(name: str, of: View | None = None, **changes: object) -> View:
    of = of or view()
    return replace(of, source=replace(of.source, name=name, **changes))  # type: ignore[arg-type]  # by name


def judged(name: str, verdict: Verdict) -> View:
    return replace(named(name), judgement=replace(FAIL, verdict=verdict))


def rows(*views: View, width: int = 120, height: int = 30) -> list[str]:
    return [line.plain for line in table(Fleet(views, "", UNICODE), 0, width, height)]


def row(shown: View, width: int = 120) -> dict[str, str]:
    """The cells of one source by the heads of their columns."""
    heads, cells = (re.split(r"\s{2,}", line.strip("▸ ")) for line in rows(shown, width=width))
    return dict(zip(heads, cells, strict=True))


def test_a_row_says_what_the_panels_say() -> None:
    assert row(view()) == {
        "source": "canary.log",
        "engine": "llama.cpp",
        "drafter": "draft-simple K=4",
        "p": ".60-.62",
        "commit": "2.42",
        "round ms": "104.4",
        "tok/s": "23.1",
        "ratio": "0.61x",
        "verdict": "FAIL",
        "state": "2s",
    }


def test_unknown_is_never_a_number() -> None:
    told = row(nothing_known())
    assert {told[name] for name in ("engine", "p", "commit", "round ms", "tok/s", "ratio", "state")} == {"--"}
    assert row(waiting())["state"] == "WAITING"
    assert row(no_incumbent())["verdict"] == "no incumbent"


def test_no_drafter_is_said_only_where_nothing_was_drafted() -> None:
    plain = replace(view(), source=source(drafter=None))
    assert row(plain)["drafter"] == "--"
    idle = arm(drafted=0, mean_accepted_length=unknown("nothing drafted"))
    assert row(replace(plain, canary=idle))["drafter"] == "none"


def test_a_delivered_rate_is_marked_and_is_the_one_that_was_compared() -> None:
    delivered = replace(view(), basis="delivered", judgement=replace(FAIL, basis="delivered"))
    assert row(delivered)["tok/s"] == "18.9d"
    assert row(replace(delivered, judgement=None))["tok/s"] == "18.9d"
    assert title(Fleet((delivered,), "", UNICODE), 100).plain.endswith("no drafting; d delivered")


def test_what_needs_attention_comes_first_and_equals_stay_in_their_order() -> None:
    views = (
        judged("pass", "PASS"),
        judged("even", "EVEN"),
        judged("unsure", "INCONCLUSIVE"),
        named("alone", no_incumbent()),
        judged("few", "NO_DATA"),
        judged("fail", "FAIL"),
        judged("fail too", "FAIL"),
        named("silent", judged("", "PASS"), state="stale"),
        named("silent fail", judged("", "FAIL"), state="stale"),
        named("gone", judged("", "PASS"), state="failed"),
    )
    shown = [line.split("  ")[0][1:].strip() for line in rows(*views)[1:]]
    expected = ["gone", "silent fail", "silent", "fail", "fail too", "unsure", "alone", "few", "even", "pass"]
    assert shown == expected


def test_names_are_as_long_as_it_takes_to_tell_them_apart() -> None:
    names = [
        "/srv/a/llama.log",
        "/srv/b/llama.log",
        "/srv/other.log",
        "http://10.0.0.7:8080",
        "docker:llama",
        "-",
    ]
    short = ("a/llama.log", "b/llama.log", "other.log", "10.0.0.7:8080", "docker:llama", "-")
    assert short_names(tuple(names)) == short
    assert short_names(("/x/a.log", "/x/a.log")) == ("/x/a.log", "/x/a.log")


def test_a_long_name_keeps_its_end() -> None:
    line = rows(named("/srv/" + "very-" * 20 + "long-canary.log"), width=80)[1]
    assert line.startswith("▸…")
    assert "long-canary.log  " in line


@pytest.mark.parametrize("width", [20, 60, 61, 79, 80, 99, 119, 120, 121, 160, 200])
@pytest.mark.parametrize("glyphs", GLYPHS)
def test_every_line_has_exactly_the_width(width: int, glyphs: str) -> None:
    views = (view(), head(), hostile(), named("\u8a9e" * 40), waiting(), nothing_known())
    for chosen in ("canary.log", HOSTILE):
        fleet = Fleet(views, chosen, GLYPHS[glyphs], paused=3)
        lines = [title(fleet, width), *table(fleet, 0, width, 10)]
        assert {cell_len(line.plain) for line in lines} == {width}
        assert not {"\x1b", "\u202e", "\x07"} & set("".join(line.plain for line in lines))
        assert glyphs != "ascii" or all(line.plain.isascii() for line in lines)


def test_columns_give_way_but_the_answer_stays() -> None:
    assert row(view(), width=80).keys() == {"source", "p", "commit", "tok/s", "ratio", "verdict", "state"}
    assert row(view(), width=60).keys() == {"source", "tok/s", "ratio", "verdict", "state"}
    assert "to beat" in rows(view(), width=130)[0]
    assert " 38.1 " in rows(view(), width=130)[1]


def test_badges_that_do_not_fit_are_told_of() -> None:
    troubled = source(state="stale", last_line_age_s=400.0, restarted=True, synthetic=True)
    shown = replace(view(), source=troubled)
    assert row(shown)["state"] == "STALE 6m+"
    assert row(shown, width=200)["state"] == "STALE 6m RESTARTED SYNTHETIC"


def test_the_title_counts_the_verdicts_and_says_what_is_to_beat() -> None:
    told = title(Fleet((view(), view(), no_incumbent()), "", ASCII), 100).plain
    assert told.startswith("fleet  3 sources  2 FAIL  1 no incumbent")
    assert told.endswith("not all against the same")
    assert title(Fleet((view(), view()), "", ASCII), 100).plain.endswith("against serial.log no drafting")
    assert "PAUSED +4" in title(Fleet((view(), view()), "", ASCII, paused=4), 40).plain


def test_a_ratio_has_a_colour_only_once_it_is_judged() -> None:
    views = (judged("few", "NO_DATA"), judged("fail", "FAIL"))
    failed, few = table(Fleet(views, "few", UNICODE), 0, 120, 3)[1:]
    assert "$bad bold" in {str(span.style) for span in failed.spans}
    shown = table(Fleet(views, "fail", UNICODE), 0, 120, 3)[2]
    assert few.plain[1:] == shown.plain[1:]
    assert "$bad bold" not in {str(span.style) for span in shown.spans}


def test_rows_scroll_from_the_top_one_given() -> None:
    views = tuple(named(f"source-{n}") for n in range(9))
    lines = [line.plain for line in table(Fleet(views, "source-5", UNICODE), 4, 80, 4)]
    assert [line[:9] for line in lines[1:]] == [" source-4", "▸source-5", " source-6"]

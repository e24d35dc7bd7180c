from __future__ import annotations

import pytest
from textual.content import Content

from tui.render.glyphs import ASCII, UNICODE
from tui.render.text import clean, fit, line, padded


@pytest.mark.parametrize(
    "text", ["", "draft", "a long name of a drafter", "\u6a21\u578b\u6a21\u578b", "e\u0301" * 9]
)
@pytest.mark.parametrize("width", [5, 8])
def test_plain_text_is_padded_and_cut_as_content_is(text: str, width: int) -> None:
    assert padded(text, width, UNICODE) == fit(Content(text), width, UNICODE).plain


def test_text_from_outside_is_harmless_and_short() -> None:
    assert clean("\x1b[31mred", UNICODE) == "\\x1b[31mred"
    assert clean("x" * 300, UNICODE) == "x" * 200
    assert clean("\u4f60", UNICODE) == "\u4f60"
    assert clean("\u4f60", ASCII) == "\\u4f60"


def test_a_style_on_no_text_leaves_no_trace() -> None:
    assert line(6, UNICODE, "ab", ("", "$bad")).is_same(line(6, UNICODE, "ab"))

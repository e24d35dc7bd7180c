from __future__ import annotations

import pytest

from tui.model.drafters import drafter_class


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("draft", "plain"),
        ("draft-simple", "plain"),
        ("DRAFT-SIMPLE", "plain"),
        ("mtp", "head"),
        ("draft-mtp", "head"),
        ("draft-eagle3", "head"),
        ("eagle3", "head"),
        ("draft-dflash", "head"),
        ("dflash2", "head"),
        ("draft-dspark", "head"),
        ("ngram-mod", "ngram"),
        ("ngram_map_k4v", "ngram"),
        ("suffix", "ngram"),
        ("lookup", "ngram"),
        ("ngram-mod+draft-mtp", "head"),
        ("ngram-simple+ngram-mod+draft-simple", "plain"),
        ("ngram-simple,ngram-mod", "ngram"),
        ("ngram-mod+something-new", None),
        ("spec", None),
        ("batch", None),
        ("none", None),
        ("unknown", None),
        ("", None),
        (None, None),
    ],
)
def test_class_of_a_printed_name(name: str | None, kind: str | None) -> None:
    assert drafter_class(name) == kind

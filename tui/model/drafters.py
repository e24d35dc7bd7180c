"""Which class a drafter belongs to, from the names that servers print."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.figures import DrafterClass

_PLAIN = frozenset({"draft", "draft-simple"})
_HEAD = frozenset({"mtp", "eagle", "eagle2", "eagle3", "dflash", "dflash2", "dspark", "medusa"})
_NGRAM = frozenset({"ngram", "suffix", "lookup", "prompt-lookup", "pld"})


def drafter_class(name: str | None) -> DrafterClass | None:
    """The class of a drafter or of a chain of them.

    Args:
        name: spec type or drafter name as printed, e.g. "draft-mtp", "ngram_mod", "ngram-mod+draft-simple".

    Returns:
        For a chain the class of its first model drafter, which sets the cost; None for names that do not
        tell (halogen's "spec", "batch") and for chains without a model drafter that are not all n-gram.
    """
    if not name:
        return None
    classes = [_member(part) for part in name.lower().replace("_", "-").replace(",", "+").split("+")]
    models = [kind for kind in classes if kind in ("plain", "head")]
    if models:
        return models[0]
    return "ngram" if all(kind == "ngram" for kind in classes) else None


def _member(name: str) -> DrafterClass | None:
    name = name.strip()
    if name in _PLAIN:
        return "plain"
    if name.removeprefix("draft-") in _HEAD:
        return "head"
    if name in _NGRAM or name.startswith("ngram-"):
        return "ngram"
    return None

"""Are the token ids of two models interchangeable? Decided byte by byte over all tokens."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import TYPE_CHECKING

from tui.formats.events import harmless
from tui.preflight.findings import Finding, Sure
from tui.preflight.gguf import GgufError

if TYPE_CHECKING:
    from tui.preflight.gguf import Header

HASHED_TOKENS = 2000
SIZE_DIFFERENCE_ALLOWED = 128
"""llama.cpp drafts only with a vocabulary that differs by at most so many ids at its end."""
FIRST_CHECKED = 5
"""llama.cpp lets the first ids differ."""
QUESTION = "Are the token ids interchangeable?"
_PREFIX = "tokenizer.ggml."
_SPECIAL_KINDS = {2, 3, 5}
"""unknown, control, unused. User-defined tokens occur in ordinary text."""


@dataclass(frozen=True, slots=True)
class Tokenizer:
    """A model's tokenizer as its header has it.

    Attributes:
        merges: number of merges; 0 where the header has none.
        model: kind of tokenizer ("gpt2", "llama"). pre: pre-tokenizer.
        sha256_first_2000: first 16 hex digits of the digest over the first 2,000 tokens, each its length as
            8 bytes little-endian and its bytes.
        special_ids: role ("bos", "eos", ...) to token id.
        adds: whether "bos" and "eos" are put around a text, where the header says.
    """

    tokens: tuple[bytes, ...] = field(repr=False)
    kinds: tuple[int, ...] | None = field(repr=False)
    merges: int
    model: str | None
    pre: str | None
    sha256_first_2000: str
    special_ids: dict[str, int]
    adds: dict[str, bool]

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""
        return len(self.tokens)

    def is_special(self, token: int) -> bool | None:
        """Whether a token never occurs in ordinary text; None where the header does not tell."""
        if self.kinds is None or token >= len(self.kinds):
            return None
        return self.kinds[token] in _SPECIAL_KINDS


@dataclass(frozen=True, slots=True)
class Difference:
    """The first id that means two things; a side without that id is None."""

    id: int
    target: str | None
    draft: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """A drafter's vocabulary against the target's.

    Attributes:
        differing: how many ids differ, those that only one side has included.
        only_special_tokens_differ: None without differences, or where the headers do not tell.
        special_ids_differ: roles whose ids differ ("bos", "eos", ...).
    """

    first_difference: Difference | None
    differing: int
    only_special_tokens_differ: bool | None
    special_ids_differ: tuple[str, ...]

    @property
    def interchangeable(self) -> bool:
        """Every id is the same string on both sides."""
        return self.differing == 0


def read_tokenizer(header: Header) -> Tokenizer:
    """Take the tokenizer out of a header.

    Raises:
        GgufError: the file carries no vocabulary.
    """
    tokens = header.array(_PREFIX + "tokens")
    if not tokens or not all(isinstance(token, bytes) for token in tokens):
        raise GgufError("it carries no vocabulary (tokenizer.ggml.tokens)")
    words = tuple(token for token in tokens if isinstance(token, bytes))
    digest = hashlib.sha256()
    for word in words[:HASHED_TOKENS]:
        digest.update(len(word).to_bytes(8, "little") + word)
    kinds = header.array(_PREFIX + "token_type")
    numbers = ((key, header.number(key)) for key in header.metadata)
    ids = {k[len(_PREFIX) : -len("_token_id")]: n for k, n in numbers if n is not None and _is_id(k)}
    adds = {role: header.metadata.get(f"{_PREFIX}add_{role}_token") for role in ("bos", "eos")}
    return Tokenizer(
        tokens=words,
        kinds=None if kinds is None else tuple(kind for kind in kinds if isinstance(kind, int)),
        merges=len(header.array(_PREFIX + "merges") or ()),
        model=header.text(_PREFIX + "model"),
        pre=header.text(_PREFIX + "pre"),
        sha256_first_2000=digest.hexdigest()[:16],
        special_ids=dict(sorted(ids.items())),
        adds={role: value for role, value in adds.items() if isinstance(value, bool)},
    )


def _is_id(key: str) -> bool:
    return key.startswith(_PREFIX) and key.endswith("_token_id")


def compare(target: Tokenizer, draft: Tokenizer) -> Comparison:
    """Compare two vocabularies over all ids."""
    pairs = enumerate(zip_longest(target.tokens, draft.tokens))
    differing = [(token, ours, theirs) for token, (ours, theirs) in pairs if ours != theirs]
    roles = {**target.special_ids, **draft.special_ids}
    return Comparison(
        first_difference=next((Difference(t, shown(a), shown(b)) for t, a, b in differing), None),
        differing=len(differing),
        only_special_tokens_differ=_all_special(target, draft, [token for token, _, _ in differing]),
        special_ids_differ=tuple(r for r in roles if target.special_ids.get(r) != draft.special_ids.get(r)),
    )


def _all_special(target: Tokenizer, draft: Tokenizer, ids: list[int]) -> bool | None:
    """Whether each of these ids is special on every side that has it."""
    sides = [side.is_special(i) for i in ids for side in (target, draft) if i < side.vocab_size]
    if False in sides:
        return False
    return None if not sides or None in sides else True


def shown(token: bytes | None) -> str | None:
    """A token for people: its text, bytes that are no text as escapes."""
    return None if token is None else harmless(token.decode("utf-8", "backslashreplace"))


def describe(result: Comparison) -> str:
    """What a comparison came to, in one sentence."""
    first = result.first_difference
    if first is None:
        return "all token ids are interchangeable"
    target, draft = ("none" if side is None else f"'{side}'" for side in (first.target, first.draft))
    many = "1 id differs" if result.differing == 1 else f"{result.differing} ids differ, the first"
    where = f"{many}: {first.id} is {target} in the target and {draft} in the draft"
    if result.only_special_tokens_differ:
        return f"only special tokens differ ({where})"
    return f"token ids are not interchangeable: {where}"


def judge(target: Tokenizer, draft: Tokenizer, places: str) -> Finding:
    """Whether a drafter with this tokenizer can draft for the target, by llama.cpp's own rules.

    Args:
        target: the target's tokenizer.
        draft: the drafter's.
        places: where the two came from.
    """
    result = compare(target, draft)
    refusal = _refusal(target, draft)
    verdict: tuple[str, Sure, bool] = describe(result), "certain", refusal == ""
    if refusal:
        verdict = f"{describe(result)}; llama.cpp refuses the pair: {refusal}", "certain", False
    elif not result.interchangeable:
        verdict = f"{describe(result)}; llama.cpp takes the pair all the same", "likely", True
    answer, sure, ok = verdict
    return Finding(
        question=QUESTION,
        asked=f"the headers of {harmless(places)}",
        answer=answer,
        sure=sure,
        ok=ok,
        advice="" if ok else "a drafter of the same model family and generation",
    )


def _refusal(target: Tokenizer, draft: Tokenizer) -> str:
    """Why llama.cpp would not draft with this pair; empty when it would."""
    if target.model != draft.model:
        return "the tokenizers are of different kinds"
    for role in ("bos", "eos"):
        adds = target.adds.get(role), draft.adds.get(role)
        if adds[0] != adds[1] and None not in adds:
            return f"only one of them puts {role} around a text"
        if adds[0] and target.special_ids.get(role) != draft.special_ids.get(role):
            return f"their {role} ids differ"
    if abs(target.vocab_size - draft.vocab_size) > SIZE_DIFFERENCE_ALLOWED:
        return f"their sizes differ by more than {SIZE_DIFFERENCE_ALLOWED}"
    shared = zip(target.tokens[FIRST_CHECKED:], draft.tokens[FIRST_CHECKED:], strict=False)
    if any(ours != theirs for ours, theirs in shared):
        return "tokens that both have differ"
    return ""

"""How often two running servers agree on the next token: the cheapest stand-in for p.

The target continues a prompt greedily. The drafter is asked to continue the same prompt; where it differs,
it is asked again behind the target's own tokens, as in a draft after a rejection. So every token of the
target is one trial: would the drafter have proposed it, given all before it?
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from tui.model.acceptance import wilson
from tui.preflight.server import connect
from tui.preflight.speculates import identify

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tui.preflight.server import Server

PROMPTS = (
    "Explain in a few sentences why the sky is blue.",
    "def quicksort(items):\n    ",
    "List the planets of the solar system, one a line:\n",
    "Once upon a time, in a small village by the sea,",
    "The following JSON object describes a user:\n{",
    "Translate to German: 'Where is the nearest railway station?'\n",
    "Q: What is 17 times 23? Think step by step.\nA:",
    "SELECT customer_id, SUM(amount) FROM orders WHERE",
)
"""A little of everything that a server is asked; own prompts tell more."""


class AgreeError(RuntimeError):
    """The two servers cannot be compared; the text says why."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """What has been measured so far.

    Attributes:
        prompts: finished ones. planned: all of them.
        tokens: the target's tokens compared, each one trial. agreed: of these, the drafter's too.
    """

    prompts: int
    planned: int
    tokens: int
    agreed: int

    @property
    def share(self) -> float | None:
        """Share of agreed tokens; None before the first."""
        return self.agreed / self.tokens if self.tokens else None

    @property
    def interval(self) -> tuple[float, float] | None:
        """95 % binomial interval; it takes tokens as independent, which those of one prompt are not."""
        return wilson(self.agreed, self.tokens) if self.tokens else None


def agree(
    target_url: str, draft_url: str, prompts: Sequence[str], tokens: int, api_key: str | None = None
) -> Iterator[Agreement]:
    """Compare two llama.cpp servers, one request at a time.

    Args:
        target_url: the server that decides.
        draft_url: the server that would draft.
        prompts: what both continue.
        tokens: how many tokens of each continuation are compared.
        api_key: sent to both.

    Yields:
        What is measured so far: first nothing, then after every token.

    Raises:
        AgreeError: a server cannot be asked, or their tokens are not the same.
    """
    with connect(target_url, api_key) as target, connect(draft_url, api_key) as draft:
        for server in (target, draft):
            _must_be_llamacpp(server)
        done = Agreement(0, len(prompts), 0, 0)
        yield done
        for prompt in prompts:
            ids = _same_tokens(target, draft, prompt)
            for same in _trials(draft, ids, _continue(target, ids, tokens)):
                done = replace(done, tokens=done.tokens + 1, agreed=done.agreed + same)
                yield done
            done = replace(done, prompts=done.prompts + 1)
            yield done


def _must_be_llamacpp(server: Server) -> None:
    identity = identify(server)
    if identity.engine != "llama.cpp":
        reason = identity.trouble or "halogen shows no token ids; llama.cpp does"
        raise AgreeError(f"{server.url}: {reason}")


def _same_tokens(target: Server, draft: Server, prompt: str) -> list[int]:
    """The prompt as ids, which must be the same on both sides."""
    ours, theirs = (
        _ids(server, "/tokenize", {"content": prompt, "add_special": True}) for server in (target, draft)
    )
    if ours != theirs:
        raise AgreeError(
            "the two servers cut the same prompt into different tokens, so neither can draft for the other; "
            "spectop tokenizer tells where their files differ"
        )
    return ours


def _continue(server: Server, ids: list[int], tokens: int) -> list[int]:
    """Greedy continuation of a prompt, as ids."""
    body = {"prompt": ids, "n_predict": tokens, "temperature": 0, "top_k": 1, "return_tokens": True}
    return _ids(server, "/completion", body)


def _trials(draft: Server, ids: list[int], wanted: list[int]) -> Iterator[bool]:
    """For each token of the target: whether the drafter proposes it behind all before it."""
    place = 0
    while place < len(wanted):
        proposed = _continue(draft, ids + wanted[:place], len(wanted) - place)
        same = 0
        for ours, theirs in zip(wanted[place:], proposed, strict=False):
            if ours != theirs:
                break
            same += 1
        yield from [True] * same
        place += same
        if place < len(wanted):
            yield False
            place += 1


def _ids(server: Server, path: str, body: dict[str, Any]) -> list[int]:
    answer = server.post(path, body)
    ids = answer.body.get("tokens") if isinstance(answer.body, dict) else None
    if answer.status != 200:
        raise AgreeError(f"{server.url}{path}: {answer.refusal}")
    if not isinstance(ids, list) or not all(isinstance(token, int) for token in ids):
        raise AgreeError(f"{server.url}{path}: its answer has no token ids; the build is too old")
    return ids

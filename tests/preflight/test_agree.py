from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest

from tests.preflight.fake_server import Asked, FakeServer, Reply
from tui.preflight.agree import AgreeError, Agreement, agree

if TYPE_CHECKING:
    from collections.abc import Callable

    Serve = Callable[[dict[str, Any]], FakeServer]

PROMPT = [1, 2]


def llama(serve: Serve, following: Callable[[list[int]], int | None], **answers: Any) -> FakeServer:
    """A server whose next token is a function of all before it; None ends a text."""

    def complete(asked: Asked) -> Reply:
        ids = list(asked.body["prompt"])
        assert asked.body["temperature"] == 0
        made: list[int] = []
        while len(made) < asked.body["n_predict"] and (token := following(ids + made)) is not None:
            made.append(token)
        return Reply({"tokens": made, "content": ""})

    pages = {
        "/health": Reply({"status": "ok"}),
        "/props": Reply({"build_info": "b11434-x", "default_generation_settings": {}}),
        "/tokenize": Reply({"tokens": PROMPT}),
        "/completion": complete,
    }
    return serve(pages | answers)


def measure(target: FakeServer, draft: FakeServer, prompts: int = 1, tokens: int = 10) -> list[Agreement]:
    return list(agree(target.url, draft.url, ["hello"] * prompts, tokens))


def count(ids: list[int]) -> int:
    return len(ids)


def test_the_same_answers_agree_wholly_in_one_request(serve: Serve) -> None:
    target, draft = llama(serve, count), llama(serve, count)
    done = measure(target, draft)[-1]
    assert (done.agreed, done.tokens, done.share) == (10, 10, 1.0)
    assert draft.paths().count("/completion") == 1


def test_behind_a_disagreement_the_target_tokens_are_followed(serve: Serve) -> None:
    def forgetful(ids: list[int]) -> int:
        return 99 if len(ids) in (4, 5, 9) else len(ids)

    target, draft = llama(serve, count), llama(serve, forgetful)
    done = measure(target, draft)[-1]
    # ten trials, three of them wrong, and each wrong one asks again behind what the target said
    assert (done.agreed, done.tokens) == (7, 10)
    prompts = [each.body["prompt"] for each in draft.asked if each.path == "/completion"]
    assert prompts == [[1, 2], [1, 2, 2, 3, 4], [1, 2, 2, 3, 4, 5], [1, 2, *range(2, 10)]]


def test_a_drafter_that_is_always_wrong_agrees_in_nothing(serve: Serve) -> None:
    done = measure(llama(serve, count), llama(serve, lambda _: 99))[-1]
    assert (done.agreed, done.tokens) == (0, 10)
    assert done.interval is not None
    assert done.interval[0] == 0
    assert 0.2 < done.interval[1] < 0.4


def test_an_end_that_only_one_side_sees_is_a_disagreement(serve: Serve) -> None:
    draft = llama(serve, lambda ids: None if len(ids) == 5 else len(ids))
    done = measure(llama(serve, count), draft)[-1]
    assert (done.agreed, done.tokens) == (9, 10)
    short = measure(llama(serve, lambda ids: None if len(ids) == 5 else len(ids)), llama(serve, count))[-1]
    assert (short.agreed, short.tokens) == (3, 3)


def test_progress_comes_with_every_token_and_sums_over_prompts(serve: Serve) -> None:
    steps = measure(llama(serve, count), llama(serve, count), prompts=3, tokens=4)
    assert steps[0] == Agreement(0, 3, 0, 0)
    assert [step.tokens for step in steps] == [0, *range(1, 5), 4, *range(5, 9), 8, *range(9, 13), 12]
    assert (steps[-1].prompts, steps[-1].planned, steps[-1].tokens) == (3, 3, 12)


def test_leaving_early_keeps_what_was_measured(serve: Serve) -> None:
    running = agree(llama(serve, count).url, llama(serve, count).url, ["hello"] * 3, 4)
    seen = list(itertools.islice(running, 4))
    assert (seen[-1].tokens, seen[-1].share) == (3, 1.0)


def test_before_the_first_token_nothing_is_claimed() -> None:
    assert (Agreement(0, 1, 0, 0).share, Agreement(0, 1, 0, 0).interval) == (None, None)


def test_different_tokenizers_are_refused(serve: Serve) -> None:
    other = llama(serve, count, **{"/tokenize": Reply({"tokens": [7]})})
    with pytest.raises(AgreeError, match="different tokens"):
        measure(llama(serve, count), other)


def test_other_engines_are_refused(serve: Serve) -> None:
    halogen = serve({"/health": Reply({"drafters_available": [], "drafter_default": "mtp"})})
    with pytest.raises(AgreeError, match="no token ids"):
        measure(llama(serve, count), halogen)
    with pytest.raises(AgreeError, match="neither"):
        measure(serve({"/health": Reply({}), "/props": Reply({})}), llama(serve, count))


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply({"error": {"message": "context is full"}}, 400), "context is full"),
        (Reply({"content": "text only"}), "too old"),
        (Reply({"tokens": ["a"]}), "too old"),
        (Reply("no json"), "too old"),
    ],
)
def test_what_a_server_refuses_is_told(serve: Serve, reply: Reply, words: str) -> None:
    with pytest.raises(AgreeError, match=words):
        measure(llama(serve, count), llama(serve, count, **{"/completion": reply}))


def test_nobody_there_is_told(serve: Serve) -> None:
    with pytest.raises(AgreeError, match="cannot be reached"):
        list(agree("http://127.0.0.1:1", llama(serve, count).url, ["hello"], 4))

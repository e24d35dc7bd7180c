"""halogen's request line through its versions, its starts, and what is wrong with it."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

from typing import Any

import pytest

from tests.formats.reading import lines, read

HEAD = "serve_api: mtp 180 tok in 4.50s = 40.00 t/s"
LINES: dict[str, tuple[str, dict[str, Any]]] = {
    "0.5": (
        f"{HEAD} | 100 rounds, commit 1.79/round | prompt 900, prefill 0.70s | detok 15us/tok",
        {
            "tokens": 180,
            "decode_ms": 4500.0,
            "rate_tok_s": 40.0,
            "rate_over": "n",
            "rounds": 100,
            "rounds_from": "printed",
            "mean_accepted_length": 1.79,
            "prompt_tokens": 900,
            "prompt_evaluated_tokens": None,
            "prompt_cached_tokens": None,
            "prompt_ms": 700.0,
            "drafter": "mtp",
            "head_off_tokens": None,
        },
    ),
    "0.5 cached": (
        f"{HEAD} | prompt 900 (800 cached), prefill 0.10s | detok 15us/tok",
        {
            "rounds": None,
            "mean_accepted_length": None,
            "prompt_cached_tokens": 800,
            "prompt_evaluated_tokens": 100,
        },
    ),
    "0.5.9": (
        f"{HEAD} | 80 rounds, commit 1.60/round | prompt 900, prefill 0.70s | detok 15us/tok | 51 tok beside other streams",
        {"rounds": 80, "mean_accepted_length": 1.6, "head_off_tokens": 51},
    ),
    "0.6": (
        f"{HEAD} | 80 rounds, commit 2.24/round | prompt 900, prefill 0.70s | detok 15us/tok | pld 11 rounds, 2.36 acc/round",
        {"rounds": 80, "lookup_rounds": 11, "lookup_accepted_per_round": 2.36},
    ),
    "0.11.5": (
        f"{HEAD} | 80 rounds, commit 2.24/round | prompt 9000 (3000 cached, 33.3%), prefill 6.00s = 1000 t/s"
        " | detok 15us/tok | pool 9216/524288 2% | max_tokens clamped 32000 -> 19456",
        {
            "prompt_tokens": 9000,
            "prompt_cached_tokens": 3000,
            "prompt_evaluated_tokens": 6000,
            "prompt_ms": 6000.0,
        },
    ),
    "0.11.9": (
        f"{HEAD} | 80 rounds, commit 2.24/round | prompt 940, prefill 1.12s (940 new) | detok 9us/tok",
        {"prompt_tokens": 940, "prompt_cached_tokens": None, "prompt_evaluated_tokens": 940},
    ),
    "0.12.3": (
        f"{HEAD} | 70 rounds, commit 1.65/round | prompt 940, prefill 1.12s (940 new) | detok 9us/tok"
        " | 64 tok with the head off | think on, closed at 120 by answer room",
        {"rounds": 70, "head_off_tokens": 64},
    ),
    "serial": (
        "serve_api: batch 90 tok in 3.00s = 30.00 t/s | prompt 24, prefill 0.31s (24 new) | detok 10us/tok",
        {"drafter": "batch", "rounds": None, "rounds_from": None, "mean_accepted_length": None},
    ),
    "one token": (
        "serve_api: mtp 1 tok in 0.00s = n/a | prompt 61234, prefill 47.80s | detok 70us/tok",
        {"tokens": 1, "decode_ms": 0.0, "rate_tok_s": None, "rate_over": None, "prompt_ms": 47800.0},
    ),
    "one token, old": (
        "serve_api: mtp 1 tok in 0.00s = 1000000000.00 t/s | prompt 10, prefill 0.10s",
        {"tokens": 1, "rate_tok_s": None},
    ),
    "27B": (
        "serve_api: dflash2 420 tok in 13.55s = 31.00 t/s | 120 rounds, commit 3.49/round | prompt 15, prefill 0.25s"
        " (60.0 t/s) | itl 27.3ms/tok | detok 40us/tok",
        {"drafter": "dflash2", "rounds": 120, "mean_accepted_length": 3.49, "prompt_ms": 250.0},
    ),
    "clone": (
        "serve_api: serial 130 tok in 11.900s = 10.92 t/s | 0 rounds, commit 0.00/round | prompt 61, prefill 0.402s",
        {
            "drafter": "serial",
            "rounds": None,
            "mean_accepted_length": None,
            "decode_ms": 11900.0,
            "prompt_ms": 402.0,
        },
    ),
    "filtered": (
        "mtp 77 tok in 2.10s = 36.67 t/s | 30 rounds, commit 2.53/round | prompt 3011, prefill 4.20s",
        {"tokens": 77, "rounds": 30},
    ),
    "clone by another logger": (
        "2026-08-05T10:00:00Z  INFO server: serve_api: spec 50 tok in 1.00s = 50.00 t/s | prompt 5, prefill 0.01s",
        {"drafter": "spec", "tokens": 50},
    ),
    "new clause": (f"{HEAD} | 90 rounds, commit 2.00/round | warp 9 coils", {"rounds": 90}),
}


@pytest.mark.parametrize("name", LINES)
def test_the_request_line_of_every_version(name: str) -> None:
    text, expected = LINES[name]
    result = read(f"{text}\n")
    assert {field: getattr(result.request, field) for field in expected} == expected
    assert result.request.engine == "halogen"
    assert result.request.concurrency is None
    assert result.request.drafted is None
    assert result.problems == []


START = lines(
    "halogen: halogen-flash-server 0.17.4, mode all",
    "halogen: engine listening after 14s",
    "serve_api: engine at 127.0.0.1:8730, listening on 0.0.0.0:8731",
    "serve_api: version 0.17.4, engine version 0.17.4",
)


def test_one_event_a_start() -> None:
    (start,) = read(START).starts
    assert (start.engine, start.build, start.listening) == ("halogen", "0.17.4", "0.0.0.0:8731")
    assert len(read(START + START.replace("17.4", "17.5")).starts) == 2


def test_an_old_start_is_told_by_its_first_line_when_it_works() -> None:
    result = read(lines("halogen: halogen-flash-server 0.5.8, mode all", LINES["0.5"][0]))
    assert [event.kind for event in result.events] == ["server_start", "request"]
    assert result.starts[0].build == "0.5.8"


@pytest.mark.parametrize(
    "text",
    [
        'INFO:     192.0.2.7:51000 - "POST /v1/chat/completions HTTP/1.1" 200 OK',
        "flash_serve: req 14 generated 1290 tokens, 30.1 s",
        "serve_api: client disconnected mid-stream, chatcmpl-0123, 41 SSE frames and 880 chars sent in 12.3s",
        "gen req=7 kind=chat ids=61 max_tokens=128 eos=1,2 drafter=1 (mtp) sample=greedy",
        "ledger req=7 prompt=61 gen=130 prefill_ms=402.0 decode_ms=3000.0 drafter=1 rounds=44 commit=130 tok_s=43.33",
        "serve_api: error after the stream started: 504 engine went silent for 60s mid-decode",
    ],
)
def test_other_lines_are_neither_requests_nor_problems(text: str) -> None:
    assert read(lines(text)).events == []


@pytest.mark.parametrize(
    ("text", "problem", "requests"),
    [
        ("serve_api: mtp 90 tok in 2.2", "cut", 0),
        (f"{HEAD} | 52 rounds, commit 1.67/round | prompt 700, prefill 0.8", "cut", 1),
        (f"{HEAD} | 52 rounds, commit 1.6", "cut", 1),
        ("serve_api: mtp 91 tokens in 2.20s = 41.36 t/s | prompt 10, prefill 0.10s", "renamed", 0),
        (f"{HEAD} | 52 rounds, kept 1.67/round | prompt 700, prefill 0.80s", "renamed", 1),
        (f"{HEAD} | prompt 700, prefill took 0.80s | detok 4us/tok", "renamed", 1),
        (f"{HEAD} | 1 rounds, commit 179.00/round | prompt 700, prefill 0.80s", "impossible", 1),
        (f"{HEAD} | 150 rounds, commit 3.00/round | prompt 700, prefill 0.80s", "impossible", 1),
        (f"{HEAD} | 150 rounds, commit 0.80/round | prompt 700, prefill 0.80s", "impossible", 1),
        (
            "she asked why serve_api: mtp 80 tok in 2.00s = 40.00 t/s | prompt 12, prefill 0.20s",
            "unattached",
            0,
        ),
    ],
)
def test_a_damaged_line_is_told_and_never_becomes_a_number(text: str, problem: str, requests: int) -> None:
    result = read(lines("serve_api: version 0.17.4, engine version 0.17.4", text))
    assert result.problems == [problem]
    assert len(result.requests) == requests
    if problem == "impossible":
        request = result.request
        assert request.doubt
        assert "cannot be" in request.doubt
        assert (request.tokens, request.decode_ms, request.prompt_tokens) == (180, 4500.0, 700)
    if " rounds, kept" in text or text.endswith("commit 1.6"):
        assert result.request.doubt == "its rounds cannot be read"
    if problem == "cut" and requests:
        assert result.request.prompt_tokens is None


def test_the_first_versions_drafted_one_token_so_a_higher_commit_is_impossible() -> None:
    text = f"{HEAD} | 60 rounds, commit 3.00/round | prompt 700, prefill 0.80s"
    assert read(lines("halogen: halogen-flash-server 0.5.8, mode all", text)).problems == ["impossible"]
    assert read(lines("halogen: halogen-flash-server 0.6.0, mode all", text)).problems == []


def test_a_renamed_lookup_clause_is_not_read_as_the_rounds() -> None:
    request = read(f"{HEAD} | pld 11 rounds, 2.36 acc/round\n").request
    assert (request.rounds, request.lookup_rounds) == (None, 11)

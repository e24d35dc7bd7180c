"""What a recording's lines keep, and what they refuse."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from tui.formats import events
from tui.formats.events import (
    DrafterShare,
    Event,
    Interval,
    Problem,
    Progress,
    Request,
    ServerStart,
    Statistics,
)
from tui.formats.recording import Entry, Gap, check_header, decode, encode, header, is_header

FULL: tuple[Event, ...] = (
    Request(
        source="a b.log",
        stream="8081",
        engine="llama.cpp",
        time=1_790_000_000.25,
        clock_s=62.5,
        slot=3,
        task=95,
        model="tiny \u001b[31m\u202e",
        drafter="ngram-mod+draft-mtp",
        prompt_tokens=50,
        prompt_evaluated_tokens=40,
        prompt_cached_tokens=10,
        prompt_ms=887.0,
        tokens=200,
        decode_ms=5031.0,
        rate_tok_s=39.55,
        rate_over="n-1",
        drafted=223,
        accepted=124,
        acceptance_ratio=0.556,
        rounds=75,
        rounds_range=(74, 76),
        rounds_from="statistics",
        mean_accepted_length=2.65,
        accepted_per_position=(0.787, 0.56, 0.307),
        draft_ms=1534.7,
        plain_steps=0,
        by_drafter=(
            DrafterShare(drafter="ngram-mod", rounds=5, drafted=40, accepted=30, draft_ms=None),
            DrafterShare(drafter="draft-mtp", rounds=70, drafted=183, accepted=94, draft_ms=1534.7),
        ),
        head_off_tokens=4,
        lookup_rounds=2,
        lookup_accepted_per_round=1.5,
        concurrency=2,
        finish="cancelled",
        doubt="impossible",
        raw=("the line it was read from",),
    ),
    Progress(source="a", slot=1, task=2, tokens=30, rate_tok_s=20.5, rate_recent_tok_s=19.0),
    Statistics(
        source="a",
        engine="llama.cpp",
        drafter="draft-simple",
        calls_begin=1,
        calls_draft=2,
        calls_accept=3,
        drafts=4,
        drafts_accepted=5,
        drafted=6,
        accepted=7,
        accepted_per_position=(0.5,),
        begin_ms=0.5,
        draft_ms=8.0,
        accept_ms=0.25,
    ),
    Interval(
        source="a",
        engine="llama.cpp",
        seconds=10.0,
        tokens=250.5,
        drafted=300,
        accepted=150,
        rounds=100,
        accepted_per_position=(0.8, 0.5, 0.2),
        mean_accepted_length=2.5,
        acceptance_ratio=0.5,
        rate_tok_s=25.05,
        requests=4,
        running=2,
        queued=1,
        kv_usage=0.25,
        doubt="idle for a part of its time",
    ),
    ServerStart(
        source="a",
        engine="halogen",
        build="0.17.1",
        model="m.gguf",
        draft_model="d.gguf",
        spec_types=("ngram-mod", "draft-mtp"),
        depth=7,
        depths=(7, 3),
        synthetic=True,
        listening="127.0.0.1:8080",
    ),
    Problem(source="a", problem="impossible", text="accepted 9 of 3", offset=17),
)


def bare(event: Event) -> Event:
    """The same kind of event with nothing known."""
    needed: dict[str, Any] = {"problem": "cut", "text": ""} if isinstance(event, Problem) else {}
    return type(event)(source="a", **needed)


def test_every_kind_of_event_is_tried_with_every_field_set() -> None:
    kinds = {c for c in vars(events).values() if isinstance(c, type) and issubclass(c, Event)} - {Event}
    assert {type(event) for event in FULL} == kinds
    own = {"stream", "engine", "time", "clock_s"}
    for event in FULL:
        fields = {field.name for field in dataclasses.fields(event)} - own
        assert not [name for name in fields if getattr(event, name) in (None, ())], event


@pytest.mark.parametrize("event", [*FULL, *map(bare, FULL)], ids=lambda e: e.kind)
def test_events_come_back_as_they_were_but_for_their_raw_lines(event: Event) -> None:
    expected = dataclasses.replace(event, raw=()) if isinstance(event, Request) else event
    line = encode(Entry(1_790_000_001.5, event))
    assert decode(line) == Entry(1_790_000_001.5, expected)
    assert line.endswith(b"}\n")
    assert line.count(b"\n") == 1


@pytest.mark.parametrize("event", FULL, ids=lambda e: e.kind)
def test_a_line_is_what_events_prints_and_when_it_came(event: Event) -> None:
    row = json.loads(encode(Entry(5.0, event)))
    assert row.pop("at") == 5.0
    assert row == json.loads(json.dumps(event.to_json()))


def test_gaps_are_kept() -> None:
    assert decode(encode(Entry(2.0, Gap("a.log")))) == Entry(2.0, Gap("a.log"))


def test_header_tells_a_recording_and_its_format() -> None:
    line = header("9.9.9")
    assert json.loads(line) == {"spectop_recording": 1, "version": "9.9.9"}
    assert is_header(line)
    check_header(line)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"", "not a recording"),
        (b"0.00.001.624 I srv  llama_server: initializing ...\n", "not a recording"),
        (b"[" * 100_000, "not a recording"),
        (b'{"spectop_recording": "one"}\n', "not a recording"),
        (b'{"spectop_recording": 2, "version": "99.0"}\n', "format 2.*later spectop"),
    ],
    ids=["empty", "log", "deep", "odd", "later"],
)
def test_what_is_no_recording_of_ours_is_told_in_words(line: bytes, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_header(line)


def request_row(**other: Any) -> bytes:
    return json.dumps({"event": "request", "source": "a", "at": 1.0, **other}).encode()


def test_names_of_later_versions_are_passed_over_and_nonsense_numbers_unknown() -> None:
    event = decode(request_row(tokens=5, temper="mild")).what
    assert event == Request(source="a", tokens=5)
    event = decode(b'{"event": "request", "source": "a", "at": 1.0, "rate_tok_s": NaN}').what
    assert event == Request(source="a")


@pytest.mark.parametrize(
    "line",
    [
        encode(Entry(1.0, FULL[0]))[:-20],
        b"null",
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"event": "request", "source": "a"}',
        b'{"event": "request", "at": 1.0}',
        b'{"event": "unheard-of", "source": "a", "at": 1.0}',
        b'{"event": "problem", "source": "a", "at": 1.0, "text": ""}',
        b'{"event": "request", "source": "a", "at": 1e999}',
        request_row(tokens="5"),
        request_row(tokens=5.5),
        request_row(tokens=True),
        request_row(tokens=10**400),
        request_row(decode_ms=10**400),
        request_row(decode_ms=[1]),
        request_row(source=None),
        request_row(engine="abacus"),
        request_row(finish=["done"]),
        request_row(rounds_range=[1]),
        request_row(accepted_per_position=[0.5, "x"]),
        request_row(by_drafter=[{"drafter": "a"}]),
        request_row(by_drafter=["a"]),
        request_row(time="yesterday"),
        request_row(time=5),
        request_row(time="0001-01-01T00:00:00"),
    ],
)
def test_what_is_no_whole_line_is_refused(line: bytes) -> None:
    with pytest.raises(ValueError, match="not a line of a recording"):
        decode(line)

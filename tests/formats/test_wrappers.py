"""What journald, docker, compose, viewers, routers and the server itself put before a line."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING

import pytest

from tests.formats.reading import NOW, Read, block, launch, lines, read, release
from tests.formats.test_llamacpp_records import as_json, as_text, request
from tests.formats.test_sglang import DECODE
from tests.formats.test_sglang import STAMP as SGLANG_STAMP
from tests.formats.test_vllm import DRAFTING, HEAD, THROUGHPUT, THROUGHPUT_HEAD
from tui.formats.reader import LogReader

if TYPE_CHECKING:
    from collections.abc import Callable

LLAMA = lines(launch(0, 1), block(0, 1, drafted=90, accepted=30, rounds=30), release(0, 1))
OLD = lines(
    "slot print_timing: id  0 | task 1 | ",
    "prompt eval time =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)",
    "       eval time =    2000.00 ms /   101 tokens (   19.80 ms per token,    50.50 tokens per second)",
    "      total time =    2100.00 ms /   151 tokens",
    "draft acceptance rate = 0.33333 (   30 accepted /    90 generated)",
    "slot      release: id  0 | task 1 | stop processing: n_tokens = 150, truncated = 0",
)
HALOGEN = (
    "serve_api: mtp 101 tok in 2.00s = 50.50 t/s | 45 rounds, commit 2.20/round | prompt 50, prefill 0.10s\n"
)
UTC = 1_785_924_000.25
STAMP = "2026-08-05T10:00:00.25"


def journal(text: str, **fields: str) -> str:
    record = {
        "__REALTIME_TIMESTAMP": "1785924000250000",
        "_SYSTEMD_UNIT": "llama.service",
        **fields,
        "MESSAGE": text,
    }
    return json.dumps(record)


def as_bytes(text: str) -> str:
    return json.dumps({"MESSAGE": list(text.encode()), "__REALTIME_TIMESTAMP": "1785924000250000"})


def colours(text: str) -> str:
    clock, mark, rest = text.partition(" I ")
    return f"\x1b[34m{clock}\x1b[0m \x1b[32mI \x1b[0m{rest}" if mark else f"\x1b[32m{text}\x1b[0m"


WRAPPERS: dict[str, tuple[Callable[[str], str], str | None, float | None]] = {
    "none": (lambda text: text, None, None),
    "colours": (colours, None, None),
    "router": (lambda text: f"[ 8081] {text}", "8081", None),
    "viewer": (lambda text: f"{STAMP.replace('T', ' ')} | {text}", None, None),
    "rfc3339": (lambda text: f"{STAMP}0000000Z {text}", None, UTC),
    "rfc3339 zone": (lambda text: f"2026-08-05T12:00:00.25+02:00 {text}", None, UTC),
    "compose": (lambda text: f"llama-server-1  | {text}", "llama-server-1", None),
    "compose stamped": (lambda text: f"llama-1  | {STAMP}Z {text}", "llama-1", UTC),
    "compose coloured": (lambda text: f"\x1b[36mllama-1  |\x1b[0m {text}", "llama-1", None),
    "journald": (lambda text: f"Aug 05 10:00:00 box llama-server[4242]: {text}", "llama-server", None),
    "journald iso": (
        lambda text: f"2026-08-05T12:00:00.25+0200 box llama-server[42]: {text}",
        "llama-server",
        UTC,
    ),
    "journald json": (journal, "llama.service", UTC),
    "journald container": (lambda text: journal(text, CONTAINER_NAME="halo"), "halo", UTC),
    "journald bytes": (as_bytes, None, UTC),
    "docker json": (
        lambda text: json.dumps(
            {"log": f"{text}\n", "stream": "stderr", "time": f"{STAMP}Z"}, separators=(",", ":")
        ),
        None,
        UTC,
    ),
    "cri": (lambda text: f"{STAMP}Z stderr F {text}", None, UTC),
    "journald around router": (
        lambda text: f"Aug 05 10:00:00 box llama-server[4242]: [53211] {text}",
        "llama-server/53211",
        None,
    ),
    "compose around docker": (lambda text: f"a-1  | {STAMP}Z [ 9001] {text}", "a-1/9001", UTC),
    "crlf": (lambda text: f"{text}\r", None, None),
}


def wrapped(log: str, wrapper: str) -> str:
    wrap = WRAPPERS[wrapper][0]
    return "".join(f"{wrap(line)}\n" for line in log.splitlines())


@pytest.mark.parametrize("wrapper", WRAPPERS)
@pytest.mark.parametrize(
    "log",
    [LLAMA, OLD, HALOGEN, lines(*request(as_text, 0, 1)), lines(*request(as_json, 0, 1))],
    ids=["llama.cpp", "llama.cpp bare", "halogen", "records as text", "records as json"],
)
def test_a_request_is_read_under_every_wrapper(wrapper: str, log: str) -> None:
    _, stream, time = WRAPPERS[wrapper]
    result = read(wrapped(log, wrapper))
    request = result.request
    assert (request.tokens, request.decode_ms, request.prompt_ms) == (101, 2000.0, 100.0)
    assert request.stream == stream
    if time is not None:
        assert request.time == pytest.approx(time, abs=1e-6)
    assert result.problems == []
    assert all("\x1b" not in line for line in request.raw)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_an_interval_is_read_under_every_wrapper(wrapper: str) -> None:
    _, stream, time = WRAPPERS[wrapper]
    for log in (lines(THROUGHPUT_HEAD + THROUGHPUT, HEAD + DRAFTING), lines(SGLANG_STAMP + DECODE)):
        result = read(wrapped(log, wrapper))
        interval = result.interval
        assert (interval.stream, result.problems) == (stream, [])
        assert interval.rate_tok_s in (52.4, 312.44)
        if time is not None:
            assert interval.time == pytest.approx(time, abs=1e-6)


def test_json_lines_of_the_server_itself() -> None:
    log = "".join(
        json.dumps(
            {"type": "log", "time": 2_000_000 + n, "level": "info", "msg": f"{line.split(' I ')[-1]}\n"}
        )
        + "\n"
        for n, line in enumerate(LLAMA.splitlines())
    )
    log += json.dumps({"type": "fit_memory_breakdown", "data": {}}) + "\n"
    request = read(log).request
    assert (request.tokens, request.accepted, request.clock_s) == (101, 30, 2.000004)


def test_json_lines_without_timestamps_have_no_clock() -> None:
    log = "".join(
        json.dumps({"type": "log", "time": 0, "level": "info", "msg": f"{line.split(' I ')[-1]}\n"}) + "\n"
        for line in LLAMA.splitlines()
    )
    assert read(log).request.clock_s is None


def local(*moment: int) -> float:
    return dt.datetime(*moment).timestamp()  # type: ignore[arg-type]


def test_a_stamp_without_a_zone_is_local_time() -> None:
    assert read(wrapped(HALOGEN, "viewer")).request.time == pytest.approx(local(2026, 8, 5, 10, 0, 0) + 0.25)


@pytest.mark.parametrize(
    ("now", "stamp", "expected"),
    [
        ((2026, 9, 1), "Aug 05 10:00:00", (2026, 8, 5, 10)),
        ((2026, 1, 2), "Dec 31 23:00:00", (2025, 12, 31, 23)),
        ((2026, 6, 1), "Feb 29 12:00:00", (2024, 2, 29, 12)),
        ((2026, 8, 5), "Aug  5 10:00:00", (2026, 8, 5, 10)),
    ],
)
def test_a_stamp_without_a_year_is_the_nearest_past(
    now: tuple[int, ...], stamp: str, expected: tuple[int, ...]
) -> None:
    reader = LogReader("test.log", now=lambda: local(*now))
    events = reader.feed(f"{stamp} box podman[11]: {HALOGEN}".encode(), 0)
    assert Read(events).request.time == local(*expected)


@pytest.mark.parametrize(
    "stamp", ["2026-13-45T99:00:00Z", "Feb 31 10:00:00 box podman[1]:", "Xyz 05 10:00:00 box a[1]:"]
)
def test_a_stamp_that_is_no_time_is_no_time(stamp: str) -> None:
    assert read(f"{stamp} {HALOGEN}").request.time is None


def docker(text: str, stream: str = "stderr") -> str:
    return json.dumps({"log": text, "stream": stream, "time": f"{STAMP}Z"}, separators=(",", ":")) + "\n"


def test_a_record_without_a_line_end_goes_on_in_the_next_of_its_stream() -> None:
    decode = LLAMA.splitlines()[2]
    log = (
        docker(f"{LLAMA.splitlines()[1]}\n")
        + docker(decode[:70])
        + docker("something else\n", "stdout")
        + docker(f"{decode[70:]}\n")
    )
    assert read(log).request.tokens == 101


def test_the_tail_of_a_split_line_is_no_line() -> None:
    quoted = HALOGEN.strip()
    log = docker("INFO:  " + "x" * 16000) + docker(f"{quoted}\n") + docker(HALOGEN)
    assert len(read(log).requests) == 1


def test_cri_parts_are_joined() -> None:
    text = HALOGEN.strip()
    log = lines(
        f"{STAMP}Z stdout F first line",
        f"{STAMP}Z stdout P {text[:20]}",
        f"{STAMP}Z stderr F in between",
        f"{STAMP}Z stdout P {text[20:60]}",
        f"{STAMP}Z stdout F {text[60:]}",
    )
    assert read(log).request.tokens == 101


def test_journald_parts_are_joined() -> None:
    text = HALOGEN.strip()
    log = lines(
        json.dumps(
            {"MESSAGE": "y" * 60 + text[:30], "_LINE_BREAK": "line-max", "_SYSTEMD_UNIT": "a.service"}
        ),
        json.dumps({"MESSAGE": text, "_SYSTEMD_UNIT": "a.service"}),
        json.dumps({"MESSAGE": text[:30], "CONTAINER_NAME": "b", "CONTAINER_PARTIAL_MESSAGE": "true"}),
        json.dumps({"MESSAGE": text[30:], "CONTAINER_NAME": "b"}),
    )
    assert [r.stream for r in read(log).requests] == ["b"]


@pytest.mark.parametrize(
    "record", ["{", "{}", "[]", '{"log": 5}', '{"MESSAGE": [300]}', '{"MESSAGE": null}', "{" * 3000]
)
def test_records_of_another_shape_are_passed_over(record: str) -> None:
    reader = LogReader("test.log", now=lambda: NOW)
    assert reader.feed(f'{record} serve_api: "MESSAGE":[ draft acceptance\n'.encode(), 0) == []


def test_a_level_without_a_clock_is_no_part_of_the_line() -> None:
    log = "".join(line[line.index(" I ") + 1 :] + "\n" for line in LLAMA.splitlines())
    assert log.startswith("I slot")
    request = read(log).request
    assert (request.tokens, request.clock_s) == (101, None)


def test_prefixes_and_timestamps_may_be_off() -> None:
    log = "".join(line[line.index(" I ") + 3 :] + "\n" for line in LLAMA.splitlines())
    assert log.startswith("slot")
    assert read(log).request.accepted == 30


def test_a_partial_record_whose_rest_never_comes_is_given_up() -> None:
    log = docker(HALOGEN[:20]) + lines(*["nothing"] * 3000) + docker(HALOGEN[20:]) + docker(HALOGEN)
    assert [r.tokens for r in read(log).requests] == [101]

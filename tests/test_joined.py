"""Which log a server belongs to, and in which order what both tell is told."""

from __future__ import annotations

from typing import Any

from tests.formats.metrics_texts import llamacpp
from tui.formats.events import Event, Interval, Request, ServerStart
from tui.formats.sample import Sample
from tui.joined import LOG_FIRST_S, LOG_START_S, SILENT_LOG_S, Logs, Polled

URL = "http://127.0.0.1:8080"
LOG = "llama.log"


def sample(tokens: float, at: float, process: str = "1", stream: str | None = None) -> Sample:
    about = {"model_path": "/srv/a.gguf", "build_info": "b11434-aa"}
    return Sample(URL, stream, at, "llama.cpp", llamacpp(tokens, tokens / 50), about, process=process)


def start(source: str = LOG, stream: str | None = None, **other: Any) -> ServerStart:
    return ServerStart(source=source, stream=stream, **{"listening": "http://0.0.0.0:8080", **other})


def told(events: list[Event]) -> list[tuple[str, str, str | None]]:
    return [(event.kind, event.source, event.stream) for event in events]


def test_a_server_alone_is_told_at_once() -> None:
    server = Polled(URL, None, waits=False)
    server.add(sample(10, 0), 0)
    events = server.due(0, Logs())
    assert told(events) == [("server_start", URL, None), ("interval", URL, None)]


def test_logs_are_heard_first_and_the_one_on_its_port_is_its_own() -> None:
    server, logs = Polled(URL, None, waits=True), Logs()
    server.add(sample(10, 0), 0)
    assert server.due(LOG_FIRST_S / 2, logs) == []
    logs.hear([start("other.log", listening="http://0.0.0.0:9090"), start()])
    assert told(server.due(LOG_FIRST_S, logs)) == [("server_start", LOG, None), ("interval", LOG, None)]
    assert server.name == LOG


def test_a_log_that_starts_later_takes_over_all_that_was_counted() -> None:
    server, logs = Polled(URL, None, waits=True), Logs()
    server.add(sample(10, 0), 0)
    assert {event.source for event in server.due(LOG_FIRST_S, logs)} == {URL}
    logs.hear([start()])
    server.add(sample(30, 5), 5)
    events = server.due(5, logs)
    assert {event.source for event in events} == {LOG}
    (interval,) = [event for event in events if isinstance(event, Interval)]
    assert interval.tokens == 30


def test_two_logs_that_could_be_its_own_are_neither() -> None:
    server, logs = Polled(URL, None, waits=True), Logs()
    logs.hear([start("a.log"), start("b.log")])
    server.add(sample(10, 0), 0)
    assert {event.source for event in server.due(LOG_FIRST_S, logs)} == {URL}


def test_what_a_restarted_server_counts_waits_for_the_start_in_its_log() -> None:
    server, logs = Polled(URL, LOG, waits=True), Logs()
    logs.hear([start()])
    server.add(sample(100, 0), 0)
    server.due(LOG_FIRST_S, logs)
    server.add(sample(20, 10, process="2"), 10)
    server.add(sample(45, 12, process="2"), 12)
    assert server.due(12, logs) == []
    assert server.flush(logs) == []
    logs.hear([start()])
    events = server.due(12.5, logs)
    assert [event.kind for event in events] == ["server_start", "interval", "interval"]
    assert [event.running for event in events if isinstance(event, ServerStart)] == [True]
    assert [event.tokens for event in events if isinstance(event, Interval)] == [20, 25]


def test_a_start_that_the_log_has_told_already_waits_for_nothing() -> None:
    server, logs = Polled(URL, LOG, waits=True), Logs()
    logs.hear([start()])
    server.add(sample(100, 0), 0)
    server.due(LOG_FIRST_S, logs)
    logs.hear([start()])
    server.add(sample(20, 10, process="2"), 10)
    assert [event.kind for event in server.due(10, logs)] == ["server_start", "interval"]


def test_a_log_that_never_tells_the_start_is_not_waited_for_for_ever() -> None:
    server, logs = Polled(URL, LOG, waits=True), Logs()
    logs.hear([start()])
    server.add(sample(100, 0), 0)
    server.due(LOG_FIRST_S, logs)
    server.add(sample(20, 10, process="2"), 10)
    assert server.due(10, logs) == []
    assert [event.kind for event in server.due(10 + LOG_START_S, logs)] == ["server_start", "interval"]


def test_what_six_digits_held_back_is_told_before_the_logs_start() -> None:
    server, logs = Polled(URL, LOG, waits=True), Logs()
    logs.hear([start()])
    server.add(sample(2_000_000, 0), 0)
    server.add(sample(2_000_100, 5), 5)
    assert [event.tokens for event in server.due(5, logs) if isinstance(event, Interval)] == [2_000_000]
    assert [event.tokens for event in server.flush(logs) if isinstance(event, Interval)] == [100]
    assert server.flush(logs) == []


def test_streams_are_called_as_the_log_calls_them() -> None:
    logs = Logs()
    heard = [Request(source=LOG, stream=name) for name in ("llama.service", "llama.service/41000")]
    logs.hear(heard[1:])
    assert logs.stream(LOG, "41000") == "llama.service/41000"
    assert logs.stream(LOG, None) == "llama.service/41000"
    logs.hear(heard[:1])
    assert logs.stream(LOG, None) is None
    assert logs.stream(LOG, "42000") == "42000"


def test_a_log_that_has_said_nothing_is_awaited_a_minute() -> None:
    server, logs = Polled(URL, LOG, waits=True), Logs()
    server.add(sample(10, 0), 0)
    assert server.due(SILENT_LOG_S / 2, logs) == []
    assert told(server.due(LOG_FIRST_S + SILENT_LOG_S, logs))[0] == ("server_start", LOG, None)


def test_counters_that_cannot_be_read_are_told_and_nothing_breaks() -> None:
    server = Polled(URL, None, waits=False)
    broken = 'llamacpp:tokens_predicted_total{a="\x1b[31m} 5\n'
    server.add(Sample(URL, None, 0, "llama.cpp", broken), 0)
    assert server.due(0, Logs()) == []
    assert "/metrics cannot be read" in server.words
    assert "\x1b" not in server.words
    server.add(sample(10, 2), 2)
    assert len(server.due(2, Logs())) == 2

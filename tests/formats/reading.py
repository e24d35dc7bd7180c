"""Short ways to read log text in tests, and lines of llama-server with the tests' own numbers."""

# ruff: noqa: E501
# Log lines stand as they are printed.

from __future__ import annotations

from dataclasses import dataclass

from tui.formats.events import Event, Interval, Problem, Progress, Request, ServerStart, Statistics
from tui.formats.reader import LogReader

NOW = 1_790_000_000.0


@dataclass
class Read:
    """The events of one log, by kind."""

    events: list[Event]

    @property
    def requests(self) -> list[Request]:
        return [event for event in self.events if isinstance(event, Request)]

    @property
    def request(self) -> Request:
        (request,) = self.requests
        return request

    @property
    def problems(self) -> list[str]:
        return [event.problem for event in self.events if isinstance(event, Problem)]

    @property
    def starts(self) -> list[ServerStart]:
        return [event for event in self.events if isinstance(event, ServerStart)]

    @property
    def statistics(self) -> list[Statistics]:
        return [event for event in self.events if isinstance(event, Statistics)]

    @property
    def intervals(self) -> list[Interval]:
        return [event for event in self.events if isinstance(event, Interval)]

    @property
    def interval(self) -> Interval:
        (interval,) = self.intervals
        return interval

    @property
    def progress(self) -> list[Progress]:
        return [event for event in self.events if isinstance(event, Progress)]


def read(log: str | bytes) -> Read:
    """Read a whole log at once."""
    data = log if isinstance(log, bytes) else log.encode()
    reader = LogReader("test.log", now=lambda: NOW)
    return Read([*reader.feed(data, 0), *reader.close()])


def lines(*parts: str) -> str:
    """Lines of a log."""
    return "".join(f"{part}\n" for part in parts)


LISTENING = "0.00.300.100 I srv  llama_server: listening on http://127.0.0.1:9000"
LOADING = "0.00.010.000 I srv    load_model: loading model '/m/target.gguf'"
IDLE = "0.02.001.000 I srv  update_slots: all slots are idle"


def launch(slot: int, task: int) -> str:
    """A slot begins."""
    return f"0.01.000.000 I slot launch_slot_: id {slot:2} | task {task} | processing task, is_child = 0"


def release(slot: int, task: int) -> str:
    """A slot is done."""
    return f"0.02.000.900 I slot      release: id {slot:2} | task {task} | stop processing: n_tokens = 99, truncated = 0"


def block(
    slot: int,
    task: int,
    *,
    tokens: int = 101,
    ms: float = 2000.0,
    drafted: int | None = None,
    accepted: int = 0,
    rounds: int = 0,
    mean: bool = True,
) -> str:
    """The block of a new build (E10 and later), rates over n - 1 tokens."""
    tag = f"0.02.000.000 I slot print_timing: id {slot:2} | task {task} | "
    over = tokens - 1
    parts = [
        f"{tag}prompt eval time =     100.00 ms /    50 tokens (    2.00 ms per token,   500.00 tokens per second)",
        f"{tag}       eval time = {ms:10.2f} ms / {tokens:5} tokens ({ms / over:8.2f} ms per token,"
        f" {1000 * over / ms:8.2f} tokens per second)",
        f"{tag}      total time = {ms + 100:10.2f} ms / {tokens + 50:5} tokens",
    ]
    if drafted is not None:
        tail = f", mean len = {1 + accepted / rounds:5.2f}" if mean else ""
        parts.append(
            f"{tag}draft acceptance = {accepted / drafted:.5f} ({accepted:5} accepted / {drafted:5} generated){tail}"
        )
    return "\n".join(parts)


def counters(
    name: str, begin: int, rounds: int, drafted: int, accepted: int, spent: float, *, tagged: bool = True
) -> str:
    """A statistics line; every round is an accept call, as since b9180."""
    tag = "0.02.000.500 I spec common_specu: " if tagged else ""
    return (
        f"{tag}statistics {name:>16}: #calls(b,g,a) = {begin:4} {rounds:6} {rounds:6}, #gen drafts = {rounds:6},"
        f" #acc drafts = {min(rounds, accepted):5}, #gen tokens = {drafted:6}, #acc tokens = {accepted:5},"
        f" dur(b,g,a) = 0.010, {spent:.3f}, 0.020 ms"
    )

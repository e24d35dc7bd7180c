"""Structured records: the servers of b1413 to b3760, and ik_llama.cpp until today in part.

One record a line, as JSON or as text with key=value pairs.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from tui.formats.forms import number
from tui.formats.llamacpp.lines import Timing

if TYPE_CHECKING:
    from tui.formats.events import Event, ProblemKind
    from tui.formats.llamacpp.assembly import Assembly
    from tui.formats.prefixes import Line

_LEVEL = r" *(?:INFO|WARN|ERR|VERB|DBUG)"
_TEXT = re.compile(
    _LEVEL + r' \[ *([^\]\s]{1,80})\] +([^|]{0,1000}?) \| tid="\d{1,20}" timestamp=(\d{1,12})(?: |$)'
)
_TEXT_BEGUN = re.compile(_LEVEL + r" \[ *print_timings\] ")
_JSON_BEGUN = re.compile(r'\{"(?:tid|timestamp|function|level|build)":')
_PAIR = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^\s"]+)(?: |$)')
_TIMINGS = "print_timings"
_SIZES = {
    "prompt eval time": ("prompt", "t_prompt_processing", "n_prompt_tokens_processed"),
    "generation eval time": ("decode", "t_token_generation", "n_decoded"),
}
_OLD_SIZE = "num_prompt_tokens_processed"
_LARGEST = 10**15


class Record(NamedTuple):
    """One structured record.

    Attributes:
        function: that printed it.
        message: what it says.
        fields: all its values by name.
    """

    function: str
    message: str
    fields: dict[str, Any]

    def whole(self, *names: str) -> int | None:
        """A whole number under the first of these names that is there."""
        value = next((self.fields[name] for name in names if name in self.fields), None)
        return value if type(value) is int and abs(value) < _LARGEST else None

    @property
    def place(self) -> tuple[int, int] | None:
        """Slot and task, in either naming; None where they are not told."""
        slot, task = self.whole("id_slot", "slot_id"), self.whole("id_task", "task_id")
        return None if slot is None or task is None else (slot, task)

    @property
    def time(self) -> float | None:
        """Seconds since the epoch."""
        value = self.whole("timestamp")
        return None if value is None else float(value)

    @property
    def starts(self) -> bool:
        """Whether a server begins with it."""
        return self.message == "build info"

    @property
    def build(self) -> str | None:
        """The build that it names."""
        number = self.whole("build")
        return None if number is None else f"b{number}"

    @property
    def ready(self) -> bool:
        """Whether the server listens from now on."""
        return self.message.startswith("HTTP server") and "listening" in self.message

    @property
    def listening(self) -> str | None:
        """Where the server listens."""
        host, port = self.fields.get("hostname"), self.fields.get("port")
        return f"http://{host}:{port}" if isinstance(host, str) and isinstance(port, str | int) else None

    @property
    def idle(self) -> bool:
        """Whether nothing runs any more."""
        return self.message == "all slots are idle"

    @property
    def launches(self) -> bool:
        """Whether a slot begins to work on a task."""
        return self.message == "slot is processing task"

    @property
    def releases(self) -> bool:
        """Whether a slot is done with a task."""
        return self.message == "slot released"

    @property
    def known(self) -> bool:
        """Whether it tells anything of these."""
        told = self.starts or self.ready or self.idle or self.launches or self.releases
        return told or self.part is not None

    @property
    def part(self) -> str | None:
        """Which part of a request's timings it is: prompt, decode or total; None when it is none of them."""
        if self.function != _TIMINGS:
            return None
        said = self.message.strip()
        if said.startswith("total time"):
            return "total"
        return next((part for begin, (part, *_) in _SIZES.items() if said.startswith(begin)), None)

    @property
    def timing(self) -> Timing | None:
        """The prompt's or the generation's timing; None when it is not whole."""
        said = self.message.strip()
        for begin, (_, time_name, size_name) in _SIZES.items():
            if said.startswith(begin):
                size = self.whole(size_name, _OLD_SIZE)
                if size is None or size < 0 or time_name not in self.fields:
                    return None
                return Timing(
                    _real(self.fields[time_name]),
                    size,
                    _real(self.fields.get("t_token")),
                    _real(self.fields.get("n_tokens_second")),
                )
        return None


def read_record(text: str) -> Record | None:
    """A structured record; None when the line is none, or is cut."""
    if text.startswith("{"):
        return _read_json(text)
    if not (found := _TEXT.match(text)):
        return None
    fields: dict[str, Any] = {"timestamp": int(found[3])}
    end = found.end()
    while pair := _PAIR.match(text, end):
        fields[pair[1]] = _value(pair[2])
        end = pair.end()
    return Record(found[1], found[2], fields) if not text[end:].strip() else None


def _read_json(text: str) -> Record | None:
    if not _JSON_BEGUN.match(text):
        return None
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        return None
    function, message = fields.get("function"), fields.get("msg", fields.get("message"))
    if not isinstance(function, str) or not isinstance(message, str) or "level" not in fields:
        return None
    return Record(function, message, fields)


def fault(text: str) -> ProblemKind | None:
    """What is wrong with a line that begins like a record of timings and is none."""
    if _TEXT_BEGUN.match(text) or (_JSON_BEGUN.match(text) and f'"{_TIMINGS}"' in text):
        return "cut"
    return None


def put(record: Record, line: Line, made: Assembly, out: list[Event]) -> ProblemKind | None:
    """Put what a record tells to the rest of its stream.

    Args:
        record: not one that starts a server.
        line: where it stands.
        made: the rest.
        out: where events go.

    Returns:
        What is wrong with it, if anything is.
    """
    place = record.place
    if record.ready:
        if made.startup is not None:
            made.startup.listening = record.listening
            made.works(line, out)
    elif record.idle:
        made.end(out)
        made.flight.forget(certain=True)
    elif place is None:
        return "cut"
    elif record.launches:
        made.launch(line, *place, out)
    elif record.releases:
        made.release(line, *place, out)
    else:
        return _put_timing(record, line, place, made, out)
    return None


def _put_timing(
    record: Record, line: Line, place: tuple[int, int], made: Assembly, out: list[Event]
) -> ProblemKind | None:
    part, timing = record.part, record.timing
    block = made.open if made.open is not None and (made.open.slot, made.open.task) == place else None
    if part == "total":
        if block is not None:
            block.keep_raw(line)
            made.finish(out)
        return None
    if part is None or timing is None:
        return "cut"
    if block is None or getattr(block, part) is not None:
        block = made.begin(line, *place, out)
    if block is None:
        return None
    block.rate_over = "n"
    block.add(line)
    return next(iter(block.take(part, timing)), None)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _real(value: Any) -> float | None:
    return number(str(value)) if type(value) in (int, float) else None

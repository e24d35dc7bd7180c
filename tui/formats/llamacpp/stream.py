"""One llama-server's lines, put together by slot and task."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.formats.events import Event, Problem, ProblemKind, Progress, harmless
from tui.formats.forms import number
from tui.formats.llamacpp.block import Block, Known, finished, unfinished
from tui.formats.llamacpp.counters import Counters, read_statistics
from tui.formats.llamacpp.flight import Flight, Run
from tui.formats.llamacpp.lines import (
    CUT_FRONT,
    DECODED,
    GENERATED,
    PARTS,
    PROMPT_TOKENS,
    RECENT,
    ROUND,
    SERVER,
    TAG,
    TOTAL,
    fault,
)
from tui.formats.llamacpp.startup import Startup

if TYPE_CHECKING:
    import re

    from tui.formats.prefixes import Line

_BARE = ("prompt eval time =", "eval time =", "total time =", "draft acceptance rate =", "draft acceptance =")
_MOST_DRAFTERS = 32
_CLOCK_SLACK_S = 1.0


class LlamaStream:
    """Reads one stream of llama-server lines; keeps what its next lines need.

    Attributes:
        quoting: it has printed debug lines, which can hold users' text.
        wants: the groups of keywords that its lines may still hold, beside those always looked for.
    """

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: port, container or unit name.
        """
        self._known = Known(source, stream, None, None, None)
        self._flight = Flight()
        self._counters = Counters()
        self._open: Block | None = None
        self._released: tuple[Run, Line] | None = None
        self._startup: Startup | None = None
        self._counted: str | None = None
        self._prefixed = False
        self._tagged = False
        self._newest: Line | None = None
        self._tag = "\0"
        self._owner = (0, 0)
        self.quoting = False
        self.wants = 0

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether llama-server prints such a line."""
        return bool(
            TAG.match(text)
            or SERVER.match(text)
            or Startup.begins(text, None)
            or CUT_FRONT.match(text)
            or text.startswith("statistics ")
            or text.lstrip().startswith(_BARE)
        )

    @property
    def starting(self) -> bool:
        """Whether a start is in progress."""
        return self._startup is not None

    @property
    def serving(self) -> bool:
        """Whether it has shown lines of its slots."""
        return self._tagged

    def forget(self) -> None:
        """Bytes were left out: drop what needs neighbours."""
        self._open = self._released = None
        self._flight.forget(certain=False)
        self._counters.forget()
        self._newest = None

    def idle(self, out: list[Event]) -> None:
        """The stream has been silent: what waited for its next line is complete."""
        if self._open is not None and not self._open.empty:
            self._finish(out)
        self._settle(out)

    def close(self, out: list[Event]) -> None:
        """The stream has ended."""
        self._end(out)

    def read(self, line: Line, out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            out: where events go.

        Returns:
            Whether llama-server prints such lines.
        """
        text = line.text
        self.quoting = self.quoting or line.debug
        if text.startswith(self._tag) and not self.quoting:
            self._on_timing(line, *self._owner, text[len(self._tag) :].strip(), out)
        elif found := TAG.match(text):
            self._on_tag(line, found, out)
        elif found := SERVER.match(text):
            self._on_server(line, text[found.end() :].strip(), out)
        elif text.startswith("statistics "):
            self._on_statistics(line, text, out, tagged=False)
        elif (bare := text.strip()).startswith((*_BARE, "draft acceptance")):
            self._on_bare(line, bare, out)
        elif CUT_FRONT.match(text):
            self._problem(line, "cut", out)
        else:
            return self._on_start(line, text, out)
        return True

    def refuse(self, line: Line, out: list[Event]) -> None:
        """Report data that belongs to nothing here."""
        self._problem(line, "unattached", out)

    def _note(self, line: Line) -> None:
        self._tagged = True
        if line.prefixed:
            self._prefixed = True
            self._newest = line

    def _forged(self, line: Line) -> bool:
        """Whether a line cannot be the server's own, in a log that holds users' text."""
        if self._prefixed and not line.prefixed:
            return True
        before = self._newest.clock_s if self._newest is not None else None
        return before is not None and (line.clock_s or 0.0) < before - _CLOCK_SLACK_S

    def _problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        out.append(
            Problem(
                source=self._known.source,
                stream=line.stream,
                engine="llama.cpp",
                time=line.time,
                clock_s=line.clock_s,
                problem=kind,
                text=harmless(line.text),
                offset=line.offset,
            )
        )

    # Lines of a slot

    def _on_tag(self, line: Line, found: re.Match[str], out: list[Event]) -> None:
        if self.quoting and self._forged(line):
            self.refuse(line, out)
            return
        self._note(line)
        function, slot, task = found[1], int(found[2]), int(found[3])
        rest = line.text[found.end() :].strip()
        if function == "print_timing":
            self._tag, self._owner = found[0], (slot, task)
            self._on_timing(line, slot, task, rest, out)
        elif function == "release":
            if rest.startswith("stop processing"):
                self._on_release(line, slot, task, out)
        else:
            self._on_slot(line, slot, task, rest, out)

    def _on_slot(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        if rest.startswith("processing task"):
            self._end(out)
            self._works(line, out)
            self._flight.launch(slot, task)
        elif found := ROUND.match(rest):
            self._end(out)
            self._flight.touch(slot, task).count(
                int(found[1]), int(found[2]), replay=bool(found[3]), verbose=bool(found[4])
            )
        elif found := PROMPT_TOKENS.match(rest):
            self._end(out)
            run = self._flight.touch(slot, task)
            run.begun = run.begun or not run.rounds
            run.prompt_tokens = int(found[1])
        elif rest.startswith("restored context checkpoint"):
            run = self._flight.touch(slot, task)
            run.begun = run.begun or not run.rounds

    def _on_timing(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        if rest.startswith("n_"):
            self._on_progress(line, slot, task, rest, out)
            return
        if rest.startswith("prompt processing"):
            self._end(out)
            return
        block = self._open
        if block is None or block.task != task or block.slot != slot:
            block = self._begin(line, slot, task, out)
            if block is None:
                return
        if rest:
            block.bare = False
            self._add(line, block, rest, out)
        else:
            block.bare = True
            block.keep_raw(line)

    def _begin(self, line: Line, slot: int, task: int, out: list[Event]) -> Block | None:
        """Open the block of a task; None when it cannot be one."""
        run = self._flight.find(slot, task)
        if self._released is not None and (self._released[0].slot, self._released[0].task) == (slot, task):
            run, self._released = self._released[0], None
        self._end(out)
        if self.quoting and (run is None or not run.launched):
            self.refuse(line, out)
            return None
        self._works(line, out)
        self._open = Block(slot, task, line, run=run)
        return self._open

    def _add(self, line: Line, block: Block, text: str, out: list[Event]) -> None:
        """One part of a block; a part that is there already begins another block."""
        part = PARTS.get(text[:4])
        value = part[1](text) if part is not None else None
        if part is None or value is None:
            block.keep_raw(line)
            if not text.startswith("graphs") and not TOTAL.match(text):
                self._unread(line, text, out)
            return
        if getattr(block, part[0]) is not None:
            if block.bare and block.slot is not None:
                self.refuse(line, out)
                return
            self._finish(out)
            block = self._open = Block(block.slot, block.task, line, bare=block.bare)
        block.add(line)
        for kind in block.take(part[0], value):
            self._problem(line, kind, out)

    def _unread(self, line: Line, text: str, out: list[Event]) -> None:
        """Report a line that begins like one of ours and goes on otherwise."""
        if kind := fault(text):
            self._problem(line, kind, out)

    def _on_progress(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        found = GENERATED.match(rest) or DECODED.match(rest)
        if not found:
            self._unread(line, rest, out)
            return
        if self._open is not None and (self._open.slot, self._open.task) != (slot, task):
            self._end(out)
        recent = RECENT.match(rest, found.end())
        out.append(
            Progress(
                source=self._known.source,
                stream=line.stream,
                engine="llama.cpp",
                time=line.time,
                clock_s=line.clock_s,
                slot=slot,
                task=task if task >= 0 else None,
                tokens=int(found[1]),
                rate_tok_s=number(found[2]),
                rate_recent_tok_s=number(recent[1]) if recent else None,
            )
        )

    def _on_release(self, line: Line, slot: int, task: int, out: list[Event]) -> None:
        block = self._open
        if block is not None and (block.slot, block.task) == (slot, task):
            self._finish(out)
            self._settle(out)
            self._flight.release(slot, task)
            return
        self._end(out)
        run = self._flight.release(slot, task)
        if run is not None and run.launched and not run.done:
            self._released = (run, line)

    # Lines without a slot

    def _on_server(self, line: Line, rest: str, out: list[Event]) -> None:
        if rest.startswith("statistics "):
            self._on_statistics(line, rest, out, tagged=True)
        elif rest == "all slots are idle":
            if self.quoting and self._forged(line):
                self.refuse(line, out)
                return
            self._note(line)
            self._end(out)
            self._flight.forget(certain=True)
        elif rest.startswith("request:  {") or line.text.startswith("que "):
            self.quoting = True
        elif rest.startswith("task id = ") and ", error: " in rest:
            task = rest.removeprefix("task id = ").partition(",")[0]
            if task.isdecimal() and (run := self._flight.by_task(int(task))):
                run.failed = True
        else:
            self._on_start(line, line.text, out)

    def _on_statistics(self, line: Line, text: str, out: list[Event], *, tagged: bool) -> None:
        if (self._prefixed and not line.prefixed) or (self.quoting and self._open is None):
            self.refuse(line, out)
            return
        counted = read_statistics(line, text, self._known.source, tagged=tagged)
        if counted is None:
            self._unread(line, text, out)
            return
        self._note(line)
        out.append(counted.event)
        if self._open is not None and len(self._open.statistics) < _MOST_DRAFTERS:
            self._open.statistics.append(counted)
            self._open.keep_raw(line)
        else:
            self._counters.keep([counted], None)

    def _on_bare(self, line: Line, text: str, out: list[Event]) -> None:
        """A line without a tag: it belongs to the open empty tag, or to a stream that has no tags."""
        block = self._open
        if block is None or not block.bare:
            if self._tagged or not line.tagless or not text.startswith("prompt eval"):
                self.refuse(line, out)
                return
            block = self._open = Block(None, None, line, bare=True)
        self._add(line, block, text, out)

    def _on_start(self, line: Line, text: str, out: list[Event]) -> bool:
        if begun := Startup.begins(text, self._startup):
            if self.quoting and self._prefixed and not line.prefixed:
                self.refuse(line, out)
                return True
            self._end(out)
            self._flight.forget(certain=True)
            self._counters.forget()
            self._startup = begun
            self._prefixed = line.prefixed
            self._newest = None
        if self._startup is None:
            return False
        known = self._startup.read(text)
        if self._startup.listening is not None:
            self._works(line, out)
        return known

    # What is complete

    def _works(self, line: Line, out: list[Event]) -> None:
        """The server is ready or works: its start is over."""
        start = self._startup
        if start is None:
            return
        self._startup = None
        out.append(start.event(line, self._known.source))
        drafter = "+".join(start.spec_types) if start.spec_types else None
        self._known = self._known._replace(model=start.model, drafter=drafter, depth=start.bound)
        self._counted = None
        if start.slots is not None:
            self._flight.slots = start.slots

    def _end(self, out: list[Event]) -> None:
        """A line of another kind: the open block is complete."""
        if self._open is not None:
            self._finish(out)
        self._settle(out)

    def _finish(self, out: list[Event]) -> None:
        block, self._open = self._open, None
        if block is None:
            return
        if block.slot is None and block.decode is None:
            self.refuse(block.last, out)
            return
        if block.run is not None:
            block.run.done = True
        lines, counts = block.statistics, block.drafts
        known, credit = self._facts(), None
        if lines:
            credit = self._counters.credit(
                lines,
                slot=block.slot,
                drafted=counts.drafted if counts else 0,
                accepted=counts.accepted if counts else 0,
                concurrency=block.run.concurrency if block.run else None,
            )
            self._counters.keep(lines, block.slot)
            names = "+".join([counted.event.drafter or "" for counted in lines])
            if names != known.drafter:
                self._counted = names
                known = known._replace(drafter=names)
        out.append(finished(known, block, credit))

    def _facts(self) -> Known:
        """What is known beside a block; the drafters last counted where no start named them."""
        if self._known.drafter is not None or self._counted is None:
            return self._known
        return self._known._replace(drafter=self._counted)

    def _settle(self, out: list[Event]) -> None:
        """A release without a block: the request was cancelled, or failed."""
        if self._released is None:
            return
        (run, line), self._released = self._released, None
        out.append(unfinished(self._facts(), run, line, "failed" if run.failed else "cancelled"))

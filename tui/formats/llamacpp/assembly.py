"""What the lines of one llama-server are put together to: its start, requests in flight, finished ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.formats.llamacpp.block import Block, Known, finished, unfinished
from tui.formats.llamacpp.counters import Counters
from tui.formats.llamacpp.flight import Flight, Run
from tui.formats.llamacpp.lines import PARTS, TOTAL, fault
from tui.formats.problems import problem

if TYPE_CHECKING:
    from tui.formats.events import Event, ProblemKind
    from tui.formats.llamacpp.counters import Counted
    from tui.formats.llamacpp.startup import Startup
    from tui.formats.prefixes import Line

_MOST_DRAFTERS = 32


class Assembly:
    """Keeps what the next lines of a stream need.

    Attributes:
        known: what is known beside a block.
        flight: the tasks in flight.
        open: the block that the next line may belong to.
        startup: a start in progress.
    """

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: port, container or unit name.
        """
        self.known = Known(source, stream, None, None, None)
        self.flight = Flight()
        self.open: Block | None = None
        self.startup: Startup | None = None
        self._counters = Counters()
        self._released: tuple[Run, Line] | None = None
        self._counted: str | None = None

    def told_build(self, build: str) -> None:
        """The server itself has told its build, `bNNNN`; a start in its log tells it better."""
        if build.startswith("b") and build[1:].isdecimal():
            self.known = self.known._replace(build=int(build[1:]))

    def forget(self) -> None:
        """Bytes were left out: drop what needs neighbours."""
        self.open = self._released = None
        self.flight.forget(certain=False)
        self._counters.forget()

    def problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        """Report a line."""
        out.append(problem(self.known.source, "llama.cpp", line, kind))

    def unread(self, line: Line, text: str, out: list[Event]) -> None:
        """Report a line that begins like one of ours and goes on otherwise."""
        if kind := fault(text):
            self.problem(line, kind, out)

    def begin(
        self, line: Line, slot: int, task: int, out: list[Event], *, launched: bool = False
    ) -> Block | None:
        """Open the block of a task; None when it cannot be one.

        Args:
            line: its first line.
            slot: where the task ran.
            task: its number.
            out: where events go.
            launched: it must have been seen to start.
        """
        run = self.flight.find(slot, task)
        if self._released is not None and (self._released[0].slot, self._released[0].task) == (slot, task):
            run, self._released = self._released[0], None
        self.end(out)
        if launched and (run is None or not run.launched):
            self.problem(line, "unattached", out)
            return None
        self.works(line, out)
        self.open = Block(slot, task, line, run=run)
        return self.open

    def add(self, line: Line, block: Block, text: str, out: list[Event]) -> None:
        """One part of a block; a part that is there already begins another block."""
        part = PARTS.get(text[:4])
        value = part[1](text) if part is not None else None
        if part is None or value is None:
            block.keep_raw(line)
            if not text.startswith("graphs") and not TOTAL.match(text):
                self.unread(line, text, out)
            return
        if getattr(block, part[0]) is not None:
            if block.bare and block.slot is not None:
                self.problem(line, "unattached", out)
                return
            self.finish(out)
            block = self.open = Block(block.slot, block.task, line, bare=block.bare)
        block.add(line)
        for kind in block.take(part[0], value):
            self.problem(line, kind, out)

    def count(self, line: Line, counted: Counted) -> None:
        """A drafter's counters: of the open block, or only the last ones known."""
        if self.open is not None and len(self.open.statistics) < _MOST_DRAFTERS:
            self.open.statistics.append(counted)
            self.open.keep_raw(line)
        else:
            self._counters.keep([counted], None)

    def launch(self, line: Line, slot: int, task: int, out: list[Event]) -> None:
        """A slot begins to work on a task."""
        self.end(out)
        self.works(line, out)
        self.flight.launch(slot, task)

    def release(self, line: Line, slot: int, task: int, out: list[Event]) -> None:
        """A slot is done with a task; its block came before, comes next, or never."""
        block = self.open
        if block is not None and (block.slot, block.task) == (slot, task):
            self.finish(out)
            self._settle(out)
            self.flight.release(slot, task)
            return
        self.end(out)
        run = self.flight.release(slot, task)
        if run is not None and run.launched and not run.done:
            self._released = (run, line)

    def restart(self, begun: Startup, out: list[Event]) -> None:
        """A start begins: nothing runs, and nothing was counted."""
        self.end(out)
        self.flight.forget(certain=True)
        self._counters.forget()
        self.startup = begun

    def works(self, line: Line, out: list[Event]) -> None:
        """The server is ready or works: its start is over."""
        start = self.startup
        if start is None:
            return
        self.startup = None
        out.append(start.event(line, self.known.source))
        drafter = "+".join(start.spec_types) if start.spec_types else None
        self.known = self.known._replace(
            model=start.model, drafter=drafter, depth=start.bound, build=start.number, replays=start.replays
        )
        self._counted = None
        if start.slots is not None:
            self.flight.slots = start.slots

    def end(self, out: list[Event]) -> None:
        """A line of another kind: the open block is complete."""
        if self.open is not None:
            self.finish(out)
        self._settle(out)

    def idle(self, out: list[Event]) -> None:
        """The stream has been silent: what waited for its next line is complete."""
        if self.open is not None and not self.open.empty:
            self.finish(out)
        self._settle(out)

    def finish(self, out: list[Event]) -> None:
        """The open block is complete."""
        block, self.open = self.open, None
        if block is None:
            return
        if block.slot is None and block.decode is None:
            self.problem(block.last, "unattached", out)
            return
        self.give(block, out)

    def give(self, block: Block, out: list[Event]) -> None:
        """The request that a complete block tells of."""
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
        if self.known.drafter is not None or self._counted is None:
            return self.known
        return self.known._replace(drafter=self._counted)

    def _settle(self, out: list[Event]) -> None:
        """A release without a block: the request was cancelled, or failed."""
        if self._released is None:
            return
        (run, line), self._released = self._released, None
        out.append(unfinished(self._facts(), run, line, "failed" if run.failed else "cancelled"))

"""One llama-server's lines, each taken for what it is: of a slot, of the server, bare, or of a start."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.formats.events import Event, Progress
from tui.formats.forms import number
from tui.formats.keywords import KIN, OLLAMA
from tui.formats.llamacpp.assembly import Assembly
from tui.formats.llamacpp.block import Block
from tui.formats.llamacpp.counters import read_statistics
from tui.formats.llamacpp.kin import Kin, is_mlx, read_mlx
from tui.formats.llamacpp.lines import (
    CUT_FRONT,
    DECODED,
    GENERATED,
    PROMPT_TOKENS,
    RECENT,
    ROUND,
    SERVER,
    TAG,
)
from tui.formats.llamacpp.records import fault, put, read_record
from tui.formats.llamacpp.startup import Startup

if TYPE_CHECKING:
    import re

    from tui.formats.events import ProblemKind, Request
    from tui.formats.prefixes import Line

_BARE = ("prompt eval time =", "eval time =", "total time =", "draft acceptance rate =", "draft acceptance =")
_CLOCK_SLACK_S = 1.0
_OTHER_CLOCK_S = 5.0
_NO_TAG = "\0"


class LlamaStream:
    """Reads one stream of llama.cpp's lines: a server's of any age, or those of programs around it.

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
        self._source = source
        self._made = Assembly(source, stream)
        self._kin = Kin(source, stream)
        self._over = False
        self._prefixed = False
        self._tagged = False
        self._newest: Line | None = None
        self._launched: float | None = None
        self._tag = _NO_TAG
        self._owner = (0, 0)
        self.quoting = False
        self.wants = KIN | OLLAMA

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether llama.cpp or a program around it prints such a line."""
        return bool(
            TAG.match(text)
            or SERVER.match(text)
            or Startup.begins(text, None)
            or CUT_FRONT.match(text)
            or text.startswith("statistics ")
            or text.lstrip().startswith(_BARE)
            or Kin.recognises(text.strip())
            or ((record := read_record(text)) is not None and record.known)
        )

    @property
    def starting(self) -> bool:
        """Whether a start is in progress."""
        return self._made.startup is not None

    @property
    def serving(self) -> bool:
        """Whether it has shown lines of its slots."""
        return self._tagged

    def told_build(self, build: str) -> None:
        """Before the first line: the server itself has told its build."""
        self._made.told_build(build)

    def forget(self) -> None:
        """Bytes were left out: drop what needs neighbours."""
        self._made.forget()
        self._kin.forget()
        self._newest = None
        self._launched = None

    def idle(self, out: list[Event]) -> None:
        """The stream has been silent: what waited for its next line is complete."""
        self._made.idle(out)
        self._end_kin(out)

    def close(self, out: list[Event]) -> None:
        """The stream has ended."""
        self._made.end(out)
        self._end_kin(out)

    def read(self, line: Line, out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            out: where events go.

        Returns:
            Whether llama.cpp or a program around it prints such lines.
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
            return self._on_start(line, text, out) or self._on_record(line, out) or self._on_kin(line, out)
        return True

    def refuse(self, line: Line, out: list[Event]) -> None:
        """Report data that belongs to nothing here."""
        self._problem(line, "unattached", out)

    def _problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        self._made.problem(line, kind, out)

    def _note(self, line: Line) -> None:
        self._tagged = True
        if line.prefixed:
            self._prefixed = True
            self._newest = line
            self.wants = 0

    def _forged(self, line: Line) -> bool:
        """Whether a line cannot be the server's own, in a log that holds users' text."""
        if self._prefixed and not line.prefixed:
            return True
        before = self._newest.clock_s if self._newest is not None else None
        return before is not None and (line.clock_s or 0.0) < before - _CLOCK_SLACK_S

    def _goes_on(self, line: Line) -> None:
        """A task begins: by an earlier clock than the last one only on another server, or after a start."""
        clock, before = line.clock_s, self._launched
        if clock is not None and before is not None and clock < before - _OTHER_CLOCK_S:
            self._made.flight.forget(certain=False)
        self._launched = clock

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
            self.wants &= ~KIN
            if rest.startswith("stop processing"):
                self._made.release(line, slot, task, out)
        else:
            self._on_slot(line, slot, task, rest, out)

    def _on_slot(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        made = self._made
        if rest.startswith("processing task"):
            self._goes_on(line)
            made.launch(line, slot, task, out)
        elif found := ROUND.match(rest):
            made.end(out)
            made.flight.touch(slot, task).count(
                int(found[1]), int(found[2]), replay=bool(found[3]), verbose=bool(found[4])
            )
        elif found := PROMPT_TOKENS.match(rest):
            made.end(out)
            run = made.flight.touch(slot, task)
            run.begun = run.begun or not run.rounds
            run.prompt_tokens = int(found[1])
        elif rest.startswith("restored context checkpoint"):
            run = made.flight.touch(slot, task)
            run.begun = run.begun or not run.rounds

    def _on_timing(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        made = self._made
        if rest.startswith("n_"):
            self._on_progress(line, slot, task, rest, out)
            return
        if rest.startswith("prompt processing"):
            made.end(out)
            return
        block = made.open
        if block is None or block.task != task or block.slot != slot:
            block = made.begin(line, slot, task, out, launched=self.quoting)
            if block is None:
                return
        if rest:
            block.bare = False
            made.add(line, block, rest, out)
        else:
            block.bare = True
            block.keep_raw(line)

    def _on_progress(self, line: Line, slot: int, task: int, rest: str, out: list[Event]) -> None:
        made = self._made
        found = GENERATED.match(rest) or DECODED.match(rest)
        if not found:
            made.unread(line, rest, out)
            return
        if made.open is not None and (made.open.slot, made.open.task) != (slot, task):
            made.end(out)
        recent = RECENT.match(rest, found.end())
        out.append(
            Progress(
                source=self._source,
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

    # Lines without a slot

    def _on_server(self, line: Line, rest: str, out: list[Event]) -> None:
        made = self._made
        if rest.startswith("statistics "):
            self._on_statistics(line, rest, out, tagged=True)
        elif rest == "all slots are idle":
            if self.quoting and self._forged(line):
                self.refuse(line, out)
                return
            self._note(line)
            made.end(out)
            made.flight.forget(certain=True)
        elif rest.startswith("request:  {") or line.text.startswith("que "):
            self.quoting = True
        elif rest.startswith("task id = ") and ", error: " in rest:
            task = rest.removeprefix("task id = ").partition(",")[0]
            if task.isdecimal() and (run := made.flight.by_task(int(task))):
                run.failed = True
        else:
            self._on_start(line, line.text, out)

    def _on_statistics(self, line: Line, text: str, out: list[Event], *, tagged: bool) -> None:
        if (self._prefixed and not line.prefixed) or (self.quoting and self._made.open is None):
            self.refuse(line, out)
            return
        counted = read_statistics(line, text, self._source, tagged=tagged)
        if counted is None:
            self._made.unread(line, text, out)
            return
        out.append(counted.event)
        if not self._kin.takes(counted):
            self._note(line)
            self._made.count(line, counted)

    def _on_bare(self, line: Line, text: str, out: list[Event]) -> None:
        """A line without a tag: it belongs to the open empty tag, or to a stream that has no tags."""
        made = self._made
        block = made.open
        if block is None or not block.bare:
            if self._tagged or not line.tagless or not text.startswith("prompt eval"):
                self.refuse(line, out)
                return
            block = made.open = Block(None, None, line, bare=True)
        made.add(line, block, text, out)

    def _on_start(self, line: Line, text: str, out: list[Event]) -> bool:
        made = self._made
        if begun := Startup.begins(text, made.startup):
            if self.quoting and self._prefixed and not line.prefixed:
                self.refuse(line, out)
                return True
            self._restart(line, begun, out)
        if made.startup is None:
            return False
        known = made.startup.read(text)
        if made.startup.listening is not None:
            made.works(line, out)
        return known

    def _restart(self, line: Line, begun: Startup, out: list[Event]) -> None:
        self._end_kin(out)
        self._made.restart(begun, out)
        self._prefixed = line.prefixed
        self._newest = None
        self._launched = None
        self._over = False

    # Lines of older servers, and of programs around llama.cpp

    def _on_record(self, line: Line, out: list[Event]) -> bool:
        """A structured record: of a server that prints nothing else, or of a fork beside its tagged lines."""
        record = read_record(line.text)
        if record is None or not record.known:
            kind = None if record else fault(line.text)
            if kind:
                self._problem(line, kind, out)
            return kind is not None
        if self.quoting or self._prefixed or not self.wants & KIN or (record.part and self._tag != _NO_TAG):
            self.refuse(line, out)
            return True
        line.time = record.time if line.time is None else line.time
        if record.starts:
            self._restart(line, Startup(build=record.build), out)
        elif kind := put(record, line, self._made, out):
            self._problem(line, kind, out)
        return True

    def _on_kin(self, line: Line, out: list[Event]) -> bool:
        """A line of another program: only in a stream that shows nothing of a server of today."""
        text = line.text.strip()
        if is_mlx(text):
            request = None if self.quoting or self._prefixed else read_mlx(line, self._source)
            if request is not None:
                out.append(request)
            else:
                self._problem(line, "unattached" if self.quoting or self._prefixed else "renamed", out)
            return True
        if self._tagged or self.quoting or (not line.prefixed and (self._prefixed or not line.tagless)):
            known = Kin.recognises(text)
            if known:
                self.refuse(line, out)
            return known
        if begun := self._kin.start(text):
            self._restart(line, begun, out)
            self._made.works(line, out)
            return True
        done: list[Block | Request] = []
        known = self._kin.read(line, done, out)
        if any(not isinstance(each, Block) for each in done):
            self._made.works(line, out)
        self._give(done, out)
        return known

    def _end_kin(self, out: list[Event]) -> None:
        done: list[Block | Request] = []
        self._kin.end(done, out)
        self._give(done, out)

    def _give(self, done: list[Block | Request], out: list[Event]) -> None:
        """Finished generations of other programs; a summary tells of a process of its own."""
        for each in done:
            if isinstance(each, Block):
                summary = each.most_rounds is not None
                if summary or self._over:
                    startup = self._made.startup or Startup()
                    startup.limits += [each.depth] if each.depth else []
                    self._made.restart(startup, out)
                self._over = summary
                self._made.works(each.last, out)
                self._made.give(each, out)
            else:
                out.append(each)

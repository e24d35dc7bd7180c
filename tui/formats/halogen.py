"""halogen's log, versions 0.1 to 0.17.4, and the servers that print its request line."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tui.formats.events import Event, ProblemKind, Request, ServerStart
from tui.formats.forms import Form, number
from tui.formats.problems import problem

if TYPE_CHECKING:
    from tui.formats.prefixes import Line

_NUMBER = r"(\d{1,15}(?:\.\d+)?)"
_LOGGER = r"(?: *(?:TRACE|DEBUG|INFO|WARN|ERROR) +)?(?:[\w:.-]+: )?"
_SAYS = re.compile(_LOGGER + r"serve_api: ")
_HEAD = re.compile(
    r"([a-z][a-z0-9_]*) (\d{1,15}) tok in " + _NUMBER + r"s = (?:" + _NUMBER + r" t/s|n/a)(?=\s*$| \| ?)"
)
_LIKE_HEAD = re.compile(r"([a-z][a-z0-9_]*) (\d+) \S+ in ")
_HEAD_CUT = (Form("{w} {i} tok in {f}s = {f} t/s"), Form("{w} {i} tok in {f}s = n/a"))
_FIRST = re.compile(r"halogen: halogen-flash-server (\S+), mode ")
_VERSION = re.compile(r"version (\S+), engine version ")
_LISTENING = re.compile(r"engine at \S+, listening on (\S+)")

_ROUNDS = re.compile(r"(\d{1,15}) rounds, commit " + _NUMBER + r"/round")
_PROMPT = re.compile(
    r"prompt (\d{1,15})(?: \((\d{1,15}) cached(?:, " + _NUMBER + r"%)?\))?, prefill " + _NUMBER + r"s"
    r"(?: = " + _NUMBER + r" t/s| \((\d{1,15}) new\)| \((?:" + _NUMBER + r" t/s|n/a)\))?"
)
_LIKE_ROUNDS = re.compile(r"\d+ r")
_HEAD_OFF = re.compile(r"(\d{1,15}) tok (?:beside other streams|with the head off)")
_LOOKUP = re.compile(r"pld (\d{1,15}) rounds, " + _NUMBER + r" acc/round")
_OTHERS = re.compile(
    r"detok \d+(?:\.\d+)?us/tok|itl (?:\d+(?:\.\d+)?ms/tok|n/a)|pool \d+/\d+ \d+%"
    r"|max_tokens clamped \d+ -> \d+|think (?:on|off)(?:, .+)?"
)
_CLAUSES = {
    _LIKE_ROUNDS: ("{i} rounds, commit {f}/round",),
    re.compile(r"prompt\b"): (
        "prompt {i} ({i} cached, {f}%), prefill {f}s",
        "prompt {i} ({i} cached), prefill {f}s",
        "prompt {i}, prefill {f}s",
    ),
    re.compile(r"\d+ tok\b"): ("{i} tok beside other streams", "{i} tok with the head off"),
    re.compile(r"pld\b"): ("pld {i} rounds, {f} acc/round",),
    re.compile(r"detok\b"): ("detok {f}us/tok",),
    re.compile(r"pool\b"): ("pool {i}/{i} {i}%",),
}
_CLAUSE_FORMS = {begin: tuple(Form(text) for text in texts) for begin, texts in _CLAUSES.items()}

_LONGEST_DRAFT = 16
_DEPTH_ONE_MOST = 2.05
_ROUNDING = 0.005


class HalogenStream:
    """Reads one stream of halogen lines. A request is one line, so nothing waits for the next."""

    starting = False
    serving = True
    quoting = False
    wants = 0

    def __init__(self, source: str, stream: str | None) -> None:
        """Start with nothing known.

        Args:
            source: name that every event carries.
            stream: container or unit name.
        """
        self._source = source
        self._stream = stream
        self._version: str | None = None
        self._pending: dict[str, str] | None = None

    @staticmethod
    def recognises(text: str) -> bool:
        """Whether halogen prints such a line."""
        return bool(_SAYS.match(text) or _FIRST.match(text) or _HEAD.match(text))

    def forget(self) -> None:
        """Bytes were left out: nothing here depends on neighbours."""

    def idle(self, out: list[Event]) -> None:
        """Nothing waits."""

    def close(self, out: list[Event]) -> None:
        """Nothing waits."""

    def read(self, line: Line, out: list[Event]) -> bool:
        """Take one line.

        Args:
            line: without its wrappers.
            out: where events go.

        Returns:
            Whether halogen prints such lines.
        """
        text = line.text.rstrip()
        if found := _FIRST.match(text):
            self._pending = {"build": found[1]}
            return True
        said = _SAYS.match(text)
        message = text[said.end() :] if said else text
        if found := _HEAD.match(message):
            self._ready(line, out)
            self._on_request(line, message, found, out)
        elif said and (found := _LISTENING.match(message)):
            self._pending = {**(self._pending or {}), "listening": found[1]}
        elif said and (found := _VERSION.match(message)):
            self._pending = {**(self._pending or {}), "build": found[1]}
            self._ready(line, out)
        elif not said and " tok in " not in text:
            return False
        elif any(form.ends_inside(message) for form in _HEAD_CUT) and " " in message:
            self._problem(line, "cut", out)
        elif _LIKE_HEAD.match(message):
            self._problem(line, "renamed", out)
        elif " tok in " in text:
            self.refuse(line, out)
        return True

    def refuse(self, line: Line, out: list[Event]) -> None:
        """Report data that belongs to nothing here."""
        self._problem(line, "unattached", out)

    def _ready(self, line: Line, out: list[Event]) -> None:
        if self._pending is None:
            return
        pending, self._pending = self._pending, None
        self._version = pending.get("build")
        out.append(
            ServerStart(
                source=self._source,
                stream=self._stream,
                engine="halogen",
                time=line.time,
                build=self._version,
                listening=pending.get("listening"),
            )
        )

    def _problem(self, line: Line, kind: ProblemKind, out: list[Event]) -> None:
        out.append(problem(self._source, "halogen", line, kind))

    def _on_request(self, line: Line, message: str, head: re.Match[str], out: list[Event]) -> None:
        tokens = int(head[2])
        doubt = None
        rounds = lookup_rounds = off = prompt = cached = new = None
        commit = lookup = prefill = None
        parts = [part.strip() for part in message[head.end() :].split(" | ")]
        for part in parts:
            if found := _ROUNDS.fullmatch(part):
                rounds, commit = int(found[1]), float(found[2])
            elif found := _PROMPT.fullmatch(part):
                prompt, prefill = int(found[1]), number(found[4])
                cached = int(found[2]) if found[2] else None
                new = int(found[6]) if found[6] else None
            elif found := _HEAD_OFF.fullmatch(part):
                off = int(found[1])
            elif found := _LOOKUP.fullmatch(part):
                lookup_rounds, lookup = int(found[1]), float(found[2])
            elif part and not _OTHERS.fullmatch(part) and (kind := _fault(part, last=part is parts[-1])):
                self._problem(line, kind, out)
                if _LIKE_ROUNDS.match(part):
                    doubt = "its rounds cannot be read"
        if rounds == 0:
            rounds = commit = None
        if rounds is not None and commit is not None and not self._possible(tokens, rounds, commit, off or 0):
            self._problem(line, "impossible", out)
            doubt = f"{commit:.2f} tokens a round cannot be: other streams may be counted in it"
        evaluated = (
            new if new is not None else prompt - cached if prompt is not None and cached is not None else None
        )
        out.append(
            Request(
                source=self._source,
                stream=self._stream,
                engine="halogen",
                time=line.time,
                drafter=head[1],
                prompt_tokens=prompt,
                prompt_evaluated_tokens=evaluated,
                prompt_cached_tokens=cached,
                prompt_ms=_ms(prefill),
                tokens=tokens,
                decode_ms=_ms(float(head[3])),
                rate_tok_s=float(head[4]) if head[4] and tokens > 1 else None,
                rate_over="n" if head[4] and tokens > 1 else None,
                rounds=rounds,
                rounds_from="printed" if rounds is not None else None,
                mean_accepted_length=commit,
                head_off_tokens=off,
                lookup_rounds=lookup_rounds,
                lookup_accepted_per_round=lookup,
                doubt=doubt,
                raw=(line.text.rstrip(),),
            )
        )

    def _possible(self, tokens: int, rounds: int, commit: float, off: int) -> bool:
        """Whether that many tokens a round can be: within what a draft holds, and within the answer."""
        most = _DEPTH_ONE_MOST if self._version and _release(self._version) < (0, 6) else _LONGEST_DRAFT + 1
        committed = rounds * (commit - _ROUNDING) + off
        return 1 <= commit <= most and committed <= tokens + _LONGEST_DRAFT


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds * 1000, 3)


def _release(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d{1,6}", version)[:2])


def _fault(part: str, *, last: bool) -> ProblemKind | None:
    """What is wrong with a clause that cannot be read; None for one that is only new."""
    for begin, forms in _CLAUSE_FORMS.items():
        if begin.match(part):
            return "cut" if last and any(form.ends_inside(part) for form in forms) else "renamed"
    return (
        "cut"
        if last and any(form.ends_inside(part) for forms in _CLAUSE_FORMS.values() for form in forms)
        else None
    )

"""What a server says of itself while it starts."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tui.formats.events import ServerStart

if TYPE_CHECKING:
    from tui.formats.prefixes import Line

_BUILD = re.compile(
    r"(?:cmn +\S+: )?(?:(?:build:|common_params_print_info: build) (\d{1,9}) \(|build_info: b(\d{1,9})-)(\w+)"
)
_MODEL = re.compile(r"srv +\S+: loading model '(.*)'")
_DRAFT_MODEL = re.compile(r"(?:srv +\S+|common_speculative\w*): loading draft model '(.*)'")
_SPEC = r"(?:spec +\S+: |common_speculative\w*: )"
_TYPE = re.compile(_SPEC + r"adding speculative implementation '([\w-]+)'")
_DETECTED = re.compile(_SPEC + r"auto-detected speculative type '([\w-]+)'")
_DEPTH = re.compile(r"(?:spec +\S+: |common_speculative\w*: )?- (?:n_match=\d+, )?n_max=(\d{1,9})")
_SYNTHETIC = re.compile(
    _SPEC + r"synthetic (?:speculative acceptance is enabled|acceptance: n_max = (\d{1,9}))"
)
_REPLAYS = re.compile(r"(?:srv +\S+: )?speculative decoding will use checkpoints")
_SLOTS = re.compile(r"(?:srv|slot) +\S+: initializing(?: slots)?, n_slots = (\d{1,9})")
_LISTENING = re.compile(r"(?:srv +\S+|main): (?:router )?(?:server is )?listening on (\S+)")
_LEAST_BUILD = 1000


@dataclass(slots=True)
class Startup:
    """A start in progress, from its first line until the server is ready or works.

    Attributes:
        build: `bNNNN`; the commit where a shallow clone left no number.
        number: the build's number, where it is one of llama.cpp's own.
        replays: drafts are verified again from checkpoints.
        limits: n_max lines seen; the depth bounds every draft only if each drafter printed one.
    """

    build: str | None = None
    number: int | None = None
    model: str | None = None
    draft_model: str | None = None
    types: list[str] = field(default_factory=list)
    detected: str | None = None
    limits: list[int] = field(default_factory=list)
    replays: bool = False
    synthetic: bool = False
    synthetic_depth: int | None = None
    listening: str | None = None
    slots: int | None = None

    @staticmethod
    def begins(text: str, current: Startup | None) -> Startup | None:
        """The start that this line begins; None when it begins none. A line that repeats begins another."""
        if _BUILD.match(text):
            return (
                Startup()
                if current is None or current.build is not None or current.model is not None
                else None
            )
        if _MODEL.match(text):
            return Startup() if current is None or current.model is not None else None
        return None

    def read(self, text: str) -> bool:
        """Take what the line tells; whether it tells something."""
        if found := _BUILD.match(text):
            number, commit = int(found[1] or found[2]), found[3]
            self.number = number if number >= _LEAST_BUILD else None
            self.build = f"b{number}" if self.number else commit if commit != "unknown" else None
        elif found := _MODEL.match(text):
            self.model = found[1]
        elif found := _SLOTS.match(text):
            self.slots = int(found[1])
        elif found := _LISTENING.match(text):
            self.listening = found[1]
        else:
            return self._read_drafter(text)
        return True

    def _read_drafter(self, text: str) -> bool:
        if found := _DRAFT_MODEL.match(text):
            self.draft_model = found[1]
        elif found := _TYPE.match(text):
            self.types.append(found[1])
        elif found := _DETECTED.match(text):
            self.detected = found[1]
        elif found := _REPLAYS.match(text):
            self.replays = True
        elif found := _SYNTHETIC.match(text):
            self.synthetic = True
            self.synthetic_depth = int(found[1]) if found[1] else self.synthetic_depth
        elif found := _DEPTH.match(text):
            self.limits.append(int(found[1]))
        return found is not None

    @property
    def spec_types(self) -> tuple[str, ...] | None:
        """The drafters in their order, as far as they were printed."""
        return tuple(self.types) or ((self.detected,) if self.detected else None)

    @property
    def depth(self) -> int | None:
        """The largest depth printed."""
        return max([*self.limits, self.synthetic_depth or 0]) or None

    @property
    def bound(self) -> int | None:
        """The depth that no draft exceeds; None when some drafter did not print its own."""
        return max(self.limits) if self.types and len(self.limits) >= len(self.types) else None

    def event(self, line: Line, source: str) -> ServerStart:
        """The finished start."""
        return ServerStart(
            source=source,
            stream=line.stream,
            engine="llama.cpp",
            time=line.time,
            clock_s=line.clock_s,
            build=self.build,
            model=self.model,
            draft_model=self.draft_model,
            spec_types=self.spec_types,
            depth=self.depth,
            depths=tuple(self.limits) or None,
            synthetic=True if self.synthetic else (False if self.model and self.listening else None),
            listening=self.listening,
        )

"""The `statistics` counters: cumulative, the server's or a slot's; deltas are a request's only if proven."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tui.formats.events import DrafterShare, Statistics
from tui.formats.forms import number, shares
from tui.formats.llamacpp.lines import STATISTICS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tui.formats.prefixes import Line

_MOST_COUNTERS = 256


class Counted(NamedTuple):
    """A statistics line. `every_round`: its accept calls count every verified draft, rejected ones too."""

    event: Statistics
    every_round: bool

    @property
    def rounds(self) -> int:
        """Drafts so far that were verified, as well as this build can tell."""
        event = self.event
        return (event.calls_accept if self.every_round else event.drafts) or 0


def read_statistics(line: Line, text: str, source: str, *, tagged: bool) -> Counted | None:
    """A statistics line; None when it is cut or changed.

    Args:
        line: where it stands.
        text: from the word `statistics` on.
        source: name that the event carries.
        tagged: whether the tag of the newer builds was before it.
    """
    found = STATISTICS.match(text)
    if not found:
        return None
    name, begin, draft, accept, drafts, kept, drafted, accepted, mean, shares_, *spent = found.groups()
    begin_ms, draft_ms, accept_ms = (None, None, None) if spent[2] is None else map(number, spent)
    event = Statistics(
        source=source,
        stream=line.stream,
        engine="llama.cpp",
        time=line.time,
        clock_s=line.clock_s,
        drafter=name,
        calls_begin=int(begin) if accept else None,
        calls_draft=int(draft if accept else begin),
        calls_accept=int(accept) if accept else None,
        drafts=int(drafts),
        drafts_accepted=int(kept),
        drafted=int(drafted),
        accepted=int(accepted),
        accepted_per_position=shares(shares_) if shares_ else None,
        begin_ms=begin_ms,
        draft_ms=draft_ms,
        accept_ms=accept_ms,
    )
    return Counted(event, every_round=accept is not None and (tagged or mean is not None))


_NOTHING = Counted(Statistics(source="", draft_ms=0.0), every_round=True)
"""The counters of a server that has just started."""


class Counters:
    """The last counters of every drafter, of the whole server and of each slot."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, int | None], Counted] = {}

    def forget(self) -> None:
        """The next delta is unknown."""
        self._last.clear()

    def credit(
        self,
        lines: Sequence[Counted],
        *,
        slot: int | None,
        drafted: int,
        accepted: int,
        concurrency: int | None,
    ) -> tuple[DrafterShare, ...] | None:
        """What each drafter did in the request that these lines follow; None where nothing proves it.

        The counters began one request since their last line, and drafted exactly this request's tokens since.
        Counters of the whole server also need that no other request is known to have overlapped.

        Args:
            lines: the statistics lines after the request's block, one a drafter.
            slot: the request's slot.
            drafted: its draft tokens proposed.
            accepted: its draft tokens kept.
            concurrency: most requests in flight with it, None when unknown.
        """
        names = [line.event.drafter or "" for line in lines]
        # Hyphens came into the names with counters of the whole server; before, each slot had its own.
        owners = (None,) if slot is None or any("-" in name for name in names) else (slot, None)
        for owner in owners:
            if owner is None and concurrency is not None and concurrency > 1:
                return None
            done = _between(lines, [self._last.get((name, owner)) for name in names], accepted)
            if done is not None and sum([share.drafted for share in done]) == drafted:
                return done
        return None

    def keep(self, lines: Sequence[Counted], slot: int | None) -> None:
        """Remember these lines as the last ones."""
        if len(self._last) > _MOST_COUNTERS:
            self._last.clear()
        for line in lines:
            name = line.event.drafter or ""
            self._last[name, None] = line
            if slot is not None:
                self._last[name, slot] = line


def _between(
    lines: Sequence[Counted], last: Sequence[Counted | None], accepted: int
) -> tuple[DrafterShare, ...] | None:
    """What happened since the last lines, if just one request began since; None else."""
    done = []
    for line, known in zip(lines, last, strict=True):
        now, name = line.event, line.event.drafter or ""
        before = _NOTHING if now.calls_begin == 1 else known
        if before is None:
            return None
        then = before.event
        if now.calls_begin is not None and now.calls_begin != (then.calls_begin or 0) + 1:
            return None
        # A drafter of the oldest builds evaluates the whole prompt inside its drafting time.
        timed = now.draft_ms is not None and then.draft_ms is not None and name != "draft"
        share = DrafterShare(
            drafter=name,
            rounds=line.rounds - before.rounds,
            drafted=(now.drafted or 0) - (then.drafted or 0),
            accepted=(now.accepted or 0) - (then.accepted or 0),
            draft_ms=round((now.draft_ms or 0) - (then.draft_ms or 0), 3) if timed else None,
        )
        if min(share.rounds, share.drafted, share.accepted) < 0:
            return None
        done.append(share)
    if lines[0].event.calls_begin is None and sum(share.accepted for share in done) != accepted:
        return None
    return tuple(done)

"""Numbers that a server printed and that are not so: by its build, or because they contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.formats.llamacpp.lines import DraftCounts

_REPLAYED_FROM, _STUCK_UNTIL, _INFLATED_UNTIL = 8842, 8977, 10209
_STUCK = f"b{_REPLAYED_FROM} to b{_STUCK_UNTIL} print 1.00000 whenever drafts are verified again"
_DRAFT_MIN = (4984, 5624)
_LATER = 2**31
_RATES_OVER_REST = 10406
"""The first build whose rates leave the first token out."""


def doubt_of(
    counts: DraftCounts,
    *,
    sound: bool,
    build: int | None,
    over_rest: bool | None,
    replays: bool | None,
    overshoot: int | None,
    depth: int | None,
) -> str | None:
    """Why an acceptance line is not to be counted; None where nothing speaks against it.

    Args:
        counts: what it says.
        sound: it contradicts neither itself nor what is possible.
        build: the server's, where the log told it.
        over_rest: the printed rates leave the first token out; None where both definitions fit.
        replays: drafts are verified again from checkpoints, where the model cannot take tokens back; None
            where no start told.
        overshoot: tokens that by its counts were committed past the end of the answer.
        depth: most draft tokens that a round can have.
    """
    accepted, drafted = counts.accepted, counts.drafted
    if accepted > drafted:
        return "more accepted than drafted"
    if not sound:
        return "its acceptance line contradicts itself"
    if replays and accepted and (reason := _of_replays(counts, _builds(counts, build, over_rest))):
        return reason
    if replays is None and drafted and build is not None and _REPLAYED_FROM <= build <= _STUCK_UNTIL:
        return f"{_STUCK}; whether this one does, only the start of its log tells"
    if build is not None and _DRAFT_MIN[0] <= build <= _DRAFT_MIN[1] and accepted < drafted:
        return f"up to b{_DRAFT_MIN[1]} drafts thrown away for --draft-min count as drafted"
    # The last round commits at most its whole draft too many.
    if overshoot is not None and depth is not None and overshoot > depth:
        return f"accepts {overshoot} tokens more than the answer has"
    return None


def _builds(counts: DraftCounts, build: int | None, over_rest: bool | None) -> tuple[int, int]:
    """The first and the last build that this can be, by what it said or by the form of its lines."""
    if build is not None:
        return build, build
    first, last = counts.builds
    if last or over_rest is None:
        return first, last or _LATER
    return (_RATES_OVER_REST, _LATER) if over_rest else (first, _RATES_OVER_REST - 1)


def _of_replays(counts: DraftCounts, builds: tuple[int, int]) -> str | None:
    first, last = max(builds[0], _REPLAYED_FROM), builds[1]
    if first > _INFLATED_UNTIL or last < _REPLAYED_FROM:
        return None
    if counts.accepted < counts.drafted:
        return f"up to b{_INFLATED_UNTIL} a draft verified again counts one token too many as accepted"
    if first <= _STUCK_UNTIL:
        return _STUCK
    return None

"""What changed between two snapshots that the operator wants to hear of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

from tui.formats.events import harmless
from tui.render import numbers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.session.snapshot import Snapshot, View

Severity = Literal["information", "warning", "error"]


@dataclass(frozen=True, slots=True)
class Alert:
    """Words for a toast; outside text in them is harmless."""

    text: str
    severity: Severity


def between(before: Snapshot | None, after: Snapshot) -> Iterator[Alert]:
    """A changed verdict, a source gone silent, a server restarted; nothing for the first snapshot."""
    if before is None:
        return
    known = {view.source.name: view for view in before.views}
    for view in after.views:
        if (old := known.get(view.source.name)) is not None:
            yield from _of_view(old, view)
    yield from (Alert(harmless(text), "information") for text in after.notices if text not in before.notices)


def _of_view(old: View, new: View) -> Iterator[Alert]:
    name = harmless(PurePath(new.source.name).name)
    was = old.judgement.verdict if old.judgement else None
    now = new.judgement
    if now is not None and was is not None and now.verdict != was:
        figures = f"{numbers.ratio(now.ratio)} {numbers.interval(now.interval)}".strip()
        severity: Severity = "warning" if now.verdict == "FAIL" else "information"
        yield Alert(f"{name}: {was} became {now.verdict}, {figures}", severity)
    if new.source.state == "stale" and old.source.state == "live":
        yield Alert(f"{name}: no line for {numbers.age(new.source.last_line_age_s)}", "warning")
    if new.source.restarts > old.source.restarts:
        yield Alert(f"{name}: the server was restarted", "warning")

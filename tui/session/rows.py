"""The finished requests of a source, as its table shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, overload

from tui.session.arms import ArmKey, decode_rate
from tui.session.snapshot import RequestRow
from tui.session.windows import round_of

if TYPE_CHECKING:
    from tui.formats.events import Request


@dataclass(frozen=True, slots=True)
class Row:
    """One finished request of a source, with the arm it went to."""

    number: int
    request: Request
    arm: ArmKey
    left_out: str


@dataclass(frozen=True, slots=True)
class Table(Sequence[RequestRow]):
    """The finished requests of a source, each worked out when it is looked at: hardly any ever is."""

    rows: tuple[Row, ...]
    labels: dict[ArmKey, str]
    target_step_ms: float | None

    def __len__(self) -> int:
        """How many there are."""
        return len(self.rows)

    @overload
    def __getitem__(self, place: int) -> RequestRow: ...
    @overload
    def __getitem__(self, place: slice) -> Table: ...
    def __getitem__(self, place: int | slice) -> RequestRow | Table:
        """One, or some of them."""
        if isinstance(place, slice):
            return replace(self, rows=self.rows[place])
        row = self.rows[place]
        return RequestRow(
            number=row.number,
            request=row.request,
            arm=self.labels.get(row.arm, ""),
            rate_tok_s=decode_rate(row.request),
            round_ms=round_of(row.request, self.target_step_ms),
            left_out=row.left_out,
        )

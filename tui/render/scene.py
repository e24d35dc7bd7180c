"""What one column of the screen shows: a view of the shown snapshot, with the what-if pane's levers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tui.model.whatif import Answer, WhatIf
    from tui.render.glyphs import Glyphs
    from tui.render.levers import Levers
    from tui.session.snapshot import Incumbent, VerifyCost, View


@dataclass(frozen=True, slots=True)
class Scene:
    """Everything a panel draws from.

    Attributes:
        view: None without any source (the what-if pane alone).
        what: the live inputs with the levers laid over them; answer: what they give.
        number, of: which source this is, counted from 1.
        paused: finished requests since the screen was paused; None while it is not.
        cost: what verify passes are priced with at depths that were not measured.
        plots: pictures can be drawn (plotext is loaded).
    """

    view: View | None
    levers: Levers
    what: WhatIf
    answer: Answer
    glyphs: Glyphs
    number: int = 1
    of: int = 1
    paused: int | None = None
    cost: VerifyCost | None = None
    plots: bool = False

    @property
    def incumbent(self) -> Incumbent | None:
        """What the view is held against."""
        return None if self.view is None else self.view.incumbent

    def without_age(self) -> Scene:
        """The scene without how long ago its source was heard, which moves when nothing else does."""
        if self.view is None:
            return self
        return replace(self, view=replace(self.view, source=replace(self.view.source, last_line_age_s=None)))

"""The panels that only show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tui.panels.drawn import Drawn, Panel, Pictured
from tui.render import acceptance, commit, headline, plot, rate, steps

if TYPE_CHECKING:
    from textual.content import Content

    from tui.render.scene import Scene


class Headline(Drawn["Scene"]):
    """The answer, the reason, and who is speaking."""

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The top lines."""
        return headline.draw(scene, width, height)


class AcceptancePanel(Panel):
    """Acceptance: ratio, p, and how far drafts get."""

    number, label = 1, "acceptance"

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The panel's lines."""
        return acceptance.draw(scene, width, height)


class CommitPanel(Panel):
    """What a round commits against what it must."""

    number, label = 2, "commit/round"

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The panel's lines."""
        return commit.draw(scene, width, height)


class StepsPanel(Panel):
    """Where the time of a round goes."""

    number, label = 3, "step times, ms"

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The panel's lines."""
        return steps.draw(scene, width, height)


class RatePanel(Pictured):
    """The rate against the incumbent, with the ratio's history where there is room."""

    number, label = 4, "rate"

    def title(self, scene: Scene | None) -> str:
        """The generations in flight stand in the frame."""
        return self.label if scene is None else rate.title(scene)

    def picture_size(self, width: int, height: int) -> tuple[int, int] | None:
        """Beside the sparkline, or below it when zoomed."""
        return rate.picture_size(width, height)

    def paint(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The ratio with its interval."""
        history = () if scene.view is None else scene.view.history
        return plot.ratio_history(history, width, height, scene.glyphs)

    def draw(self, scene: Scene, width: int, height: int) -> list[Content]:
        """The panel's lines."""
        return rate.draw(scene, self.picture, width, height)

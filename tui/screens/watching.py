"""What the screens need of who follows the sources."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from tui.model.cost import Profile
    from tui.session.incumbent import Choice
    from tui.session.snapshot import Snapshot


class Watching(Protocol):
    """Who follows the sources."""

    async def run(self) -> None:
        """Follow all sources until cancelled; never raises for a source's fault."""
        ...

    def snapshot(self) -> Snapshot:
        """Everything known now; cheap."""
        ...

    def read_incumbent(self, text: str) -> Choice:
        """Read a typed rate, a log's path or drafter:NAME, in any thread; a log takes its time.

        Raises:
            ValueError: with words for people.
            FeedError: the log cannot be read.
        """
        ...

    def choose(self, choice: Choice, source: str | None = None) -> None:
        """What that source is held against from now on; without a source, what all are."""
        ...

    def set_cost(self, cost: Profile | None) -> None:
        """Price verify passes with a profile; None takes it away."""
        ...

    def freeze_incumbent(self, view: int, *, alone: bool = False) -> None:
        """The present arm of that view becomes the incumbent, of its source alone or of all.

        Raises:
            ValueError: nothing has finished there yet.
        """
        ...

    def offer_incumbent(self, view: int) -> None:
        """The offered earlier arm of that view becomes the incumbent of its source.

        Raises:
            ValueError: none is offered.
        """
        ...


@runtime_checkable
class Checkable(Protocol):
    """A watch whose sources can be asked what a drafter needs."""

    api_key: str | None

    def address_of(self, source: str) -> str | None:
        """Where the server of a source is asked; None where none is."""
        ...


@runtime_checkable
class Seekable(Protocol):
    """What a screen needs of a watch to bind `[` and `]`."""

    @property
    def step_s(self) -> float:
        """How far one key press should go, recorded seconds."""
        ...

    @property
    def place(self) -> str:
        """Where it stands, for people."""
        ...

    def seek(self, seconds: float) -> None:
        """Go on by so many recorded seconds, back if negative; stops at either end."""
        ...

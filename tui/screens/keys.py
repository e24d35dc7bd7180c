"""The keys of the main screen."""

from __future__ import annotations

from textual.binding import Binding, BindingType

_DEPTH = Binding.Group("depth", compact=True)
_ACCEPTANCE = Binding.Group("acceptance", compact=True)

KEYS: list[BindingType] = [
    Binding(
        "k",
        "step('depth', -1)",
        "lower K",
        group=_DEPTH,
        id="depth.lower",
        key_display="k/",
        tooltip="One draft token less",
    ),
    Binding(
        "K", "step('depth', 1)", "raise K", group=_DEPTH, id="depth.raise", tooltip="One draft token more"
    ),
    Binding(
        "p",
        "step('acceptance', -1)",
        "lower p",
        group=_ACCEPTANCE,
        id="acceptance.lower",
        key_display="p/",
        tooltip="Acceptance p down by .01",
    ),
    Binding(
        "P",
        "step('acceptance', 1)",
        "raise p",
        group=_ACCEPTANCE,
        id="acceptance.raise",
        tooltip="Acceptance p up by .01",
    ),
    Binding("b", "app.incumbent", "incumbent", id="incumbent", tooltip="Set what has to be beaten"),
    Binding("space", "app.pause", "pause", id="pause", tooltip="Hold the screen still; collecting goes on"),
    *(
        Binding(str(n), f"panel({n})", name, show=False, id=f"panel.{n}", tooltip=f"Go to the {name} panel")
        for n, name in enumerate(("acceptance", "commit/round", "step times", "rate", "what if"), start=1)
    ),
    Binding("6", "panel(6)", "requests", id="panel.6", tooltip="The finished requests"),
    Binding(
        "tab", "app.focus_next", "next panel", show=False, id="panel.next", tooltip="Go to the next panel"
    ),
    Binding(
        "shift+tab",
        "app.focus_previous",
        "previous panel",
        show=False,
        id="panel.previous",
        tooltip="Go to the previous panel",
    ),
    Binding("z", "zoom", "zoom", show=False, id="zoom", tooltip="Give the panel the whole screen, or back"),
    Binding(
        "escape",
        "back",
        "back",
        show=False,
        id="back",
        tooltip="Leave the zoom, the filter, the panel; then to all sources",
    ),
    Binding(
        "slash",
        "filter",
        "filter",
        show=False,
        id="filter",
        tooltip="Show only requests with these words",
    ),
    Binding(
        "v",
        "app.cost",
        "verify cost",
        show=False,
        id="whatif.cost",
        tooltip="Load what a verify pass costs by its size",
    ),
    Binding("c", "drafter_class", "class", show=False, id="whatif.class", tooltip="Next drafter class"),
    Binding(
        "m",
        "picture",
        "picture",
        show=False,
        id="whatif.picture",
        tooltip="Rate over p, rate over K, or verify cost",
    ),
    Binding("R", "live", "live", show=False, id="whatif.live", tooltip="All inputs back to the live values"),
    Binding("r", "report", "report", show=False, id="report", tooltip="What it all says, in words"),
    Binding(
        "f",
        "app.preflight",
        "pre-flight",
        show=False,
        id="preflight",
        tooltip="Can a drafter be attached, and is it the right one?",
    ),
    Binding("s", "fleet", "all sources", show=False, id="fleet", tooltip="All sources, a row each"),
    Binding("n", "source(1)", "next source", show=False, id="source.next", tooltip="The next source"),
    Binding(
        "N",
        "source(-1)",
        "previous source",
        show=False,
        id="source.previous",
        tooltip="The source before",
    ),
    Binding(
        "left_square_bracket", "app.seek(-1)", "back", show=False, id="seek.back", tooltip="Back in a replay"
    ),
    Binding("right_square_bracket", "app.seek(1)", "on", show=False, id="seek.on", tooltip="On in a replay"),
]

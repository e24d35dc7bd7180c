"""What can be checked of a watched source by itself: its server, its log, its models where they are here.

Nothing is sent but what a look at the server's pages takes: never a probe.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from tui.feeds.sources import is_file
from tui.formats.events import harmless
from tui.preflight.findings import Finding
from tui.preflight.run import LOCAL, Ask, run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tui.session.snapshot import SourceState

RUNNING = ("reading", "live", "stale")
"""States in which a source's server is taken to hold its models in memory."""


def check(source: SourceState, url: str | None = None, api_key: str | None = None) -> tuple[Finding, ...]:
    """Ask everything that can be asked of a source, which takes seconds; what cannot be is told too.

    Args:
        source: the source, as shown.
        url: where its server is asked; None where only its log is known.
        api_key: for that server.
    """
    ask = ask_of(source, url, api_key)
    return (*run(ask), *_left_open(source, ask))


def ask_of(source: SourceState, url: str | None = None, api_key: str | None = None) -> Ask:
    """What is known of a source that can be asked."""
    if source.engine not in ("llama.cpp", None):
        return Ask(url=url, api_key=api_key)
    log = Path(source.name) if is_file(source.name) and Path(source.name).is_file() else None
    paths = (None, None) if _elsewhere(url) else (source.model, source.draft_model)
    target, draft = (path if path and Path(path).is_file() else None for path in paths)
    return Ask(
        url=url,
        api_key=api_key,
        target=target,
        draft=draft,
        log=log,
        spec_types=tuple(source.drafter.split("+")) if source.drafter else (),
        runs=None if source.state not in RUNNING else "pair" if source.drafter else "target",
    )


def _elsewhere(url: str | None) -> bool:
    """Whether the server is on another machine, whose files are none here."""
    return url is not None and urlsplit(url).hostname not in LOCAL


def _left_open(source: SourceState, ask: Ask) -> Iterator[Finding]:
    if source.engine == "halogen":
        if ask.url is None:
            answer = "not asked: only its log is known"
            yield _open(
                "What does its server say?", source.name, answer, "spectop preflight http://HOST:PORT"
            )
        return
    if source.engine not in ("llama.cpp", None):
        answer = f"not known: these checks know llama.cpp and halogen, not {source.engine}"
        yield _open("Can a drafter be attached?", source.name, answer)
        return
    advice = "spectop preflight --target FILE --draft FILE, where the files are"
    absent = "its server is on another machine" if _elsewhere(ask.url) else "no such file on this machine"
    if ask.target is None:
        answer = absent if source.model else "the source does not name its model"
        yield _open("Is the target's file at hand?", source.model or source.name, answer, advice)
    files = [name for name in ask.spec_types if not name.startswith("ngram") and name != "draft-mtp"]
    if ask.draft is None and (source.draft_model or files or not ask.spec_types):
        answer = absent if source.draft_model else "the source names no drafter's file"
        yield _open("Is a drafter's file at hand?", source.draft_model or source.name, answer, advice)


def _open(question: str, asked: str, answer: str, advice: str = "") -> Finding:
    return Finding(
        question=question, asked=harmless(asked), answer=answer, sure="unknown", ok=None, advice=advice
    )
